"""The terminal that stdout is, if it is one: its size, and how many of its lines a text takes."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass

from skillhub_mcp.cli.text_width import width

# What is cut shorter than this says nothing.
_LEAST_COLUMNS = 20
_COLOURS = re.compile(r"\x1b\[[\d;]*m")


@dataclass(frozen=True, slots=True)
class Screen:
    """The room for text, in lines and columns."""

    lines: int
    columns: int

    def height(self, line: str) -> int:
        """Return how many lines of the screen one line of text takes, whose colours take no room."""
        return max(1, -(-width(_COLOURS.sub("", line)) // self.columns))


def stdout_screen() -> Screen | None:
    """Return the terminal's size; None where stdout is a file or a pipe, whose text is never cut."""
    if not sys.stdout.isatty():
        return None
    columns, lines = shutil.get_terminal_size()
    return Screen(max(lines, 1), max(columns, 1))


def room_beside(head: str) -> int | None:
    """Return the columns that a text after `head` may take on the terminal; None where it is not cut."""
    screen = stdout_screen()
    return None if screen is None else max(screen.columns - width(head), _LEAST_COLUMNS)
