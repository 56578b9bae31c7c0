"""Who else may write a file, and making files private. A set-group-ID directory is shared on purpose."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from shlex import quote

from skillhub_mcp.environment import expand_home

_HAS_MODES = os.name == "posix"
_SYSTEM = 0


@dataclass(frozen=True, slots=True)
class Exposure:
    """The file or directory (`path`) through which others reach a file, the reason without paths, and the fix."""

    path: str
    reason: str
    fix: str


def private_mode(directory: str) -> int | None:
    """Return the mode of a new private file in a directory; None, as the umask says, if its group shares it."""
    return None if _is_shared(directory) else 0o600


def make_private_directory(path: str) -> None:
    """Make a directory and its missing parents, private whatever the umask. Raises OSError."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_private_directory(parent)
    try:
        os.mkdir(path, mode=0o770 if _is_shared(parent or ".") else 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None


def missing_feature(directory: str) -> str:
    """Return what the file system of a directory lacks that an index needs, or an empty text."""
    from filelock import FileLock

    step = ""
    try:
        with tempfile.TemporaryDirectory(dir=directory, prefix=".skillhub-") as place:
            path, step = os.path.join(place, "file"), "file locks"
            with FileLock(path, timeout=1):
                step = "hard links"
                os.link(path, f"{path}.link")
                step = "file modes (chmod)"
                os.chmod(path, 0o600)
    except (OSError, NotImplementedError):
        return step
    return ""


def _is_shared(directory: str) -> bool:
    try:
        return _HAS_MODES and bool(os.stat(directory or ".").st_mode & stat.S_ISGID)
    except OSError:
        return False


def changeable_by_others(path: str) -> Exposure | None:
    """Return what lets others write or replace a file, judged as ssh judges its own files."""
    if not _HAS_MODES:
        return None
    try:
        status = os.stat(path)
        # What is no file, such as /dev/null or a pipe, keeps nothing that could be changed.
        if not stat.S_ISREG(status.st_mode):
            return None
        real = os.path.realpath(path)
        if not _is_trusted(status):
            reason = f"it belongs to another user (uid {status.st_uid})"
            return Exposure(real, reason, f"run chown {os.geteuid()} {quote(real)}")
        if _others_may_write(status, stat.S_IWGRP):
            mode = stat.S_IMODE(status.st_mode)
            return Exposure(real, f"others may write it (mode {mode:04o})", f"run chmod go-w {quote(real)}")
        return replaceable_by_others(path)
    except OSError:
        # What has no readable status cannot be opened either.
        return None


def replaceable_by_others(path: str) -> Exposure | None:
    """Return the directory in which others could put another file at `path`, or None. Raises OSError."""
    if not _HAS_MODES:
        return None
    for directory in dict.fromkeys((*_above(os.path.abspath(path)), *_above(os.path.realpath(path)))):
        found = _exposed_directory(directory) if os.path.lexists(directory) else None
        if found is not None:
            return found
    return None


def _exposed_directory(directory: str) -> Exposure | None:
    status = os.stat(directory)
    if not _is_trusted(status):
        reason = f"a directory that it is in belongs to another user (uid {status.st_uid})"
        return Exposure(directory, reason, "move it to a directory of your own")
    # In a directory with the sticky bit, as /tmp, users replace only their own files. Which groups may write to
    # the system's directories, as to /var/log, is the system's decision.
    group = 0 if status.st_uid == _SYSTEM else stat.S_IWGRP
    if status.st_mode & stat.S_ISVTX or not _others_may_write(status, group):
        return None
    reason = f"others may write to a directory that it is in (mode {stat.S_IMODE(status.st_mode):04o})"
    return Exposure(directory, reason, f"run chmod go-w {quote(directory)}")


def _above(path: str) -> Iterator[str]:
    """Yield the directories that a path is in, up to the home directory."""
    homes = (os.path.abspath(expand_home("~")), os.path.realpath(expand_home("~")))
    while path != os.path.dirname(path) and path not in homes:
        path = os.path.dirname(path)
        yield path


def _is_trusted(status: os.stat_result) -> bool:
    user = os.geteuid()
    # Who became root is trusted by root: theirs is the home directory that `sudo` may leave as it is.
    before = os.environ.get("SUDO_UID", "") if user == _SYSTEM else ""
    return status.st_uid in (_SYSTEM, user) or str(status.st_uid) == before or in_container()


def _others_may_write(status: os.stat_result, of_group: int) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & of_group) and not (in_container() or _is_own_group(status))


def _is_own_group(status: os.stat_result) -> bool:
    """Whether a file's group is its owner's alone, as many systems set it up."""
    import grp
    import pwd

    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return owner.pw_gid == group.gr_gid and owner.pw_name == group.gr_name and set(group.gr_mem) <= {owner.pw_name}


@cache
def in_container() -> bool:
    """Whether this process runs in a container, whose users and groups are its own."""
    return "KUBERNETES_SERVICE_HOST" in os.environ or any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv")))
