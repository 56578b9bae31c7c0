"""What `skillhub new` tells of the skill that it wrote: how it is found, what it competes with, what it costs. Pure."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.cli.output import plural
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.skills.model import SKILL_FILE

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.listing import ListedSkill
    from skillhub_mcp.evaluation.overlaps import Overlap, OwnSearch
    from skillhub_mcp.validation.verdict import Cost

# The share of a skill's own score from which on `skillhub overlaps` lists a rival.
_LEAST_OVERLAP = 0.8


@dataclass(frozen=True, slots=True)
class NewSkill:
    """What was asked for: the texts of a new skill by relative path, and where it comes to lie.

    `copied` says that it is a copy of an example, `drafted` that its description was made up from its name, and
    `completed` that a sentence was added to it.
    """

    name: str
    directory: str
    files: Mapping[str, bytes]
    copied: bool = False
    drafted: bool = False
    completed: bool = False


@dataclass(frozen=True, slots=True)
class Findable:
    """How the new skill is found: `listed` is its place among the others, None where no root has it.

    `serve_with` is what makes it served then. `namesakes` are the other skills of its name. Where a `problem` keeps
    the skills from being looked at, nothing else is known.
    """

    listed: ListedSkill | None
    namesakes: Sequence[ListedSkill] = ()
    own_search: OwnSearch | None = None
    serve_with: str = ""
    problem: str = ""


def report_lines(wanted: NewSkill, findable: Findable, cost: Cost) -> Sequence[str]:
    """Return the lines for a person: a word and what it stands for."""
    rows = [("wrote", path) for path in _paths(wanted)]
    rows += [("found", line) for line in _found_lines(wanted, findable)]
    rows += [("overlaps", _overlap_line(one)) for one in _rivals(findable)]
    rows.append(
        (
            "costs",
            f"about {cost.catalogue:,} tokens where skills are listed, {cost.body:,} when loaded"
            + (f", {cost.files:,} in its other files" if cost.files else ""),
        )
    )
    rows += [("next", line) for line in _next_lines(wanted, findable)]
    shown, before = [], ""
    for label, line in rows:
        shown.append(f"{'' if label == before else label:<10}{in_line(line)}")
        before = label
    return shown


def _paths(wanted: NewSkill) -> Sequence[str]:
    paths = sorted(wanted.files, key=lambda path: (path != SKILL_FILE, path))
    return [os.path.join(wanted.directory, *path.split("/")) for path in paths]


def _found_lines(wanted: NewSkill, findable: Findable) -> Sequence[str]:
    lines = []
    if findable.problem:
        lines.append(f"not known: {findable.problem}; skillhub doctor says more")
    elif findable.listed is None:
        lines.append(f"not yet, as it is not served: {findable.serve_with}")
    elif findable.listed.shadowed_by is not None:
        other = findable.listed.shadowed_by.directory
        lines.append(f"not by its name, which the skill in {other} has; it loads as {findable.listed.handle}")
    elif findable.own_search is None:
        lines.append(f"not by agents ({findable.listed.standing.value}): skillhub why {wanted.name}")
    else:
        lines.append(_rank_line(findable.own_search))
        lines += [
            f"its name is now its own: before, the skill in {one.skill.directory} had it" for one in findable.namesakes
        ]
    return lines


def _rank_line(own: OwnSearch) -> str:
    if own.rank is None:
        return "not by its own description: write in it the words that people use"
    if own.rank == 1:
        return f"first of {plural(own.hits, 'hit')} for its own description"
    return f"only as number {own.rank} of {own.hits} for its own description"


def _rivals(findable: Findable) -> Sequence[Overlap]:
    found = () if findable.own_search is None else findable.own_search.overlaps
    return [one for one in found if one.copy or one.share >= _LEAST_OVERLAP]


def _overlap_line(one: Overlap) -> str:
    if one.copy:
        return f"{one.rival} says nearly the same: keep one of them, or say what tells them apart"
    by = f", by: {', '.join(one.shared)}" if one.shared else ""
    return f"{one.rival} fits that description to {min(one.share, 1):.0%}{by}"


def _next_lines(wanted: NewSkill, findable: Findable) -> Sequence[str]:
    lines = []
    if wanted.drafted:
        lines.append("say in its description what it does and when to use it: agents choose it by that alone")
    if wanted.completed:
        lines.append("its description did not say when to use it: a sentence was added, to be made better")
    work = "make it your own" if wanted.copied else "write its steps"
    lines.append(f"{work}, then: skillhub validate {shlex.quote(wanted.directory)}")
    if findable.own_search is not None:
        lines.append("try it with the words of a task: skillhub search …")
    return lines


def report_json(wanted: NewSkill, findable: Findable, cost: Cost) -> Mapping[str, object]:
    """Return the same as JSON values."""
    own = findable.own_search
    listed = findable.listed
    return {
        "name": wanted.name,
        "path": wanted.directory,
        "files": list(_paths(wanted)),
        "served": listed is not None and listed.served and listed.shadowed_by is None,
        "serve_with": findable.serve_with or None,
        "problem": findable.problem or None,
        "shadowed_by": None if listed is None or listed.shadowed_by is None else listed.shadowed_by.directory,
        "namesakes": [one.skill.directory for one in findable.namesakes],
        "rank": None if own is None else own.rank,
        "hits": None if own is None else own.hits,
        "overlaps": [
            {"skill": one.rival, "share": round(one.share, 3), "copy": one.copy, "shared": list(one.shared)}
            for one in _rivals(findable)
        ],
        "tokens": {"catalogue": cost.catalogue, "body": cost.body, "files": cost.files},
    }
