"""The audit log: one line for each load, read and run, granted or refused, in the server's log and in a file."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from functools import cache

from skillhub_mcp._util.json_lines import JsonLinesLog
from skillhub_mcp.events import REQUEST_CONTEXT, Event, UseEvent

log = logging.getLogger("skillhub_mcp.audit")

_MAX_CHARACTERS = 1_024


class Audit:
    """Records uses of skills, without arguments of commands. Outside a request the caller is `owner`."""

    def __init__(self, *, owner: str, file: JsonLinesLog | None) -> None:
        self._owner = owner
        self._file = file

    def start(self, event: Event) -> Callable[[], None]:
        """Record a use when it has ended."""

        def finish() -> None:
            if isinstance(event, UseEvent):
                self._record(event)

        return finish

    def _record(self, use: UseEvent) -> None:
        request = REQUEST_CONTEXT.get()
        fields: dict[str, object] = {
            "skill": use.skill and use.skill[:_MAX_CHARACTERS],
            "source": use.source,
            "part": use.part,
            "file": use.file_path and use.file_path[:_MAX_CHARACTERS],
            # The rest are arguments, which may contain secrets.
            "command": use.command and "".join(use.command.split(maxsplit=1)[:1])[:_MAX_CHARACTERS],
            "exit_code": use.exit_code,
            "sandbox": use.sandbox,
            "network": use.network,
            "digest": use.digest,
            "outcome": use.outcome,
            "who": self._owner if request is None else request.caller,
            "transport": "local" if request is None else request.transport,
            "session": None if request is None else request.session or None,
            "trace_id": None if request is None else request.trace_id or None,
        }
        known = {key: value for key, value in fields.items() if value is not None}
        log.info("%s", use.action, extra=known)
        if self._file is not None:
            at = datetime.now(timezone.utc).isoformat()
            self._file.append({"at": at, "pid": os.getpid(), "act": use.action, **known})


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
