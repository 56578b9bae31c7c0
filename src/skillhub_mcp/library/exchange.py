"""Two paths exchanged in one step, and a path that is moved only where nothing is: calls that Python has no name for.

Linux has `renameat2`, macOS `renamex_np`. Another system, or a file system that knows neither, says so, and whoever
asked needs two renames.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable

# Linux and macOS have the same number for exchanging, and differ in the other.
_EXCHANGE = 2
_NO_REPLACE = 4 if sys.platform == "darwin" else 1
_UNKNOWN_HERE = frozenset(
    code for name in ("EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP") if (code := getattr(errno, name, None)) is not None
)
# The directory that a relative path is taken from: the process's own.
_AT_CWD = -100

_Call = Callable[[bytes, bytes, int], int]


def exchange(first: str, second: str) -> bool:
    """Exchange what lies at two paths, so that no moment has neither. A link is exchanged itself, not what it names.

    Returns False, and does nothing, where this system or this file system cannot. Raises OSError.
    """
    return _renamed(first, second, _EXCHANGE)


def move(source: str, target: str) -> None:
    """Move what lies at `source` to `target`. Raises FileExistsError where something is there already, and OSError."""
    if _renamed(source, target, _NO_REPLACE):
        return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


def _renamed(source: str, target: str, flags: int) -> bool:
    call = _rename_with_flags()
    if call is None:
        return False
    code = call(os.fsencode(source), os.fsencode(target), flags)
    if code in _UNKNOWN_HERE:
        return False
    if code:
        raise OSError(code, os.strerror(code), source, None, target)
    return True


@functools.cache
def _rename_with_flags() -> _Call | None:
    """Return the system's call, which returns an `errno`, or 0; None where it has none."""
    if sys.platform not in ("linux", "darwin"):
        return None
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    name = "renameat2" if sys.platform == "linux" else "renamex_np"
    try:
        function = getattr(library, name)
    except AttributeError:
        # A C library that is older than the call.
        return None
    function.restype = ctypes.c_int
    at = (ctypes.c_int, ctypes.c_char_p) if sys.platform == "linux" else (ctypes.c_char_p,)
    function.argtypes = (*at, *at, ctypes.c_uint)

    def call(source: bytes, target: bytes, flags: int) -> int:
        paths = (_AT_CWD, source, _AT_CWD, target) if sys.platform == "linux" else (source, target)
        return 0 if function(*paths, flags) == 0 else ctypes.get_errno()

    return call
