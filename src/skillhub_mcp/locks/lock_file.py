"""The lock of a library, `skills-lock.json`: which skills came from where, and what their files were. Pure.

The file is shared with `npx skills`: it writes the fields of each entry, SkillHub adds the object `skillhub` to it, and
each keeps what the other wrote. An entry is written back with every field that nobody here knows, in its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.errors import LockUnreadable

LOCK_NAME = "skills-lock.json"
VERSION = 1
OURS = "skillhub"

_FIX = "correct it, or take it from the repository's history; SkillHub leaves it as it is"
_NEWER = "update SkillHub, or change the lock with the program that wrote it"
_MARKERS = ("<<<<<<< ", "=======", ">>>>>>> ")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# Files whose source nobody knows are not those of any.
UNKNOWN_ORIGIN = "unknown"
_ORIGIN = re.compile(rf"(?:sha256:[0-9a-f]{{64}}|{UNKNOWN_ORIGIN})")
_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_SURROGATE = re.compile("[\ud800-\udfff]")
# JavaScript puts the names that are whole numbers first, in the order of the numbers.
_NUMBER = re.compile(r"0|[1-9]\d{0,9}")
_LARGEST_NUMBER = 2**32 - 2


@dataclass(frozen=True, slots=True)
class LockedByHub:
    """What SkillHub adds to an entry.

    `digest` is that of all files, `sha256:` and 64 hexadecimal digits. `origin` is the same of the files that the
    source gave, where a person locked edits of them, and empty elsewhere; `UNKNOWN_ORIGIN` where nothing says what it
    gave. `renamed` is the skill's name in its source, with the digest of the source's files under the name here, for a
    skill that was installed with `--name`. `commit` and `tree` are git's ids of the source's, empty where there is
    none. `executable` are the paths of the files that may be run, sorted. `irregular` are the paths that are no regular
    file, which the digest does not count, each with what it is, as `FileDigest` says it: without them, the skill has
    none. `fetched` is a time in UTC, as `2026-11-22T22:40:00Z`. `signer` is the fingerprint of a key and `principal`
    whose it is, empty where nobody signed. `findings` are the rules of the audit that a person accepted, each with the
    digest for which they did. `installed_by` names the program with its version.
    """

    digest: str
    origin: str = ""
    renamed: tuple[tuple[str, str], ...] = ()
    commit: str = ""
    tree: str = ""
    executable: tuple[str, ...] = ()
    irregular: tuple[tuple[str, str], ...] = ()
    fetched: str = ""
    signer: str = ""
    principal: str = ""
    findings: tuple[tuple[str, str], ...] = ()
    installed_by: str = ""

    @property
    def from_source(self) -> str:
        """The digest of the files as the source gave them."""
        return self.origin or self.digest

    @property
    def has_edits(self) -> bool:
        """Whether a person locked edits: the files are not those that the source gave, whatever the skill's name."""
        return bool(self.origin) and self.digest not in dict(self.renamed).values()


