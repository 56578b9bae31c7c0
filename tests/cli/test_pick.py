"""`skillhub pick`: as lines, in the picker's own test harness, and once on a real terminal."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from textual.containers import Horizontal
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from skillhub_mcp.cli import own_terminal, picker
from skillhub_mcp.cli.clipboard import copy_command, copying_sequence
from skillhub_mcp.cli.editor import editor_command, run_editor
from skillhub_mcp.cli.picker import Picker
from skillhub_mcp.cli.picker_keys import KEYS, footer
from skillhub_mcp.cli.picker_rows import (
    NOT_SEARCHED,
    PickerRow,
    PickerScope,
    SearchedFor,
    fitting_rows,
    nearest_rows,
    next_scope,
)
from skillhub_mcp.errors import IndexUnavailable

PLENTY_OF_SECONDS = 30.0
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "control.md"


def row(name: str, description: str = "Does it.", *, scope: str = "user", state: str = "on") -> PickerRow:
    source = "project" if scope == "repo" else "hub"
    text = f"{name}\n{description}\n/s/{name}".casefold()
    return PickerRow(name, name, description, f"/s/{name}", source, cast("PickerScope", scope), state, text)


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
    assert skillhub("pick", "--list", **view).out == (
        "off     pdf  hub, user  Reads PDFs; knows release forms.\n"
        "on      release-notes  project, repo  Writes notes.\n"
        "2 of 2 skills, 1 off\n"
    )
    assert skillhub("pick", "--list", "release", **view).out.splitlines()[0].startswith("on      release-notes")
    assert skillhub("pick", "--list", "zzz", **view).out == "(no match)\n"
    assert [one["name"] for one in skillhub("pick", "--scope", "repo", "--json", **view).json["skills"]] == [
        "release-notes"
    ]
    (only,) = skillhub("pick", "--scope", "user", "--json", **view).json["skills"]
    assert (only["name"], only["state"], only["scope"], only["source"]) == ("pdf", "off", "user", "hub")
    # By meaning, as a search finds it, though no word begins a name.
    assert "release-notes" in skillhub("pick", "--list", "write some notes please", **view).out


def test_without_any_skills_it_says_how_to_get_some(skillhub: Skillhub) -> None:
    assert "put a folder with a SKILL.md there" in skillhub("pick", "--list").out
    none = skillhub("pick", "--json").json
    assert (none["skills"], none["count"], none["total"], len(none["problems"])) == ([], 0, 0, 1)


def test_without_a_terminal_it_says_what_prints_skills(
    skillhub: Skillhub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(own_terminal, "_DEVICE", str(tmp_path / "none"))
    done = skillhub("pick")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: There is no terminal to pick a skill on ({tmp_path}/none: No such file")
    assert "skillhub pick --list" in done.err
    assert "TERM is dumb" in skillhub("pick", TERM="dumb").err


@pytest.mark.acceptance("S0-83", "S0-84")
def test_rows_fit_by_name_by_search_or_by_every_word_somewhere() -> None:
    def names(typed: str, scope: PickerScope = "all", found: SearchedFor = NOT_SEARCHED) -> list[str]:
        return [one.name for one in fitting_rows(ROWS, typed, scope, found)]

    assert names("RELEASE") == ["release-notes", "git"]
    assert names("r") == ["release-notes", "git", "pdf-forms"]  # the beginning of a name, then a letter somewhere
    assert names("no re") == ["release-notes", "git"]  # beginnings of two words, in any order
    assert names("git knows") == ["git"]
    assert names("/s/pdf") == ["pdf-forms"]
    assert names("", "repo") == ["release-notes"]
    assert names("zzz") == []
    # What the search found comes in its order, below names that begin with what was typed.
    found = SearchedFor(("/s/pdf-forms", "/s/git"))
    assert names("rel", found=found) == ["release-notes", "pdf-forms", "git"]
    assert names("paperwork", "repo", found) == []
    near = SearchedFor(near_misses=("/s/git", "/s/gone"))
    assert names("zzz", found=near) == []
    assert names("forms", found=near) == ["pdf-forms"]
    assert nearest_rows(ROWS, "all", near) == [ROWS[2]]
    assert nearest_rows(ROWS, "repo", near) == []
    assert [next_scope("all"), next_scope("repo"), next_scope("user")] == ["repo", "user", "all"]


class Skills:
    """Skills whose searches are written down, and wait where they are told to."""

    def __init__(self, rows: Sequence[PickerRow]) -> None:
        self.rows = list(rows)
        self.toggled: list[tuple[str, bool]] = []
        self.searched: list[str] = []
        self.found = SearchedFor()
        self.error: Exception | None = None
        self.may_read, self.may_answer = threading.Event(), threading.Event()
        self.may_read.set()
        self.may_answer.set()

    def read(self) -> Sequence[PickerRow]:
        assert self.may_read.wait(PLENTY_OF_SECONDS)
        return self.rows

    def reread(self) -> Sequence[PickerRow]:
        return self.rows

    def search(self, typed: str) -> SearchedFor:
        self.searched.append(typed)
        assert self.may_answer.wait(PLENTY_OF_SECONDS)
        if self.error is not None:
            raise self.error
        return self.found

    def preview(self, one: PickerRow) -> str:
        return f"All about {one.name}\x1b[2J"

    def file(self, one: PickerRow) -> str:
        return f"{one.directory}/SKILL.md"

    def toggle(self, one: PickerRow, *, here_only: bool) -> Sequence[PickerRow]:
        self.toggled.append((one.name, here_only))
        self.rows = [
            row(each.name, each.description, scope=each.scope, state="off" if each.state == "on" else "on")
            if each.name == one.name
            else each
            for each in self.rows
        ]
        return self.rows


class Driven:
    """A picker that is driven without a terminal."""

    def __init__(self, rows: Sequence[PickerRow] = ROWS, *, typed: str = "", size: tuple[int, int] = (120, 30)) -> None:
        self.size = size
        self.skills = Skills(rows)
        self.app = Picker(self.skills, typed=typed)

    def drive(self, *keys: str) -> list[list[str]]:
        """Press keys once the skills are there, and return the table's cells when the rows have settled."""

        async def press(pilot: Pilot[PickerRow]) -> None:
            await self.settle(pilot)
            await pilot.press(*keys)
            await self.settle(pilot)

        return self.run(press)

    async def settle(self, pilot: Pilot[PickerRow]) -> None:
        deadline = time.monotonic() + PLENTY_OF_SECONDS
        while not (self.app.settled or self.app._exit):
            assert time.monotonic() < deadline
            await pilot.pause(0.01)
        await pilot.pause()

    def run(self, act: Callable[[Pilot[PickerRow]], Awaitable[None]]) -> list[list[str]]:
        async def go() -> list[list[str]]:
            async with self.app.run_test(size=self.size) as pilot:
                await act(pilot)
                self.status = str(self.app.query_one("#status", Static).render())
                self.preview = str(self.app.query_one("#text", Static).render())
                self.keys = str(self.app.query_one("#keys", Static).render())
                table = self.app.query_one(DataTable)
                self.room = self.app.query_one(Horizontal).size.height
                behind = table.background_colors[1]
                cursor = behind + table.get_component_styles("datatable--cursor").background
                self.cursor_contrast = abs(cursor.brightness - behind.brightness)
                self.has_preview = self.app.query_one("#preview").display
                return [[str(cell) for cell in table.get_row_at(at)] for at in range(table.row_count)]

        return asyncio.run(go())


