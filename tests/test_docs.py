"""The documents agree with the program, and their links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
GENERATE = PROJECT / "docs" / "generate.py"
DOCUMENTS = sorted(
    path.relative_to(PROJECT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "bench/*.md", "examples/**/README.md")
    for path in PROJECT.glob(pattern)
)

_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def targets(document: Path) -> Iterator[str]:
    """Yield the links of `document` that stay within the repository."""
    for link in _LINK.finditer(_CODE.sub("", document.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", link["target"]):
            yield link["target"]


def anchors(document: Path) -> set[str]:
    """Return the anchors that a Markdown page's headings make."""
    headings = re.findall(r"^#+ (.*)$", _CODE.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_what_is_generated_agrees_with_the_program() -> None:
    done = subprocess.run(
        [sys.executable, GENERATE, "--check"], capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_within_the_repository_leads_somewhere(document: str) -> None:
    path = PROJECT / document
    broken = []
    for target in targets(path):
        file, _, anchor = target.partition("#")
        leads_to = (path.parent / file).resolve() if file else path
        if not leads_to.exists() or (anchor and leads_to.suffix == ".md" and anchor not in anchors(leads_to)):
            broken.append(target)
    assert broken == []


def test_the_documents_are_found() -> None:
    assert {"README.md", "docs/reference/settings.md"} <= set(DOCUMENTS)


def test_a_page_that_drifted_is_named_and_a_stray_page_too(tmp_path: Path) -> None:
    copy = tmp_path / "project"
    (copy / "docs").mkdir(parents=True)
    (copy / "docs" / "generate.py").write_bytes(GENERATE.read_bytes())
    (copy / "tests").symlink_to(PROJECT / "tests", target_is_directory=True)
    generate = [sys.executable, str(copy / "docs" / "generate.py")]
    subprocess.run(generate, capture_output=True, check=True, timeout=120)
    reference = copy / "docs" / "reference"
    assert subprocess.run([*generate, "--check"], capture_output=True, check=False, timeout=120).returncode == 0
    with (reference / "errors.md").open("a", encoding="utf-8") as page:
        page.write("more\n")
    (reference / "old.md").write_text("", encoding="utf-8")
    done = subprocess.run([*generate, "--check"], capture_output=True, encoding="utf-8", check=False, timeout=120)
    assert done.returncode == 1
    assert "docs/reference/errors.md does not agree" in done.stderr
    assert "docs/reference/old.md does not agree" in done.stderr
    assert "settings.md" not in done.stderr
