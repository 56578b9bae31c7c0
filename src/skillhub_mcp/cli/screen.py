"""The terminal that stdout is, if it is one: its size, and how many of its lines a text takes."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass

from skillhub_mcp.cli.text_width import width

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
