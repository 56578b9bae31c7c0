"""The digest of a skill's files: SHA-256 over `path NUL sha256(content) LF`, sorted by the paths' bytes.

It is ToolHive's `contentDigest`, so a skill has the same digest there and here. Every regular file counts,
dotfiles too; modes and times do not, and neither does what is irregular: a link, a FIFO, a socket, a device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The SHA-256 of a file, its size in bytes, and whether it is executable.

    A path that is not a regular file has only `irregular`: `-> ` with the target of a link, `FIFO`, `socket` or
    `device`.
    """

    sha256: str
    size: int
    executable: bool
    irregular: str = ""


def content_digest(files: Mapping[str, str]) -> str:
    """Return `sha256:` and 64 hexadecimal digits for the files of a skill: SHA-256 in hexadecimal by path with `/`."""
    whole = hashlib.sha256()
    for path, digest in sorted((path.encode("utf-8", "surrogateescape"), digest) for path, digest in files.items()):
        whole.update(path + b"\0" + digest.encode() + b"\n")
    return f"sha256:{whole.hexdigest()}"


def digest_of(files: Mapping[str, FileDigest]) -> str:
    """Return the content digest of files by path."""
    return content_digest({path: one.sha256 for path, one in files.items() if not one.irregular})


def regular_of(files: Mapping[str, FileDigest]) -> Mapping[str, FileDigest]:
    """Return the regular files: all that a source gives, and that a digest counts."""
    return {path: one for path, one in files.items() if not one.irregular}


def irregular_of(files: Mapping[str, FileDigest]) -> Mapping[str, str]:
    """Return what each path is that is no regular file."""
    return {path: one.irregular for path, one in files.items() if one.irregular}


def executables_of(files: Mapping[str, FileDigest]) -> tuple[str, ...]:
    """Return the paths of the files that may be run, sorted."""
    return tuple(sorted(path for path, one in files.items() if one.executable))
