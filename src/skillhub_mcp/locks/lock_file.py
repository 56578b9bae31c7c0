"""The lock of a library, `skills-lock.json`, shared with npx skills.

npx skills writes the fields of an entry, and SkillHub the object `skillhub` in it. Each keeps what the other wrote.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, PlainValidator, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from skillhub_mcp._util.safe_json import BadJson, read_json, unique_keys
from skillhub_mcp.errors import LockUnreadable
from skillhub_mcp.skills.files.confinement import NO_LINK, TO_PLAIN_FILE

LOCK_NAME = "skills-lock.json"
VERSION = 1
OURS = "skillhub"
# What the source gave is not known.
UNKNOWN_ORIGIN = "unknown"

_FIX = "correct it, or restore it from the repository's history; SkillHub does not change it"
_MARKERS = ("<<<<<<< ", "=======", ">>>>>>> ")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("should be a text")  # noqa: TRY004 - pydantic reports ValueError
    return value


# Not pydantic's own: a file name may have bytes that are not UTF-8.
Text = Annotated[str, PlainValidator(_text, json_schema_input_type=str)]
_DIGEST = "sha256:[0-9a-f]{64}"


@dataclass(frozen=True, slots=True)
class LockedByHub:
    """What SkillHub adds to an entry."""

    __pydantic_config__: ClassVar = ConfigDict(alias_generator=str)

    digest: Annotated[str, Field(pattern=f"^{_DIGEST}$", description="of all files of the skill, as below")]
    origin: Annotated[
        str,
        Field(
            pattern=f"^({_DIGEST}|{UNKNOWN_ORIGIN})?$",
            description="of a renamed skill and of locked edits: the digest of the source's files, or `unknown`",
        ),
    ] = ""
    renamed: Annotated[
        Mapping[Text, Text],
        Field(description="after `add --name`: the name in the source, with the digest of the renamed files"),
    ] = field(default_factory=dict)
    commit: Annotated[
        str, Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})?$", description="the commit of the repository")
    ] = ""
    executable: Annotated[tuple[Text, ...], Field(description="the paths of the executable files, sorted")] = ()
    fetched: Annotated[Text, Field(description="when, in UTC, such as `2026-11-22T22:40:00Z`")] = ""
    signer: Annotated[Text, Field(description="the fingerprint of the key that signed it, if any")] = ""
    principal: Annotated[Text, Field(description="the owner of that key")] = ""
    findings: Annotated[
        Mapping[Text, Text], Field(description="accepted rules of the audit, each with the digest it was accepted for")
    ] = field(default_factory=dict)
    installed_by: Annotated[Text, Field(description="the program and its version")] = ""

    @property
    def from_source(self) -> str:
        """The digest of the files as the source gave them."""
        return self.origin or self.digest

    @property
    def has_edits(self) -> bool:
        """Whether a person locked edits of the source's files."""
        return bool(self.origin) and self.digest not in self.renamed.values()


@dataclass(frozen=True, slots=True)
class LockedSkill:
    """One entry: the fields of `npx skills`, and `ours`, if SkillHub locked the skill. `kept` is the entry as read."""

    __pydantic_config__: ClassVar = ConfigDict(alias_generator=lambda name: OURS if name == "ours" else to_camel(name))

    name: str
    source: Annotated[Text, Field(description="`owner/repo`, a URL, or a path, relative to the lock or absolute")] = ""
    source_type: Annotated[Text, Field(description="`github`, `gitlab`, `git`, `local`, `well-known` and others")] = ""
    computed_hash: Annotated[Text, Field(description="the hash of `npx skills`; not written for non-ASCII names")] = ""
    source_url: Annotated[Text, Field(description="the URL, if `source` is not what is fetched")] = ""
    ref: Annotated[Text, Field(description="the branch, tag or commit that was asked for")] = ""
    skill_path: Annotated[Text, Field(description="the path of the SKILL.md in the source")] = ""
    well_known_digest: Annotated[Text, Field(description="the digest that the index of a site has for the skill")] = ""
    ours: LockedByHub | None = None
    kept: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


