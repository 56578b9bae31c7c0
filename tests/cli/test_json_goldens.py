"""What `--json` of each command prints, in golden files. `SKILLHUB_UPDATE_GOLDEN=1` rewrites them.

Scripts depend on these keys: a change is on purpose, and has its line in the changelog.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.library.sources.repositories import Repository, skill_text

from skillhub_mcp.skills.builtin import builtin_directory
from skillhub_mcp.version import version

GOLDEN = Path(__file__).parents[1] / "golden" / "json"

# In this order, in one hub: the name of the golden file and what is typed.
COMMANDS: Mapping[str, Sequence[str]] = {
    "add": ("add", "{source}", "--skill", "*", "--yes"),
    "search": ("search", "turn a table into markdown"),
    "search-nothing": ("search", "zzz"),
    "list": ("list", "--all"),
    "show": ("show", "tables"),
    "why": ("why", "tables"),
    "why-unknown": ("why", "nothing-like-it"),
    "validate": ("validate", "{skills}"),
    "audit": ("audit", "{skills}"),
    "verify": ("verify",),
    "update": ("update", "--dry-run"),
    "disable": ("disable", "invoice"),
    "error-disabled": ("show", "invoice"),
    "enable": ("enable", "invoice"),
    "error-unknown": ("show", "nothing-like-it"),
    "roots": ("roots",),
    "trust": ("trust",),
    "config": ("config",),
    "token-new": ("token", "new", "ci", "--file", "{tokens}"),
    "connect": ("connect", "cursor", "--yes"),
    "disconnect": ("disconnect", "cursor", "--yes"),
    "index": ("index",),
    "publish": ("publish", "{published}"),
    "eval": ("eval", "run", "{queries}"),
    "doctor": ("doctor",),
    "remove": ("remove", "invoice"),
    "lock": ("lock",),
}


def normalised(text: str, places: Mapping[str, str]) -> str:
    """Replace what differs from run to run, and make a line of each value."""
    for name, path in places.items():
        text = text.replace(path, f"<{name}>")
    text = re.sub(r"(sha256:)?\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b", "<DIGEST>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)|\b\d{4}-\d\d-\d\d\b", "<TIME>", text)
    text = re.sub(r'("(?:[a-z_]*seconds|mtime|token|python|platform)": )("[^"]*"|[\d.]+)', r'\1"<VALUE>"', text)
    text = re.sub(r"(\d\.\d\d)\d+", r"\1…", text)
    text = text.replace(version(), "<VERSION>")
    return re.sub(r"\b(\d{8})-[0-9a-f]{12}\b", r"\1-<DIGEST>", text)


@pytest.mark.skipif(os.name != "posix", reason="paths are written otherwise there")
def test_json_output_is_as_it_was(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path, skills_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["HOME"])
    (home / ".cursor").mkdir()
    # Nothing of the machine is in the answer: which programs and clients are installed, how wide a terminal is.
    monkeypatch.chdir(home)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    source = Repository(tmp_path / "source")
    source.commit(
        {
            "tables/SKILL.md": skill_text("tables", "Turn a table into Markdown.", body="Read the table."),
            "tables/notes.md": "Notes.\n",
            "invoice/SKILL.md": skill_text("invoice", "Write an invoice."),
        }
    )
    write_skill("local", "Does what only this machine has.", extra="color: blue")
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"text": "turn a table into markdown", "relevant": ["tables"]}\n', encoding="utf-8")
    given = {
        "source": source.url,
        "skills": str(skills_dir),
        "tokens": str(tmp_path / "tokens.json"),
        "published": str(tmp_path / "published"),
        "queries": str(queries),
    }
    places = {"SKILLS": str(skills_dir), "TMP": str(tmp_path), "HOME": str(home), "BUILTIN": str(builtin_directory())}
    # It is no setting, as doctor would report.
    renew = os.environ.get("SKILLHUB_UPDATE_GOLDEN")
    monkeypatch.delenv("SKILLHUB_UPDATE_GOLDEN", raising=False)
    changed = []
    for name, words in COMMANDS.items():
        done = skillhub(*(word.format(**given) for word in words), "--json", SKILLHUB_SANDBOX="off")
        printed = done.out or done.err
        content = json.loads(printed)
        if name == "config":
            # The reference has all settings.
            content["settings"] = content["settings"][:2]
        parsed = json.dumps(content, indent=1, ensure_ascii=False)
        text = normalised(f"{' '.join(words)} → {done.code}\n{parsed}\n", places)
        file = GOLDEN / f"{name}.json"
        if renew:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        elif file.read_text(encoding="utf-8") != text:
            changed.append(f"{name}: {text}")
    assert not changed, "\n".join(changed)
    assert {file.stem for file in GOLDEN.iterdir()} == set(COMMANDS)
