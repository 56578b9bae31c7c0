"""Columns: names whole, text cut to the screen, and lines of their own where there is no room."""

from __future__ import annotations

from skillhub_mcp.cli.colours import Painter
from skillhub_mcp.cli.table import TableRow, table_lines
from skillhub_mcp.cli.text_width import width

ROWS = [
    TableRow(("pdf", "hub"), "Reads PDF files and fills in their forms."),
    TableRow(("議事録", "project"), "議事録を作成する。議事録を作成する。", "disabled"),
]
HEAD = ("name", "source", "description")


def test_columns_are_as_wide_as_what_is_in_them_and_text_is_cut() -> None:
    assert list(table_lines(HEAD, ROWS, 40, Painter())) == [
        "name    source   description",
        "pdf     hub      Reads PDF files and fi…",
        "議事録  project  (disabled) 議事録を作…",
    ]


def test_a_name_too_long_for_its_column_is_whole_and_its_text_below() -> None:
    rows = [*ROWS, TableRow(("/a/very/long/path/to/a/skill", "hub"), "Is shadowed by another.")]
    assert list(table_lines(HEAD, rows, 40, Painter()))[-2:] == [
        "/a/very/long/path/to/a/skill  hub",
        "                 Is shadowed by another.",
    ]


def test_on_a_narrow_screen_each_text_has_a_line() -> None:
    assert list(table_lines(HEAD, ROWS[:1], 24, Painter())) == ["pdf  hub", "  Reads PDF files and f…"]
    for columns in range(3, 60):
        for line in table_lines(HEAD, ROWS, columns, Painter()):
            assert width(line) <= columns or "pdf" in line or "議事録" in line


def test_no_text_sets_colours_of_its_own() -> None:
    (_, line) = table_lines(HEAD, [TableRow(("a", "hub"), "\x1b[31mred")], 60, Painter(enabled=True))
    assert "\\x1b[31mred" in line
    assert "\x1b[1ma" in line
