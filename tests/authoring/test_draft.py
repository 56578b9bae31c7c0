"""The text of the files of a new skill."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skillhub_mcp.authoring.draft import REFERENCE, SCRIPT, described, draft_files, renamed
from skillhub_mcp.authoring.files import examples, files_of
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.validation.checker import ValidationResult, check
from skillhub_mcp.validation.targets import targets

AWKWARD = "Extract: the 'totals' of \"invoices\" #1 - {all}, 発票. Use when\nasked: [any] & *every* %time"


def checked(directory: Path, files: dict[str, bytes]) -> ValidationResult:
    """Write a skill and return what `validate` says of it."""
    for path, content in files.items():
        place = directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (result,) = (check(target) for target in targets([str(directory)]).found)
    return result


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("reference", [True, False])
@pytest.mark.parametrize("name", ["pdf-tables", "on", "123", "請求書"])
def test_a_completed_draft_is_valid_and_names_its_files(
    tmp_path: Path, name: str, script: bool, reference: bool
) -> None:
    files = draft_files(name, described(AWKWARD, name), script=script, reference=reference)
    assert set(files) == {SKILL_FILE, *([SCRIPT] if script else []), *([REFERENCE] if reference else [])}
    result = checked(tmp_path / name, {path: text.encode() for path, text in files.items()})
    assert [finding.rule for finding in result.findings] == ["template-left"]
    result = checked(tmp_path / name, {path: text.replace("[TODO: ", "[").encode() for path, text in files.items()})
    assert (result.name, result.findings) == (name, ())


def test_the_script_of_a_draft_works(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(draft_files("one", "", script=True, reference=False)[SCRIPT], encoding="utf-8")
    done = subprocess.run([sys.executable, script, "-"], input=b"a\nb\n", capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().split() == ["2", "lines"]
    # EXECUTION_ENV.md asks for a sentence without a traceback.
    failed = subprocess.run([sys.executable, script, "nowhere"], capture_output=True, check=False, timeout=60)
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert failed.stderr.startswith(b"nowhere cannot be read: ")


@pytest.mark.parametrize(
    ("typed", "description"),
    [
        ("", "Help with pdf tables. Use when a task is about pdf tables."),
        ("Extract tables", "Extract tables. Use when a task is about pdf tables."),
        ("表を抽出する。", "表を抽出する。 Use when a task is about pdf tables."),
        ("Extract tables.\n Use it  when asked.", "Extract tables. Use it when asked."),
        ("PDFの表が必要なときに使う", "PDFの表が必要なときに使う"),
    ],
)
def test_a_description_is_completed_with_when_to_use_it(typed: str, description: str) -> None:
    assert described(typed, "pdf-tables") == description


@pytest.mark.parametrize("description", [None, AWKWARD])
def test_a_renamed_example_is_valid(tmp_path: Path, description: str | None) -> None:
    for example in examples():
        files = dict(files_of(example))
        before = files[SKILL_FILE].decode()
        after = renamed(before, "another", None if description is None else described(description, "another"))
        result = checked(tmp_path / example.name / "another", {**files, SKILL_FILE: after.encode()})
        assert (result.name, result.findings) == ("another", ())
        old, new = set(before.splitlines()), set(after.splitlines())
        assert len(old - new) == len(new - old) == (1 if description is None else 2)


def test_a_text_without_frontmatter_cannot_be_renamed() -> None:
    with pytest.raises(ValueError, match="no frontmatter"):
        renamed("# A title\n", "another", None)
