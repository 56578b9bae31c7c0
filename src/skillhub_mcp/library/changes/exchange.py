"""Two paths exchanged in one step, and a path that is moved only where nothing is: calls that Python has no name for.

Linux has `renameat2`, macOS `renamex_np`. Another system, or a file system that knows neither, says so, and whoever
asked needs two renames.
"""

from __future__ import annotations

import errno
import functools
import os
import platform
import sys
from collections.abc import Callable

# Linux and macOS have the same number for exchanging, and differ in the other.
_EXCHANGE = 2
_NO_REPLACE = 4 if sys.platform == "darwin" else 1
_UNKNOWN_HERE = frozenset(
    code for name in ("EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP") if (code := getattr(errno, name, None)) is not None
)
# Of the system call renameat2, by machine.
_NUMBERS = {"x86_64": 316, "aarch64": 276}
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
    if sys.platform == "linux":
        return _of_linux()
    return _of_macos() if sys.platform == "darwin" else None


def _of_linux() -> _Call | None:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    rename: Callable[..., int] | None = getattr(library, "renameat2", None)
    if rename is None:
        # The C library has no name for it (musl, an old glibc), the system knows it all the same.
        number = _NUMBERS.get(platform.machine())
        if number is None:
            return None
        rename = functools.partial(library.syscall, ctypes.c_long(number))

    def call(source: bytes, target: bytes, flags: int) -> int:
        at = ctypes.c_int(_AT_CWD)
        failed = rename(at, ctypes.c_char_p(source), at, ctypes.c_char_p(target), ctypes.c_uint(flags))
        return ctypes.get_errno() if failed else 0

    return call


def _of_macos() -> _Call | None:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    rename: Callable[..., int] | None = getattr(library, "renamex_np", None)
    if rename is None:
        return None

    def call(source: bytes, target: bytes, flags: int) -> int:
        failed = rename(ctypes.c_char_p(source), ctypes.c_char_p(target), ctypes.c_uint(flags))
        return ctypes.get_errno() if failed else 0

    return call
