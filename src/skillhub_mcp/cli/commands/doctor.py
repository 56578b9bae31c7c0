"""`skillhub doctor`: the installation, the roots, the skills, the index and the rules, each with its problems."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillhub_mcp.bootstrap import choose_embedder, make_publisher, name_problems
from skillhub_mcp.cli.arguments import add_json_option, add_setting_options
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import (
    EXIT_FAILED,
    EXIT_OK,
    one_line,
    plural,
    print_json,
    print_text,
    problem_lines,
    problems_json,
)
from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.sync import View
from skillhub_mcp.policy.access import Availability
from skillhub_mcp.publishing.publisher import Publication
from skillhub_mcp.settings import Settings, read_settings
from skillhub_mcp.skills.problems import Problem, refusal_problems, root_problems
from skillhub_mcp.skills.roots import SkillRoot

if TYPE_CHECKING:
    from skillhub_mcp.cli.installed_command import InstalledCommand

_SHOWN = 20
_EXCLUDED = (Availability.FILTERED, Availability.OFF, Availability.DENIED)
_BY_TOOLS = "the tools still serve it"


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "doctor",
        help="report problems of the installation, the skills and the index, with fixes",
        description="Check which distribution the skillhub-mcp command on PATH belongs to, the roots, the skills, the "
        "index and the rules, and how each skill is published to hosts that read skills natively. Exits with 1 if "
        "there is a problem.",
    )
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class _Findings:
    command: InstalledCommand | None
    view: View
    embedder: str
    published: Sequence[Publication]
    problems: Sequence[Problem]
    standing: Mapping[Availability, int]
    index: str


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the findings. Raises InvalidSetting."""
    settings, origins = read_settings(os.environ, options)
    setting_problems = [
        Problem(one.setting.name, one.problem, f"the default, {one.setting.default}, is used until then")
        for one in origins
        if one.problem
    ]
    with open_hub(options) as hub:
        found = _examine(hub, settings, setting_problems)
    if args.json:
        print_json(_findings_json(found))
    else:
        print_text(_findings_text(found))
    return EXIT_FAILED if found.problems else EXIT_OK


def _examine(hub: SkillHub, settings: Settings, setting_problems: Sequence[Problem]) -> _Findings:
    from skillhub_mcp.cli.installed_command import command_on_path

    command = command_on_path()
    damage = hub.check_index()
    # A damaged index is left as it is found: the user is told how to replace it.
    view = hub.refresh(waiting=True) if damage is None else View(hub.snapshot(), None)
    report = view.snapshot.report
    problems = [*setting_problems, *_command_problems(command), *root_problems(report)]
    # There may be many, and what concerns every skill comes before them.
    refusals = refusal_problems(report)
    if damage is not None:
        what, mend = f"the index is damaged: {damage}", "run skillhub --reindex; it is derived from the skills"
        problems.append(Problem(settings.index.db_path, what, mend))
    if view.problem is not None:
        problems.append(Problem("index", view.problem.message, view.problem.hint or "run skillhub --reindex"))
    if view.report is not None and view.report.embedding_failure is not None:
        what = f"skills without vectors are found by text alone: {view.report.embedding_failure}"
        problems.append(Problem("embeddings", what, "check the provider, its key and EMBEDDING_BASE_URL"))
    published: list[Publication] = []
    standing: Mapping[Availability, int] = {}
    publisher = make_publisher(settings, hub)
    try:
        published = list(publisher.publications())
        policy = hub.access.now()
        standing = Counter(policy.availability(skill) for skill in view.snapshot.skills)
        problems += name_problems(settings, view.snapshot)
        if not hub.skills():
            # What it says of directories, refusals and misspelt filters is there already.
            told = {problem.about for problem in (*problems, *refusals)}
            problems += [cause for cause in hub.why_nothing(for_models=False).causes if cause.about not in told]
    except PolicyUnreadable as error:
        problems.append(Problem(error.path, error.message, error.hint or "fix the file"))
    finally:
        publisher.close()
    problems += refusals
    problems += [
        Problem(one.skill.directory, f"not published to hosts that read skills natively: {one.withheld}", _BY_TOOLS)
        for one in published
        # Of a root that is away, its own problem says why nothing in it can be read.
        if one.withheld and view.snapshot.unavailable_root(one.skill) is None
    ]
    embedder = choose_embedder(settings)
    name = "none" if embedder is None else embedder.identity
    return _Findings(command, view, name, published, problems, standing, _index_state(view, damage))