@dataclass(frozen=True, slots=True)
class LockedSkill:
    """One entry: the fields of `npx skills`, empty where there is none, and `ours`, if SkillHub locked the skill.

    `kept` is the entry as it was read, as JSON: its other fields are written back from there, and all in their places.
    It is empty where there are no others, and these are in the order in which we write them.
    """

    name: str
    source: str
    source_type: str
    computed_hash: str = ""
    source_url: str = ""
    ref: str = ""
    skill_path: str = ""
    well_known_digest: str = ""
    ours: LockedByHub | None = None
    kept: str = field(default="{}", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock at `path`, of a `version`. One of another version than `VERSION` is read, and never written.

    `kept` is the file as it was read, as JSON, without the skills.
    """

    path: str
    version: int = VERSION
    skills: tuple[LockedSkill, ...] = ()
    kept: str = field(default="{}", compare=False, repr=False)

    def find(self, name: str) -> LockedSkill | None:
        """Return the entry of a skill, by the name of its directory."""
        return next((one for one in self.skills if one.name == name), None)

    def having(self, *skills: LockedSkill) -> Lock:
        """Return the lock with these entries, each instead of the one of its name."""
        names = {one.name for one in skills}
        return replace(self, skills=(*(one for one in self.skills if one.name not in names), *skills))

    def without(self, names: Collection[str]) -> Lock:
        """Return the lock without the entries of `names`."""
        return replace(self, skills=tuple(one for one in self.skills if one.name not in names))


# The fields of `npx skills` in the order in which it writes them, and ours of the object `skillhub`.
NPX_FIELDS: Mapping[str, str] = {
    "source": "source",
    "source_url": "sourceUrl",
    "ref": "ref",
    "source_type": "sourceType",
    "skill_path": "skillPath",
    "computed_hash": "computedHash",
    "well_known_digest": "wellKnownDigest",
}
HUB_FIELDS = (
    "digest", "origin", "renamed", "commit", "tree", "executable", "irregular", "fetched", "signer", "principal",
    "findings", "installed_by",
)  # fmt: skip
_FIELDS = (*NPX_FIELDS.values(), OURS)


def parse_lock(text: str, path: str) -> Lock:
    """Return the lock that a text says; `path` is where it lies, for errors.

    Raises LockUnreadable, with the line where it is known: for JSON that is torn, markers of a merge, a skill that is
    named twice, and a field that is not of its kind. Of a newer version, what can be understood is returned.
    """
    # Of a large lock not each line is looked at for what it does not have.
    lines = text.splitlines() if any(one in text for one in _MARKERS) else ()
    for number, line in enumerate(lines, 1):
        if line.startswith(_MARKERS):
            reason = "it has the markers of a merge"
            raise LockUnreadable(path, reason, line=number, hint="settle the merge, then retry")
    try:
        whole = read_json(text, pairs=_unique)
    except _NamedTwiceError as error:
        raise LockUnreadable(path, str(error), line=_line_of(text, error.key), hint=_FIX) from error
    except BadJson as error:
        raise LockUnreadable(path, str(error), line=error.line, hint=_FIX) from error
    if not isinstance(whole, dict) or not isinstance(whole.get("skills"), dict):
        raise LockUnreadable(path, "it has no object of skills", hint=_FIX)
    version = whole.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < VERSION:
        raise LockUnreadable(path, f"its version is {version!r}, and SkillHub knows {VERSION}", hint=_FIX)
    skills: list[LockedSkill] = []
    for name, entry in whole.pop("skills").items():
        try:
            skills.append(_skill(name, entry))
        except _NotOfItsKindError as error:
            if version == VERSION:
                raise LockUnreadable(path, str(error), line=_line_of(text, name), hint=_FIX) from error
    return Lock(path, version, tuple(skills), kept=json.dumps(whole))


def lock_text(lock: Lock) -> str:
    """Return the text of a lock, as `npx skills` writes it. Raises LockUnreadable for a version that is not ours."""
    if lock.version != VERSION:
        reason = f"it has the version {lock.version}, and this SkillHub writes {VERSION}"
        raise LockUnreadable(lock.path, reason, hint=_NEWER)
    whole = {**json.loads(lock.kept), "version": lock.version}
    whole["skills"] = {one.name: _entry(one) for one in sorted(lock.skills, key=_place)}
    try:
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    except RecursionError as error:
        raise LockUnreadable(lock.path, "it is nested too deeply", hint=_FIX) from error
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


class _NamedTwiceError(ValueError):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"it names {key!r} twice")
        self.key = key


class _NotOfItsKindError(ValueError):
    """A field of an entry is not what it has to be."""


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _NamedTwiceError(key)
        found[key] = value
    return found


def _line_of(text: str, key: str) -> int | None:
    """Return the last line that has `key` as a key: the second of two, or the entry of that name."""
    quoted = re.compile(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:")
    return next((at for at, line in reversed(list(enumerate(text.splitlines(), 1))) if quoted.search(line)), None)


def _skill(name: str, entry: Any) -> LockedSkill:
    if not isinstance(entry, dict):
        _refuse(name, "", "an object")
    npx = _texts(name, NPX_FIELDS, entry)
    ours = _by_hub(name, entry.get(OURS))
    # Nearly always: the text of ten thousand entries takes as long as reading them.
    is_usual = _in_order(entry, _FIELDS) and _in_order(entry.get(OURS) or {}, HUB_FIELDS)
    return LockedSkill(name, **npx, ours=ours, kept="{}" if is_usual else json.dumps(entry))


def _in_order(found: Mapping[str, Any], fields: Sequence[str]) -> bool:
    """Whether an object has no other fields than these, and has them in their order, in which they are written."""
    return list(found) == [key for key in fields if key in found]


def _by_hub(name: str, found: Any) -> LockedByHub | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        _refuse(name, OURS, "an object")
    texts = _texts(name, _HUB_TEXTS, found, within=f"{OURS}.")
    if not _DIGEST.fullmatch(texts["digest"]):
        _refuse(name, f"{OURS}.digest", "'sha256:' and 64 hexadecimal digits")
    if texts["origin"] and not _ORIGIN.fullmatch(texts["origin"]):
        _refuse(name, f"{OURS}.origin", f"'sha256:' and 64 hexadecimal digits, or {UNKNOWN_ORIGIN!r}")
    if texts["commit"] and not _COMMIT.fullmatch(texts["commit"]):
        _refuse(name, f"{OURS}.commit", "a commit's 40 or 64 hexadecimal digits")
    executable = found.get("executable") or []
    if not isinstance(executable, list) or not all(isinstance(one, str) for one in executable):
        _refuse(name, f"{OURS}.executable", "a list of texts")
    return LockedByHub(
        **texts,
        renamed=_pairs(name, "renamed", found.get("renamed") or {}),
        executable=tuple(executable),
        irregular=_pairs(name, "irregular", found.get("irregular") or {}),
        findings=_pairs(name, "findings", found.get("findings") or {}),
    )


_OBJECTS = ("renamed", "irregular", "findings")
_LISTS = ("executable", *_OBJECTS)
_HUB_TEXTS = {key: key for key in HUB_FIELDS if key not in _LISTS}


def _pairs(name: str, key: str, value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or (value and not all(isinstance(one, str) for one in value.values())):
        _refuse(name, f"{OURS}.{key}", "an object of texts")
    return tuple(value.items())


def _texts(name: str, fields: Mapping[str, str], found: Mapping[str, Any], *, within: str = "") -> dict[str, str]:
    """Return the texts of `fields`, by our names; empty where there is none."""
    texts = {ours: "" if (value := found.get(theirs)) is None else value for ours, theirs in fields.items()}
    # Of a large lock this is asked twenty thousand times: all of an entry at once are nearly always texts.
    if set(map(type, texts.values())) != {str}:
        key = next(theirs for ours, theirs in fields.items() if not isinstance(texts[ours], str))
        _refuse(name, f"{within}{key}", "a text")
    return texts


def _refuse(name: str, key: str, wanted: str) -> NoReturn:
    raise _NotOfItsKindError(f"{name!r} has {key!r} which is not {wanted}" if key else f"{name!r} is not {wanted}")


def _entry(skill: LockedSkill) -> dict[str, Any]:
    """Return an entry: the known fields as they are now, the others as they were, in the places that they had."""
    now: dict[str, Any] = {theirs: getattr(skill, ours) for ours, theirs in NPX_FIELDS.items()}
    kept: dict[str, Any] = json.loads(skill.kept)
    if skill.ours is not None:
        before = kept.get(OURS)
        now[OURS] = _merged(before if isinstance(before, dict) else {}, _hub_entry(skill.ours))
    else:
        now[OURS] = ""
    return _merged(kept, now)


def _hub_entry(ours: LockedByHub) -> dict[str, Any]:
    entry: dict[str, Any] = {key: getattr(ours, key) for key in HUB_FIELDS}
    return {**entry, "executable": sorted(ours.executable)} | {key: dict(sorted(entry[key])) for key in _OBJECTS}


def _merged(kept: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return `kept` with the values of now, without those that are empty now; what is new comes behind."""
    there = {key: now.get(key, value) for key, value in kept.items() if now.get(key, value) or key not in now}
    return {**there, **{key: value for key, value in now.items() if value and key not in there}}


def _place(skill: LockedSkill) -> tuple[int, int, bytes]:
    name = skill.name
    if _NUMBER.fullmatch(name) and int(name) <= _LARGEST_NUMBER:
        return 0, int(name), b""
    return 1, 0, name.encode("utf-16-be", "surrogatepass")