@pytest.mark.slow
@pytest.mark.acceptance("S0-83", "S0-84")
def test_the_picker_searches_as_one_types_and_shows_state_source_and_scope() -> None:
    driven = Driven()
    assert driven.drive()[0] == ["○", "git", "hub", "user", "Knows Git and its releases."]
    assert driven.status == "3 of 3 skills, 1 off · scope: all"
    driven = Driven()
    assert [cells[1] for cells in driven.drive(*"rel")] == ["release-notes", "git"]
    assert driven.preview == "All about release-notes\\x1b[2J"
    driven = Driven()
    driven.skills.found = SearchedFor(("/s/git", "/s/pdf-forms"))
    assert [cells[1] for cells in driven.drive(*"fill a form")] == ["git", "pdf-forms"]
    assert driven.skills.searched[-1] == "fill a form"
    driven = Driven()
    assert driven.drive(*"zzz") == []
    assert driven.preview == "(no match)"
    driven = Driven()
    assert [cells[1] for cells in driven.drive("ctrl+s")] == ["release-notes"]
    assert driven.status.endswith("scope: repo")


@pytest.mark.slow
@pytest.mark.acceptance("S0-85")
def test_the_picker_switches_a_skill_off_and_on_and_stays_on_it() -> None:
    driven = Driven()
    cells = driven.drive("down", "ctrl+t")
    assert driven.skills.toggled == [("pdf-forms", False)]
    assert cells[1][:2] == ["○", "pdf-forms"]
    assert driven.preview.startswith("All about pdf-forms")
    driven = Driven()
    driven.drive("down", "ctrl+r", "ctrl+r")
    assert driven.skills.toggled == [("pdf-forms", True), ("pdf-forms", True)]


