"""Results of commands as text and JSON on stdout, everything else on stderr; exit codes; one form for errors.

Text from skills reaches a terminal only through `console` and `print_error`, which sanitize whole texts. A name, a path
or another value also passes `in_line`, so that it cannot start a line.
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.cli.console import hide_progress, print_note, print_text
from skillhub_mcp.environment import shown_path
from skillhub_mcp.sanitize import in_json, in_line

if TYPE_CHECKING:
    from skillhub_mcp.auditing.rules import AuditFinding
    from skillhub_mcp.disclosure.empty_result import EmptyResult
    from skillhub_mcp.errors import SkillHubError
    from skillhub_mcp.hub import ListedSkill
    from skillhub_mcp.skills.model import Problem, Skill
    from skillhub_mcp.skills.rules import Diagnostic

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_INTERRUPTED = 130
_SHOWN_PROBLEMS = 20
# The errors of a mistyped path.
_WRONG_PATH = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL})


def prepare_streams() -> None:
    """Replace standard streams that were closed by the null device, and make every character printable.

    A character is printed as UTF-8 if the locale is plain ASCII, and escaped if its encoding lacks it.
    """
    # In the order of their descriptors, so that no other file takes the place of one.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            only_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if only_ascii else None, errors="backslashreplace")


def print_empty_result(empty: EmptyResult, *, to_stderr: bool = False) -> None:
    """Print why there is nothing to show, each cause with its fix; on stderr if stdout has a result."""
    text = f"No skills:\n{problem_lines(empty.causes)}"
    if to_stderr:
        print_note(*text.split("\n"))
    else:
        print_text(text)


def problem_lines(problems: Sequence[Problem]) -> str:
    """Return the first twenty problems, three lines each, and how many more there are."""
    shown = [
        f"  {in_line(shown_path(one.subject))}\n      {in_line(one.message)}\n      → {in_line(one.fix)}"
        for one in problems
    ]
    return "\n".join(first_lines(shown, _SHOWN_PROBLEMS))


def first_lines(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines, and how many more there are."""
    more = len(lines) - most
    return [*lines[:most], *([f"  … and {more:,} more; --json lists them all"] if more > 0 else [])]


def problems_json(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """Return problems as JSON values."""
    return [{"subject": one.subject, "message": one.message, "fix": one.fix} for one in problems]


def empty_json(empty: EmptyResult | None) -> dict[str, object]:
    """Return why there is nothing to show, as a further key of a JSON result; {} for a result that has something."""
    return {} if empty is None else {"problems": problems_json(empty.causes)}


def empty_exit_code(empty: EmptyResult | None) -> int:
    """Return the exit code of a command that may show nothing: that fails only if something has to be corrected."""
    return EXIT_FAILED if empty is not None and empty.mistake else EXIT_OK


def skill_json(skill: Skill) -> dict[str, object]:
    """Return what `list` and `show` have of a skill in common, as JSON values."""
    names = ("name", "description", "category", "always_apply", "disable_model_invocation", "user_invocable")
    return {
        **{name: getattr(skill, name) for name in names},
        "tags": list(skill.tags),
        "trust": skill.trust.value,
        "path": skill.directory,
    }


def listed_json(one: ListedSkill) -> dict[str, object]:
    """Return what `list` and `pick` have of a skill in common, as JSON values."""
    served = {"handle": one.handle, "source": one.source.value, "state": one.standing.value}
    return skill_json(one.skill) | served


def finding_json(one: AuditFinding | Diagnostic, **more: object) -> dict[str, object]:
    """Return a finding of the audit, of the parser or of `validate` as JSON values."""
    return {"rule": one.rule, "severity": one.severity.value, "line": one.line, "message": one.message, **more}


def print_json(value: object) -> int:
    """Print `value` as indented JSON on stdout, and return EXIT_OK."""
    hide_progress()
    print(json_text(value, sys.stdout.encoding, indent=2))
    return EXIT_OK


def print_error(error: SkillHubError, *, as_json: bool, path: str | None = None) -> None:
    """Print `error` on stderr: one line, a blank line and the hint; with `as_json`, a JSON object.

    `path` is the invalid file, for errors whose message does not name it because clients receive it too.
    """
    if as_json:
        place = {} if path is None else {"path": path}
        print(json_text({"error": error_json(error, **place)}, sys.stderr.encoding), file=sys.stderr)
        return
    print_note(f"error: {error.message}{'' if path is None else f' ({path})'}")
    if error.hint:
        print_note("", f"hint: {error.hint}")


def error_json(error: SkillHubError, **more: object) -> dict[str, object]:
    """Return an error as JSON values."""
    return {"code": error.code, "message": error.message, **error.facts, **more, "hint": error.hint}


def write_file(path: str, content: bytes, *, argument: str = "--output") -> None:
    """Write a file atomically. Raises InvalidArgument about `argument` for a wrong path, and OutputUnwritable."""
    from skillhub_mcp._util.atomic_write import atomic_write
    from skillhub_mcp.errors import InvalidArgument, OutputUnwritable

    try:
        atomic_write(path, content)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _WRONG_PATH:
            raise InvalidArgument(argument, f"{path!r} cannot be written: {reason}") from error
        raise OutputUnwritable(path, reason) from error


def json_text(value: object, encoding: str | None, *, indent: int | None = None) -> str:
    """Return JSON in that encoding: characters that it cannot have, or that cannot be seen, are escaped as in JSON."""
    is_unicode = codecs.lookup(encoding or "ascii").name.startswith("utf")
    return in_json(json.dumps(value, ensure_ascii=not is_unicode, indent=indent))
