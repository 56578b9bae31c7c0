"""The commands to type next on this machine: for skills, and for a client."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.cli.found_skills import addable
from skillhub_mcp.cli.output import plural

if TYPE_CHECKING:
    from skillhub_mcp.skills.places import UnsearchedPlace

_PROGRAM = "skillhub"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command, and what it does here."""

    command: str
    what: str


_INSTALLING = NextStep(f"{_PROGRAM} add SOURCE", "installs skills of a directory, a repository or a site")
_FIRST_SKILL = NextStep(f"{_PROGRAM} new my-first-skill", "writes a skill of yours")


def next_steps(
    own_skills: int, elsewhere: Sequence[UnsearchedPlace], clients: Sequence[tuple[str, str]]
) -> tuple[NextStep, ...]:
    """Return the commands. `clients` are the names and titles of those installed and not connected."""
    skills = skills_step(own_skills, elsewhere)
    installing = (_INSTALLING,) if skills == _FIRST_SKILL else ()
    return (*installing, skills, _client_step(clients))


def skills_step(own_skills: int, elsewhere: Sequence[UnsearchedPlace]) -> NextStep:
    """Return the command that serves skills from elsewhere, else one for the user's own."""
    found = addable(elsewhere)
    if len(found) > 1:
        return NextStep(f"{_PROGRAM} roots add --all", f"serves the {sum(one.skills for one in found):,} skills here")
    if found:
        only = found[0]
        return NextStep(only.reason.command, f"serves the {only.count} of {only.place.owner or only.shown}")
    if own_skills:
        return NextStep(f"{_PROGRAM} pick", f"searches your {plural(own_skills, 'skill')}")
    return _FIRST_SKILL


def _client_step(clients: Sequence[tuple[str, str]]) -> NextStep:
    if not clients:
        return NextStep(f"{_PROGRAM} connect --list", "lists the clients that can use them")
    if len(clients) == 1:
        return NextStep(f"{_PROGRAM} connect {clients[0][0]}", f"lets {clients[0][1]} use them")
    return NextStep(f"{_PROGRAM} connect --all", f"lets your {len(clients):,} clients use them")


def as_typed(command: str, *, program: str, path: str | None = None) -> str:
    """Return a command as it works in this shell: with the path of `program` unless PATH finds it."""
    found = shutil.which(_PROGRAM, path=path)
    is_ours = os.path.basename(program).removesuffix(".exe") == _PROGRAM and os.path.isfile(program)
    if not is_ours or (found is not None and os.path.realpath(found) == os.path.realpath(program)):
        return command
    return min(program, os.path.relpath(program), key=len) + command.removeprefix(_PROGRAM)