def _index_state(view: View, damage: str | None) -> str:
    if view.problem is not None:
        return "not written"
    return "ready" if damage is None else "damaged"


def _command_problems(command: InstalledCommand | None) -> list[Problem]:
    from skillhub_mcp.cli.installed_command import CommandOwner, own_command

    if command is None or command.owner is not CommandOwner.OTHER_PROGRAM:
        return []
    own = own_command()
    return [
        Problem(
            command.path,
            f"belongs to another program: {command.distribution} {command.version}"
            + (f" ({one_line(command.summary, width=100)})" if command.summary else ""),
            "put this installation's directory of commands first on PATH, or "
            + (f"give clients the command {own}" if own else "install this program from a checkout"),
        )
    ]


def _findings_json(found: _Findings) -> dict[str, object]:
    snapshot = found.view.snapshot
    return {
        "roots": [
            {"path": root.path, "source": root.source.value, "skills": count} for root, count in _by_root(found.view)
        ],
        "served": found.standing.get(Availability.ON, 0),
        "excluded": {state.value: found.standing.get(state, 0) for state in _EXCLUDED},
        "refused": len(snapshot.report.refused),
        "shadowed": len(snapshot.report.shadowed),
        "index": "failed" if found.view.problem is not None else found.index,
        "embeddings": found.embedder,
        "command": None if found.command is None else _command_json(found.command),
        "published": [
            {
                "name": one.skill.name,
                "path": one.skill.directory,
                "uri": one.uri,
                "changes": list(one.changes),
                "withheld": one.withheld,
            }
            for one in found.published
        ],
        "problems": problems_json(found.problems),
    }


def _command_json(command: InstalledCommand) -> dict[str, str | None]:
    return {
        "path": command.path,
        "distribution": command.distribution or None,
        "version": command.version or None,
        "owner": command.owner.value,
    }


def _command_line(command: InstalledCommand | None) -> str:
    if command is None:
        return "skillhub-mcp is not on PATH"
    owner = f"{command.distribution} {command.version}, ".lstrip() if command.distribution else ""
    return f"{command.path}: {owner}{command.owner.value}"


def _findings_text(found: _Findings) -> str:
    snapshot = found.view.snapshot
    adapted = [one for one in found.published if one.changes and not one.withheld]
    withheld = sum(1 for one in found.published if one.withheld)
    report = snapshot.report
    natively = f"{len(found.published) - withheld:>7,} published, {len(adapted):,} adapted, {withheld:,} withheld"
    lines = [f"{root.source.value:<10}{count:>7,} skills  {root.given}" for root, count in _by_root(found.view)]
    excluded = "".join(f", {state.value} {count:,}" for state in _EXCLUDED if (count := found.standing.get(state, 0)))
    lines.append(
        f"served    {found.standing.get(Availability.ON, 0):>7,}{excluded}, "
        f"refused {len(report.refused):,}, shadowed {len(report.shadowed):,}"
    )
    lines.append(f"index     {found.index}, embeddings: {found.embedder}")
    lines.append(f"natively  {natively}")
    lines.append(f"command   {_command_line(found.command)}")
    if adapted:
        lines.append("\nPublished in the specification's form (the files themselves are unchanged):")
        for one in adapted[:_SHOWN]:
            lines.append(f"  {one.uri}")
            lines += [f"      {change}" for change in one.changes]
        lines += _rest(len(adapted))
    if found.problems:
        lines.append(f"\n{plural(len(found.problems), 'problem')}:")
        lines.append(problem_lines(found.problems))
    else:
        lines.append("\nNo problems found.")
    return "\n".join(lines)


def _rest(count: int) -> list[str]:
    return [f"  … and {count - _SHOWN:,} more; --json lists them all"] if count > _SHOWN else []


def _by_root(view: View) -> list[tuple[SkillRoot, int]]:
    counts = Counter(skill.root for skill in view.snapshot.everything)
    return [(root, counts[root.path]) for root in view.snapshot.report.roots if os.path.isdir(root.path)]
