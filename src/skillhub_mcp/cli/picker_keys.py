"""The keys of the picker: one table, from which its bindings, its footer and the guide are made. Values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PickerKey:
    """A key: Textual's names of it, what a keyboard and the footer call it, the action, and what that does."""

    names: str
    shown: str
    action: str
    label: str
    meaning: str


KEYS = (
    # What was typed before the screen was there has a line feed for Enter.
    PickerKey("enter,ctrl+j", "Enter", "choose", "take", "prints the skill under the cursor and leaves"),
    PickerKey("escape,ctrl+c", "Esc or Ctrl-C", "leave", "leave", "leaves without one, with exit code 130"),
    PickerKey("up,ctrl+p", "↑ or Ctrl-P", "move(-1)", "up", "to the skill above"),
    PickerKey("down,ctrl+n", "↓ or Ctrl-N", "move(1)", "down", "to the skill below"),
    PickerKey("pageup", "PgUp", "move(-10)", "up ten", "ten skills up"),
    PickerKey("pagedown", "PgDn", "move(10)", "down ten", "ten skills down"),
    PickerKey("ctrl+o", "Ctrl-O", "edit", "edit", "opens its SKILL.md in `$VISUAL` or `$EDITOR`"),
    PickerKey("ctrl+y", "Ctrl-Y", "copy", "copy", "copies its name"),
    PickerKey("ctrl+t", "Ctrl-T", "toggle_skill(False)", "on/off", "switches it off or on"),
    PickerKey("ctrl+r", "Ctrl-R", "toggle_skill(True)", "on/off here", "the same, in this project only"),
    PickerKey("ctrl+s", "Ctrl-S", "scope", "scope", "shows all skills, the project's (repo), or your own (user)"),
)


def footer() -> str:
    """Return every key with its label, in one line."""
    return "  ".join(f"{key.shown} {key.label}" for key in KEYS)
