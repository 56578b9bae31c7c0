"""The values that all layers share: a skill, its document, and the stamp of its file. No I/O, no policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.rules import Diagnostic

SKILL_FILE = "SKILL.md"


def is_skill_file(name: str) -> bool:
    """Whether a file name is SKILL.md, in any letter case."""
    return name == SKILL_FILE or name.lower() == "skill.md"


class Trust(str, Enum):
    """Whose a skill is, and whether its person has agreed to it.

    OWN is the person's, the hub's or built in. What a project brings is AGREED, AWAITED where the person has not agreed
    to it, or CHANGED since.
    """

    OWN = "own"
    AGREED = "agreed"
    AWAITED = "awaited"
    CHANGED = "changed"

    @property
    def is_awaited(self) -> bool:
        """Whether the person has not agreed to what is there now."""
        return self in (Trust.AWAITED, Trust.CHANGED)


class FileStamp(NamedTuple):
    """The state of a SKILL.md when it was read: its mtime, size in bytes and ctime, and the SHA-256 of the bytes read.

    `content_hash` starts with `header:` if only the frontmatter was read, and is empty if nothing could be read. The
    ctime changes with every write, also where a copying program sets mtime and size to what they were.
    """

    mtime_ns: int
    size: int
    content_hash: str
    read_at_ns: int
    ctime_ns: int = 0

    @property
    def is_of_whole_file(self) -> bool:
        """Whether the hash covers the whole file, so that equal hashes mean equal files."""
        return bool(self.content_hash) and not self.content_hash.startswith("header:")


@dataclass(frozen=True, slots=True)
class HeaderShape:
    """The properties of a frontmatter, besides its values, for which a strict registry has rules.

    `longest` is the length in characters of the longest line outside the description, and `longest_at` its line in
    SKILL.md. `markup` is the first key whose value contains an angle bracket.
    """

    lines: int = 0
    longest: int = 0
    longest_at: int = 0
    markup: str | None = None


NO_SHAPE = HeaderShape()


class SkillText(Protocol):
    """A file that has what was read from skills."""

    def values(self, at: int) -> Mapping[str, Any]:
        """Return all fields of the skill that is described from byte `at` on, by name. Raises IndexUnavailable."""


class _Unread:
    """The skill of a large library has most of its fields in a file, where they are read each time they are asked for.

    A server of 100,000 skills would have all of them in memory after some days.
    """

    __slots__ = ("_at", "_text")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Asked for what has no value: the dataclass sets all fields of a skill that was made in the usual way.
            if name not in Skill.__dataclass_fields__:
                raise AttributeError(name)
            return self._text.values(self._at)[name]


@dataclass(frozen=True, slots=True)
class Skill(_Unread):
    """Tier 1 of disclosure: everything about a skill except its body.

    `directory` is the path of the skill's directory and the key of its row in the index: below its root as configured,
    without further links. `root` is the path of the root it was found under. `category` and `tags` are lowercase.
    `allowed_tools_text` is the original text if `allowed-tools` was a string; `argument_hint` describes the arguments
    that a user may type after the skill's name. `trust` is that of its root.
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


_READ_AT_ONCE = frozenset(
    {
        "name",
        "directory",
        "root",
        "diagnostics",
        "stamp",
        "category",
        "tags",
        "always_apply",
        "disable_model_invocation",
        "user_invocable",
        "trust",
    }
)
_AT, _TEXT = (getattr(Skill, field).__get__ for field in _Unread.__slots__)
_NOTHING_GIVEN: Mapping[str, Any] = {}


class _Draft(_Unread):
    """A skill that is not frozen yet. Its slots are those of a `Skill`, which it becomes without a copy.

    Of a large library a hundred thousand are made at each start: plain assignment takes a third of what the setters of
    a frozen class take.
    """

    __slots__ = tuple(Skill.__dataclass_fields__)


def unread_skill(
    name: str,
    directory: str,
    root: str,
    diagnostics: tuple[Diagnostic, ...],
    stamp: FileStamp,
    text: SkillText,
    at: int,
    given: Mapping[str, Any] = _NOTHING_GIVEN,
) -> Skill:
    """Return a skill that has no category and no tags, that anybody may invoke and that does not always apply, but for
    what is `given` of these fields; `text` has the rest of it from `at` on.

    It reads that where somebody asks for it: of a large library hardly anybody asks for more than some skills.
    """
    skill: Any = _Draft()
    skill.name = name
    skill.directory = directory
    skill.root = root
    skill.diagnostics = diagnostics
    skill.stamp = stamp
    skill.category = None
    skill.tags = ()
    skill.always_apply = False
    skill.disable_model_invocation = False
    skill.user_invocable = True
    skill.trust = Trust.OWN
    skill._text = text  # noqa: SLF001 - of the same module
    skill._at = at  # noqa: SLF001
    for field in given:
        if field in _READ_AT_ONCE:
            setattr(skill, field, given[field])
    skill.__class__ = Skill
    made: Skill = skill
    return made


def read_whole(skill: Skill) -> Skill:
    """Return the skill with all of its fields: for somebody who asks for many of them. Raises IndexUnavailable."""
    place = text_of_unread(skill)
    if place is None:
        return skill
    text, at = place
    return Skill(**{**text.values(at), **{field: getattr(skill, field) for field in _READ_AT_ONCE}})


def text_of_unread(skill: Skill) -> tuple[SkillText, int] | None:
    """Return where the fields of a skill are that was made by `unread_skill`; None of any other."""
    try:
        return _TEXT(skill), _AT(skill)
    except AttributeError:
        return None


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """Tier 2 of disclosure: a skill and its `instructions`, the body of SKILL.md without the frontmatter."""

    skill: Skill
    instructions: str
