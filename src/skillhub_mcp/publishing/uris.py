"""By which URI does a host know a skill and its files? `skill://<source>/<directories>/<name>/<file>`; no I/O.

The source and the directories keep skills of one name apart, and stay the same whatever other skills come or go. A
second root of one source is `hub-2`; a skill that a link leads to lies somewhere else on each machine, and is told by a
hash of where. The last segment before the file is always the published name (SEP-2640, Resource Mapping).
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from urllib.parse import quote_from_bytes, unquote_to_bytes

from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.snapshot import Snapshot

SCHEME = "skill://"
TEMPLATE = "skill://{+path}"

MAX_NAME_CHARACTERS = 64
_PUBLISHABLE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OTHERS = re.compile(r"[^a-z0-9]+")
_TELLING_CHARACTERS = 12
# Six directories of a root, a skill's name and a file's path, each byte of them encoded, are less.
MAX_URI_CHARACTERS = 16_384

UriPath = tuple[str, ...]


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


def skill_paths(snapshot: Snapshot) -> dict[UriPath, Skill]:
    """Return every skill that has a name to be published under, by the segments of its URI, in their order.

    No path is the beginning of another one: a found skill ends the search below it, and each root is by itself.
    """
    labels = _labels(snapshot.report.roots)
    placed: dict[UriPath, Skill] = {}
    for skill in snapshot.everything:
        name = published_name(skill)
        if name is None:
            continue
        above = _directories(skill)
        if above is None:
            told = hashlib.sha256(os.fsencode(skill.directory)).hexdigest()[:_TELLING_CHARACTERS]
            path: UriPath = (f"{labels[skill.root]}-other", told, name)
        else:
            path = (labels[skill.root], *(above[:-1] if above and above[-1] == name else above), name)
        placed[path] = skill
    return dict(sorted(placed.items()))


def _labels(roots: Iterable[SkillRoot]) -> dict[str, str]:
    """Return what a root's skills have first in their URIs: its source, with a number from the second of one on."""
    labels: dict[str, str] = {}
    count: Counter[str] = Counter()
    for root in roots:
        source = root.source.value
        count[source] += 1
        labels[root.path] = source if count[source] == 1 else f"{source}-{count[source]}"
    return labels


def _directories(skill: Skill) -> UriPath | None:
    """Return the names that lead from its root to the skill; None where a link does, or one of them fits no URI."""
    if skill.directory == skill.root:
        return ()
    above = os.path.join(skill.root, "")
    if not skill.directory.startswith(above):
        return None
    names = tuple(skill.directory[len(above) :].split(os.sep))
    return names if all(map(_fits, names)) else None


def build_uri(path: Iterable[str]) -> str:
    """Return the URI of these segments: a skill's, a directory's or a file's. A directory's ends without a slash."""
    return SCHEME + "/".join(quote_from_bytes(os.fsencode(segment), safe="") for segment in path)


def parse_uri(uri: str) -> UriPath | None:
    """Return the segments of a URI, or None where it is none of ours, or longer than any of ours can be."""
    if not uri.startswith(SCHEME) or len(uri) > MAX_URI_CHARACTERS or "?" in uri or "#" in uri:
        return None
    try:
        segments = tuple(os.fsdecode(unquote_to_bytes(part)) for part in uri[len(SCHEME) :].split("/"))
    except UnicodeError:
        return None  # half of a character
    return segments if all(map(_fits, segments)) else None


def _fits(segment: str) -> bool:
    # Hosts take such names for something else than a name, encoded or not.
    return segment not in ("", ".", "..") and "/" not in segment and "\\" not in segment


def skill_file(path: UriPath) -> UriPath:
    """Return the segments of the SKILL.md of the skill at `path`."""
    return (*path, SKILL_FILE)
