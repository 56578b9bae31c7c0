"""The line of progress: not before some tenths of a second, gone at the end, and never beside other text."""

from __future__ import annotations

import io
import threading

import pytest

from skillhub_mcp.cli import progress_line
from skillhub_mcp.cli.output import print_note
from skillhub_mcp.cli.progress_line import ProgressLine, progress_text, terminal_progress

CLEAR = "\r\x1b[K"


@pytest.fixture(autouse=True)
def _terminal_that_moves_its_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


class Terminal(io.StringIO):
    """A terminal that says when something was drawn on it."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        written = super().write(text)
        if text != CLEAR:
            self.drawn.set()
        return written


def test_the_line_says_what_how_much_and_of_how_much() -> None:
    text = progress_text("indexing", 1_500, 3_000, columns=80, tick=4)
    assert text == "| indexing [############            ] 1,500 of 3,000 (50%)"
    assert progress_text("reading skills", 0, 0, columns=80, tick=1) == "/ reading skills …"
    assert len(progress_text("indexing", 1, 2, columns=20, tick=0)) == 19


def test_it_is_drawn_while_a_step_says_nothing_and_is_gone_when_it_is_done() -> None:
    terminal = Terminal()
    line = ProgressLine(terminal, "reading skills", delay_seconds=0)
    line("embedding", 0, 10)
    line.start()
    assert terminal.drawn.wait(10)
    line("embedding", 10, 10)
    line.close()
    assert "embedding [" in terminal.getvalue()
    assert terminal.getvalue().endswith(CLEAR)
    terminal.truncate(0)
    line("indexing", 0, 10)
    line.hide()
    assert terminal.getvalue() == ""


def test_what_it_says_may_change() -> None:
    terminal = Terminal()
    line = ProgressLine(terminal, "checking index, clients", delay_seconds=0)
    line.hide()
    line.say("checking clients")
    line.start()
    assert terminal.drawn.wait(10)
    line.close()
    assert "checking clients …" in terminal.getvalue()
    assert "index" not in terminal.getvalue()


def test_before_the_first_step_it_says_what_is_done() -> None:
    terminal = Terminal()
    line = ProgressLine(terminal, "reading skills", delay_seconds=0)
    line.start()
    assert terminal.drawn.wait(10)
    line.close()
    assert terminal.getvalue().startswith(f"{CLEAR}/ reading skills …")


def test_short_work_shows_nothing() -> None:
    terminal = Terminal()
    line = ProgressLine(terminal, "reading skills", delay_seconds=3_600)
    line.start()
    line("indexing", 0, 10)
    line("indexing", 10, 10)
    line.close()
    assert terminal.getvalue() == ""


def test_what_else_is_written_comes_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress_line, "DELAY_SECONDS", 0.0)
    with terminal_progress() as outer, terminal_progress() as inner:
        assert inner is outer
        assert terminal.drawn.wait(10)
        print_note("a note")
    assert f"{CLEAR}a note\n" in terminal.getvalue()
    # It does not come back below what was printed.
    assert terminal.getvalue().endswith("a note\n")


def test_without_a_terminal_or_on_a_dumb_one_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with terminal_progress() as progress:
        progress("indexing", 1, 10)
        progress("indexing", 10, 10)
    assert stream.getvalue() == ""
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setenv("TERM", "dumb")
    with terminal_progress() as progress:
        # No line that could be drawn later either.
        assert not isinstance(progress, ProgressLine)


def test_an_interruption_leaves_no_line_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress_line, "DELAY_SECONDS", 0.0)

    def work() -> None:
        with terminal_progress() as progress:
            progress("indexing", 1, 10)
            assert terminal.drawn.wait(10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert terminal.getvalue().endswith(CLEAR)
