"""`skillhub pick`: as lines, in the picker's own test harness, and once on a real terminal."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from textual.widgets import DataTable, Static

from skillhub_mcp.cli.picker import Picker, PickerActions
from skillhub_mcp.cli.picker_rows import PickerRow, filter_rows, next_scope

PLENTY_OF_SECONDS = 30.0


def row(name: str, description: str = "Does it.", *, scope: str = "user", state: str = "on") -> PickerRow:
    source = "project" if scope == "repo" else "hub"
    text = f"{name}\n{description}\n/s/{name}".casefold()
    return PickerRow(name, name, description, f"/s/{name}", source, scope, state, text)  # type: ignore[arg-type]  # "repo" is one


ROWS = [
    row("pdf-forms", "Fills in forms."),
    row("release-notes", "Writes notes from commits.", scope="repo"),
    row("git", "Knows Git and its releases.", state="off"),
]


@pytest.mark.acceptance("S0-83", "S0-84", "S0-86")
def test_without_a_terminal_the_skills_are_lines(skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path) -> None:
    repo = tmp_path.resolve() / "repo"
    (repo / ".git").mkdir(parents=True)
    write_skill("release-notes", "Writes notes.", root=repo / ".agents" / "skills")
    write_skill("pdf", "Reads PDFs; knows release forms.")
    skillhub("disable", "pdf")
    view = {"SKILLHUB_ROOTS": "project,hub", "SKILLHUB_CWD": str(repo)}
    assert skillhub("pick", **view).out == (
        "off     pdf  hub, user  Reads PDFs; knows release forms.\n"
        "on      release-notes  project, repo  Writes notes.\n"
        "2 of 2 skills, 1 off\n"
    )
    assert skillhub("pick", "release", **view).out.splitlines()[0].startswith("on      release-notes")
    assert skillhub("pick", "zzz", **view).out == "(no match)\n"
    assert [one["name"] for one in skillhub("pick", "--scope", "repo", "--json", **view).json["skills"]] == [
        "release-notes"
    ]
    (only,) = skillhub("pick", "--scope", "user", "--json", **view).json["skills"]
    assert (only["name"], only["state"], only["scope"], only["source"]) == ("pdf", "off", "user", "hub")


def test_without_any_skills_it_says_how_to_get_some(skillhub: Skillhub) -> None:
    assert "put a folder with a SKILL.md there" in skillhub("pick").out
    none = skillhub("pick", "--json").json
    assert (none["skills"], none["count"], none["total"], len(none["problems"])) == ([], 0, 0, 1)


@pytest.mark.acceptance("S0-83", "S0-84")
def test_rows_are_narrowed_by_every_word_in_name_description_or_path_and_by_scope() -> None:
    assert [one.name for one in filter_rows(ROWS, "RELEASE", "all")] == ["release-notes", "git"]
    assert [one.name for one in filter_rows(ROWS, "git knows", "all")] == ["git"]
    assert [one.name for one in filter_rows(ROWS, "/s/pdf", "all")] == ["pdf-forms"]
    assert [one.name for one in filter_rows(ROWS, "", "repo")] == ["release-notes"]
    assert filter_rows(ROWS, "zzz", "all") == []
    assert [next_scope("all"), next_scope("repo"), next_scope("user")] == ["repo", "user", "all"]


class Driven:
    """A picker whose actions are written down."""

    def __init__(self, rows: Sequence[PickerRow] = ROWS) -> None:
        self.rows = list(rows)
        self.toggled: list[tuple[str, bool]] = []
        self.app = Picker(self.rows, PickerActions(self.preview_of, self.toggle))

    def preview_of(self, one: PickerRow) -> str:
        return f"All about {one.name}\x1b[2J"

    def toggle(self, one: PickerRow, here_only: bool) -> Sequence[PickerRow]:
        self.toggled.append((one.name, here_only))
        self.rows = [
            row(each.name, each.description, scope=each.scope, state="off" if each.state == "on" else "on")
            if each.name == one.name
            else each
            for each in self.rows
        ]
        return self.rows

    def drive(self, *keys: str) -> list[list[str]]:
        """Press keys, and return the table's cells as they are then."""

        async def go() -> list[list[str]]:
            async with self.app.run_test(size=(120, 30)) as pilot:
                await pilot.press(*keys)
                await pilot.pause()
                self.status = str(self.app.query_one("#status", Static).render())
                self.preview = str(self.app.query_one("#text", Static).render())
                table = self.app.query_one(DataTable)
                return [[str(cell) for cell in table.get_row_at(at)] for at in range(table.row_count)]

        return asyncio.run(go())


