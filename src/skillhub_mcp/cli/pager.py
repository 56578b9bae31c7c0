"""Long output through the person's pager: only on a terminal, and only what does not fit its screen.

A command that may print much has `--no-pager` and is run through `paged`. Its output is collected and then shown at
once, so it looks the same with a pager and without.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from skillhub_mcp.cli.output import print_note
from skillhub_mcp.cli.screen import stdout_screen

Run = Callable[[argparse.Namespace, Mapping[str, str]], int]

# Programs that print what they get, as nobody would wait for.
_NO_PAGERS = ("", "cat")
# What a pager gets where the person has not set it: leave at once if all fits, show colours, leave the text behind.
_HABITS = {"LESS": "FRX", "LV": "-c"}


def add_pager_option(parser: argparse.ArgumentParser) -> None:
    """Add --no-pager."""
    parser.add_argument("--no-pager", action="store_true", help="never start PAGER, which shows what is too long")


def paged(run: Run) -> Run:
    """Return `run` with its output in a pager where that is wanted."""

    def run_paged(args: argparse.Namespace, options: Mapping[str, str]) -> int:
        with paging(wanted=not args.no_pager):
            return run(args, options)

    return run_paged


@contextmanager
def paging(*, wanted: bool) -> Iterator[None]:
    """Collect what is printed on stdout in the context and show it at its end, in a pager if it is long.

    What was printed before an exception is printed without a pager.
    """
    screen = stdout_screen()
    if screen is None or not wanted:
        yield
        return
    stdout, collected = sys.stdout, _Collected(sys.stdout)
    sys.stdout = collected
    try:
        yield
    except BaseException:
        sys.stdout = stdout
        stdout.write(collected.getvalue())
        raise
    sys.stdout = stdout
    text = collected.getvalue()
    # The prompt takes a line too.
    if sum(map(screen.height, text.splitlines())) < screen.lines or not _show(text, stdout, os.environ):
        stdout.write(text)


class _Collected(io.StringIO):
    """Text for a terminal: it says that it is one, and has its descriptor and encoding."""

    def __init__(self, terminal: TextIO) -> None:
        super().__init__()
        self._terminal = terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]  # TextIO has a property, StringIO an attribute
        return self._terminal.encoding

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._terminal.fileno()


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """Return the pager and its arguments; none for no pager. PAGER names it, else it is the first one that is here.

    Raises ValueError for a PAGER that is no command line.
    """
    import shlex
    import shutil

    if environment.get("TERM") == "dumb":
        # It cannot move a cursor: less would ask before it shows anything.
        return []
    chosen = environment.get("PAGER")
    if chosen is None:
        found = (shutil.which(name, path=environment.get("PATH")) for name in ("less", "more"))
        return [name for name in found if name is not None][:1]
    argv = shlex.split(chosen)
    return [] if not argv or argv[0] in _NO_PAGERS else argv


def _show(text: str, terminal: TextIO, environment: Mapping[str, str]) -> bool:
    """Show `text` in the pager and wait until the person leaves it. Return False where there is none."""
    import signal
    import subprocess

    try:
        argv = pager_command(environment)
        if not argv:
            return False
        pager = subprocess.Popen(argv, stdin=subprocess.PIPE, env={**_HABITS, **environment})
    except (OSError, ValueError) as error:
        print_note(f"PAGER, {environment.get('PAGER')!r}, cannot be run: {error}")
        return False
    # Ctrl-C is the pager's while it runs: it ends a search there, not this program.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # It ends quietly where the person has seen enough.
        pager.communicate(text.encode(terminal.encoding, "backslashreplace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return True
