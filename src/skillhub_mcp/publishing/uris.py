"""URIs of skills and their files: `skill://<source>/<directories>/<name>/<file>`. No I/O.

The source and the directories distinguish skills of the same name, and do not depend on which other skills exist. A
second root of a source is `hub-2`. A symlinked skill lies in a different directory on each machine; its URI has a hash
of its path. The last segment before the file is always the published name (SEP-2640, Resource Mapping).
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
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_HASH_CHARACTERS = 12
# More than six directories, a skill's name and a file's path with every byte percent-encoded.
MAX_URI_CHARACTERS = 16_384

UriPath = tuple[str, ...]


def published_name(skill: Skill) -> str | None:
    """Return the name under which a skill is published: its own, or else its form in a-z, 0-9 and hyphens.

    A name with letters of another script has no such form; then the directory's name is used. None if that has none
    either, and for a skill that awaits trust under a name of another form.
    """
    if is_publishable(skill.name):
        return skill.name
    if skill.awaits_trust:
        # The adapted name may be that of a skill of the user's: `Deploy` must not become `deploy`.
        return None
    return _in_ascii(skill.name) or _in_ascii(os.path.basename(skill.directory))


def is_publishable(name: str) -> bool:
    """Whether every host accepts `name`: it has the specification's form and uses only a-z, 0-9 and hyphens."""
    return len(name) <= MAX_NAME_CHARACTERS and _PUBLISHABLE.fullmatch(name) is not None


def _in_ascii(name: str) -> str | None:
    bare = "".join(c for c in unicodedata.normalize("NFKD", name).lower() if not unicodedata.combining(c))
    if any(c.isalnum() and not c.isascii() for c in bare):
        return None
    return _SEPARATORS.sub("-", bare).strip("-")[:MAX_NAME_CHARACTERS].rstrip("-") or None


def skill_paths(snapshot: Snapshot) -> dict[UriPath, Skill]:
    """Return every skill that has a published name, by the segments of its URI, sorted.

    No path is a prefix of another: discovery does not search below a skill, and each root has its own label.
    """
    paths = UriPaths(snapshot.report.roots)
    skills = {path: skill for skill in snapshot.everything if (path := paths.of(skill)) is not None}
    return {path: skills[path] for path in sorted(skills)}


class UriPaths:
    """The segments of the URIs of skills below some roots."""

    def __init__(self, roots: Iterable[SkillRoot]) -> None:
        self._labels = _labels(roots)

    def of(self, skill: Skill) -> UriPath | None:
        """Return the segments of a skill's URI, None where it has no published name."""
        name = published_name(skill)
        if name is None:
            return None
        directories = _directories(skill)
        if directories is None:
            digest = hashlib.sha256(os.fsencode(skill.directory)).hexdigest()[:_HASH_CHARACTERS]
            return (f"{self._labels[skill.root]}-other", digest, name)
        parents = directories[:-1] if directories and directories[-1] == name else directories
        return (self._labels[skill.root], *parents, name)


def _labels(roots: Iterable[SkillRoot]) -> dict[str, str]:
    """Return the first URI segment for each root: its source, with a number from the second root of a source on."""
    labels: dict[str, str] = {}
    count: Counter[str] = Counter()
    for root in roots:
        source = root.source.value
        count[source] += 1
        labels[root.path] = source if count[source] == 1 else f"{source}-{count[source]}"
    return labels


def _directories(skill: Skill) -> UriPath | None:
    """Return the directories from its root to the skill; None for a symlinked skill or a name invalid in a URI."""
    if skill.directory == skill.root:
        return ()
    prefix = os.path.join(skill.root, "")
    if not skill.directory.startswith(prefix):
        return None
    names = tuple(skill.directory[len(prefix) :].split(os.sep))
    return names if all(map(_is_valid_segment, names)) else None


def build_uri(path: Iterable[str]) -> str:
    """Return the URI with these segments, of a skill, a directory or a file. It never ends with a slash."""
    return SCHEME + "/".join(quote_from_bytes(os.fsencode(segment), safe="") for segment in path)


def parse_uri(uri: str) -> UriPath | None:
    """Return the segments of a URI, or None if it is not a valid `skill://` URI or is too long to be one of ours."""
    if not uri.startswith(SCHEME) or len(uri) > MAX_URI_CHARACTERS or "?" in uri or "#" in uri:
        return None
    try:
        segments = tuple(os.fsdecode(unquote_to_bytes(part)) for part in uri[len(SCHEME) :].split("/"))
    except UnicodeError:
        return None  # a percent-encoded lone surrogate
    return segments if all(map(_is_valid_segment, segments)) else None


def _is_valid_segment(segment: str) -> bool:
    # Hosts treat such segments as path syntax, even if they are percent-encoded.
    return segment not in ("", ".", "..") and "/" not in segment and "\\" not in segment


def skill_file(path: UriPath) -> UriPath:
    """Return the segments of the SKILL.md of the skill at `path`."""
    return (*path, SKILL_FILE)
