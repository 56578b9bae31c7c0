"""The terminal that a person sits at, whatever stdin and stdout are, as in `skillhub show "$(skillhub pick)"`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from skillhub_mcp.errors import TerminalUnavailable

_DEVICE = "/dev/tty"


@contextmanager
def own_terminal() -> Iterator[None]:
    """Make the process's original streams the terminal, which is where Textual draws and reads keys.

    `sys.stdin`, `sys.stdout` and their descriptors stay what they are. Raises TerminalUnavailable.
    """
    if os.environ.get("TERM") == "dumb":
        raise TerminalUnavailable("TERM is dumb")
    if os.name == "nt":
        # There is no such device: the console is that of the streams.
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise TerminalUnavailable("stdin and stdout are not both a console")
        yield
        return
    try:
        descriptor = os.open(_DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise TerminalUnavailable(f"{_DEVICE}: {error.strerror}") from error
    with (
        os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as screen,
        os.fdopen(os.dup(descriptor), encoding="utf-8", errors="replace") as keys,
    ):
        before = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
        _set_original_streams(keys, screen, screen)
        try:
            yield
        finally:
            _set_original_streams(*before)


def _set_original_streams(stdin: object, stdout: object, stderr: object) -> None:
    # Not Final at run time, and the only way to tell Textual which terminal it draws on.
    vars(sys).update(__stdin__=stdin, __stdout__=stdout, __stderr__=stderr)
