"""`skillhub new`: a new skill, from nothing or from an example, and how it will be found."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from skillhub_mcp._util.wording import plural
from skillhub_mcp.authoring.draft import described, draft_files, renamed, says_when
from skillhub_mcp.authoring.files import examples, files_of, write_new
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import decode_argument, did_you_mean, new_skill_name
from skillhub_mcp.cli.console import ask, can_ask, one_line, print_line, print_note, print_table
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument, SkillHubError
from skillhub_mcp.evaluation.overlaps import LEAST_SHARE, search_for_itself
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.admission import REGISTRY_STRICT
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import typed_command
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.validation.checker import check
from skillhub_mcp.validation.targets import targets

_QUESTION = (
    "What does it do, and when should an agent use it? One or two sentences, such as:\n"
    "  Extract the totals of invoice PDFs. Use when an invoice or a receipt has to be booked.\n>"
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="lowercase letters, digits and single hyphens")
    parser.add_argument("--description", metavar="TEXT", help="what it does and when to use it")
    parser.add_argument("--project", action="store_true", help="in .agents/skills of this project")
    parser.add_argument("--scripts", action="store_true", help="with a script that the steps run")
    parser.add_argument("--references", action="store_true", help="with a file that is read only if needed")
    copied = "copy an example; without EXAMPLE, list them"
    parser.add_argument("--from-template", nargs="?", const="", metavar="EXAMPLE", help=copied)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Write a valid SKILL.md, or copy an example, into a new directory. Then report how its description is found, which
    skills it competes with, and what it costs.
    """
    if args.from_template == "":
        rows = [(one.name, one_line(one.description, width=None)) for one in examples()]
        if args.json:
            return print_json({"examples": [dict(zip(("name", "description"), row, strict=True)) for row in rows]})
        print_table(("name", "description"), rows)
        print_note("", f"skillhub new {shlex.quote(args.name or 'NAME')} --from-template EXAMPLE")
        return EXIT_OK
    directory = _directory(args, options)
    files, advice = _files(args, directory)
    names = sorted(files, key=lambda path: (path != SKILL_FILE, path))
    paths = [os.path.join(directory, *name.split("/")) for name in names]
    if args.dry_run:
        for path in paths:
            print_line(f"would write {path}")
        return EXIT_OK
    write_new(directory, files)
    report: dict[str, Any] = {"name": os.path.basename(directory), "path": directory, "files": paths, "served": False}
    report |= {**dict.fromkeys(("serve_with", "problem", "shadowed_by", "rank", "hits")), "overlaps": []}
    try:
        report |= _findable(directory, options)
    except SkillHubError as error:
        # The skill is written already: report that first.
        report["problem"] = error.message
    cost = next(check(target).cost for target in targets([directory]).found)
    report["tokens"] = {kind: getattr(cost, kind, 0) for kind in ("catalogue", "body", "files")}
    if args.json:
        return print_json(report)
    for label, lines in _rows(report, [*advice, "try it with the words of a task: skillhub search …"]):
        for number, line in enumerate(lines):
            print_line(f"{label if number == 0 else '':<10}{line}")
    return EXIT_OK


def _directory(args: argparse.Namespace, options: Mapping[str, str]) -> str:
    """Return the directory of the new skill. Raises InvalidArgument."""
    typed = args.name if args.name is not None else args.from_template
    if typed is None:
        raise InvalidArgument("NAME", "is required", hint="skillhub new --help")
    name = new_skill_name("NAME", typed, "skillhub new")
    settings = settings_of(options)
    if not args.project:
        return os.path.join(os.path.abspath(expand_home(settings.skills.dirs[0])), name)
    if "SKILLS_DIR" in options:
        raise InvalidArgument("--project", "cannot be combined with --skills-dir", hint="remove one of the two")
    return os.path.join(project_of(settings).root, ".agents", "skills", name)