# In the order in which npx skills writes them.
NPX_FIELDS = ("source", "source_url", "ref", "source_type", "skill_path", "computed_hash", "well_known_digest")
_KEYS = frozenset({*map(to_camel, NPX_FIELDS), OURS})
_ENTRY: TypeAdapter[LockedSkill] = TypeAdapter(LockedSkill)


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock at `path`. `kept` is the file without its skills."""

    path: str
    skills: tuple[LockedSkill, ...] = ()
    kept: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def find(self, name: str) -> LockedSkill | None:
        """Return the entry of a skill, by the name of its directory."""
        return next((one for one in self.skills if one.name == name), None)

    def having(self, *skills: LockedSkill) -> Lock:
        """Return the lock with these entries, each instead of the one of its name."""
        kept = self.without({one.name for one in skills})
        return replace(kept, skills=(*kept.skills, *skills))

    def without(self, names: Collection[str]) -> Lock:
        """Return the lock without the entries of `names`."""
        return replace(self, skills=tuple(one for one in self.skills if one.name not in names))


def parse_lock(text: str, path: str) -> Lock:
    """Return the lock in a text. Raises LockUnreadable, also for a later version."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(_MARKERS):
            raise LockUnreadable(path, "it has the markers of a merge", line=number, hint="resolve the merge first")
    try:
        whole = read_json(text, pairs=unique_keys)
    except BadJson as error:
        raise LockUnreadable(path, str(error), line=error.line, hint=_FIX) from error
    if not isinstance(whole, dict) or not isinstance(whole.get("skills"), dict):
        raise LockUnreadable(path, "it has no object of skills", hint=_FIX)
    version = whole.get("version")
    if version is True or version != VERSION:
        hint = "update SkillHub" if isinstance(version, int) and version > VERSION else _FIX
        raise LockUnreadable(path, f"its version is {version!r}, and this SkillHub knows {VERSION}", hint=hint)
    skills: list[LockedSkill] = []
    for name, entry in whole.pop("skills").items():
        try:
            skills.append(_skill(name, entry))
        except ValueError as error:
            raise LockUnreadable(path, str(error), line=_line_of(text, name), hint=_FIX) from error
    return Lock(path, tuple(skills), kept=whole)


def lock_text(lock: Lock) -> str:
    """Return the text of a lock, as `npx skills` writes it."""
    skills = {one.name: _entry(one) for one in sorted(lock.skills, key=lambda one: one.name)}
    text = json.dumps({**lock.kept, "version": VERSION, "skills": skills}, indent=2, ensure_ascii=False) + "\n"
    # An unpaired surrogate becomes the escape that JSON has for it.
    return text.encode("utf-8", "backslashreplace").decode()


def _line_of(text: str, key: str) -> int | None:
    quoted = re.compile(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:")
    return next((at for at, line in reversed(list(enumerate(text.splitlines(), 1))) if quoted.search(line)), None)


def _skill(name: str, entry: Any) -> LockedSkill:
    if not isinstance(entry, dict):
        raise ValueError(f"{name!r} is not an object")  # noqa: TRY004 - as pydantic reports it
    known = {key: value for key, value in entry.items() if key in _KEYS and value is not None}
    try:
        return replace(_ENTRY.validate_python({**known, "name": name}), kept=entry)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{name!r} has an invalid {place!r}: {first['msg']}") from error


def _entry(skill: LockedSkill) -> dict[str, Any]:
    """Return an entry as it is written: the known fields as they are now, the others as they were, in their places."""
    now: dict[str, Any] = {to_camel(name): getattr(skill, name) for name in NPX_FIELDS}
    before = skill.kept.get(OURS)
    ours: dict[str, Any] = {}
    if skill.ours is not None:
        for key, value in asdict(skill.ours).items():
            ours[key] = sorted(value) if isinstance(value, tuple) else value
        ours = _merged(before if isinstance(before, dict) else {}, ours)
    return _merged(skill.kept, {**now, OURS: ours})


def _merged(kept: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return `kept` with the values of now, without the empty ones; what is new comes last."""
    there = {key: now.get(key, value) for key, value in kept.items() if now.get(key, value) or key not in now}
    return {**there, **{key: value for key, value in now.items() if value and key not in there}}


# The lock of 100,000 skills has about 60 MB.
MAX_BYTES = 128 * 1024 * 1024


def read_plain(path: str, *, follow: bool = False, max_bytes: int = MAX_BYTES) -> bytes | None:
    """Return the bytes of a regular file, None without one. Raises OSError, also above `max_bytes`."""
    try:
        descriptor = os.open(path, TO_PLAIN_FILE & ~NO_LINK if follow else TO_PLAIN_FILE)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise OSError(errno.EFBIG, f"it has more than {max_bytes:,} bytes", path)
        return content


def read_lock(path: str) -> Lock | None:
    """Return the lock at `path`, or None if there is none. Raises LockUnreadable."""
    try:
        content = read_plain(path, follow=True)
        return None if content is None else parse_lock(content.decode("utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise LockUnreadable(path, reason or type(error).__name__, hint="make it readable") from error


def lock_at(path: str) -> Lock:
    """Return the lock at `path`, or an empty one. Raises LockUnreadable."""
    return read_lock(path) or Lock(path)
