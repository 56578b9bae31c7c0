"""`skillhub doctor`: what is in order, what is not, and what mends it."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillhub_mcp.bootstrap import choose_embedder, make_publisher
from skillhub_mcp.cli.arguments import add_json_option, add_setting_options
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json, say
from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.sync import View
from skillhub_mcp.publishing.publisher import Publication
from skillhub_mcp.settings import Settings, read_settings
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.roots import SkillRoot

_SHOWN = 20
_BY_TOOLS = "the tools serve it all the same"


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "doctor",
        help="say what is in order, what is not, and what mends it",
        description="Look at the roots, the skills, the index and the rules, and at what hosts that read skills "
        "natively are given of each skill. Ends with 1 where something wants mending.",
    )
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that wants mending: what it is about, what is wrong, and what mends it."""

    about: str
    what: str
    mend: str


@dataclass(frozen=True, slots=True)
class _Findings:
    view: View
    embedder: str
    published: Sequence[Publication]
    problems: Sequence[Problem]


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the findings. Raises InvalidSetting."""
    settings, origins = read_settings(os.environ, options)
    told = [
        Problem(one.setting.name, one.problem, f"{one.setting.default} is used until it is mended")
        for one in origins
        if one.problem
    ]
    with open_hub(options) as hub:
        found = _examined(hub, settings, told)
    if args.json:
        print_json(_json(found))
    else:
        say(_text(found))
    return EXIT_FAILED if found.problems else EXIT_OK


def _examined(hub: SkillHub, settings: Settings, told: Sequence[Problem]) -> _Findings:
    view = hub.refresh()
    problems = [*told, *_of_the_roots(view), *_of_the_skills(view)]
    if view.problem is not None:
        problems.append(Problem("index", view.problem.message, view.problem.hint or "run skillhub --reindex"))
    published: list[Publication] = []
    publisher = make_publisher(settings, hub)
    try:
        published = list(publisher.standings())
    except PolicyUnreadable as error:
        problems.append(Problem(error.path, error.message, error.hint or "mend the file"))
    finally:
        publisher.close()
    problems += [
        Problem(one.skill.directory, f"hosts that read skills natively do not get it: {one.withheld}", _BY_TOOLS)
        for one in published
        if one.withheld
    ]
    embedder = choose_embedder(settings)
    return _Findings(view, "none" if embedder is None else embedder.identity, published, problems)


def _of_the_roots(view: View) -> list[Problem]:
    report = view.snapshot.report
    problems = [Problem(one.path, one.reason, "make it readable, or leave it out") for one in report.problems]
    if not view.snapshot.everything and not report.refused and not problems:
        where = report.roots[0].given if report.roots else "SKILLS_DIR"
        problems.append(Problem(where, "no skill was found", "put a folder with a SKILL.md there"))
    return problems


def _of_the_skills(view: View) -> list[Problem]:
    return [
        Problem(
            os.path.join(refused.directory, SKILL_FILE) + (f":{refused.reason.line}" if refused.reason.line else ""),
            f"refused: {refused.reason.message} ({refused.reason.rule})",
            refused.reason.hint or "mend the file",
        )
        for refused in view.snapshot.report.refused
    ]


def _json(found: _Findings) -> dict[str, object]:
    snapshot = found.view.snapshot
    return {
        "roots": [
            {"path": root.path, "source": root.source.value, "skills": count} for root, count in _by_root(found.view)
        ],
        "served": len(snapshot.skills),
        "refused": len(snapshot.report.refused),
        "shadowed": len(snapshot.report.shadowed),
        "index": "failed" if found.view.problem is not None else "ready",
        "embeddings": found.embedder,
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
        "problems": [{"about": one.about, "what": one.what, "mend": one.mend} for one in found.problems],
    }


def _text(found: _Findings) -> str:
    snapshot = found.view.snapshot
    adapted = [one for one in found.published if one.changes and not one.withheld]
    withheld = sum(1 for one in found.published if one.withheld)
    report = snapshot.report
    index = "not written" if found.view.problem is not None else "ready"
    natively = f"{len(found.published) - withheld:>7,} published, {len(adapted):,} adapted, {withheld:,} withheld"
    lines = [f"{root.source.value:<10}{count:>7,} skills  {root.given}" for root, count in _by_root(found.view)]
    lines.append(
        f"served    {len(snapshot.skills):>7,}, refused {len(report.refused):,}, shadowed {len(report.shadowed):,}"
    )
    lines.append(f"index     {index}, embeddings: {found.embedder}")
    lines.append(f"natively  {natively}")
    if adapted:
        lines.append("\nPublished in the specification's form, their files are untouched:")
        for one in adapted[:_SHOWN]:
            lines.append(f"  {one.uri}")
            lines += [f"      {change}" for change in one.changes]
        lines += _rest(len(adapted))
    if found.problems:
        lines.append(f"\nTo mend, {len(found.problems):,}:")
        for problem in found.problems[:_SHOWN]:
            lines.append(f"  {problem.about}\n      {problem.what}; {problem.mend}")
        lines += _rest(len(found.problems))
    else:
        lines.append("\nAll is in order.")
    return "\n".join(lines)


def _rest(count: int) -> list[str]:
    return [f"  … and {count - _SHOWN:,} more; --json lists them all"] if count > _SHOWN else []


def _by_root(view: View) -> list[tuple[SkillRoot, int]]:
    counts = Counter(skill.root for skill in view.snapshot.everything)
    return [(root, counts[root.path]) for root in view.snapshot.report.roots if os.path.isdir(root.path)]
