"""The audit log: one line for each load, read and run, granted or refused, in the server's log and in a file."""

from __future__ import annotations

import logging
import os
import sys
from datetime import datetime, timezone
from functools import cache

from skillhub_mcp._util.json_lines import JsonLinesLog
from skillhub_mcp.events import REQUEST_CONTEXT, Event, Observer, UseEvent

log = logging.getLogger("skillhub_mcp.audit")

_MAX_CHARACTERS = 1_024


class Audit(Observer):
    """Records uses of skills, without arguments of commands. Outside a request the caller is `owner`."""

    def __init__(self, *, owner: str, file: JsonLinesLog | None) -> None:
        self._owner = owner
        self._file = file

    def record(self, event: Event) -> None:
        """Write a line for a use of a skill."""
        if not isinstance(event, UseEvent):
            return
        request = REQUEST_CONTEXT.get()
        fields: dict[str, object] = {
            "skill": event.skill and event.skill[:_MAX_CHARACTERS],
            "source": event.source,
            "part": event.part,
            "file": event.file_path and event.file_path[:_MAX_CHARACTERS],
            # The rest are arguments, which may contain secrets.
            "command": event.command and "".join(event.command.split(maxsplit=1)[:1])[:_MAX_CHARACTERS],
            "exit_code": event.exit_code,
            "sandbox": event.sandbox,
            "network": event.network,
            "digest": event.digest,
            "outcome": event.outcome,
            "who": self._owner if request is None else request.caller,
            "transport": "local" if request is None else request.transport,
            "session": None if request is None else request.session or None,
            "trace_id": None if request is None else request.trace_id or None,
        }
        known = {key: value for key, value in fields.items() if value is not None}
        log.info("%s", event.action, extra=known)
        if self._file is not None:
            at = datetime.now(timezone.utc).isoformat()
            self._file.append({"at": at, "pid": os.getpid(), "act": event.action, **known})


@cache
def process_owner() -> str:
    """Return the name of the user who runs this process, or their id."""
    if sys.platform == "win32":
        import getpass

        return getpass.getuser()
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        # In a container the user id may have no name.
        return str(os.getuid())
