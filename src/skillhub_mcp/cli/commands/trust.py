"""`skillhub trust`: what a project brings, and the person's agreement to it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.library import brought_in, rule_files
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import confirm, one_line, print_line, print_note, print_text
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.disclosure.project_skills import ProjectSkill, ProjectSkills
from skillhub_mcp.environment import expand_home, shown_path
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.library.plan import is_alike
from skillhub_mcp.policy.access import UnreadableRules
from skillhub_mcp.policy.files import TRUST
from skillhub_mcp.policy.trust import TrustMode, TrustRecord
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.model import Trust

_STATES = {
    Trust.AWAITED: "awaiting trust",
    Trust.CHANGED: "changed since you trusted it",
    Trust.AGREED: "trusted",
    Trust.OWN: "nothing to trust",
}


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("dir", nargs="?", metavar="DIR", help="a directory of the project, such as .")
    parser.add_argument("--revoke", action="store_true", help="forget that you trusted the project")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Show the skills and rules that a project brings; with DIR or --yes, record that you trust them as they are now.
    Until then, and again when a file of them changes, they are found and loaded, but cannot override your own skills,
    are never pinned, and are only counted in what a model reads when it connects.
    """
    if args.revoke:
        return _revoke(args, options)
    settings = _settings(args, options)
    brought = brought_in(settings)
    report = _json(brought, settings)
    if not args.json:
        for line in _lines(report, brought.trust):
            print_line(line)
    awaits = brought.trust.is_awaited
    asked = awaits and bool(args.dir is not None or args.yes) and not args.dry_run
    unrecorded = _agree(brought, settings, args) if asked else "`skillhub trust .` trusts it as it is now"
    recorded = asked and not unrecorded
    if args.json:
        print_json(report | {"recorded": recorded})
    elif recorded:
        print_text(f"Trusted, until a file of it changes: recorded in {shown_path(TRUST.path)}")
    elif awaits:
        print_note(unrecorded)
    if settings.policy.trust == TrustMode.ALL.value:
        print_note("SKILLHUB_TRUST=all: every project is trusted, whatever is recorded")
    return EXIT_FAILED if asked and not recorded else EXIT_OK


def _agree(brought: ProjectSkills, settings: Settings, args: argparse.Namespace) -> str:
    """Ask and record the agreement; return why it was not recorded, or an empty text."""
    if not brought.digests:
        return "Nothing was recorded: what cannot be read whole cannot be trusted"
    if not args.yes and (args.json or not confirm("Trust it as it is now?")):
        return "Nothing was recorded; --yes records it without a question"
    if brought_in(settings).digests != brought.digests:
        return "It has changed while it was shown: look at it again"
    TRUST.change(TRUST.path, lambda record: record.agreed(brought.project, brought.digests))
    return ""


def _settings(args: argparse.Namespace, options: Mapping[str, str]) -> Settings:
    if args.dir is None:
        return settings_of(options)
    directory = decode_argument(args.dir)
    if not os.path.isdir(expand_home(directory)):
        raise InvalidArgument("DIR", f"{directory!r} is not a directory")
    return settings_of({**options, "SKILLHUB_CWD": directory})


def _revoke(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    project = os.path.abspath(expand_home(decode_argument(args.dir or "")))
    # What was trusted may be gone; then the directory itself is meant.
    if args.dir is None or os.path.isdir(project):
        project = project_of(_settings(args, options)).root
    was = project in (TRUST.file().read() or TrustRecord()).projects
    if not args.dry_run:
        TRUST.change(TRUST.path, lambda record: record.revoked([project]))
    if args.json:
        return print_json({"project": project, "revoked": was, "dry_run": args.dry_run})
    outcome = f"{'would be' if args.dry_run else 'is'} no longer trusted" if was else "was not trusted"
    print_line(f"{shown_path(project)} {outcome}")
    return EXIT_OK


def _json(brought: ProjectSkills, settings: Settings) -> dict[str, Any]:
    """Return what the project brings as JSON values."""
    files = rule_files(brought.project)
    rules = files.read_project()
    return {
        "project": brought.project,
        "trust": brought.trust.value if brought.places else None,
        "mode": settings.policy.trust,
        "places": [
            {
                "path": place.root.path,
                "trust": place.root.trust.value,
                "digest": place.digest or None,
                "problem": place.problem or None,
                "skills": [_skill_json(one, brought.own_names) for one in place.skills],
                "refused": [one.directory for one in place.refused],
            }
            for place in brought.places
        ],
        "rules": files.project.path if files.project is not None and rules is not None else None,
        "rules_problem": rules.reason if isinstance(rules, UnreadableRules) else None,
        "record": TRUST.path,
    }


def _skill_json(one: ProjectSkill, own_names: Sequence[str]) -> dict[str, Any]:
    name = one.skill.name
    return {
        "name": name,
        "description": one.skill.description,
        "path": one.skill.directory,
        "outside": one.outside or None,
        "pinned": one.skill.always_apply,
        "allowed_tools": list(one.skill.allowed_tools),
        "looks_like": [other for other in own_names if other != name and is_alike(name, other)],
        "takes_from": [other.directory for other in one.takes_from],
    }


def _lines(report: Mapping[str, Any], trust: Trust) -> Iterator[str]:
    yield shown_path(report["project"])
    if not report["places"]:
        yield "  brings no skill: there is nothing to trust"
    for place in report["places"]:
        state = f"not to be trusted: {place['problem']}" if place["problem"] else _STATES[Trust(place["trust"])]
        path = os.path.relpath(place["path"], report["project"])
        yield f"  {path}: {plural(len(place['skills']), 'skill')}, {state}"
        for one in place["skills"]:
            yield f"    {one_line(one['name'])}"
            yield f"      {one_line(one['description'])}"
            yield from _warnings(one)
        if place["refused"]:
            yield f"    {plural(len(place['refused']), 'SKILL.md file')} refused: `skillhub validate` says why"
    if report["rules"] and report["places"]:
        problem = report["rules_problem"]
        unusable = f"cannot be used: {problem}; none of these skills is loaded"
        state = unusable if problem else "rules about these skills"
        yield f"  {os.path.relpath(report['rules'], report['project'])}: {state}"
    skills = [one for place in report["places"] for one in place["skills"]]
    if trust.is_awaited and any(one["takes_from"] or one["pinned"] or one["outside"] for one in skills):
        yield "What is marked → applies once you trust the project."


def _warnings(one: Mapping[str, Any]) -> Iterator[str]:
    if one["outside"]:
        yield f"      → is a link out of the project, to {shown_path(one['outside'])}"
    yield from (f"      → takes the name from {shown_path(other)}" for other in one["takes_from"])
    if one["pinned"]:
        yield "      → is pinned: described to each model that connects"
    if one["looks_like"]:
        yield f"      ! its name looks like that of {', '.join(one['looks_like'])}, which you have"
