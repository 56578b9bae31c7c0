"""The skill picker on a terminal (Textual): search as you type, preview, edit, copy, switch a skill, take one.

Names and descriptions are matched at once; the hub's search runs in a thread and re-ranks the rows when it is done.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import DataTable, Footer, Input, Static

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.chosen_roots import choices_path, project_of
from skillhub_mcp.cli.commands.enable import namesakes, switched_by_path
from skillhub_mcp.cli.console import markdown, shown_path
from skillhub_mcp.cli.picker_rows import (
    NO_MATCH,
    NOT_SEARCHED,
    SCOPES,
    PickerRow,
    PickerScope,
    SearchedFor,
    count_text,
    fitting_rows,
    nearest_rows,
    picker_rows,
    searched_for,
    warning_about,
)
from skillhub_mcp.errors import SkillHubError, TerminalUnavailable
from skillhub_mcp.hub import MAX_LIMIT
from skillhub_mcp.policy.files import change_choices
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.model import SKILL_FILE

_MOST_SHOWN = 200
_STATES = {"on": "●", "off": "○", "denied": "✕"}
_PREVIEW_CHARACTERS = 20_000
_DEVICE = "/dev/tty"


class HubSkills:
    """The skills of a hub of its own. What is typed is sent to no provider and is in no usage log."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        search = settings.search.model_copy(update={"rerank": "off"})
        if settings.embedding.provider in ("onnx", "openai", "gemini"):
            search = search.model_copy(update={"mode": "fts"})
        observability = settings.observability.model_copy(update={"usage": "off"})
        typing = settings.model_copy(update={"search": search, "observability": observability})
        self.hub = make_hub(typing, background=False)

    def read(self) -> Sequence[PickerRow]:
        """Return the skills."""
        return picker_rows(self.hub.listed())

    def search(self, typed: str) -> SearchedFor:
        """Return what the hub's search finds. Raises SkillHubError."""
        return searched_for(self.hub.search(typed, limit=MAX_LIMIT))

    def preview(self, row: PickerRow) -> str:
        """Return a skill's text, also of one that is off."""
        try:
            skill = self.hub.find(row.directory)
            return read_document(skill, self.hub.files_of(skill)).instructions[:_PREVIEW_CHARACTERS]
        except SkillHubError as error:
            return error.message

    def toggle(self, row: PickerRow, *, here_only: bool) -> Sequence[PickerRow]:
        """Switch a skill off or on, perhaps in this project only, and return all. Raises SkillHubError."""
        skill = self.hub.find(row.directory)
        others = namesakes(self.hub, skill)
        project = project_of(self._settings).root if here_only else None
        change_choices(
            choices_path(),
            lambda choices: switched_by_path(choices, skill, others, on=row.state != "on", project=project),
        )
        return self.read()


