"""The values that cross every border: a skill, its document, and what a scan found. No I/O, no policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.rules import Diagnostic

SKILL_FILE = "SKILL.md"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A SKILL.md as it was when it was read: its mtime, its size in bytes, and the SHA-256 of what was read.

    `content_hash` begins with `header:` where only the frontmatter was read, and is empty where nothing could be.
    """

    mtime_ns: int
    size: int
    content_hash: str
    read_at_ns: int

    @property
    def is_of_whole_file(self) -> bool:
        """Whether equal hashes mean equal files."""
        return bool(self.content_hash) and not self.content_hash.startswith("header:")


@dataclass(frozen=True, slots=True)
class HeaderShape:
    """What a strict registry judges a frontmatter by besides its values (seed 003 §4.2).

    `longest` counts the characters of the longest line outside the description, which stands on line `longest_at` of
    SKILL.md; `markup` is the first key whose value holds an angle bracket.
    """

    lines: int = 0
    longest: int = 0
    longest_at: int = 0
    markup: str | None = None


NO_SHAPE = HeaderShape()


@dataclass(frozen=True, slots=True)
class Skill:
    """Tier 1 of disclosure: everything about a skill but its body.

    `directory` is the canonical path of the skill's own directory and the key of its row in the index;
    `root` is the canonical path of the root it was found under. `category` and `tags` are lower-case.
    `allowed_tools_text` is what was written where `allowed_tools` came from text (DECISIONS 14), `argument_hint` what
    a person is told that they may type behind the skill's name.
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
    version: str | None = None
    author: str | None = None
    allowed_tools_text: str | None = None
    disable_model_invocation: bool = False
    user_invocable: bool = True
    argument_hint: str | None = None

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
