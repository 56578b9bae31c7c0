"""What a person is told where a skills directory cannot be written."""

from __future__ import annotations

import errno

from skillhub_mcp.errors import LibraryUnwritable

_MENDS = {
    errno.ENOSPC: "free space on its disk, then run the command again",
    errno.EDQUOT: "free space on its disk, then run the command again",
    errno.EFBIG: "raise the limit of this process, then run the command again",
    errno.EROFS: "choose a directory that can be written, with SKILLS_DIR, --project or --user",
    errno.EACCES: "grant access, or choose another directory with SKILLS_DIR, --project or --user",
    errno.EPERM: "grant access, or choose another directory with SKILLS_DIR, --project or --user",
    errno.EXDEV: "what is mounted in a skills directory cannot be exchanged: unmount it, or move it away yourself",
    errno.EBUSY: "what is mounted or in use there cannot be exchanged: end what uses it, then run the command again",
}
_ABOUT_ONE_PATH = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.ENOTDIR})

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


def is_no_room(error: OSError) -> bool:
    """Whether nothing more can be written, whoever tried to."""
    return error.errno in _NO_ROOM


def unwritable(path: str, error: OSError) -> LibraryUnwritable:
    """Return the refusal for what the system said about `path`; where it lets nobody in, about the path it names."""
    named = error.filename if error.errno in _ABOUT_ONE_PATH and isinstance(error.filename, str) else path
    reason = error.strerror or type(error).__name__
    return LibraryUnwritable(named, reason, hint=_MENDS.get(error.errno or 0, "mend that, then run the command again"))
