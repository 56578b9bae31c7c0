"""What `--json` of each command prints, in golden files. `SKILLHUB_UPDATE_GOLDEN=1` rewrites them.

Scripts depend on these keys: a change is on purpose, and has its line in the changelog.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.library.sources.repositories import Repository, skill_text

from skillhub_mcp.skills.roots import builtin_directory
from skillhub_mcp.version import version

GOLDEN = Path(__file__).parents[1] / "golden" / "json"
UPDATE = bool(os.environ.get("SKILLHUB_UPDATE_GOLDEN"))

# In this order, in one hub: the name of the golden file and what is typed.
COMMANDS: Mapping[str, Sequence[str]] = {
    "add": ("add", "{source}", "--skill", "*", "--yes"),
    "search": ("search", "turn a table into markdown"),
    "search-nothing": ("search", "zzz"),
    "pick": ("pick", "--list", "table"),
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
    "roots-add": ("roots", "add", "{place}"),
    "roots-remove": ("roots", "remove", "{place}"),
    "roots": ("roots",),
    "trust": ("trust",),
    "config": ("config",),
    "token-new": ("token", "new", "ci", "--file", "{tokens}"),
    "token-revoke": ("token", "revoke", "ci", "--file", "{tokens}"),
    "connect": ("connect", "cursor", "--yes"),
    "disconnect": ("disconnect", "cursor", "--yes"),
    "index": ("index",),
    "publish": ("publish", "{published}"),
    "eval": ("eval", "run", "{queries}"),
    "stats": ("stats", "{usage}"),
    "bundle": ("bundle", "{bundle}"),
    "doctor": ("doctor",),
    "remove": ("remove", "invoice"),
    "lock": ("lock",),
    "new": ("new", "walrus-care", "--description", "Feed a walrus. Use when a walrus is hungry."),
}


def normalised(text: str, places: Mapping[str, str]) -> str:
    """Replace what differs from run to run, and make a line of each value."""
    for name, path in places.items():
        text = text.replace(path, f"<{name}>")
    text = re.sub(r"(sha256:)?\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b", "<DIGEST>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)|\b\d{4}-\d\d-\d\d\b", "<TIME>", text)
    text = re.sub(r'("(?:[a-z_]*seconds|mtime|token|python|platform)": )("[^"]*"|[\d.]+)', r'\1"<VALUE>"', text)
    # The size of the program, and of what its libraries compress.
    text = re.sub(r'("bytes": )\d+(,\s+"sha256")|("objects": \d+,\s+"bytes": )\d+', r'\1\3"<VALUE>"\2', text)
    text = re.sub(r"(\d\.\d\d)\d+", r"\1…", text)
    text = text.replace(version(), "<VERSION>")
    return re.sub(r"\b(\d{8})-[0-9a-f]{12}\b", r"\1-<DIGEST>", text)


def difference(name: str, words: Sequence[str], code: int, content: Any, places: Mapping[str, str]) -> list[str]:
    """Return what a command prints, unless it is the golden text."""
    text = normalised(f"{' '.join(words)} → {code}\n{json.dumps(content, indent=1, ensure_ascii=False)}\n", places)
    file = GOLDEN / f"{name}.json"
    if UPDATE:
        file.write_text(text, encoding="utf-8")
    return [] if file.read_text(encoding="utf-8") == text else [f"{name}: {text}"]


@pytest.mark.skipif(os.name != "posix", reason="paths are written otherwise there")
def test_json_output_is_as_it_was(
    skillhub: Skillhub,
    write_skill: SkillWriter,
    hub_environment: dict[str, str],
    tmp_path: Path,
    skills_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = Path(os.environ["HOME"])
    (home / ".cursor").mkdir()
    # It is not a setting, as doctor would report.
    monkeypatch.delenv("SKILLHUB_UPDATE_GOLDEN", raising=False)
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
    write_skill("elsewhere", root=tmp_path / "place")
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"text": "turn a table into markdown", "relevant": ["tables"]}\n', encoding="utf-8")
    usage = tmp_path / "usage.jsonl"
    with hub_of({**hub_environment, "SKILLHUB_USAGE": "queries", "SKILLHUB_USAGE_LOG": str(usage)}) as hub:
        hub.search("nothing-like-it")
        hub.load("local")
    given = {
        "source": source.url,
        "skills": str(skills_dir),
        "tokens": str(tmp_path / "tokens.json"),
        "published": str(tmp_path / "published"),
        "queries": str(queries),
        "place": str(tmp_path / "place"),
        "usage": str(usage),
        "bundle": str(tmp_path / "skillhub.mcpb"),
    }
    places = {"SKILLS": str(skills_dir), "TMP": str(tmp_path), "HOME": str(home), "BUILTIN": str(builtin_directory())}
    changed = []
    for name, words in COMMANDS.items():
        done = skillhub(*(word.format(**given) for word in words), "--json", SKILLHUB_SANDBOX="off")
        content = json.loads(done.out or done.err)
        if name == "config":
            # The reference has all settings.
            content["settings"] = content["settings"][:2]
        changed += difference(name, words, done.code, content, places)
    assert not changed, "\n".join(changed)
    assert {file.stem for file in GOLDEN.iterdir()} == {*COMMANDS, "demo"}


@pytest.mark.slow
def test_json_output_of_the_demo_is_as_it_was(process: Skillhub) -> None:
    done = process("demo", "--json")
    content = done.json
    # The skill that it shows may change, and with it the tokens.
    texts = {"seen": "<TEXT>", "tokens": 0, "upfront_tokens": 0, "skills": 0}
    steps = [{key: texts.get(key, value) for key, value in step.items()} for step in content["steps"]]
    content = {key: texts.get(key, value) for key, value in content.items()} | {"steps": steps}
    assert not difference("demo", ["demo"], done.code, content, {})
