"""Colours on a terminal. Text is made harmless before it is coloured, so that a skill cannot set a colour itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import IO

from skillhub_mcp.sanitize import in_line


class Colour(str, Enum):
    """A way to show text, as the parameter of the terminal's SGR sequence."""

    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    CYAN = "36"


@dataclass(frozen=True, slots=True)
class Painter:
    """Colours text of one line if `enabled`, and makes it harmless in any case."""

    enabled: bool = False

    def __call__(self, text: str, *colours: Colour) -> str:
        """Return `text` for a terminal, in `colours`."""
        plain = in_line(text)
        if not self.enabled or not colours or not plain:
            return plain
        return f"\x1b[{';'.join(colour.value for colour in colours)}m{plain}\x1b[0m"


def painter(stream: IO[str], environment: Mapping[str, str]) -> Painter:
    """Return the painter for `stream`: in colours on a terminal, unless NO_COLOR is set or TERM is `dumb`.

    FORCE_COLOR and CLICOLOR_FORCE ask for colours in a file or a pipe too; NO_COLOR comes before them.
    """
    if environment.get("NO_COLOR"):
        return Painter(enabled=False)
    if any(environment.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return Painter(enabled=True)
    wanted = environment.get("CLICOLOR") != "0" and environment.get("TERM") != "dumb"
    return Painter(enabled=wanted and stream.isatty())
