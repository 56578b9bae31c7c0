"""No text of a skill passes for anything else in a shell: every command, with and without --json."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.cli.test_help import COMMANDS
from tests.surfaces.findings import forged_lines, hidden, values
from tests.surfaces.library import PAYLOADS, Payload, folders_with_rules

from skillhub_mcp.cli import completion_words
from skillhub_mcp.cli.main import run
from skillhub_mcp.disclosure.catalogue import FORMATS

pytestmark = pytest.mark.slow

# A payload's word, the directory of its skill, and one that is refused; several are asked for, each in turn, but where
# `…` stands all at once. SKILLS, PROJECT and LOG are the library's directory, the project's, and the usage log.
ARGUMENTS: Mapping[str, Sequence[Sequence[str]]] = {
    "search": [["WORD"], ["WORD", "--explain"], ["WORD", "--json"], [], ["--json"], ["x", "--category", "none"]],
    "list": [["--all"], ["--all", "--json"]],
    "show": [
        *(["PLACE"], ["PLACE", "--json"], ["refused WORD"]),
        *(["PLACE", "--file", "references/none"], ["PLACE", "--file", "SKILL.md", "--json"]),
    ],
    "call": [["search_skills", "query=WORD"], ["build_index", "mode=lenient"], ["skill_load", "name=project-WORD"]],
    "context catalogue": [[f"--format={name}"] for name in FORMATS],
    "context resolve": [["PLACE/SKILL.md and $nothing"], ["PLACE/SKILL.md", "--json"]],
    "context cost": [["PLACE…"], ["PLACE…", "--json"]],
    "pick": [["--list"], ["--json"]],
    "why": [["PLACE"], ["REFUSED"], ["PLACE", "nothing like it"], ["PLACE", "--json"]],
    "validate": [["SKILLS", "--full"], ["SKILLS", "--json"], ["SKILLS", "--sarif"]],
    "audit": [
        *(["SKILLS", "--full"], ["SKILLS", "--json"], ["SKILLS", "--sarif"]),
        *(["PLACE", "--accept"], ["PLACE", "--revoke"]),
        *(["PLACE", "--accept", "--json"], ["PLACE", "--revoke", "--json"]),
    ],
    "add": [
        *(["PLACE", "--list"], ["PLACE", "--yes"], ["PLACE", "--dry-run", "--json"], ["SKILLS", "--list"]),
        *(["SKILLS", "--skill", "WORD"], ["REFUSED"]),
    ],
    "update": [["WORD"], ["--check"], ["--check", "--json"], ["--dry-run"], ["--dry-run", "--json"]],
    "remove": [
        *(["PLACE…"], ["PLACE…", "--force", "--dry-run"], ["PLACE…", "--force", "--json"]),
        *(["WORD"], ["--undo", "--dry-run"], ["--undo", "--json"]),
    ],
    "lock": [["--dry-run"], ["--json"], ["WORD"]],
    "verify": [[], ["--json"], ["WORD"]],
    "disable": [["PLACE…"], ["PLACE…", "--json"]],
    "enable": [["PLACE…"]],
    "allow": [["PLACE"], [], ["--json"]],
    "deny": [["PLACE"], ["--forget", "PLACE"]],
    "roots add": [["FOLDER"]],
    "roots remove": [["FOLDER"]],
    "trust": [["PROJECT"], ["PROJECT", "--json"]],
    "doctor": [["--verbose"], ["--verbose", "--json"]],
    "index": [[], ["--json"], ["--verify"], ["--verify", "--json"], ["--forget"]],
    "publish": [["SKILLS-published"], ["SKILLS-published", "--json"], ["SKILLS-published", "--dry-run"]],
    "eval from-log": [["LOG"]],
    "stats": [["LOG"], ["LOG", "--json"]],
}
WITHOUT_TEXT_OF_SKILLS = {
    "new": "it writes a skill; of others it tells handles, as `list` does",
    "demo": "its skills are its own",
    "eval run": "its queries are the person's; of skills it tells names of directories, as `list` does",
    **dict.fromkeys(("connect", "disconnect", "bundle", "serve"), "about clients and the server"),
    **dict.fromkeys(("token new", "token revoke", "config set"), "about the person's own settings"),
    **dict.fromkeys(("help", "completion"), "about the program"),
}
# How many payloads each command is asked for that takes one at a time: together the commands are asked for all.
EACH = 3


def test_every_command_is_in_the_table() -> None:
    groups = {one for one in COMMANDS if not one or any(other.startswith(f"{one} ") for other in COMMANDS)}
    assert set(COMMANDS) - groups == set(ARGUMENTS) | set(WITHOUT_TEXT_OF_SKILLS)


@pytest.mark.parametrize("command", ARGUMENTS)
def test_no_text_of_a_skill_passes_for_anything_else(
    command: str,
    hostile: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    for name, value in {**hostile, "HOME": str(tmp_path), "SKILLHUB_USAGE_LOG": "", "PATH": ""}.items():
        monkeypatch.setenv(name, value)
    log = tmp_path / "usage.jsonl"
    log.write_text("".join(_used(payload) for payload in PAYLOADS), encoding="utf-8")
    monkeypatch.chdir(hostile["SKILLHUB_CWD"])
    start = list(ARGUMENTS).index(command)
    wrong = []
    for number, arguments in enumerate(ARGUMENTS[command]):
        for payload in _asked_for(arguments, start + number):
            code = run([*command.split(), *_filled(arguments, payload, hostile, log)])
            captured = capsysbinary.readouterr()
            # 3 is a bug of the program.
            assert code in (0, 1, 2), captured.err.decode()
            out, err = captured.out.decode(), captured.err.decode()
            wrong += [f"{arguments}, {payload.id}: {one}" for one in (*_wrong(out), *_wrong(err))]
            if {"--json", "--sarif"} & set(arguments) and code != 2 and out:
                assert list(values(json.loads(out)))
    assert wrong == []


def _asked_for(arguments: Sequence[str], start: int) -> Sequence[Payload]:
    each = any(
        "…" not in one and any(word in one for word in ("WORD", "PLACE", "REFUSED", "FOLDER")) for one in arguments
    )
    return [PAYLOADS[(start * EACH + step) % len(PAYLOADS)] for step in range(EACH)] if each else PAYLOADS[:1]


def _filled(arguments: Sequence[str], payload: Payload, hostile: Mapping[str, str], log: Path) -> list[str]:
    skills, project = hostile["SKILLS_DIR"], hostile["SKILLHUB_CWD"]
    filled = []
    for one in arguments:
        if one == "PLACE…":
            filled += [_place(skills, other, "served") for other in PAYLOADS[::12]]
        else:
            for word, value in (
                ("PLACE", _place(skills, payload, "served")),
                ("REFUSED", _place(skills, payload, "refused")),
                ("FOLDER", os.path.join(project, folders_with_rules()[0])),
                ("PROJECT", project),
                ("SKILLS", skills),
                ("LOG", str(log)),
                ("WORD", payload.word),
            ):
                one = one.replace(word, value)  # noqa: PLW2901 - each word in turn
            filled.append(one)
    return filled


def _place(skills: str, payload: Payload, kind: str) -> str:
    return next(str(one) for one in Path(skills).iterdir() if one.name.startswith(f"{kind} {payload.word} "))


def _used(payload: Payload) -> str:
    at = {"at": "2026-11-20T10:00:00+00:00", "process": 1}
    name = f"{payload.word} {payload.text[:100]}"
    lines = [
        {**at, "act": "search", "query": payload.text[:500], "found": [name], "confident": True},
        {**at, "act": "load", "skill": name},
        {**at, "act": "read", "skill": name, "file": payload.text[:100]},
        {**at, "act": "search", "query": f"missed {payload.text[:500]}", "found": [], "confident": False},
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def _wrong(text: str) -> list[str]:
    found = hidden(text, lines=True)
    return found + [f"the line {line[:80]!r}" for line in forged_lines(text)]


def test_completions_hide_nothing(
    hostile: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    assert completion_words.run([]) == 0
    words = capsysbinary.readouterr().out.decode().splitlines()
    assert len(words) > len(PAYLOADS)
    assert [one for word in words for one in hidden(word)] == []


def test_json_has_the_values_unchanged(
    hostile: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    for name, value in {**hostile, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    assert run(["list", "--json"]) == 0
    descriptions = {one["description"] for one in json.loads(capsysbinary.readouterr().out)["skills"]}
    for payload in PAYLOADS:
        written = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in payload.text)
        assert f"Does {payload.word}. {written} Use when {payload.word} is wanted." in descriptions, payload.id
