"""The skill picker on a terminal: search as you type, preview a skill, disable and enable it, choose one.

Built on Textual, because a test can drive it and take a screenshot without a terminal. It is a view only: `picker_rows`
selects the rows, and previews and changes are callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import DataTable, Footer, Input, Static

from skillhub_mcp.cli.output import printable
from skillhub_mcp.cli.picker_rows import NO_MATCH, PickerRow, PickerScope, count_text, filter_rows, next_scope
from skillhub_mcp.errors import SkillHubError

# Enough to scroll through; typing narrows the rest.
_MOST_SHOWN = 500
_STATES = {"on": "●", "off": "○", "denied": "✕"}


@dataclass(frozen=True, slots=True)
class PickerActions:
    """The picker's callbacks: `preview` returns a skill's text; `toggle` disables or enables it and returns all rows.

    The second argument of `toggle` is whether the change applies to this project only.
    """

    preview: Callable[[PickerRow], str]
    toggle: Callable[[PickerRow, bool], Sequence[PickerRow]]


class Picker(App[str]):
    """The app; it returns the handle of the chosen skill, or None."""

    TITLE = "SkillHub"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #skills { width: 3fr; }
    #preview { width: 2fr; border-left: solid $panel; padding: 0 1; }
    #status { height: 1; color: $text-muted; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", priority=True),
        Binding("ctrl+t,f3", "toggle_skill(False)", "On/off", priority=True),
        Binding("ctrl+p,f4", "toggle_skill(True)", "On/off here", priority=True),
        Binding("ctrl+s,f2", "scope", "Scope", priority=True),
        Binding("down", "move(1)", "Down", show=False, priority=True),
        Binding("up", "move(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "move(10)", "Page down", show=False, priority=True),
        Binding("pageup", "move(-10)", "Page up", show=False, priority=True),
        Binding("escape", "leave", "Leave", priority=True),
    ]

    def __init__(
        self, rows: Sequence[PickerRow], actions: PickerActions, *, typed: str = "", scope: PickerScope = "all"
    ) -> None:
        super().__init__()
        self._rows = rows
        self._actions = actions
        self._typed = typed
        self._scope: PickerScope = scope
        self._shown: list[PickerRow] = []

    def compose(self) -> ComposeResult:
        yield Input(value=self._typed, placeholder="Type to search names, descriptions and paths", id="typed")
        with Horizontal():
            yield DataTable(id="skills", cursor_type="row", zebra_stripes=True)
            with VerticalScroll(id="preview"):
                yield Static(id="text", markup=False)
        yield Static(id="status", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns("", "skill", "source", "scope", "description")
        self.query_one(Input).focus()
        self._show()

    @on(Input.Changed)
    def filter(self, event: Input.Changed) -> None:
        self._typed = event.value
        self._show()

    @on(DataTable.RowHighlighted)
    def show_preview(self) -> None:
        row = self._current()
        self.query_one("#text", Static).update(NO_MATCH if row is None else printable(self._actions.preview(row)))

    @on(DataTable.RowSelected)
    def action_choose(self) -> None:
        row = self._current()
        if row is not None:
            self.exit(row.handle)

    def action_scope(self) -> None:
        self._scope = next_scope(self._scope)
        self._show()

    def action_toggle_skill(self, here_only: bool) -> None:
        row = self._current()
        if row is None:
            return
        try:
            self._rows = self._actions.toggle(row, here_only)
        except SkillHubError as error:
            self.notify(error.message, severity="error", markup=False)
        self._show(keep=row)

    def action_move(self, rows: int) -> None:
        table = self.query_one(DataTable)
        table.move_cursor(row=max(0, min(table.cursor_row + rows, table.row_count - 1)))

    def action_leave(self) -> None:
        self.exit(None)

    def _current(self) -> PickerRow | None:
        at = self.query_one(DataTable).cursor_row
        return self._shown[at] if 0 <= at < len(self._shown) else None

    def _show(self, *, keep: PickerRow | None = None) -> None:
        fitting = filter_rows(self._rows, self._typed, self._scope)
        self._shown = fitting[:_MOST_SHOWN]
        table = self.query_one(DataTable)
        table.clear()
        for row in self._shown:
            cells = (_STATES.get(row.state, "?"), row.name, row.source, row.scope, row.description)
            # Text without markup, so that skills cannot set colours or links.
            table.add_row(*(Text(printable(cell), no_wrap=True) for cell in cells))
        if keep is not None:
            at = next((n for n, row in enumerate(self._shown) if row.directory == keep.directory), 0)
            table.move_cursor(row=at)
        more = len(fitting) - len(self._shown)
        rest = f"; {more:,} not shown" if more else ""
        self.query_one("#status", Static).update(f"{count_text(fitting, self._rows)}{rest} · scope: {self._scope}")
        self.show_preview()
