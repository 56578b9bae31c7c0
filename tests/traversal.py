"""Paths that must never be served, as one table for the tests of every layer: reading, the hub, MCP, the shell.

Each is meant for a skill at `<root>/a` whose neighbours hold files with the text `SECRET`; `plant` lays that out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SECRET = "this-is-not-yours"


@dataclass(frozen=True, slots=True)
class Hostile:
    """A path, in words and as given."""

    why: str
    path: str


REFUSED = (
    Hostile("absolute", "/etc/passwd"),
    Hostile("absolute, only the root", "/"),
    Hostile("absolute, two slashes", "//etc/passwd"),
    Hostile("drive and backslash", "C:\\Windows\\win.ini"),
    Hostile("drive and slash", "c:/Windows/win.ini"),
    Hostile("drive without a separator", "C:secret.md"),
    Hostile("drive in a later name", "references/C:/secret.md"),
    Hostile("UNC", "\\\\server\\share\\secret.md"),
    Hostile("Windows device path", "\\\\?\\C:\\secret.md"),
    Hostile("absolute with a backslash", "\\secret.md"),
    Hostile("home", "~/secret.md"),
    Hostile("another's home", "~root/secret.md"),
    Hostile("parent", ".."),
    Hostile("parent's file", "../secret.md"),
    Hostile("sibling skill", "../b/secret.md"),
    Hostile("sibling skill, backslashes", "..\\b\\secret.md"),
    Hostile("sibling skill, mixed separators", "references\\../..\\b/secret.md"),
    Hostile("up again after going down", "x/../../b/secret.md"),
    Hostile("up again after a real directory", "references/../../b/secret.md"),
    Hostile("up and back into the same skill", "../a/SKILL.md"),
    Hostile("parent that stays inside", "references/../SKILL.md"),
    Hostile("parent at the end", "references/.."),
    Hostile("parent after a dot", "./../b/secret.md"),
    Hostile("directory whose name begins like the root's", "../../skills-evil/secret.md"),
    Hostile("skill whose name begins like this one's", "../a-evil/secret.md"),
    Hostile("many parents", "../" * 20 + "etc/passwd"),
    Hostile("empty name", "references//guide.md"),
    Hostile("NUL", "SKILL.md\0.txt"),
    Hostile("NUL hides a parent", "..\0/b/secret.md"),
    Hostile("line feed", "SKILL.md\n"),
    Hostile("escape character", "\x1b[2Jx.md"),
    Hostile("C1 control", "a\x85.md"),
    Hostile("half of a character", "\ud800.md"),
    Hostile("half of a character that stands for a byte", "\udcff.md"),
    Hostile("hidden file", ".env"),
    Hostile("hidden directory", ".git/config"),
    Hostile("hidden file further down", "references/.env"),
    Hostile("hidden file after a dot", "./.env"),
    Hostile("three dots", ".../secret.md"),
    Hostile("dots with a blank", ".. /b/secret.md"),
    Hostile("parent, percent-encoded slash", "..%2fb%2fsecret.md"),
    Hostile("long name", "x" * 256),
    Hostile("long name of few characters", "あ" * 86),
    Hostile("long path", "x/" * 512 + "y"),
    Hostile("endless path", "../" * 100_000),
    Hostile("many names", "x/" * 40 + "y"),
    Hostile("URL", "file:///etc/passwd"),
)
"""Refused for what they are, whatever the disk holds: PATH_NOT_ALLOWED."""

NEVER_DECODED = (
    Hostile("percent-encoded parent", "%2e%2e/b/secret.md"),
    Hostile("percent-encoded twice", "%252e%252e%252fb%252fsecret.md"),
    Hostile("overlong slash, percent-encoded", "%c0%ae%c0%ae/b/secret.md"),
    Hostile("full-width dots and slash", "\uff0e\uff0e\uff0fb\uff0fsecret.md"),
    Hostile("division slash", "references\u2215\u2215secret.md"),
    Hostile("variable", "$HOME/secret.md"),
    Hostile("wildcard", "*/secret.md"),
    Hostile("option", "--help"),
)
"""Plain names that are no file: FILE_NOT_FOUND, since nothing decodes or expands them."""

LINKS_OUT = (
    Hostile("link to a sibling's file", "to-file.md"),
    Hostile("link to a sibling skill", "to-b/secret.md"),
    Hostile("absolute link to a file", "absolute.md"),
    Hostile("absolute link to a directory", "absolute/secret.md"),
    Hostile("link to a link to a sibling's file", "chain.md"),
    Hostile("link that leaves and comes back", "boomerang.md"),
    Hostile("link out from within a directory", "references/up.md"),
    Hostile("link to the parent directory", "parent/b/secret.md"),
    Hostile("link beside the skills directory", "evil/secret.md"),
    Hostile("link to a skill whose name begins like this one's", "like-a/secret.md"),
)
"""Links that `plant` makes in the skill; each leaves it: PATH_NOT_ALLOWED."""


def plant(base: Path) -> Path:
    """Lay out a skill with hostile links among neighbours that hold SECRET; return `<base>/skills/a`."""
    skill = base / "skills" / "a"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: a\ndescription: The first skill\n---\n# A\n", encoding="utf-8")
    (skill / "references" / "guide.md").write_text("# Guide\n", encoding="utf-8")
    for hidden in (skill / ".env", skill / ".git" / "config", skill / "references" / ".env"):
        hidden.parent.mkdir(exist_ok=True)
        hidden.write_text(SECRET, encoding="utf-8")
    neighbours = (base / "skills" / "b", base / "skills" / "a-evil", base / "skills-evil", base, base / "skills")
    for neighbour in neighbours:
        neighbour.mkdir(exist_ok=True)
        (neighbour / "secret.md").write_text(SECRET, encoding="utf-8")
    for name, target in (
        ("to-file.md", "../b/secret.md"),
        ("to-b", "../b"),
        ("absolute.md", str(base / "skills" / "b" / "secret.md")),
        ("absolute", str(base / "skills" / "b")),
        ("hop.md", "to-file.md"),
        ("chain.md", "hop.md"),
        ("boomerang.md", "../../skills/b/../b/secret.md"),
        ("references/up.md", "../../b/secret.md"),
        ("parent", ".."),
        ("evil", "../../skills-evil"),
        ("like-a", "../a-evil"),
    ):
        os.symlink(target, skill / name)
    return skill
