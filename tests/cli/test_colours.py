"""Colours: on a terminal alone, never where they are not wanted, and never from a skill."""

from __future__ import annotations

import io

import pytest

from skillhub_mcp.cli.colours import Colour, Painter, painter


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": ""}, True),  # no-color.org: only if it is not empty
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"CLICOLOR": "0"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True),
        (io.StringIO(), {"CLICOLOR_FORCE": "0"}, False),
        (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_a_terminal_that_wants_them(
    stream: io.StringIO, environment: dict[str, str], coloured: bool
) -> None:
    assert painter(stream, environment)("x", Colour.RED) == ("\x1b[31mx\x1b[0m" if coloured else "x")


def test_colours_of_the_text_itself_are_not_shown() -> None:
    for enabled in (True, False):
        assert Painter(enabled)("\x1b[31mred") == "\\x1b[31mred"
    assert Painter(True)("a\x1bb", Colour.BOLD, Colour.GREEN) == "\x1b[1;32ma\\x1bb\x1b[0m"
