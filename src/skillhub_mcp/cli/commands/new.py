"""`skillhub new`: a new skill, from nothing or from an example, and how it will be found."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import one_line, print_note, print_table, print_text
from skillhub_mcp.cli.library_place import note_publication
from skillhub_mcp.cli.output import EXIT_OK, plural, print_json
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument, SkillHubError
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.skills.model import SKILL_FILE

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.listing import ListedSkill
    from skillhub_mcp.evaluation.overlaps import Overlap, OwnSearch
    from skillhub_mcp.settings import Settings
    from skillhub_mcp.skills.model import Skill
    from skillhub_mcp.validation.verdict import Cost

# The share of a skill's own score from which on `skillhub eval --overlaps` lists a rival.
_LEAST_OVERLAP = 0.8
_QUESTION = (
    "What does it do, and when should an agent use it? One or two sentences, such as:\n"
    "  Extract the totals of invoice PDFs. Use when an invoice or a receipt has to be booked.\n> "
)


DESCRIPTION = (
    "Write a valid SKILL.md, or copy an example, into a new directory. Then report how its description is found, "
    "which skills it competes with, and what it costs."
)


class NewSkill(NamedTuple):
    """The files of a new skill by relative path, and how its description came about."""

    name: str
    directory: str
    files: Mapping[str, bytes]
    copied: bool = False
    drafted: bool = False
    completed: bool = False


class Findable(NamedTuple):
    """How the new skill is listed and found, or what would serve it; only a `problem` if the lookup failed."""

    listed: ListedSkill | None
    own_search: OwnSearch | None = None
    serve_with: str = ""
    problem: str = ""


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="lowercase letters, digits and single hyphens")
    parser.add_argument("--description", metavar="TEXT", help="what it does and when to use it")
    parser.add_argument("--project", action="store_true", help="in .agents/skills of this project")
    parser.add_argument("--scripts", action="store_true", help="with a script that the steps run")
    parser.add_argument("--references", action="store_true", help="with a file that is read only if needed")
    parser.add_argument(
        *("--from-template",),
        nargs="?",
        const="",
        metavar="EXAMPLE",
        help="copy an example; without EXAMPLE, list them",
    )


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Write the skill and print how it will be found. Raises InvalidArgument, InvalidSetting and LibraryUnwritable."""
    from skillhub_mcp.authoring.files import write_new
    from skillhub_mcp.settings import settings_of

    if args.from_template == "":
        return _list_examples(args)
    if not args.project and "SKILLS_DIR" not in options:
        note_publication(settings_of(options))
    wanted = _wanted(args, options)
    if args.dry_run:
        print_text("\n".join(f"would write {in_line(path)}" for path in _paths(wanted)))
        return EXIT_OK
    write_new(wanted.directory, wanted.files)
    try:
        findable = _looked_up(wanted, options)
    except SkillHubError as error:
        # The skill is written already: report that first.
        findable = Findable(None, problem=error.message)
    cost = _cost(wanted)
    if args.json:
        print_json(_report_json(wanted, findable, cost))
    else:
        print_text("\n".join(_report_lines(wanted, findable, cost)))
    return EXIT_OK


def _list_examples(args: argparse.Namespace) -> int:
    from skillhub_mcp.authoring.files import examples

    found = examples()
    if args.json:
        print_json({"examples": [{"name": one.name, "description": one.description} for one in found]})
        return EXIT_OK
    print_table(("name", "description"), [(one.name, one_line(one.description, width=None)) for one in found])
    print_note(f"\nskillhub new {shlex.quote(args.name or 'NAME')} --from-template EXAMPLE")
    return EXIT_OK