def test_the_picker_says_which_skill_answers_where_one_that_shadowed_it_is_switched_off() -> None:
    first, second = row("git"), replace(row("git"), handle="git@user", directory="/z/git", source="user")
    driven = Driven([first, second])

    def toggle(*_: object, **__: object) -> Sequence[PickerRow]:
        return [replace(first, handle="git@hub", state="off"), replace(second, handle="git")]

    driven.skills.toggle = toggle  # type: ignore[method-assign]
    driven.drive("ctrl+t")
    assert driven.status == "git now loads /z/git (user)"


@pytest.mark.slow
def test_the_picker_returns_what_was_taken_or_nothing() -> None:
    taken = Driven()
    taken.drive(*"rel", "enter")
    assert taken.app.return_value is ROWS[1]
    for key in ("escape", "ctrl+c"):
        left = Driven()
        left.drive("down", key)
        assert left.app.return_value is None
    none = Driven([])
    assert none.drive() == []
    assert (none.app.return_value, none.app.has_none) == (None, True)


@pytest.mark.slow
def test_enter_takes_what_fits_what_was_typed_however_slow_the_search_is() -> None:
    driven = Driven()
    driven.skills.found = SearchedFor(("/s/pdf-forms",))

    async def act(pilot: Pilot[PickerRow]) -> None:
        await driven.settle(pilot)
        await pilot.press("r")
        await driven.settle(pilot)
        driven.skills.may_answer.clear()
        # The rows on the screen are still those for "r", of which release-notes is the first.
        await pilot.press(*" paperwork", "enter")
        await pilot.pause()
        assert driven.app.return_value is None
        driven.skills.may_answer.set()
        await driven.settle(pilot)

    driven.run(act)
    assert driven.app.return_value is ROWS[0]


@pytest.mark.slow
def test_keys_that_come_in_one_burst_are_taken_in_their_order() -> None:
    for last, outcome in (("enter", ROWS[1]), ("ctrl+j", ROWS[1]), ("ctrl+t", None)):
        driven = Driven()

        async def act(pilot: Pilot[PickerRow], driven: Driven = driven, last: str = last) -> None:
            await driven.settle(pilot)
            # As a terminal hands on what was typed ahead: all at once.
            for key in (*"rel", last):
                driven.app.post_message(Key(key, key if len(key) == 1 else None))
            await pilot.pause()
            await driven.settle(pilot)

        driven.run(act)
        assert driven.app.return_value is outcome
        assert driven.skills.toggled == ([] if outcome else [("release-notes", False)])


def test_keys_pressed_before_the_skills_are_read_are_for_them() -> None:
    driven = Driven()
    driven.skills.may_read.clear()
    driven.skills.found = SearchedFor(("/s/pdf-forms",))

    async def act(pilot: Pilot[PickerRow]) -> None:
        await pilot.press(*"paper", "enter")
        driven.skills.may_read.set()
        await driven.settle(pilot)

    driven.run(act)
    assert driven.app.return_value is ROWS[0]


