"""Where a publication may lie: a directory, or a bucket; and what is in the way there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.roots import is_at_or_below
from skillhub_mcp.store.objects import BucketObjects, DirectoryObjects, Objects

BUCKET_SCHEMES = ("s3", "gs", "az")
FILES, SKILLS, PUBLICATIONS = "files", "skills", "publications"
# What a publication of an earlier SkillHub has.
OLD_POINTER = "publication.json"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_OWN_NAMES = frozenset(f"{table}.lance" for table in (FILES, SKILLS, PUBLICATIONS))
_NAMED = 3
_WHERE = "a directory, or a bucket as s3://, gs:// or az://"
# A storage that does not answer fails within a minute.
_PATIENCE = {"connect_timeout": "5s", "timeout": "30s", "client_max_retries": "2", "client_retry_timeout": "40"}


@dataclass(frozen=True)
class Target:
    """A place of a publication: its path or URL, which has no secrets, how LanceDB reaches it, and its objects."""

    name: str
    options: Mapping[str, str] = field(repr=False)
    objects: Objects


def is_bucket(target: str) -> bool:
    """Whether a target is the URL of a bucket."""
    found = _SCHEME.match(target)
    return found is not None and found[1].lower() in BUCKET_SCHEMES


def open_target(target: str, options: Mapping[str, str]) -> Target:
    """Return the place that `target` names; nothing is read or written yet. `options` are for a bucket.

    Raises InvalidArgument for a target that is neither, StorageNotInstalled, and InvalidSetting for `options`.
    """
    if is_bucket(target):
        parts = urlsplit(target)
        if parts.username or parts.password or parts.query or parts.fragment:
            hint = "credentials belong in SKILLHUB_STORAGE_OPTIONS or the environment"
            raise InvalidArgument("TARGET", "has more than a bucket and a prefix, as s3://bucket/prefix", hint=hint)
        if not parts.hostname:
            raise InvalidArgument("TARGET", "names no bucket", hint="name one, as s3://bucket or s3://bucket/prefix")
        if not {".", ".."}.isdisjoint(unquote(parts.path).split("/")):
            # The storage's library follows them: what is written would lie elsewhere than what is told.
            raise InvalidArgument("TARGET", "has a prefix with . or .. in it", hint="name the prefix that is meant")
        url = target.rstrip("/")
        return Target(url, {**_PATIENCE, **options}, BucketObjects(url, options))
    found = _SCHEME.match(target)
    if found is not None or not target:
        kind = f"of {found[1]}://" if found else "without a name"
        raise InvalidArgument("TARGET", f"{kind} is none that can be published to", hint=f"name {_WHERE}")
    path = os.path.abspath(expand_home(target))
    return Target(path, {}, DirectoryObjects(path))


def file_in_place(target: str) -> str:
    """Return what is there and no directory where a target on this machine is to be one, or above it; else nothing."""
    place = "" if is_bucket(target) else os.path.abspath(expand_home(target))
    while place and not os.path.lexists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    return "" if not place or os.path.isdir(place) else place


def foreign_names(target: str) -> tuple[str, ...]:
    """Return some names in a directory that has things of somebody else's and no publication; else nothing."""
    if is_bucket(target):
        return ()
    try:
        names = set(os.listdir(expand_home(target)))
    except OSError:
        # There is none yet, or writing says what is wrong with it.
        return ()
    is_publication = bool(names & {OLD_POINTER, f"{PUBLICATIONS}.lance"})
    return () if is_publication else tuple(sorted(names - _OWN_NAMES)[:_NAMED])


def lies_in(target: str, directory: str) -> bool:
    """Whether files of a publication at a target on this machine come to lie in a directory, whatever links lead there.

    Also where the directory is in one of the publication's own.
    """
    if is_bucket(target):
        return False
    place, directory = os.path.realpath(expand_home(target)), os.path.realpath(directory)
    own = (os.path.join(place, name) for name in _OWN_NAMES)
    return is_at_or_below(place, directory) or any(is_at_or_below(directory, one) for one in own)


def skills_around(target: str) -> tuple[str, ...]:
    """Return the directories with a SKILL.md that a target on this machine is, or lies in, with no links in them."""
    found: list[str] = []
    place, above = "", "" if is_bucket(target) else os.path.realpath(expand_home(target))
    while above != place:
        place, above = above, os.path.dirname(above)
        found += [place] if os.path.isfile(os.path.join(place, SKILL_FILE)) else []
    return tuple(found)