def _files(args: argparse.Namespace, directory: str) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of the skill by relative path, and what its author does next. Raises InvalidArgument."""
    name, typed = os.path.basename(directory), decode_argument(args.description or "").strip()
    advice = []
    if args.from_template is not None:
        if args.scripts or args.references:
            given = "--scripts" if args.scripts else "--references"
            raise InvalidArgument(given, "has no effect with --from-template", hint="the example has its own files")
        found = {one.name: one for one in examples()}
        example = decode_argument(args.from_template)
        if example not in found:
            hint = did_you_mean(example, found, "skillhub new --from-template lists the examples")
            raise InvalidArgument("--from-template", f"{example!r} is not an example", hint=hint)
        files = dict(files_of(found[example]))
        document = renamed(files[SKILL_FILE].decode(), name, described(typed, name) if typed else None)
        files[SKILL_FILE] = document.encode()
    else:
        if not typed and not args.json and not os.path.lexists(directory):
            typed = (ask(_QUESTION) or "").strip() if can_ask() else ""
        texts = draft_files(name, described(typed, name), script=args.scripts, reference=args.references)
        files = {path: text.encode() for path, text in texts.items()}
        if not typed:
            advice.append("say in its description what it does and when to use it: agents choose it by that alone")
    if typed and not says_when(typed):
        advice.append("its description did not say when to use it: improve the sentence that was added")
    work = "write its steps" if args.from_template is None else "make it your own"
    advice.append(f"{work}, then: skillhub validate {shlex.quote(directory)}")
    read = parse_skill(files[SKILL_FILE], directory=directory, directory_name=name)
    # A description that a strict registry would refuse is refused here.
    for diagnostic in REGISTRY_STRICT.violations(read.skill, read.diagnostics, read.shape):
        raise InvalidArgument("--description", f"breaks a rule: {diagnostic.message}", hint=diagnostic.hint)
    return files, advice


def _findable(directory: str, options: Mapping[str, str]) -> dict[str, object]:
    """Return how the skill is served and found by its own description."""
    # A server does not have this command's options.
    own = {name: value for name, value in options.items() if name != "SKILLS_DIR"}
    with open_hub({**own, "SKILLHUB_USAGE": "off", "SKILLHUB_SKIP_AUTO_REINDEX": "0"}) as hub:
        real = os.path.realpath(directory)
        listed = next((one for one in hub.listed() if os.path.realpath(one.skill.directory) == real), None)
        if listed is None:
            return {"serve_with": typed_command("skillhub why", directory)}
        if listed.shadowed_by is not None:
            return {"shadowed_by": listed.shadowed_by.directory}
        if not listed.served or listed.skill.disable_model_invocation:
            return {"served": listed.served, "serve_with": f"skillhub why {listed.skill.name}"}
        found = search_for_itself(hub, listed.skill)
    rivals = [
        {"skill": one.rival, "share": round(one.share, 3), "copy": one.copy, "shared": list(one.shared)}
        for one in found.overlaps
        if one.copy or one.share >= LEAST_SHARE
    ]
    return {"served": True, "rank": found.rank, "hits": found.hits, "overlaps": rivals}


def _rows(report: Mapping[str, Any], advice: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of the report by their label."""
    yield "wrote", report["files"]
    if report["problem"]:
        found = f"not known: {report['problem']}; skillhub doctor says more"
    elif report["shadowed_by"]:
        found = f"not by its name, which the skill in {report['shadowed_by']} has"
    elif report["serve_with"]:
        found = f"not yet, as it is not served: {report['serve_with']}"
    elif report["rank"] is None:
        found = "not by its own description: write in it the words that people use"
    else:
        rank = "first" if report["rank"] == 1 else f"only number {report['rank']}"
        found = f"{rank} of {plural(report['hits'], 'hit')} for its own description"
    yield "found", [found]
    overlaps = []
    for one in report["overlaps"]:
        by = f", by: {', '.join(one['shared'])}" if one["shared"] else ""
        fits = f"fits that description to {min(one['share'], 1):.0%}{by}"
        overlaps.append(f"{one['skill']} {'says nearly the same: keep one of them' if one['copy'] else fits}")
    yield "overlaps", overlaps
    tokens = report["tokens"]
    costs = f"about {tokens['catalogue']:,} tokens where skills are listed, {tokens['body']:,} when loaded"
    yield "costs", [costs + (f", {tokens['files']:,} in its other files" if tokens["files"] else "")]
    yield "next", advice
