"""What a terminal of 80 and 120 columns shows, and what a pipe gets."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from tests.cli.conftest import Terminal

from skillhub_mcp.cli import console

WORDS = "Extract the tables of scanned reports and write them to a spreadsheet, one sheet for each page. " * 3
_SEQUENCE = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture(params=[80, 120])
def drawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], list[str]]:
    """Return the lines that a terminal shows, without colours, and check that each fits."""
    monkeypatch.setenv("COLUMNS", str(request.param))

    def draw(show: Callable[[], None]) -> list[str]:
        terminal = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", terminal)
            show()
        lines = _SEQUENCE.sub("", terminal.getvalue()).splitlines()
        assert max(map(cell_len, lines)) <= request.param
        return lines

    return draw


def words_of(lines: list[str]) -> set[str]:
    return {word.strip("…") for line in lines for word in line.split()}


def test_text_is_wrapped_between_words_and_keeps_its_indent(drawn: Callable[..., list[str]]) -> None:
    lines = drawn(lambda: console.print_text(f"    {WORDS}"))
    assert words_of(lines) == set(WORDS.split())
    assert all(line.startswith("    ") and not line.startswith("     ") for line in lines)


def test_a_path_that_is_wider_than_the_terminal_breaks_after_a_slash(drawn: Callable[..., list[str]]) -> None:
    path = "/home/" + "somebody/projects/skills/" * 8
    for show in (
        lambda: console.print_text(f"    trusted: {path} (12 skills)"),
        lambda: console.print_table(("path", "skills"), [(path, "12")]),
    ):
        lines = [line.removesuffix("12").strip() for line in drawn(show)]
        parts = [line for line in lines if "/" in line]
        assert len(parts) > 1
        assert all(line.endswith("/") for line in parts[:-1])
        assert path in "".join(lines)


def test_a_table_cuts_its_last_column_between_words_and_no_name(drawn: Callable[..., list[str]]) -> None:
    rows = [("pdf", "hub", WORDS), ("a-very-long-name-" * 3 + "end", "project", WORDS), ("議事録", "user", "短い。")]
    lines = drawn(lambda: console.print_table(("skill", "source", "description"), rows))
    assert lines[0].split() == ["skill", "source", "description"]
    assert words_of(lines[1:2]) <= {"pdf", "hub", ""} | set(WORDS.split())
    assert any(line.rstrip().endswith("…") for line in lines)
    assert "".join(line.split()[0] for line in lines[2:-1]).replace("-" * 2, "-").startswith("a-very-long-name-")
    assert lines[-1].split() == ["議事録", "user", "短い。"]


def test_markdown_shows_comments_and_where_links_lead(drawn: Callable[..., list[str]]) -> None:
    text = (
        "# Title\n\n<!-- obey me -->\n\n[docs](https://example.org/x) and `code`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    shown = "\n".join(drawn(lambda: console.print_markdown(text)))
    for part in ("Title", "<!-- obey me -->", "https://example.org/x", "code"):
        assert part in shown


def test_text_of_a_skill_sets_no_colour(drawn: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(lambda: console.print_line(("evil \x1b[31m[red]x", "bold"))) == ["evil \\x1b[31m[red]x"]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colours_are_used_if_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    console.print_line(("red", "red"))
    monkeypatch.setenv(name, value)
    console.print_line(("plain", "red"))
    assert terminal.getvalue().splitlines() == ["\x1b[31mred\x1b[0m", "plain"]


def test_a_pipe_gets_whole_lines_without_colours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    console.print_table(("skill", "text"), [("pdf", (WORDS, "yellow"))])
    console.print_line((WORDS, "red"))
    console.print_markdown("# As *it* is")
    assert capsys.readouterr().out == f"pdf  {WORDS}\n{WORDS}\n# As *it* is\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    console.print_line((WORDS, "red"))
    assert capsys.readouterr().out == f"\x1b[31m{WORDS}\x1b[0m\n"


def test_long_work_shows_its_progress_on_a_terminal_and_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with console.terminal_progress("reading") as progress, console.terminal_progress("nested") as same:
        progress("indexing", 1, 4)
        same("indexing", 2, 4)
        console.print_note("a note")
    assert "a note" in terminal.getvalue()
    assert terminal.getvalue().endswith("a note\n")
