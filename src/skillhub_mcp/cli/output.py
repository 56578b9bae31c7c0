"""Output of commands: results on stdout, everything else on stderr, and one form for errors.

Text from skills reaches a terminal only through `harmless`: `print_text`, `print_note`, `print_error`, a Painter and
the log make whole texts harmless. A name, a path or another value goes through `in_line` on its way into a text, so
that it begins no line of its own.
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.progress_line import hide_progress
from skillhub_mcp.cli.text_width import cut
from skillhub_mcp.environment import expand_home
from skillhub_mcp.sanitize import in_json, in_line, on_terminal

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.empty_result import EmptyResult
    from skillhub_mcp.errors import SkillHubError
    from skillhub_mcp.skills.problems import Problem

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_INTERRUPTED = 130
_SHOWN_PROBLEMS = 20
# What the system says of a path where nothing can be, whoever writes: it was mistyped.
_WRONG_PATH = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL})
_KILO = 1_000


def prepare_streams() -> None:
    """Open the standard streams that were closed, and make every character printable.

    A character is printed as UTF-8 where the locale is plain ASCII, and escaped where its encoding lacks it.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            only_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if only_ascii else None, errors="backslashreplace")


def _open_closed_streams() -> None:
    """Replace closed streams, in the order of their descriptors, so that no other file takes the place of one.

    What is written to a closed stdout must fail, as it would have: its replacement cannot be written to.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - it stays open as long as the program runs
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - so does this


def drop(stream: Any) -> None:
    """Redirect `stream` to the null device, so that Python's flush at exit succeeds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def plural(count: int, thing: str, things: str = "") -> str:
    """Return a number and what it counts, such as `2 files`; `things` where that is no `thing` with an `s`."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def size_text(count: int) -> str:
    """Return a number of bytes as a person reads it, such as `1.2 MB`."""
    size, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < _KILO:
            break
        size, unit = size / _KILO, larger
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def one_line(text: str, *, width: int | None = 160) -> str:
    """Return `text` as one line of at most `width` columns of a terminal; with None, all of it."""
    flat = in_line(" ".join(text.split()))
    return flat if width is None else cut(flat, width)


def print_text(text: str) -> None:
    """Print `text` on stdout, safely for a terminal."""
    hide_progress()
    print(on_terminal(text))


def print_note(text: str) -> None:
    """Print a note that is not part of the result, on stderr. Where nobody can read it, it is lost."""
    hide_progress()
    try:
        print(on_terminal(text), file=sys.stderr)
    except OSError:
        drop(sys.stderr)


def print_waiting(name: str) -> None:
    """Print a note that a storage does not answer yet: that may go on for minutes."""
    print_note(in_line(f"waiting for {name}, which has not answered yet"))


def print_empty_result(absence: EmptyResult) -> None:
    """Print on stdout why there is nothing to show, each cause with its fix."""
    print_text(_empty_result_text(absence))


def note_empty_result(absence: EmptyResult) -> None:
    """Print the same on stderr, where stdout has a result without skills."""
    print_note(_empty_result_text(absence))


def _empty_result_text(absence: EmptyResult) -> str:
    return f"No skills:\n{problem_lines(absence.causes)}"


def problem_lines(problems: Sequence[Problem]) -> str:
    """Return the first twenty problems, three lines each, and how many more there are."""
    lines = [
        f"  {in_line(from_home(one.subject))}\n      {in_line(one.message)}\n      → {in_line(one.fix)}"
        for one in problems[:_SHOWN_PROBLEMS]
    ]
    more = len(problems) - _SHOWN_PROBLEMS
    return "\n".join([*lines, *([f"  … and {more:,} more; --json lists them all"] if more > 0 else [])])


def from_home(about: str) -> str:
    """Return what a problem is about, with a path below the home directory written from `~`, as other places are."""
    home = os.path.join(expand_home("~"), "")
    return f"~{os.sep}{about.removeprefix(home)}" if len(home) > 1 and about.startswith(home) else about


def problems_json(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """Return problems as JSON values."""
    return [{"subject": one.subject, "message": one.message, "fix": one.fix} for one in problems]


def print_json(value: object) -> None:
    """Print `value` as indented JSON on stdout."""
    hide_progress()
    print(_json(value, sys.stdout, indent=2))


def print_json_list(key: str, items: Iterable[object], rest: Mapping[str, object]) -> None:
    """Print what `print_json` would of `{key: [*items], **rest}`; no more of the items is in memory than their text.

    Nothing is printed before the last of them is there: what fails until then fails without half an output.
    """
    texts = [_json(item, sys.stdout, indent=2).replace("\n", "\n    ") for item in items]
    hide_progress()
    print(f"{{\n  {_json(key, sys.stdout)}: [", end="\n    " if texts else "")
    for number, text in enumerate(texts):
        print(text, end=",\n    " if number < len(texts) - 1 else "\n  ")
    print("]" + (f",{_json(rest, sys.stdout, indent=2)[1:]}" if rest else "\n}"))


def print_error(error: SkillHubError, *, as_json: bool, path: str | None = None) -> None:
    """Print `error` on stderr: one line, and after a blank line the hint; with `as_json`, a JSON object.

    `path` is the invalid file, for errors whose message does not name it because clients receive it too.
    """
    if as_json:
        place = {} if path is None else {"path": path}
        print_note(_json({"error": error_json(error, **place)}, sys.stderr))
        return
    print_note(in_line(f"error: {error.message}{'' if path is None else f' ({path})'}"))
    if error.hint:
        print_note(f"\nhint: {in_line(error.hint)}")


def error_json(error: SkillHubError, **more: object) -> dict[str, object]:
    """Return an error as JSON has it."""
    return {"code": error.code, "message": error.message, **error.facts, **more, "hint": error.hint}


def strict_refusals(count: int, remedy: str) -> str:
    """Return how many of the refused skills only strict rules refuse, to follow their number; empty for none."""
    return f", {count:,} of them by strict rules alone ({remedy})" if count else ""


def write_file(path: str, content: bytes, *, argument: str = "--output") -> None:
    """Write a file atomically.

    Raises InvalidArgument about `argument` where its path is wrong, and OutputUnwritable where the system forbids it.
    """
    from skillhub_mcp._util.atomic_write import atomic_write
    from skillhub_mcp.errors import InvalidArgument, OutputUnwritable

    try:
        atomic_write(path, content)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _WRONG_PATH:
            raise InvalidArgument(argument, f"{path!r} cannot be written: {reason}") from error
        raise OutputUnwritable(path, reason) from error


def print_painted(line: str) -> None:
    """Print on stdout a line that a Painter has made printable, with its colours."""
    hide_progress()
    print(line)


def _json(value: object, stream: Any, *, indent: int | None = None) -> str:
    """Return JSON that `stream` can encode: characters that it cannot are escaped as in JSON, not as in Python."""
    written = json.dumps(value, ensure_ascii=not _encodes_unicode(stream), indent=indent)
    return in_json(written)


def _encodes_unicode(stream: Any) -> bool:
    return codecs.lookup(getattr(stream, "encoding", None) or "ascii").name.startswith("utf")