def test_an_index_that_takes_its_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picker, "_PATIENCE_SECONDS", 0.01)
    driven = Driven(typed="rel")
    driven.skills.may_answer.clear()
    assert [cells[1] for cells in driven.drive()] == ["release-notes", "git"]
    assert driven.status.endswith("the index is being built: words as typed only")
    driven.skills.may_answer.set()
    failing = Driven(typed="rel")
    failing.skills.error = IndexUnavailable("The index cannot be read")
    assert [cells[1] for cells in failing.drive("enter")] == ["release-notes", "git"]
    assert failing.app.return_value is ROWS[1]


def test_what_ends_reading_is_kept_for_the_command() -> None:
    driven = Driven()
    driven.skills.read = lambda: 1 // 0  # type: ignore[method-assign,assignment,return-value]  # a bug
    driven.drive()
    assert isinstance(driven.app.failure, ZeroDivisionError)


@pytest.mark.slow
def test_a_skill_that_is_off_or_fits_badly_is_taken_only_after_saying_so() -> None:
    driven = Driven()
    driven.drive(*"git", "enter")
    assert driven.app.return_value is None
    assert driven.status.startswith("git is off: agents neither find nor load it; skillhub enable git. Enter takes it")
    driven = Driven()
    driven.drive(*"git", "enter", "enter")
    assert driven.app.return_value is ROWS[2]
    driven = Driven()
    driven.skills.found = SearchedFor(near_misses=("/s/pdf-forms",))
    driven.drive(*"zz", "enter")
    assert driven.app.return_value is None
    assert driven.status == "pdf-forms is no good match for this, only the nearest. Enter takes it all the same"
    # Having been elsewhere, it is said again.
    driven = Driven()
    driven.drive("enter", "down", "up", "enter")
    assert driven.app.return_value is None


def test_the_keys_are_those_of_the_footer_and_the_guide() -> None:
    driven = Driven()
    driven.drive()
    assert driven.keys == footer()
    assert all(key.shown in footer() and key.label in footer() for key in KEYS)
    bound = {name for key in KEYS for name in key.names.split(",")}
    assert set(driven.app._bindings.key_to_bindings) == bound
    guide = GUIDE.read_text(encoding="utf-8")
    assert "\n".join(f"| {key.shown} | {key.meaning} |" for key in KEYS) in guide


@pytest.mark.slow
def test_copying_is_done_by_the_systems_tool_or_asked_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(*tools: str) -> Callable[[str], bool]:
        return lambda name: name in tools

    assert copy_command({}, here("pbcopy", "xclip")) == ("pbcopy",)
    assert copy_command({"DISPLAY": ":0"}, here("xsel")) == ("xsel", "--clipboard", "--input")
    assert copy_command({"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, here("xclip", "wl-copy")) == ("wl-copy",)
    assert copy_command({}, here("xclip")) == ()
    # Over SSH the tools would copy on the other machine.
    assert copy_command({"SSH_CONNECTION": "x"}, here("pbcopy")) == ()
    assert copying_sequence("pdf") == "\x1b]52;c;cGRm\x07"
    driven = Driven()
    monkeypatch.setenv("SSH_TTY", "/dev/pts/1")
    driven.drive(*"rel", "ctrl+y")
    assert driven.status == "release-notes was handed to the terminal to copy"


def test_the_editor_is_the_persons_with_its_arguments(tmp_path: Path) -> None:
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}, lambda _: True) == ["code", "--wait"]
    assert editor_command({"VISUAL": "", "EDITOR": "'/my editor' -x"}, lambda _: True) == ["/my editor", "-x"]
    assert editor_command({}, lambda name: name == "nano") == ["nano"]
    assert editor_command({}, lambda _: False) == []
    assert run_editor([str(tmp_path / "none")], "x").endswith("cannot be run: No such file or directory")
    assert run_editor(["false"], "x") == "false ended with code 1"


@pytest.mark.parametrize(
    ("size", "room", "has_preview"), [((120, 30), 24, True), ((40, 10), 7, False), ((80, 9), 6, True)]
)
def test_a_small_terminal_has_room_for_the_skills_first(size: tuple[int, int], room: int, has_preview: bool) -> None:
    driven = Driven(size=size)
    driven.drive()
    assert (driven.room, driven.has_preview) == (room, has_preview)
    # Brightness alone is what NO_COLOR leaves.
    assert driven.cursor_contrast > 0.2


