"""The values that all layers share: a skill, the stamp of its file, and a problem. No I/O, no policy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.rules import Diagnostic

SKILL_FILE = "SKILL.md"
MAX_SKILL_FILE_BYTES = 16 * 1024 * 1024


def is_skill_file(name: str) -> bool:
    """Whether a file name is SKILL.md, in any letter case."""
    return name == SKILL_FILE or name.lower() == "skill.md"


def skill_directory(path: str) -> str:
    """Return the directory of the skill that a path names: that of its SKILL.md, or the path itself."""
    return os.path.dirname(path) if is_skill_file(os.path.basename(path)) else path


class Trust(str, Enum):
    """Whose a skill is: the user's, hub's or built in (OWN), or a project's, and whether the user agreed to it."""

    OWN = "own"
    AGREED = "agreed"
    AWAITED = "awaited"
    CHANGED = "changed"

    @property
    def is_awaited(self) -> bool:
        """Whether the person has not agreed to what is there now."""
        return self in (Trust.AWAITED, Trust.CHANGED)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The state of a SKILL.md when it was read; `content_hash` starts with `header:` if only that was read."""

    mtime_ns: int
    size: int
    content_hash: str
    read_at_ns: int
    ctime_ns: int = 0

    @property
    def is_of_whole_file(self) -> bool:
        """Whether the hash covers the whole file, so that equal hashes mean equal files."""
        return bool(self.content_hash) and not self.content_hash.startswith("header:")


NO_STAMP = FileStamp(0, 0, "", 0)


@dataclass(frozen=True, slots=True)
class HeaderShape:
    """What a strict registry has rules for: lines, the longest line outside the description, and markup."""

    lines: int = 0
    longest: int = 0
    longest_at: int = 0
    markup: str | None = None


NO_SHAPE = HeaderShape()


@dataclass(frozen=True, slots=True)
class Skill:
    """Everything about a skill except its body. `directory` is its path as configured, and its key in the index.

    `root` and `source` are those of its root. `category` and `tags` are lowercase. `metadata` is the author's, as read.
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
    trust: Trust = Trust.OWN
    source: str = "hub"

    @property
    def alias(self) -> str:
        """The name in the specification's form; for a conforming name, the name itself."""
        return safe_alias(self.name)

    @property
    def awaits_trust(self) -> bool:
        """Whether a project brings it, to which the person has not agreed as it is now."""
        return self.trust.is_awaited

    @property
    def is_pinned(self) -> bool:
        """Whether it always applies: its author asks for that, and it does not await trust."""
        return self.always_apply and not self.awaits_trust

    @property
    def searchable_text(self) -> str:
        """Name, description, tags and category: the only text that an embedding provider receives."""
        return "\n".join((self.name, self.description, " ".join(self.tags), self.category or "")).strip()


_IN_A_SENTENCE = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """What is affected, what is wrong, and the fix. Callers who may not see paths get `remote`, unless `only_here`."""

    subject: str
    message: str
    fix: str
    remote: str = field(default="", kw_only=True)
    only_here: bool = field(default=False, kw_only=True)

    def sentence(self, *, with_paths: bool = True) -> str:
        """Return the problem in one sentence."""
        if self.remote and not with_paths:
            return f"{self.remote} {self.message}"
        return f"{self.subject} {self.message}; {self.fix}"


def sentences(problems: Iterable[Problem], *, with_paths: bool = True) -> str:
    """Return the first three problems as sentences, and how many more there are."""
    texts = [one.sentence(with_paths=with_paths) for one in problems if with_paths or not one.only_here]
    shown = list(dict.fromkeys(texts[:_IN_A_SENTENCE]))
    more = len(texts) - _IN_A_SENTENCE
    rest = [f"{more:,} more: `skillhub doctor` lists them"] if more > 0 else []
    return ". ".join((*shown, *rest))