@pytest.mark.acceptance("S0-83", "S0-84")
def test_the_picker_searches_as_one_types_and_shows_state_source_and_scope() -> None:
    driven = Driven()
    assert driven.drive()[0] == ["○", "git", "hub", "user", "Knows Git and its releases."]
    assert driven.status == "3 of 3 skills, 1 off · scope: all"
    driven = Driven()
    assert [cells[1] for cells in driven.drive(*"rel")] == ["release-notes", "git"]
    assert driven.preview == "All about release-notes\\x1b[2J"
    driven = Driven()
    assert driven.drive(*"zzz") == []
    assert driven.preview == "(no match)"
    driven = Driven()
    assert [cells[1] for cells in driven.drive("f2")] == ["release-notes"]
    assert driven.status.endswith("scope: repo")


@pytest.mark.acceptance("S0-85")
def test_the_picker_switches_a_skill_off_and_on_and_stays_on_it() -> None:
    driven = Driven()
    cells = driven.drive("down", "f3")
    assert driven.toggled == [("pdf-forms", False)]
    assert cells[1][:2] == ["○", "pdf-forms"]
    assert driven.preview.startswith("All about pdf-forms")
    driven = Driven()
    driven.drive("down", "f4", "f4")
    assert driven.toggled == [("pdf-forms", True), ("pdf-forms", True)]


def test_the_picker_returns_what_was_chosen_or_nothing() -> None:
    chosen = Driven()
    chosen.drive(*"rel", "enter")
    assert chosen.app.return_value == "release-notes"
    left = Driven()
    left.drive("down", "escape")
    assert left.app.return_value is None
    nothing = Driven([])
    assert nothing.drive("enter", "f3", "f4", "down", "up") == []
    assert nothing.app.return_value is None


def test_what_an_author_wrote_is_text_and_never_markup() -> None:
    driven = Driven([row("evil", "[bold red]x[/] [link=https://example.com]y[/link] \x1b[31m")])
    (cells,) = driven.drive()
    assert cells[4] == "[bold red]x[/] [link=https://example.com]y[/link] \\x1b[31m"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.acceptance("S0-83", "S0-85")
def test_on_a_real_terminal_a_skill_is_found_toggled_off_and_chosen(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("pdf-forms", "Fills in forms.", body="# The way to do it\n")
    write_skill("release-notes", "Writes notes.")
    out = tmp_path / "out"
    socket = tmp_path / "tmux"
    exported = " ".join(f"{name}={shlex.quote(value)}" for name, value in {**hub_environment, "TERM": "screen"}.items())
    # What is chosen goes to the terminal, so the screen is where it is read.
    command = f"env -i {exported} {shlex.quote(sys.executable)} -m skillhub_mcp pick; echo code=$? > {out}; sleep 60"

    def tmux(*arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(socket), "-f", "/dev/null", *arguments],
            capture_output=True,
            check=True,
            encoding="utf-8",
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        return done.stdout

    def wait(fits: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + PLENTY_OF_SECONDS
        while not fits(screen := tmux("capture-pane", "-p")):
            assert time.monotonic() < deadline, screen
            time.sleep(0.05)
        return screen

    tmux("new-session", "-d", "-x", "120", "-y", "30", command)
    try:
        wait(lambda screen: "2 of 2 skills" in screen and "release-notes" in screen)
        tmux("send-keys", "pdf")
        wait(lambda screen: "1 of 2 skills" in screen and "The way to do it" in screen)
        tmux("send-keys", "F3")
        wait(lambda screen: "1 off" in screen)
        tmux("send-keys", "Enter")
        wait(lambda _: out.exists())
        assert "pdf-forms" in tmux("capture-pane", "-p")
    finally:
        tmux("kill-server")
    assert out.read_text(encoding="utf-8") == "code=0\n"
    kept = json.loads(Path(os.environ["HOME"], ".skillhub", "choices.json").read_text(encoding="utf-8"))
    assert list(kept["user"].values()) == [False]