@pytest.mark.slow
def test_a_terminal_that_becomes_smaller_keeps_the_skill_under_the_cursor_in_sight() -> None:
    driven = Driven([row(f"skill-{number:02}", "Does it.") for number in range(20)])

    async def act(pilot: Pilot[PickerRow]) -> None:
        await driven.settle(pilot)
        await pilot.press("pagedown", "pagedown")
        await pilot.resize_terminal(40, 10)
        await pilot.pause()
        table = driven.app.query_one(DataTable)
        first, shown = round(table.scroll_y), table.scrollable_content_region.height - 1
        assert first <= table.cursor_row < first + shown

    driven.run(act)


def test_what_an_author_wrote_is_text_and_never_markup() -> None:
    driven = Driven([row("evil", "[bold red]x[/] [link=https://example.com]y[/link] \x1b[31m")])
    (cells,) = driven.drive()
    assert cells[4] == "[bold red]x[/] [link=https://example.com]y[/link] \\x1b[31m"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.acceptance("S0-83", "S0-85")
def test_on_a_real_terminal_a_skill_is_found_edited_switched_off_and_taken(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("pdf-forms", "Fills in forms.", body="# The way to do it\n")
    write_skill("release-notes", "Writes notes.")
    out, socket, editor = tmp_path / "out", tmp_path / "tmux", tmp_path / "editor"
    # It must have the terminal to itself: it asks there, and writes what was answered.
    editor.write_text(
        f'#!/bin/sh\nprintf "change it? "; read answer; echo "$answer" >> "$2"; stty -a > {tmp_path}/stty\n', "utf-8"
    )
    editor.chmod(0o755)
    set_here = {**hub_environment, "TERM": "screen", "EDITOR": f"{editor} -w", "SSH_TTY": "/dev/null"}
    exported = " ".join(f"{name}={shlex.quote(value)}" for name, value in set_here.items())
    pick = f"env -i {exported} {shlex.quote(sys.executable)} -m skillhub_mcp pick"
    script = tmp_path / "session"
    # stdin and stdout are pipes both times: the screen is the terminal.
    script.write_text(
        f'a=$(echo piped | {pick}); echo "code=$? picked=$a" > {out}\n'
        f'b=$({pick}); echo "code=$? picked=$b" >> {out}; stty -a > {out}.stty; sleep 60\n',
        encoding="utf-8",
    )

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

    tmux("new-session", "-d", "-x", "120", "-y", "30", f"sh {shlex.quote(str(script))}")
    try:
        wait(lambda screen: "2 of 2 skills" in screen and "release-notes" in screen)
        tmux("send-keys", "pdf")
        wait(lambda screen: "1 of 2 skills" in screen and "The way to do it" in screen)
        tmux("send-keys", "C-o")
        wait(lambda screen: "change it?" in screen)
        tmux("send-keys", "Another way", "Enter")
        wait(lambda screen: "Another way" in screen and "1 of 2 skills" in screen)
        tmux("send-keys", "C-t")
        wait(lambda screen: "1 off" in screen)
        tmux("send-keys", "Enter")
        wait(lambda screen: "pdf-forms is off" in screen)
        tmux("send-keys", "Enter")
        wait(lambda screen: out.exists() and "2 of 2 skills" in screen)
        tmux("send-keys", "C-c")
        wait(lambda _: Path(f"{out}.stty").exists() and " echo " in Path(f"{out}.stty").read_text(encoding="utf-8"))
    finally:
        tmux("kill-server")
    assert out.read_text(encoding="utf-8") == "code=0 picked=pdf-forms\ncode=130 picked=\n"
    assert "icanon" in (tmp_path / "stty").read_text(encoding="utf-8")
    kept = json.loads(Path(os.environ["HOME"], ".skillhub", "choices.json").read_text(encoding="utf-8"))
    assert list(kept["user"].values()) == [False]
