"""Colours on a terminal. Text is made printable before it is coloured, so that a skill cannot set a colour itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import IO

from skillhub_mcp.cli.output import printable


class Colour(str, Enum):
    """A way to show text, as the parameter of the terminal's SGR sequence."""

    BOLD = "1"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    CYAN = "36"


@dataclass(frozen=True, slots=True)
class Painter:
    """Colours text if `enabled`, and makes it printable in any case."""

    enabled: bool = False

    def __call__(self, text: str, *colours: Colour) -> str:
        """Return `text` for a terminal, in `colours`."""
        plain = printable(text)
        if not self.enabled or not colours:
            return plain
        return f"\x1b[{';'.join(colour.value for colour in colours)}m{plain}\x1b[0m"


def painter(stream: IO[str], environment: Mapping[str, str]) -> Painter:
    """Return the painter for `stream`: in colours on a terminal, unless NO_COLOR is set or TERM is `dumb`."""
    return Painter(stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb")
