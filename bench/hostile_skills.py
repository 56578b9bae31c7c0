"""Hostile skills from compact tables, written to a directory to audit them. `hostile/README.md` explains the tables."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_TABLES = Path(__file__).parent / "hostile"
# What `audit.py` measured, for the guide.
RESULTS = _TABLES / "results.json"
_HEAD = re.compile(r"=== ([\w-]+)/([\w-]+)")
_CHARACTER = re.compile(r"\{U\+([0-9A-F]{4,6})\}")
_TAGS = re.compile(r"\{tags:([^}]*)\}")
_BASE64 = re.compile(r"\{base64:([^}]*)\}")
_BYTES = re.compile(r"\{bytes:([0-9a-f]+)\}")
_LINES = re.compile(r"\{lines:([0-9]+)\}")
_ELF = b"\x7fELF\x02\x01\x01\x00" + b"\x00" * 24
_PE = b"MZ\x90\x00\x03\x00\x00\x00" + b"\x00" * 24


@dataclass
class HostileSkill:
    """One skill: the pattern that it follows, its own name, frontmatter lines, body, files, and special entries."""

    pattern: str
    case: str
    header: dict[str, str] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    executable: set[str] = field(default_factory=set)
    entries: list[tuple[str, str, str]] = field(default_factory=list)

    def write(self, directory: Path) -> Path:
        """Write the skill below `directory` and return its own directory."""
        own = directory / f"{self.pattern}--{self.case}"
        own.mkdir(parents=True)
        header = {
            "name": self.case,
            "description": f"{self.body[0]} Use it for that." if self.body else ".",
        } | self.header
        lines = [f"{key}: {_value(key, value)}" for key, value in header.items()]
        text = "\n".join(("---", *lines, "---", "", *self.body))
        (own / "SKILL.md").write_bytes(_expanded(text))
        for path, content in self.files.items():
            file = own / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_expanded("\n".join(content)))
            if path in self.executable:
                file.chmod(0o755)
        for kind, path, target in self.entries:
            there = own / path
            there.parent.mkdir(parents=True, exist_ok=True)
            if kind == "link":
                there.symlink_to(target)
            elif kind == "hard":
                other = directory / f".{self.case}"
                other.write_text("somebody else's file\n")
                os.link(other, there)
            else:
                there.write_bytes(_ELF if kind == "elf" else _PE)
        return own


def read_table(name: str) -> list[HostileSkill]:  # noqa: C901 - a line of each kind
    """Return the skills of `hostile/<name>.txt`."""
    skills: list[HostileSkill] = []
    into: list[str] = []
    for line in (_TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        head = _HEAD.fullmatch(line)
        if head is not None:
            skills.append(HostileSkill(head[1], head[2]))
            into = skills[-1].body
        elif not skills:
            continue  # the table's own introduction
        elif line.startswith(">>> "):
            path, _, flag = line[4:].partition(" ")
            into = skills[-1].files.setdefault(path, [])
            if flag == "+x":
                skills[-1].executable.add(path)
        elif line.startswith("@@"):
            kind, path, *target = line[2:].split(" ", 3)
            skills[-1].entries.append((kind, path, target[-1] if target else ""))
        elif line.startswith("@") and ": " in line and into is skills[-1].body:
            key, _, value = line[1:].partition(": ")
            skills[-1].header[key] = value
        else:
            into.append(line)
    for skill in skills:
        for content in (skill.body, *skill.files.values()):
            while content and not content[-1]:
                content.pop()
    return skills


def by_pattern(skills: Sequence[HostileSkill]) -> dict[str, list[HostileSkill]]:
    """Return the skills by pattern, in the order of the table."""
    patterns: dict[str, list[HostileSkill]] = {}
    for skill in skills:
        patterns.setdefault(skill.pattern, []).append(skill)
    return patterns


def _expanded(text: str) -> bytes:
    text = _TAGS.sub(lambda tags: "".join(chr(0xE0000 + ord(character)) for character in tags[1]), text)
    text = _BASE64.sub(lambda plain: base64.b64encode(plain[1].encode()).decode(), text)
    text = _LINES.sub(lambda count: "\n" * int(count[1]), text)
    text = _BYTES.sub(lambda digits: bytes.fromhex(digits[1]).decode("ascii", "surrogateescape"), text)
    text = _CHARACTER.sub(lambda written: chr(int(written[1], 16)), text)
    return (text + "\n").encode("utf-8", "surrogateescape")


def _value(key: str, value: str) -> str:
    plain = key in ("hooks", "alwaysApply") or value.startswith(("[", '{"', '"'))
    return value if plain else "'" + value.replace("'", "''") + "'"