def _wanted(args: argparse.Namespace, options: Mapping[str, str]) -> NewSkill:
    from skillhub_mcp.authoring.draft import described, draft_files, renamed, says_when
    from skillhub_mcp.authoring.files import files_of
    from skillhub_mcp.settings import settings_of

    example = None if args.from_template is None else _example(decode_argument(args.from_template))
    name = _checked_name(args, example)
    settings = settings_of(options)
    directory = os.path.join(_place(args, options, settings), name)
    typed = decode_argument(args.description or "").strip()
    if example is not None:
        if args.scripts or args.references:
            given = "--scripts" if args.scripts else "--references"
            raise InvalidArgument(given, "has no effect with --from-template", hint="the example has its own files")
        description = described(typed, name) if typed else None
        files = dict(files_of(example))
        files[SKILL_FILE] = renamed(files[SKILL_FILE].decode(), name, description).encode()
        completed = bool(typed) and not says_when(typed)
        wanted = NewSkill(name, directory, files, copied=True, completed=completed)
    else:
        if not typed and not args.json and not os.path.lexists(directory):
            typed = _asked()
        texts = draft_files(name, described(typed, name), script=args.scripts, reference=args.references)
        files = {path: text.encode() for path, text in texts.items()}
        completed = bool(typed) and not says_when(typed)
        wanted = NewSkill(name, directory, files, drafted=not typed, completed=completed)
    _check_rules(wanted)
    return wanted


def _example(typed: str) -> Skill:
    from skillhub_mcp.authoring.files import examples
    from skillhub_mcp.skills.suggestions import near_names

    found = {one.name: one for one in examples()}
    if typed not in found:
        near = near_names(typed, found)
        hint = f"did you mean {near[0]!r}?" if near else "skillhub new --from-template lists the examples"
        raise InvalidArgument("--from-template", f"{typed!r} is not an example", hint=hint)
    return found[typed]


def _checked_name(args: argparse.Namespace, example: Skill | None) -> str:
    from skillhub_mcp.library.entry_rules import entry_problem
    from skillhub_mcp.skills.names import is_specified_name, safe_alias

    if args.name is None and example is None:
        raise InvalidArgument("NAME", "is required", hint="skillhub new --help")
    name = example.name if args.name is None and example is not None else decode_argument(args.name)
    reason = "must be 1 to 64 lowercase letters, digits and single hyphens"
    if is_specified_name(name):
        if entry_problem(name) is None:
            return name
        reason = "is a device name on Windows"
    alias = safe_alias(name)
    if alias and entry_problem(alias) is not None:
        alias = f"{alias}-skill"
    hint = f"skillhub new {alias}" if alias else "choose a name such as pdf-tables"
    raise InvalidArgument("NAME", f"{name!r} {reason}", hint=hint)


def _place(args: argparse.Namespace, options: Mapping[str, str], settings: Settings) -> str:
    from skillhub_mcp.chosen_roots import project_of

    if args.project:
        if "SKILLS_DIR" in options:
            raise InvalidArgument("--project", "cannot be combined with --skills-dir", hint="remove one of the two")
        return os.path.join(project_of(settings).root, ".agents", "skills")
    return os.path.abspath(expand_home(settings.skills.dirs[0]))


