"""By which URI does a host know a skill and its files? `skill://<source>/<directories>/<name>/<file>`; no I/O.

The source and the directories keep skills of one name apart, and stay the same when another skill of that name comes
or goes. The last segment before the file is always the published name (SEP-2640, Resource Mapping).
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote_from_bytes, unquote_to_bytes

from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.snapshot import Snapshot

SCHEME = "skill://"
TEMPLATE = "skill://{+path}"

MAX_NAME_CHARACTERS = 64
_PUBLISHABLE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OTHERS = re.compile(r"[^a-z0-9]+")
_TELLING_CHARACTERS = 8

Path = tuple[str, ...]


def published_name(skill: Skill) -> str | None:
    """Return the name that a skill is published under: its own, else what it comes to in a-z, 0-9 and hyphens.

    A name with letters of another script would lose its meaning so; then the directory's name is taken, if that is one.
    None where neither will do.
    """
    if is_publishable(skill.name):
        return skill.name
    return _in_ascii(skill.name) or _in_ascii(os.path.basename(skill.directory))


def is_publishable(name: str) -> bool:
    """Whether every host takes `name`: the specification's form, in a-z and 0-9."""
    return len(name) <= MAX_NAME_CHARACTERS and _PUBLISHABLE.fullmatch(name) is not None


def _in_ascii(name: str) -> str | None:
    bare = "".join(c for c in unicodedata.normalize("NFKD", name).lower() if not unicodedata.combining(c))
    if any(c.isalnum() and not c.isascii() for c in bare):
        return None
    return _OTHERS.sub("-", bare).strip("-")[:MAX_NAME_CHARACTERS].rstrip("-") or None


def skill_paths(snapshot: Snapshot) -> dict[Path, Skill]:
    """Return every skill that has a name to be published under, by the segments of its URI, in their order."""
    priority = {root.path: root.priority for root in snapshot.report.roots}
    placed: dict[Path, Skill] = {}
    for skill in sorted(snapshot.everything, key=lambda one: (priority[one.root], one.directory)):
        name = published_name(skill)
        if name is None:
            continue
        source, above = snapshot.source(skill).value, _directories(skill)
        above = above[:-1] if above and above[-1] == name else above
        path = (source, *above, name)
        if path in placed:
            # Two roots of one source hold the same directory: what tells them apart is where they lie.
            telling = hashlib.sha256(os.fsencode(skill.directory)).hexdigest()[:_TELLING_CHARACTERS]
            path = (source, telling, *above, name)
        placed[path] = skill
    return dict(sorted(placed.items()))


def _directories(skill: Skill) -> Path:
    above = os.path.join(skill.root, "")
    if skill.directory == skill.root:
        return ()
    # A skill that a link leads to lies elsewhere; its own directory's name is all that is known of it everywhere.
    inside = skill.directory.startswith(above)
    place = skill.directory[len(above) :] if inside else os.path.basename(skill.directory)
    return tuple(place.split(os.sep))


def uri_of(path: Iterable[str]) -> str:
    """Return the URI of these segments: a skill's, a directory's or a file's. A directory's ends without a slash."""
    return SCHEME + "/".join(quote_from_bytes(os.fsencode(segment), safe="") for segment in path)


def segments_of(uri: str) -> Path | None:
    """Return the segments of a URI, or None where it is none of ours: another scheme, an empty or a dotted segment."""
    if not uri.startswith(SCHEME) or "?" in uri or "#" in uri:
        return None
    segments = tuple(os.fsdecode(unquote_to_bytes(part)) for part in uri[len(SCHEME) :].split("/"))
    if any(segment in ("", ".", "..") or "/" in segment or "\\" in segment for segment in segments):
        return None
    return segments


def skill_file(path: Path) -> Path:
    """Return the segments of the SKILL.md of the skill at `path`."""
    return (*path, SKILL_FILE)
