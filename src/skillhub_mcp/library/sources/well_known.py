"""The index of a site's skills: Agent Skills Discovery, draft 0.2.0. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urljoin, urlsplit, urlunsplit

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.errors import IntegrityFailed, SourceUnreachable

WELL_KNOWN_PATH = "/.well-known/agent-skills/index.json"
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

MAX_NAME_CHARACTERS = 64
MAX_DESCRIPTION_CHARACTERS = 1_024

_SHOWN_CHARACTERS = 80
_MOST_TOLD = 20
_TELL_THE_SITE = "tell the site, or take its skills from their repository"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SCHEMAS = "https://schemas.agentskills.io/discovery/"


class ArtifactKind(str, Enum):
    """What an artifact is: a SKILL.md by itself, or an archive with a skill at its top."""

    SKILL_MD = "skill-md"
    ARCHIVE = "archive"


@dataclass(frozen=True, slots=True)
class SiteSkill:
    """One skill of an index. `url` is absolute; `digest` is `sha256:` and 64 hexadecimal digits of the artifact."""

    name: str
    kind: ArtifactKind
    description: str
    url: str
    digest: str


@dataclass(frozen=True, slots=True)
class WellKnownIndex:
    """The skills of one site, in its order; `skipped` says of what else it lists why that is no skill."""

    url: str
    entries: Sequence[SiteSkill]
    skipped: Sequence[str] = ()


def index_urls(url: str) -> Sequence[str]:
    """Return where the index of the site at `url` may be: below the path that was typed, then at the top."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if path.endswith(WELL_KNOWN_PATH):
        return (urlunsplit((parts.scheme, parts.netloc, path, "", "")),)
    above = path[: path.rindex("/.well-known")] if "/.well-known" in path else path
    tops = dict.fromkeys((above, ""))
    return tuple(urlunsplit((parts.scheme, parts.netloc, f"{top}{WELL_KNOWN_PATH}", "", "")) for top in tops)


def is_index(content: bytes) -> bool:
    """Whether `content` is an index, of whichever version."""
    try:
        found = read_json(content.decode("utf-8-sig"))
    except (BadJson, UnicodeDecodeError):
        return False
    return isinstance(found, dict) and str(found.get("$schema", "")).startswith(_SCHEMAS)


def parse_index(content: bytes, url: str) -> WellKnownIndex:
    """Return what the index at `url` says. An entry that is malformed is skipped, as the draft asks for.

    Raises SourceUnreachable for what is no index of this version, and for one that gives two skills one name.
    """
    try:
        found = read_json(content.decode("utf-8-sig"))
    except (BadJson, UnicodeDecodeError) as error:
        reason = error if isinstance(error, BadJson) else "it is not UTF-8"
        raise SourceUnreachable(url, f"is no index of skills: {reason}", hint=_TELL_THE_SITE) from error
    skills = found.get("skills") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(skills, list):
        raise SourceUnreachable(url, "is no index of skills: it has no list 'skills'", hint=_TELL_THE_SITE)
    schema = found.get("$schema")
    if schema != SCHEMA:
        version = f"names the schema {_shown(schema)}" if schema is not None else "is of draft 0.1.0, without digests"
        raise SourceUnreachable(url, f"{version}; what is read is draft 0.2.0", hint=_TELL_THE_SITE)
    entries: dict[str, SiteSkill] = {}
    skipped: list[str] = []
    for number, one in enumerate(skills, start=1):
        entry = _entry(one, url)
        if isinstance(entry, str):
            skipped.append(f"entry {number} {entry}, and is left out")
        elif entry.name in entries:
            reason = f"gives two skills the name {entry.name!r}, so it is not known which is meant"
            raise SourceUnreachable(url, reason, hint=_TELL_THE_SITE)
        else:
            entries[entry.name] = entry
    if len(skipped) > _MOST_TOLD:
        skipped[_MOST_TOLD:] = [f"{len(skipped) - _MOST_TOLD:,} more entries are malformed, and are left out"]
    return WellKnownIndex(url, tuple(entries.values()), tuple(skipped))


def check_digest(entry: SiteSkill, index_url: str, digest: str) -> None:
    """Return if the artifact that was fetched has the digest that the index promised. Raises IntegrityFailed."""
    if digest != entry.digest:
        raise IntegrityFailed(
            f"the skill {entry.name!r} of {index_url}",
            expected=entry.digest,
            found=digest,
            hint="it may just have changed: try again, and tell the site if that does not help",
        )


def index_text(entries: Sequence[SiteSkill]) -> str:
    """Return the index that lists `entries`, as JSON; their URLs may be relative to it."""
    skills = [
        {"name": one.name, "type": one.kind.value, "description": one.description, "url": one.url, "digest": one.digest}
        for one in entries
    ]
    return json.dumps({"$schema": SCHEMA, "skills": skills}, ensure_ascii=False, indent=1) + "\n"


def _entry(written: object, index_url: str) -> SiteSkill | str:
    """Return an entry of an index, or what is wrong with it."""
    if not isinstance(written, dict):
        return "is no object"
    problem = next(_problems(written), None)
    if problem is not None:
        return problem
    try:
        url = urljoin(index_url, written["url"])
        scheme = urlsplit(url).scheme
    except ValueError:
        return f"has the malformed URL {_shown(written['url'])}"
    if scheme not in ("https", "http"):
        return f"has a URL that is not fetched: {_shown(url)}"
    return SiteSkill(written["name"], ArtifactKind(written["type"]), written["description"], url, written["digest"])


def _problems(written: dict[str, object]) -> Iterator[str]:
    name, description = written.get("name"), written.get("description")
    if not isinstance(name, str) or len(name) > MAX_NAME_CHARACTERS or _NAME.fullmatch(name) is None:
        yield f"has no name of the specification's form: {_shown(name)}"
    if written.get("type") not in [kind.value for kind in ArtifactKind]:
        yield f"({_shown(name)}) is of a kind that is not known: {_shown(written.get('type'))}"
    if not isinstance(description, str) or not 0 < len(description) <= MAX_DESCRIPTION_CHARACTERS:
        yield f"({_shown(name)}) has no description of 1 to {MAX_DESCRIPTION_CHARACTERS:,} characters"
    if not isinstance(written.get("url"), str) or not written["url"]:
        yield f"({_shown(name)}) has no URL"
    digest = written.get("digest")
    if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
        yield f"({_shown(name)}) has no SHA-256: {_shown(digest)}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
