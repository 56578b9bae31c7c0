"""`skillhub trust`: what a project brings, and the person's agreement to it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping

from skillhub_mcp.bootstrap.library import brought_in
from skillhub_mcp.bootstrap.policy import rule_files
from skillhub_mcp.chosen_roots import project_of, trust_path
from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import confirm, one_line, print_note, print_text, shown_path
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, plural, print_json
from skillhub_mcp.disclosure.project_skills import ProjectPlace, ProjectSkill, ProjectSkills
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.library.plan import is_alike
from skillhub_mcp.policy.access import UnreadableRules
from skillhub_mcp.policy.files import change_trust, trust_file
from skillhub_mcp.policy.rules import RULE_LISTS
from skillhub_mcp.policy.trust import TrustMode, TrustRecord
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.model import Trust

_STATES = {
    Trust.AWAITED: "awaiting trust",
    Trust.CHANGED: "changed since you trusted it",
    Trust.AGREED: "trusted",
    Trust.OWN: "nothing to trust",
}


DESCRIPTION = (
    "Show the skills and rules that a project brings; with DIR or --yes, record that you trust them as they are now. "
    "Until then, and again when a file of them changes, they are found and loaded, but cannot override your own "
    "skills, are never pinned, and are only counted in what a model reads when it connects."
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("dir", nargs="?", metavar="DIR", help="a directory of the project, such as .")
    parser.add_argument("--revoke", action="store_true", help="forget that you trusted the project")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Show what the project brings, and record or revoke the agreement. Raises InvalidArgument and TrustUnreadable."""
    if args.revoke:
        return _revoke(args, options)
    settings = _settings(args, options)
    brought = brought_in(settings)
    asked = bool(args.dir is not None or args.yes) and not args.dry_run
    awaits = brought.trust.is_awaited
    can_agree = awaits and bool(brought.digests)
    if not args.json:
        print_text("\n".join(map(in_line, _lines(brought))))
    agreed = asked and can_agree and (args.yes or (not args.json and confirm("Trust it as it is now?")))
    recorded = agreed and _record(brought, settings)
    if args.json:
        print_json(_json(brought, settings) | {"recorded": recorded})
    elif recorded:
        print_text(f"Trusted, until a file of it changes: recorded in {shown_path(trust_path())}")
    elif awaits and not can_agree:
        print_note("Nothing was recorded: what cannot be read whole cannot be trusted")
    elif awaits and asked:
        print_note("Nothing was recorded; --yes records it without a question")
    elif awaits:
        print_note("`skillhub trust .` trusts it as it is now")
    if settings.policy.trust == TrustMode.ALL.value:
        print_note("SKILLHUB_TRUST=all: every project is trusted, whatever is recorded")
    return EXIT_FAILED if awaits and asked and not recorded else EXIT_OK


def _settings(args: argparse.Namespace, options: Mapping[str, str]) -> Settings:
    if args.dir is not None:
        directory = decode_argument(args.dir)
        if not os.path.isdir(expand_home(directory)):
            raise InvalidArgument("DIR", f"{directory!r} is not a directory")
        options = {**options, "SKILLHUB_CWD": directory}
    return settings_of(options)


def _record(brought: ProjectSkills, settings: Settings) -> bool:
    """Record the agreement to what was shown, if that is still what is there."""
    if brought_in(settings).digests != brought.digests:
        print_note("It has changed while it was shown: look at it again")
        return False
    change_trust(trust_path(), lambda record: record.agreed(brought.project, brought.digests))
    return True


def _revoke(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    directory = None if args.dir is None else os.path.abspath(expand_home(decode_argument(args.dir)))
    # What was trusted may be gone; then the directory itself is meant.
    gone = directory is not None and not os.path.isdir(directory)
    project = directory if gone and directory is not None else project_of(_settings(args, options)).root
    was: list[str] = []

    def forget(record: TrustRecord) -> TrustRecord:
        was.extend(root for root in record.projects if root == project)
        return record.revoked([project])

    if args.dry_run:
        forget(trust_file(trust_path()).read() or TrustRecord())
    else:
        change_trust(trust_path(), forget)
    if args.json:
        print_json({"project": project, "revoked": bool(was)})
    else:
        outcome = f"{'would be' if args.dry_run else 'is'} no longer trusted" if was else "was not trusted"
        print_text(f"{in_line(shown_path(project))} {outcome}")
    return EXIT_OK


def _lines(brought: ProjectSkills) -> Iterator[str]:
    yield shown_path(brought.project)
    if not brought.places:
        yield "  brings no skill: there is nothing to trust"
        return
    for place in brought.places:
        state = f"not to be trusted: {place.problem}" if place.problem else _STATES[place.root.trust]
        yield f"  {_relative(place, brought)}: {plural(len(place.skills), 'skill')}, {state}"
        for one in place.skills:
            yield f"    {one_line(one.skill.name)}"
            yield f"      {one_line(one.skill.description)}"
            yield from (f"      → {note}" for note in _notes(one))
            if alike := _alike(one, brought):
                yield f"      ! its name looks like that of {one_line(', '.join(alike))}, which you have"
        if place.refused:
            yield f"    {plural(len(place.refused), 'SKILL.md file')} refused: `skillhub validate` says why"
    yield from _rules_lines(brought)
    awaiting = [place for place in brought.places if place.root.trust.is_awaited]
    if any(one.takes_from or one.skill.always_apply for place in awaiting for one in place.skills):
        yield "What is marked → applies once you trust the project."


def _notes(one: ProjectSkill) -> Iterator[str]:
    for other in one.takes_from:
        yield f"takes the name {one_line(other.name)} from {one_line(shown_path(other.directory), width=None)}"
    if one.skill.always_apply:
        yield "is pinned: described to each model that connects"


def _alike(one: ProjectSkill, brought: ProjectSkills) -> list[str]:
    """Return the names of the person's own skills that the name of a skill can be taken for."""
    name = one.skill.name
    return [other for other in brought.own_names if other != name and is_alike(name, other)]


def _rules_lines(brought: ProjectSkills) -> Iterator[str]:
    files = rule_files(brought.project)
    found = files.read_project()
    if files.project is None or found is None:
        return
    path = os.path.relpath(files.project.path, brought.project)
    if isinstance(found, UnreadableRules):
        yield f"  {path}: cannot be used: {one_line(found.reason)}; none of these skills is loaded"
    else:
        counts = ", ".join(f"{len(getattr(found, verdict))} {verdict}" for verdict in RULE_LISTS)
        yield f"  {path}: rules about these skills alone ({counts})"


def _relative(place: ProjectPlace, brought: ProjectSkills) -> str:
    return one_line(os.path.relpath(place.root.path, brought.project), width=None)


def _json(brought: ProjectSkills, settings: Settings) -> dict[str, object]:
    file = rule_files(brought.project).project
    rules = [] if file is None or not os.path.lexists(file.path) else [file.path]
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
                "skills": [_skill_json(one, brought) for one in place.skills],
                "refused": [one.directory for one in place.refused],
            }
            for place in brought.places
        ],
        "rules": rules[0] if rules else None,
        "record": trust_path(),
    }


def _skill_json(one: ProjectSkill, brought: ProjectSkills) -> dict[str, object]:
    return {
        "name": one.skill.name,
        "description": one.skill.description,
        "path": one.skill.directory,
        "pinned": one.skill.always_apply,
        "allowed_tools": list(one.skill.allowed_tools),
        "looks_like": _alike(one, brought),
        "takes_from": [other.directory for other in one.takes_from],
    }