def _asked() -> str:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return ""
    print(_QUESTION, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def _check_rules(wanted: NewSkill) -> None:
    from skillhub_mcp.skills.admission import REGISTRY_STRICT
    from skillhub_mcp.skills.model import FileStamp
    from skillhub_mcp.skills.parser import parse_skill

    read = parse_skill(
        wanted.files[SKILL_FILE],
        directory=wanted.directory,
        root=wanted.directory,
        directory_name=wanted.name,
        stamp=FileStamp(0, 0, "", 0),
    )
    # A strict registry has the most rules, and a new skill is for every reader.
    for diagnostic in REGISTRY_STRICT.violations(read.skill, read.diagnostics, read.shape):
        raise InvalidArgument("--description", f"breaks a rule: {diagnostic.message}", hint=diagnostic.hint)


def _looked_up(wanted: NewSkill, options: Mapping[str, str]) -> Findable:
    from skillhub_mcp.cli.open_hub import open_hub
    from skillhub_mcp.evaluation.overlaps import search_for_itself

    # A server does not have this command's options.
    own = {name: value for name, value in options.items() if name != "SKILLS_DIR"}
    with open_hub({**own, "SKILLHUB_USAGE_LOG": "", "SKILLHUB_SKIP_AUTO_REINDEX": "0"}) as hub:
        everything = hub.listed()
        real = os.path.realpath(wanted.directory)
        listed = next((one for one in everything if os.path.realpath(one.skill.directory) == real), None)
        if listed is None:
            return Findable(None, serve_with=_serve_with(wanted, own))
        found = listed.served and listed.shadowed_by is None and not listed.skill.disable_model_invocation
        return Findable(listed, search_for_itself(hub, listed.skill) if found else None)


def _serve_with(wanted: NewSkill, options: Mapping[str, str]) -> str:
    """Return what would serve a skill that no root has or a filter excludes."""
    from skillhub_mcp.chosen_roots import roots_of
    from skillhub_mcp.settings import read_settings
    from skillhub_mcp.skills.roots import is_at_or_below

    settings, sources = read_settings(os.environ, options)
    place = os.path.realpath(os.path.dirname(wanted.directory))
    if any(is_at_or_below(place, root.real) for root in roots_of(settings)):
        return f"skillhub why {wanted.name}"
    chosen = {one.setting.name for one in sources if one.source != "default"}
    parent = os.path.dirname(wanted.directory)
    for name in ("SKILLS_DIR", "SKILLHUB_ROOTS"):
        if name in chosen:
            return f"add {parent} to {name}"
    return f"skillhub roots add {shlex.quote(parent)}"


def _cost(wanted: NewSkill) -> Cost:
    from skillhub_mcp.validation.checker import check
    from skillhub_mcp.validation.targets import targets
    from skillhub_mcp.validation.verdict import Cost

    return next(check(target).cost for target in targets([wanted.directory]).found) or Cost(0, 0, 0)


def _report_lines(wanted: NewSkill, findable: Findable, cost: Cost) -> Sequence[str]:
    """Return the report as lines, each group with a label."""
    costs = f"about {cost.catalogue:,} tokens where skills are listed, {cost.body:,} when loaded"
    rows = [("wrote", path) for path in _paths(wanted)]
    rows.append(("found", _found_line(wanted, findable)))
    rows += [("overlaps", _overlap_line(one)) for one in _rivals(findable)]
    rows.append(("costs", costs + (f", {cost.files:,} in its other files" if cost.files else "")))
    rows += [("next", line) for line in _next_lines(wanted, findable)]
    shown, before = [], ""
    for label, line in rows:
        shown.append(f"{'' if label == before else label:<10}{in_line(line)}")
        before = label
    return shown


def _paths(wanted: NewSkill) -> Sequence[str]:
    paths = sorted(wanted.files, key=lambda path: (path != SKILL_FILE, path))
    return [os.path.join(wanted.directory, *path.split("/")) for path in paths]


def _found_line(wanted: NewSkill, findable: Findable) -> str:
    if findable.problem:
        return f"not known: {findable.problem}; skillhub doctor says more"
    if findable.listed is None:
        return f"not yet, as it is not served: {findable.serve_with}"
    if findable.listed.shadowed_by is not None:
        other = findable.listed.shadowed_by.directory
        return f"not by its name, which the skill in {other} has; it loads as {findable.listed.handle}"
    if findable.own_search is None:
        return f"not by agents ({findable.listed.standing.value}): skillhub why {wanted.name}"
    return _rank_line(findable.own_search)


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


def _report_json(wanted: NewSkill, findable: Findable, cost: Cost) -> Mapping[str, object]:
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
        "rank": None if own is None else own.rank,
        "hits": None if own is None else own.hits,
        "overlaps": [
            {"skill": one.rival, "share": round(one.share, 3), "copy": one.copy, "shared": list(one.shared)}
            for one in _rivals(findable)
        ],
        "tokens": {"catalogue": cost.catalogue, "body": cost.body, "files": cost.files},
    }
