"""The skill picker on a terminal: search as you type, preview, edit, copy, disable and enable a skill, take one.

Built on Textual, because a test can drive it and take a screenshot without a terminal. It is a view only: `picker_rows`
selects and orders the rows, and a `PickerSkills` has them. That one reads and searches in a thread, so the screen is
there before the skills are and no key waits for a search. What Enter takes is what the rows show for what was typed:
pressed earlier, it waits for them.
"""

from __future__ import annotations

import asyncio
import os
import queue
import shutil
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import ClassVar, Protocol

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.timer import Timer
from textual.widgets import DataTable, Input, Static

from skillhub_mcp.cli.clipboard import copy_command, copying_sequence, run_copy_command
from skillhub_mcp.cli.editor import editor_command, run_editor
from skillhub_mcp.cli.picker_keys import KEYS, footer
from skillhub_mcp.cli.picker_rows import (
    NO_MATCH,
    NOT_SEARCHED,
    PickerRow,
    PickerScope,
    SearchedFor,
    answering_row,
    count_text,
    fitting_rows,
    nearest_rows,
    next_scope,
    warning_about,
)
from skillhub_mcp.cli.text_width import cut
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.sanitize import in_line, on_terminal

# Enough to scroll through; typing narrows the rest.
_MOST_SHOWN = 200
_STATES = {"on": "●", "off": "○", "denied": "✕"}
# After the last key, so that no search begins for a half-typed word.
_DEBOUNCE_SECONDS = 0.05
# A search that takes longer is not waited for: names and descriptions are matched until its answer is there.
_PATIENCE_SECONDS = 1.0
_MOST_COLUMNS_FOR_NAMES = 32
_ANY_WORD = "skill"


class PickerSkills(Protocol):
    """The skills behind a picker. `reread`, `search` and the first `read` are called in a thread of their own."""

    def read(self) -> Sequence[PickerRow]:
        """Return the skills; quickly, after the first time."""

    def reread(self) -> Sequence[PickerRow]:
        """Return the skills, of which files may have changed."""

    def search(self, typed: str) -> SearchedFor:
        """Return what the hub's search finds. Raises SkillHubError."""

    def preview(self, row: PickerRow) -> str:
        """Return a skill's text."""

    def file(self, row: PickerRow) -> str:
        """Return the path of its SKILL.md."""

    def toggle(self, row: PickerRow, *, here_only: bool) -> Sequence[PickerRow]:
        """Switch a skill off or on, perhaps in this project only, and return all. Raises SkillHubError."""


class _Read(Message):
    def __init__(self, rows: Sequence[PickerRow]) -> None:
        super().__init__()
        self.rows = rows


class _Found(Message):
    def __init__(self, answer: _Answer) -> None:
        super().__init__()
        self.answer = answer


class _Asked(Message):
    def __init__(self, act: Callable[[PickerRow], None]) -> None:
        super().__init__()
        self.act = act


class _Failed(Message):
    def __init__(self, error: Exception, *, searching: bool) -> None:
        super().__init__()
        self.error = error
        self.searching = searching


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was found for a text."""

    typed: str
    found: SearchedFor


class _Searching(Enum):
    """Whether rows wait for the hub's search."""

    STARTING = "starting"
    READY = "ready"
    SLOW = "slow"
    FAILED = "failed"


class _SkillTable(DataTable[Text]):
    def on_resize(self) -> None:
        # Enter takes the skill under the cursor, so it stays in sight.
        self.move_cursor(row=self.cursor_row)


