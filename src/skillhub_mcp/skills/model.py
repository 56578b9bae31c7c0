"""The values that cross every border: a skill, its document, and what a scan found. No I/O, no policy."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from skillhub_mcp.skills.rules import Diagnostic

SKILL_FILE = "SKILL.md"

_NOT_IN_AN_ALIAS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A SKILL.md as it was when it was read: its mtime, its size in bytes, and the SHA-256 of its bytes."""

    mtime_ns: int
    size: int
    content_hash: str
    read_at_ns: int


@dataclass(frozen=True, slots=True)
class Skill:
    """Tier 1 of disclosure: everything about a skill but its body.

    `directory` is the canonical path of the skill's own directory and the key of its row in the index;
    `root` is the canonical path of the root it was found under. `category` and `tags` are lower-case.
    """

    name: str
    description: str
    directory: str
    root: str
    category: str | None
    tags: tuple[str, ...]
    always_apply: bool
    allowed_tools: tuple[str, ...]
    license: str | None
    compatibility: str | None
    metadata: Mapping[str, object]
    diagnostics: tuple[Diagnostic, ...]
    stamp: FileStamp

    @property
    def alias(self) -> str:
        """The name in the specification's alphabet; equal to the name for a conforming one."""
        return safe_alias(self.name)

    @property
    def searchable_text(self) -> str:
        """Name, description, tags and category: all that an embedding provider may see (seed 002 §6.3)."""
        return "\n".join((self.name, self.description, " ".join(self.tags), self.category or "")).strip()


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """Tier 2 of disclosure: a skill's SKILL.md as read now. `instructions` is the body without frontmatter."""

    skill: Skill
    instructions: str


def safe_alias(name: str) -> str:
    """Return `name` in lower-case letters and digits of any script joined by single hyphens, at most 64 of them."""
    folded = unicodedata.normalize("NFKC", name).lower()
    return _NOT_IN_AN_ALIAS.sub("-", folded).strip("-")[:64].rstrip("-")


def is_specified_name(name: str) -> bool:
    """Whether `name` has the specification's form (NFKC, lower-case letters of any script, digits, single hyphens)."""
    return bool(name) and name == safe_alias(name)
