"""The texts about AGENTS.md for models: the initial block, and the reminders of later changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from skillhub_mcp.agents_md.files import Note
from skillhub_mcp.agents_md.schema import AgentsFile, AgentsState, SystemReminderType
from skillhub_mcp.sanitize import contained, in_line

PROMPT_RULES = (
    "agents_context returns the project's AGENTS.md once: do not look for them again each turn.",
    "Call agents_resolve only before you read or edit a path where you have not worked yet.",
    "Read the AGENTS.md paths that it returns yourself, when you need them, and apply them.",
    "Do not read the same path twice while it is unchanged.",
    'If there is a <system-reminder type="session.resume.diff">, apply it first.',
)

_OPENING, _END = "<system-reminder ", "</system-reminder>"
_RESUME_REMINDER = re.compile(
    rf'<system-reminder type="{SystemReminderType.SESSION_RESUME_DIFF.value}">\n.*?\n{_END}', re.DOTALL
)


def agents_context(files: Sequence[tuple[str, str]], notes: Iterable[Note] = (), *, scope: str = "initial") -> str:
    """Return the block with the paths and texts of `files`; "" without files and notes."""
    texts = [f"Instructions from: {_line(path)}\n{contained(text)}" for path, text in files]
    note_lines = [f"<note>{_line(note.path)} {note.message}</note>" for note in notes]
    parts = [*texts, *(["\n".join(note_lines)] if note_lines else [])]
    return f'<agents_context scope="{scope}">\n' + "\n\n".join(parts) + "\n</agents_context>" if parts else ""


def paths_reminder(files: Sequence[AgentsFile]) -> str:
    """Return the `agents.resolve.paths` reminder, with paths and mtimes but no bodies; "" without files."""
    if not files:
        return ""
    return _reminder(
        SystemReminderType.AGENTS_RESOLVE_PATHS,
        "Additional AGENTS.md may apply for this path:",
        *_listed(files),
        "Read and apply these files before editing files in this scope.",
    )


def resume_reminder(old: AgentsState, new: AgentsState, recheck: Sequence[AgentsFile]) -> str:
    """Return the `session.resume.diff` reminder; "" if nothing has changed and no file is to be read again."""
    same = (old.cwd, old.root, old.markers) == (new.cwd, new.root, new.markers)
    if same and not recheck:
        return ""
    lines = [
        "Session resumed with context changes:",
        f"- cwd: {_line(old.cwd)} -> {_line(new.cwd)}",
        f"- root: {_line(old.root)} -> {_line(new.root)}",
        f"- markers: {_markers(old)} -> {_markers(new)}",
    ]
    if recheck:
        lines += ["Re-check AGENTS.md for current scope:", *_listed(recheck)]
    return _reminder(SystemReminderType.SESSION_RESUME_DIFF, *lines)


def replace_resume_reminder(text: str, new: str) -> str:
    """Return `text` without its earlier `session.resume.diff` reminder, followed by `new`."""
    *before, last = _RESUME_REMINDER.split(text)
    rest = "".join([*(part.rstrip("\n") for part in before), last]).rstrip("\n")
    return "\n\n".join(part for part in (rest, new) if part)


def trim_output(text: str, max_bytes: int) -> str:
    """Return a tool's output in at most `max_bytes` bytes, with a note; the reminders at its end stay whole."""
    if len(text.encode("utf-8", "replace")) <= max_bytes:
        return text
    body, reminders = _split_reminders(text)
    output = body.encode("utf-8", "replace")

    def trimmed(room: int) -> str:
        kept = output[:room].decode("utf-8", "ignore").rstrip("\n")
        message = f"{len(kept.encode()):,} of {len(output):,} bytes are shown."
        parts = (kept, _reminder(SystemReminderType.TOOL_OUTPUT_TRIMMED, message), reminders)
        return "\n\n".join(part for part in parts if part)

    over = len(trimmed(max_bytes).encode()) - max_bytes
    return trimmed(max(0, max_bytes - over))


def _split_reminders(text: str) -> tuple[str, str]:
    """Split a text into its body and the reminders at its end."""
    end = len(text.rstrip())
    while text.endswith(_END, 0, end):
        start = text.rfind(_OPENING, 0, end)
        if start < 0:
            break
        end = start
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end], text[end:].strip()


def _reminder(kind: SystemReminderType, *lines: str) -> str:
    return "\n".join([f'<system-reminder type="{kind.value}">', *lines, "</system-reminder>"])


def _listed(files: Sequence[AgentsFile]) -> list[str]:
    return [f"- {_line(file.path)} (mtime: {file.mtimeMs})" for file in files]


def _markers(state: AgentsState) -> str:
    return json.dumps(list(state.markers), ensure_ascii=False, separators=(",", ":"))


def _line(path: str) -> str:
    """Return a path on one line, with angle brackets escaped."""
    return in_line(path).replace("<", "&lt;").replace(">", "&gt;")
