"""The index of a site's skills: Agent Skills Discovery, draft 0.2.0. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Annotated
from urllib.parse import urljoin, urlsplit, urlunsplit

from pydantic import Field, TypeAdapter, ValidationError

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.errors import IntegrityFailed, SourceUnreachable
from skillhub_mcp.sanitize import shortened

WELL_KNOWN_PATH = "/.well-known/agent-skills/index.json"
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

MAX_NAME_CHARACTERS = 64
MAX_DESCRIPTION_CHARACTERS = 1_024

_SHOWN_CHARACTERS = 80
_MAX_REPORTED = 20
_REPORT = "report it to the site, or add its skills from their repository"
_SCHEMAS = "https://schemas.agentskills.io/discovery/"


class ArtifactKind(str, Enum):
    """What an artifact is: a SKILL.md by itself, or an archive with a skill at its top."""

    SKILL_MD = "skill-md"
    ARCHIVE = "archive"


@dataclass(frozen=True, slots=True)
class SiteSkill:
    """One skill of an index. `url` is absolute in an index that was read; `digest` is that of the artifact."""

    name: Annotated[str, Field(pattern="^[a-z0-9]+(-[a-z0-9]+)*$", max_length=MAX_NAME_CHARACTERS)]
    type: ArtifactKind
    description: Annotated[str, Field(min_length=1, max_length=MAX_DESCRIPTION_CHARACTERS)]
    url: Annotated[str, Field(min_length=1)]
    digest: Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]


_ENTRY: TypeAdapter[SiteSkill] = TypeAdapter(SiteSkill)


@dataclass(frozen=True, slots=True)
class WellKnownIndex:
    """The skills of one site, in its order, and why entries were skipped."""

    url: str
    entries: Sequence[SiteSkill]
    skipped: Sequence[str] = ()


def index_urls(url: str) -> Sequence[str]:
    """Return where the index of the site at `url` may be: below the path that was typed, then at the top."""
    parts = urlsplit(url)
    above = parts.path.rstrip("/").partition("/.well-known")[0]
    return tuple(
        urlunsplit((parts.scheme, parts.netloc, f"{top}{WELL_KNOWN_PATH}", "", ""))
        for top in dict.fromkeys((above, ""))
    )


def is_index(content: bytes) -> bool:
    """Whether `content` is an index, of whichever version."""
    try:
        found = _read(content)
    except BadJson:
        return False
    return isinstance(found, dict) and str(found.get("$schema", "")).startswith(_SCHEMAS)


def parse_index(content: bytes, url: str) -> WellKnownIndex:
    """Return the index at `url`, without malformed entries. Raises SourceUnreachable."""
    try:
        found = _read(content)
    except BadJson as error:
        raise SourceUnreachable(url, f"is not an index of skills: {error}", hint=_REPORT) from error
    skills = found.get("skills") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(skills, list):
        raise SourceUnreachable(url, "is not an index of skills: it has no list 'skills'", hint=_REPORT)
    schema = found.get("$schema")
    if schema != SCHEMA:
        version = f"has the schema {_shown(schema)}" if schema is not None else "is of draft 0.1.0, without digests"
        raise SourceUnreachable(url, f"{version}; SkillHub reads draft 0.2.0", hint=_REPORT)
    entries: dict[str, SiteSkill] = {}
    skipped: list[str] = []
    for number, written in enumerate(skills, start=1):
        entry = _entry(written, url)
        if isinstance(entry, str):
            skipped.append(f"skipped entry {number}: {entry}")
        elif entry.name in entries:
            raise SourceUnreachable(url, f"gives two skills the name {entry.name!r}", hint=_REPORT)
        else:
            entries[entry.name] = entry
    if len(skipped) > _MAX_REPORTED:
        skipped[_MAX_REPORTED:] = [f"skipped {len(skipped) - _MAX_REPORTED:,} more malformed entries"]
    return WellKnownIndex(url, tuple(entries.values()), tuple(skipped))


def check_digest(entry: SiteSkill, index_url: str, digest: str) -> None:
    """Raise IntegrityFailed unless the artifact has the digest that the index gives."""
    if digest != entry.digest:
        hint = "it may just have changed: try again, and report it to the site if that does not help"
        subject = f"the skill {entry.name!r} of {index_url}"
        raise IntegrityFailed(subject, expected=entry.digest, found=digest, hint=hint)


def index_text(entries: Sequence[SiteSkill]) -> str:
    """Return the index that lists `entries`, as JSON; their URLs may be relative to it."""
    index = {"$schema": SCHEMA, "skills": list(map(asdict, entries))}
    return json.dumps(index, ensure_ascii=False, indent=1) + "\n"


def _read(content: bytes) -> object:
    try:
        return read_json(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadJson("it is not UTF-8") from error


def _entry(written: object, index_url: str) -> SiteSkill | str:
    """Return an entry of an index, or what is wrong with it."""
    try:
        entry = _ENTRY.validate_python(written)
        url = urljoin(index_url, entry.url)
        scheme = urlsplit(url).scheme
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))} {_shown(first['input'])}: {first['msg']}"
    except ValueError:
        return f"malformed URL {_shown(entry.url)}"
    return replace(entry, url=url) if scheme in ("https", "http") else f"URL {_shown(url)} is neither https nor http"


def _shown(value: object) -> str:
    return shortened(repr(value), _SHOWN_CHARACTERS)
