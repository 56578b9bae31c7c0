"""What does a person or a script see? stdout carries the answer, stderr all else; errors look the same everywhere.

What a skill's author wrote reaches a terminal only through `printable`: by `say`, `print_error` and `logs`.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillhub_mcp.errors import SkillHubError
    from skillhub_mcp.index.progress import ProgressCallback

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_INTERRUPTED = 130

NO_SKILLS = "No skills. Put a folder with a SKILL.md into the skills directory, which `skillhub config` names."

# What moves a terminal's cursor, recolours, or turns text around: C0 but tab and newline, DEL, C1, the directional
# overrides and isolates, and halves of characters, which no encoding can carry.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def prepare_streams() -> None:
    """Let any character be printed somehow: as UTF-8 where the locale says only ASCII, else as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            only_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if only_ascii else None, errors="backslashreplace")


def printable(text: str) -> str:
    """Return `text` with whatever would act on a terminal written as an escape; lines stay lines."""
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def one_line(text: str, *, width: int = 160) -> str:
    """Return `text` as one line of at most `width` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1].rstrip() + "…"


def say(text: str) -> None:
    """Print `text` for a person, on stdout."""
    print(printable(text))


def note(text: str) -> None:
    """Print something that is not the answer itself, on stderr."""
    print(printable(text), file=sys.stderr)


def print_json(value: object) -> None:
    """Print `value` as indented JSON on stdout."""
    print(_json(value, sys.stdout, indent=2))


def print_error(error: SkillHubError, *, as_json: bool, path: str | None = None) -> None:
    """Print `error` on stderr: a line, and a hint after a blank line; with `as_json`, an object.

    `path` is the file that is at fault, where the message leaves it out because others hear it too.
    """
    if as_json:
        place = {} if path is None else {"path": path}
        failure = {"code": error.code, "message": error.message, **error.facts, **place, "hint": error.hint}
        print(_json({"error": failure}, sys.stderr), file=sys.stderr)
        return
    print(f"error: {printable(error.message)}{'' if path is None else f' ({printable(path)})'}", file=sys.stderr)
    if error.hint:
        print(f"\nhint: {printable(error.hint)}", file=sys.stderr)


def write_file(path: str, text: str, *, option: str = "--output") -> None:
    """Write a file in one step, so that a reader finds it whole. Raises InvalidArgument where it cannot be written."""
    from skillhub_mcp.errors import InvalidArgument

    new = f"{path}.{os.getpid()}.new"
    try:
        with open(new, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise InvalidArgument(option, f"{path!r} cannot be written: {error.strerror}") from error


def terminal_progress() -> ProgressCallback:
    """Return a progress bar on stderr where that is a terminal, else silence."""
    from skillhub_mcp.index.progress import no_progress

    if not sys.stderr.isatty():
        return no_progress
    from tqdm import tqdm

    bars: dict[str, Any] = {}

    def show(step: str, done: int, total: int) -> None:
        if step not in bars:
            # One bar at a time: a step that failed half-way never says that it is done.
            while bars:
                bars.popitem()[1].close()
            bars[step] = tqdm(total=total, desc=step, unit=" skills", leave=False, file=sys.stderr)
        bar = bars[step]
        bar.update(done - bar.n)
        if done >= total:
            bars.pop(step).close()

    return show


def _json(value: object, stream: Any, *, indent: int | None = None) -> str:
    """Return JSON that `stream` can carry whole: an escape of Python's would not be one of JSON's."""
    written = json.dumps(value, ensure_ascii=not _carries_everything(stream), indent=indent)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _carries_everything(stream: Any) -> bool:
    return codecs.lookup(getattr(stream, "encoding", None) or "ascii").name.startswith("utf")