class Picker(App[PickerRow], inherit_bindings=False):
    """The app; it returns the chosen skill, or None. After its end, `failure` is what ended it.

    It `has_none` where there was no skill to take.
    """

    TITLE = "SkillHub"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #skills { width: 3fr; overflow-x: hidden; }
    /* As of a table that has the focus: otherwise it can hardly be seen, without colours not at all. */
    #skills > .datatable--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    #preview { width: 2fr; border-left: solid $panel; padding: 0 1; }
    #status { height: 1; color: $text-muted; padding: 0 1; }
    #keys { height: auto; background: $panel; padding: 0 1; }
    .-narrow #preview { display: none; }
    .-low #typed { border: none; height: 1; padding: 0 1; }
    .-low #keys { height: 1; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]  # noqa: RUF012 - Textual declares it so
    # What is below the latter has room for the skills first.
    VERTICAL_BREAKPOINTS = [(0, "-low"), (18, "-high")]  # noqa: RUF012 - Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = [
        # Only leaving comes before what the field that is typed into does with a key.
        Binding(key.names, key.action, key.label, priority=key.action == "leave", show=False)
        for key in KEYS
    ]

    def __init__(self, skills: PickerSkills, *, typed: str = "", scope: PickerScope = "all") -> None:
        super().__init__()
        self.failure: Exception | None = None
        self.has_none = False
        self._skills = skills
        self._typed = typed
        self._scope: PickerScope = scope
        self._rows: Sequence[PickerRow] | None = None
        self._fitting: list[PickerRow] = []
        self._fits_badly = False
        self._shown: list[PickerRow] = []
        self._answer = _Answer("", NOT_SEARCHED)
        self._searching = _Searching.STARTING
        # What a key asked for while the rows were not yet those for what is typed.
        self._waiting: Callable[[PickerRow], None] | None = None
        self._warned_about = ""
        # The skill that was switched, and the one that answers to its name now.
        self._answering: tuple[str, PickerRow] | None = None
        self._shown_for: str | None = None
        self._debounce: Timer | None = None
        # Texts to search for; None for a file that may have changed.
        self._searches: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    @property
    def settled(self) -> bool:
        """Whether the rows are those for what is typed."""
        if self._rows is None:
            return False
        waits = self._searching in (_Searching.STARTING, _Searching.READY)
        return not (waits and self._typed.strip()) or self._answer.typed == self._typed

    def compose(self) -> ComposeResult:
        yield Input(
            value=self._typed,
            placeholder="Type a task, or a part of a name, description or path",
            id="typed",
            select_on_focus=False,
        )
        with Horizontal():
            yield _SkillTable(id="skills", cursor_type="row", zebra_stripes=True)
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(id="text", markup=False)
        yield Static("Reading skills …", id="status", markup=False)
        yield Static(footer(), id="keys", markup=False)

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        # Every key is typed into the one field.
        table.can_focus = False
        table.add_columns("", "skill", "source", "scope", "description")
        typed = self.query_one("#typed", Input)
        typed.focus()
        typed.cursor_position = len(self._typed)
        if os.name != "nt" and threading.current_thread() is threading.main_thread():
            for ending in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(ending, self.action_leave)
        # When the screen is there: reading at the same time would delay it.
        self.call_after_refresh(threading.Thread(target=self._work, name="skillhub-picker", daemon=True).start)

    # What the thread does, and what comes of it

    def _work(self) -> None:
        try:
            self.post_message(_Read(self._skills.read()))
            if self._searches.empty():
                # Opens the index, so that the first word typed need not wait for it.
                self._answer_next(_ANY_WORD)
            while True:
                self._answer_next(self._searches.get())
        except Exception as error:  # noqa: BLE001 - the top of a thread: the command reports it when the screen is gone
            self.post_message(_Failed(error, searching=False))

    def _answer_next(self, asked: str | None) -> None:
        if asked is None:
            self.post_message(_Read(self._skills.reread()))
        elif asked in (self._typed, _ANY_WORD):
            # What is no longer typed is not searched for.
            try:
                self.post_message(_Found(_Answer(asked, self._skills.search(asked))))
            except SkillHubError as error:
                self.post_message(_Failed(error, searching=True))

    @on(_Read)
    def take_rows(self, message: _Read) -> None:
        first = self._rows is None
        # Those that were read again may be older than a skill that was switched meanwhile.
        self._rows = message.rows if first else self._skills.read()
        if first and not message.rows:
            self.has_none = True
            self.exit(None)
            return
        self._show(keep=self._current())
        if first:
            self._ask()
            self._settle()

    @on(_Found)
    def take_answer(self, message: _Found) -> None:
        if message.answer.typed == self._typed or not self._typed.strip():
            # An answer to something else says nothing about how long this one takes.
            self._searching = _Searching.READY
        if message.answer.typed == self._typed:
            self._answer = message.answer
            self._show()
            self._settle()

    @on(_Failed)
    def take_failure(self, message: _Failed) -> None:
        if not message.searching:
            self.failure = message.error
            self.exit(None)
            return
        self._searching = _Searching.FAILED
        self._show()
        self._settle()

    def _ask(self) -> None:
        """Have the hub search for what is typed, and wait for it for some time only."""
        if self._typed.strip() and self._searching is not _Searching.FAILED:
            self._searches.put(self._typed)
            self.set_timer(_PATIENCE_SECONDS, partial(self._lose_patience, self._typed))

    def _lose_patience(self, typed: str) -> None:
        if typed == self._typed and not self.settled and self._rows is not None:
            self._searching = _Searching.SLOW
            self._show()
            self._settle()

    def _settle(self) -> None:
        """Do what waited for these rows."""
        if self._waiting is not None and self.settled:
            act, self._waiting = self._waiting, None
            self.act_when_settled(_Asked(act))

    def _with_current(self, act: Callable[[PickerRow], None]) -> None:
        # By way of the field that is typed into: its messages about what was typed before the key come first.
        self.query_one("#typed", Input).post_message(_Asked(act))

    @on(_Asked)
    def act_when_settled(self, message: _Asked) -> None:
        """Do something with the skill under the cursor, as soon as the rows are those for what is typed."""
        act = message.act
        if not self.settled:
            self._waiting = act
            return
        row = self._current()
        if row is not None:
            act(row)

    # What keys do

    @on(Input.Changed)
    def filter(self, event: Input.Changed) -> None:
        if event.value == self._typed:
            return
        self._typed = event.value
        self._warned_about = ""
        if self._rows is None:
            return
        if self._searching is not _Searching.READY or not self._typed.strip():
            self._show()
        if self._debounce is not None:
            self._debounce.stop()
        self._debounce = self.set_timer(_DEBOUNCE_SECONDS, self._ask)

    @on(DataTable.RowHighlighted)
    def show_preview(self) -> None:
        row = self._current()
        self.query_one("#text", Static).update(NO_MATCH if row is None else on_terminal(self._skills.preview(row)))

    @on(DataTable.RowSelected)
    @on(Input.Submitted)
    def action_choose(self) -> None:
        self._with_current(self._choose)

    def action_edit(self) -> None:
        self._with_current(self._edit)

    def action_copy(self) -> None:
        self._with_current(self._copy)

    def action_toggle_skill(self, here_only: bool) -> None:
        self._with_current(partial(self._toggle, here_only=here_only))

    def _choose(self, row: PickerRow) -> None:
        """Take a skill; one that agents do not get, and one that does not fit, after saying so."""
        if self._warning(row) and self._warned_about != row.directory:
            self._warned_about = row.directory
            self._tell_counts()
            return
        self.exit(row)

    def action_leave(self) -> None:
        self.exit(None)

    def action_move(self, rows: int) -> None:
        table = self.query_one(DataTable)
        table.move_cursor(row=max(0, min(table.cursor_row + rows, table.row_count - 1)))
        self._answering = None
        self._warned_about = ""
        self._tell_counts()

    def action_scope(self) -> None:
        self._scope = next_scope(self._scope)
        self._show()

    def _edit(self, row: PickerRow) -> None:
        try:
            command = editor_command(os.environ, lambda name: shutil.which(name) is not None)
        except ValueError as error:
            self._say(f"VISUAL or EDITOR is no command line: {error}")
            return
        if not command:
            self._say("There is no editor: set EDITOR")
            return
        with self.suspend():
            failure = run_editor(command, self._skills.file(row))
        self.refresh(layout=True)
        self._say(in_line(failure) or f"{row.name} was opened in {command[0]}")
        self._searches.put(None)

    def _copy(self, row: PickerRow) -> None:
        command = copy_command(os.environ, lambda name: shutil.which(name) is not None)
        if command and run_copy_command(command, row.handle):
            self._say(f"{row.handle} was copied with {command[0]}")
            return
        if self._driver is not None:
            self._driver.write(copying_sequence(row.handle))
        self._say(f"{row.handle} was handed to the terminal to copy")

    def _toggle(self, row: PickerRow, *, here_only: bool) -> None:
        before = answering_row(self._rows or (), row.name)
        try:
            self._rows = self._skills.toggle(row, here_only=here_only)
        except SkillHubError as error:
            self._say(error.message)
            return
        self._warned_about = ""
        now = answering_row(self._rows, row.name)
        is_another = now is not None and now.directory not in (row.directory, before and before.directory)
        self._answering = (row.directory, now) if now is not None and is_another else None
        self._show(keep=row)

    # The screen

    def _current(self) -> PickerRow | None:
        at = self.query_one(DataTable).cursor_row
        return self._shown[at] if 0 <= at < len(self._shown) else None

    def _show(self, *, keep: PickerRow | None = None) -> None:
        moved_to = self._current()
        found = self._answer.found if self._answer.typed == self._typed else NOT_SEARCHED
        self._fitting = fitting_rows(self._rows or (), self._typed, self._scope, found)
        nearest = [] if self._fitting else nearest_rows(self._rows or (), self._scope, found)
        self._fits_badly = bool(nearest)
        self._fitting += nearest
        self._shown = self._fitting[:_MOST_SHOWN]
        table = self.query_one(DataTable)
        if keep is None and self._typed == self._shown_for and table.cursor_row > 0:
            # A late answer must not put another skill under a cursor that was moved.
            keep = moved_to
        self._shown_for = self._typed
        table.clear()
        for row in self._shown:
            name = cut(in_line(row.name), _MOST_COLUMNS_FOR_NAMES)
            cells = (_STATES.get(row.state, "?"), name, row.source, row.scope, row.description)
            # Text without markup, so that skills cannot set colours or links.
            table.add_row(*(Text(in_line(cell), no_wrap=True) for cell in cells))
        if keep is not None:
            at = next((n for n, row in enumerate(self._shown) if row.directory == keep.directory), 0)
            table.move_cursor(row=at)
        self._tell_counts()
        self.show_preview()

    def _tell_counts(self) -> None:
        """Say how many skills are shown, or what was said of the one that Enter was pressed on."""
        if self._rows is None:
            return
        row = self._current()
        if row is not None and row.directory == self._warned_about:
            self._say(f"{self._warning(row)}. Enter takes it all the same")
            return
        if row is not None and self._answering is not None and row.directory == self._answering[0]:
            now = self._answering[1]
            self._say(f"{row.name} now loads {now.directory} ({now.source})")
            return
        more = len(self._fitting) - len(self._shown)
        rest = f"; {more:,} not shown" if more else ""
        how = {
            _Searching.SLOW: " · the index is being built: words as typed only",
            _Searching.FAILED: " · no index can be searched: words as typed only",
        }.get(self._searching, "")
        bad = "no good match, the nearest: " if self._fits_badly else ""
        self._say(f"{bad}{count_text(self._fitting, self._rows)}{rest} · scope: {self._scope}{how}")

    def _warning(self, row: PickerRow) -> str:
        """Return what is said before a skill is taken; mostly nothing."""
        bad = f"{row.name} is no good match for this, only the nearest" if self._fits_badly else ""
        return warning_about(row) or bad

    def _say(self, text: str) -> None:
        self.query_one("#status", Static).update(in_line(text))
