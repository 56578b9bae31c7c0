"""Who was given what, and who was refused? One line for each load, read and run, in the log and in a file.

A line cannot be forged: whatever a skill is named stands in quotes, with its line ends escaped.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from functools import cache

from skillhub_mcp.events import REQUEST_CONTEXT, Event, UseEvent
from skillhub_mcp.json_lines import JsonLinesLog

log = logging.getLogger("skillhub_mcp.audit")

_MAX_CHARACTERS = 1_024


class Audit:
    """Notes uses of skills. Outside a request they are made by the `owner` of this process, at a shell or in a program.

    Arguments of commands are left out, for they may hold secrets.
    """

    def __init__(self, *, owner: str, file: JsonLinesLog | None) -> None:
        self._owner = owner
        self._file = file

    def begins(self, happening: Event) -> Callable[[], None]:
        """Note a use when it has ended."""

        def ended() -> None:
            if isinstance(happening, UseEvent):
                self._note(happening)

        return ended

    def _note(self, use: UseEvent) -> None:
        asking = REQUEST_CONTEXT.get()
        facts: dict[str, object] = {
            "skill": _bounded(use.skill),
            "source": use.source,
            "part": use.part,
            "file": _bounded(use.file_path),
            "command": _bounded(_first_word(use.command)),
            "exit_code": use.exit_code,
            "outcome": use.outcome,
            "who": self._owner if asking is None else asking.who,
            "transport": "local" if asking is None else asking.transport,
            "session": None if asking is None else asking.session or None,
            "trace_id": None if asking is None else asking.trace_id or None,
        }
        known = {key: value for key, value in facts.items() if value is not None}
        log.info("%s", use.act, extra=known)
        if self._file is not None:
            at = datetime.now(timezone.utc).isoformat()
            self._file.note({"at": at, "pid": os.getpid(), "act": use.act, **known})


@cache
def owner_of_this_process() -> str:
    """Return who runs this process, as the operating system has it."""
    if sys.platform == "win32":
        import getpass

        return getpass.getuser()
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        # In a container the number may have no name.
        return str(os.getuid())


def _first_word(command: str | None) -> str | None:
    # A refused command may be a whole line: what stands behind the name is arguments.
    return None if command is None else "".join(command.split(maxsplit=1)[:1])


def _bounded(text: str | None) -> str | None:
    return None if text is None else text[:_MAX_CHARACTERS]
