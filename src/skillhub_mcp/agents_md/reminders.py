"""How are AGENTS.md told of? One block at the beginning, and small reminders behind it (§5.2, §8, §11). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from skillhub_mcp.agents_md.files import Note
from skillhub_mcp.agents_md.schema import AgentsFile, AgentsState, SystemReminderType

# §8: what a model has to be told for the rest to work.
PROMPT_RULES = (
    "The project's AGENTS.md come once, from agents_context: do not look for them again each turn.",
    "Call agents_resolve only before you read or edit a path where you have not worked yet.",
    "Read the AGENTS.md paths that it returns yourself, when you need them, and apply them.",
    "Do not read the same path twice while it is unchanged.",
    'Where a <system-reminder type="session.resume.diff"> stands, apply what it says first.',
)

_CLOSING = re.compile(r"<(?=/agents_context\b)")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_OPENING, _END = "<system-reminder ", "</system-reminder>"
_RESUME_REMINDER = re.compile(
    rf'\n*<system-reminder type="{re.escape(SystemReminderType.SESSION_RESUME_DIFF.value)}">\n.*?\n</system-reminder>',
    re.DOTALL,
)


def agents_context(files: Sequence[tuple[str, str]], notes: Iterable[Note] = ()) -> str:
    """Return the block that a session begins with, of paths and texts; nothing where there is nothing to tell."""
    texts = [f"Instructions from: {_line(path)}\n{_CLOSING.sub('&lt;', text)}" for path, text in files]
    said = [f"<note>{_line(note.path)} {note.message}</note>" for note in notes]
    parts = [*texts, *(["\n".join(said)] if said else [])]
    return '<agents_context scope="initial">\n' + "\n\n".join(parts) + "\n</agents_context>" if parts else ""


def paths_reminder(files: Sequence[AgentsFile]) -> str:
    """Return `agents.resolve.paths` (§11.2): paths and mtimes, no bodies; nothing for no files."""
    if not files:
        return ""
    return _reminder(
        SystemReminderType.AGENTS_RESOLVE_PATHS,
        "Additional AGENTS.md may apply for this path:",
        *_listed(files),
        "Read and apply these files before editing files in this scope.",
    )


def resume_reminder(old: AgentsState, new: AgentsState, recheck: Sequence[AgentsFile]) -> str:
    """Return `session.resume.diff` (§11.3); nothing where nothing has changed and nothing is to be read again."""
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
    """Return `text` with `new` behind it instead of whatever `session.resume.diff` it had before."""
    rest = _RESUME_REMINDER.sub("", text).rstrip("\n")
    return "\n\n".join(part for part in (rest, new) if part)


def trim_output(text: str, max_bytes: int) -> str:
    """Return a tool's output in at most about `max_bytes` of UTF-8, with the reminders at its end whole (§10).

    What was cut is told by a `tool.output.trimmed` reminder. Reminders are kept even where they alone are longer.
    """
    size = len(text.encode("utf-8", "replace"))
    if size <= max_bytes:
        return text
    body, reminders = _parted(text)
    output = body.encode("utf-8", "replace")
    room = max(0, max_bytes - len(reminders.encode("utf-8", "replace")))
    kept = output[:room].decode("utf-8", "ignore")
    said = f"{len(kept.encode()):,} of {len(output):,} bytes are shown."
    parts = (kept.rstrip("\n"), _reminder(SystemReminderType.TOOL_OUTPUT_TRIMMED, said), reminders)
    return "\n\n".join(part for part in parts if part)


def _parted(text: str) -> tuple[str, str]:
    """Return a text without the reminders at its end, and those."""
    rest = text.rstrip()
    while rest.endswith(_END) and _OPENING in rest:
        rest = rest[: rest.rindex(_OPENING)].rstrip()
    return rest, text[len(rest) :].strip()


def _reminder(kind: SystemReminderType, *lines: str) -> str:
    return "\n".join([f'<system-reminder type="{kind.value}">', *lines, "</system-reminder>"])


def _listed(files: Sequence[AgentsFile]) -> list[str]:
    return [f"- {_line(file.path)} (mtime: {file.mtimeMs})" for file in files]


def _markers(state: AgentsState) -> str:
    return json.dumps(list(state.markers), ensure_ascii=False, separators=(",", ":"))


def _line(path: str) -> str:
    """Return a path that stays on its line and opens no tag, whatever a directory is called."""
    plain = _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], path)
    return plain.replace("<", "&lt;").replace(">", "&gt;")