class Picker(App[PickerRow], inherit_bindings=False):
    """The app; it returns the chosen skill, or None."""

    TITLE = "SkillHub"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #skills { width: 3fr; overflow-x: hidden; }
    #skills > .datatable--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    #preview { width: 2fr; border-left: solid $panel; padding: 0 1; }
    #status { height: 1; color: $text-muted; padding: 0 1; }
    .-narrow #preview { display: none; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]  # noqa: RUF012 - Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = [
        # What was typed before the screen was there has a line feed for Enter.
        Binding("enter,ctrl+j", "choose", "take"),
        Binding("escape,ctrl+c", "leave", "leave", priority=True),
        Binding("up,ctrl+p", "move(-1)", "up", show=False),
        Binding("down,ctrl+n", "move(1)", "down", show=False),
        Binding("pageup", "move(-10)", "up ten", show=False),
        Binding("pagedown", "move(10)", "down ten", show=False),
        Binding("ctrl+o", "edit", "edit"),
        Binding("ctrl+y", "copy", "copy"),
        Binding("ctrl+t", "toggle_skill(False)", "on/off"),
        Binding("ctrl+r", "toggle_skill(True)", "on/off here"),
        Binding("ctrl+s", "scope", "scope"),
    ]

    def __init__(self, skills: HubSkills, *, typed: str = "", scope: PickerScope = "all") -> None:
        super().__init__()
        self._skills = skills
        self._typed = typed
        self._scope: PickerScope = scope
        self._rows = skills.read()
        self._found: tuple[str, SearchedFor] = ("", NOT_SEARCHED)
        self._shown: list[PickerRow] = []
        self._near_misses = False
        self._warned_about = ""

    def compose(self) -> ComposeResult:
        yield Input(
            self._typed, placeholder="Type a task, or part of a name, description or path", select_on_focus=False
        )
        with Horizontal():
            yield DataTable(id="skills", cursor_type="row", zebra_stripes=True)
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(id="text", markup=False)
        yield Static(id="status", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        # Every key goes to the one field.
        table.can_focus = False
        table.add_columns("", "skill", "source", "scope", "description")
        field = self.query_one(Input)
        field.focus()
        field.cursor_position = len(self._typed)
        self._show()
        self._search(self._typed)

    @work(thread=True, exclusive=True)
    def _search(self, typed: str) -> None:
        if not typed.strip():
            return
        try:
            found = self._skills.search(typed)
        except SkillHubError as error:
            self.call_from_thread(self._say, f"{error.message}; matching words as typed")
            return
        self.call_from_thread(self._take_found, typed, found)

    def _take_found(self, typed: str, found: SearchedFor) -> None:
        if typed == self._typed:
            self._found = (typed, found)
            # A late answer must not put another skill under a cursor that was moved.
            self._show(keep=self._current() if self.query_one(DataTable).cursor_row else None)

    @on(Input.Changed)
    def filter(self, event: Input.Changed) -> None:
        """Show the rows for what is typed now."""
        if event.value != self._typed:
            self._typed = event.value
            self._show()
            self._search(self._typed)

    @on(DataTable.RowHighlighted)
    def show_preview(self) -> None:
        """Show the text of the skill under the cursor."""
        row = self._current()
        text = self.query_one("#text", Static)
        if row is None:
            text.update(NO_MATCH)
            return
        head = f"# {in_line(row.name)}\n\n{in_line(shown_path(row.directory))}\n\n*{in_line(row.description)}*\n\n"
        text.update(markdown(head + self._skills.preview(row)))

    @on(DataTable.RowSelected)
    @on(Input.Submitted)
    def action_choose(self) -> None:
        """Take a skill; if agents do not get it or it does not fit, only when Enter is pressed again."""
        row = self._current()
        if row is None:
            return
        warning = warning_about(row)
        if self._near_misses and not warning:
            warning = f"{row.name} is not a good match, only the nearest"
        if warning and self._warned_about != row.directory:
            self._warned_about = row.directory
            self._say(f"{warning}. Press Enter again to take it")
            return
        self.exit(row)

    def action_leave(self) -> None:
        """Leave without a skill."""
        self.exit(None)

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        table = self.query_one(DataTable)
        table.move_cursor(row=max(0, min(table.cursor_row + rows, table.row_count - 1)))
        self._warned_about = ""
        self._say_counts()

    def action_scope(self) -> None:
        """Show the next scope: all, the project's, the user's."""
        self._scope = SCOPES[(SCOPES.index(self._scope) + 1) % len(SCOPES)]
        self._show()

    def action_edit(self) -> None:
        """Open the SKILL.md in VISUAL, EDITOR or vi."""
        row = self._current()
        if row is None:
            return
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
        try:
            with self.suspend():
                path = os.path.join(row.directory, SKILL_FILE)
                streams = {"stdin": sys.__stdin__, "stdout": sys.__stdout__, "stderr": sys.__stderr__}
                done = subprocess.run([*shlex.split(editor), path], check=False, **streams)  # type: ignore[call-overload]
            self._say(f"{row.name} was opened in {editor}" if not done.returncode else f"{editor} failed")
        except (OSError, ValueError) as error:
            self._say(f"{editor!r} cannot be run: {error}; set EDITOR")
        self._skills.hub.refresh(waiting=True)
        self._rows = self._skills.read()
        self._show(keep=row)

    def action_copy(self) -> None:
        """Copy the name to the clipboard."""
        row = self._current()
        if row is not None:
            self.copy_to_clipboard(row.handle)
            self._say(f"{row.handle} was copied")

    def action_toggle_skill(self, here_only: bool) -> None:
        """Switch the skill off or on."""
        row = self._current()
        if row is None:
            return
        try:
            self._rows = self._skills.toggle(row, here_only=here_only)
        except SkillHubError as error:
            self._say(error.message)
            return
        self._warned_about = ""
        self._show(keep=row)
        now = next((one for one in self._rows if one.handle == row.name and one.state == "on"), None)
        if now is not None and now.directory != row.directory and row.handle == row.name:
            self._say(f"{row.name} now loads {shown_path(now.directory)} ({now.source})")

    def _current(self) -> PickerRow | None:
        at = self.query_one(DataTable).cursor_row
        return self._shown[at] if 0 <= at < len(self._shown) else None

    def _show(self, *, keep: PickerRow | None = None) -> None:
        found = self._found[1] if self._found[0] == self._typed else NOT_SEARCHED
        fitting = fitting_rows(self._rows, self._typed, self._scope, found)
        nearest = [] if fitting else nearest_rows(self._rows, self._scope, found)
        self._near_misses = bool(nearest)
        self._shown = (fitting or nearest)[:_MOST_SHOWN]
        self._warned_about = ""
        table = self.query_one(DataTable)
        table.clear()
        for row in self._shown:
            cells = (_STATES.get(row.state, "?"), row.name, row.source, row.scope, row.description)
            # Text without markup, so that skills cannot set colours or links.
            table.add_row(*(Text(in_line(cell), no_wrap=True) for cell in cells))
        if keep is not None:
            at = next((n for n, row in enumerate(self._shown) if row.directory == keep.directory), 0)
            table.move_cursor(row=at)
        self._say_counts()
        self.show_preview()

    def _say_counts(self) -> None:
        bad = "no good match, the nearest: " if self._near_misses else ""
        self._say(f"{bad}{count_text(self._shown, self._rows)} · scope: {self._scope}")

    def _say(self, text: str) -> None:
        self.query_one("#status", Static).update(in_line(text))


@contextmanager
def own_terminal() -> Iterator[None]:
    """Let Textual use the terminal, whatever stdin and stdout are, as in `skillhub show "$(skillhub pick)"`.

    Raises TerminalUnavailable.
    """
    if os.environ.get("TERM") == "dumb":
        raise TerminalUnavailable("TERM is dumb")
    if os.name == "nt":
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise TerminalUnavailable("stdin and stdout are not both a console")
        yield
        return
    try:
        descriptor = os.open(_DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise TerminalUnavailable(f"{_DEVICE}: {error.strerror}") from error
    with (
        os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as screen,
        os.fdopen(os.dup(descriptor), encoding="utf-8", errors="replace") as keys,
    ):
        before = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
        _set_original_streams(keys, screen, screen)
        try:
            yield
        finally:
            _set_original_streams(*before)


def _set_original_streams(stdin: object, stdout: object, stderr: object) -> None:
    # Not Final at run time, and the only way to tell Textual which terminal it draws on.
    vars(sys).update(__stdin__=stdin, __stdout__=stdout, __stderr__=stderr)
