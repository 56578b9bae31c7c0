"""`skillhub new`: a new skill, from nothing or from an example, and how it will be found."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, decode_argument
from skillhub_mcp.cli.new_skill_report import Findable, NewSkill, report_json, report_lines
from skillhub_mcp.cli.output import EXIT_OK, one_line, print_json, print_note, print_text
from skillhub_mcp.cli.replica_note import note_publication
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument, SkillHubError

if TYPE_CHECKING:
    from skillhub_mcp.settings import Settings
    from skillhub_mcp.skills.model import Skill
    from skillhub_mcp.validation.verdict import Cost

_QUESTION = (
    "What does it do, and when should an agent use it? One or two sentences, such as:\n"
    "  Extract the totals of invoice PDFs. Use when an invoice or a receipt has to be booked.\n> "
)


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "new",
        group=Group.WRITE,
        everyday=True,
        help="start a skill, and say how it would be found",
        description="Write a SKILL.md that breaks no rule, or a copy of an example, into a directory of its own. Then "
        "say how it is found by its own description, which skills it competes with, and what it costs.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="lowercase letters, digits and single hyphens")
    parser.add_argument(
        "--description", metavar="TEXT", help="what it does and when to use it; asked for on a terminal"
    )
    parser.add_argument("--project", action="store_true", help="in .agents/skills of this project")
    parser.add_argument("--scripts", action="store_true", help="with a script that the steps run")
    parser.add_argument("--references", action="store_true", help="with a file that is read only where needed")
    parser.add_argument(
        "--from-template",
        nargs="?",
        const="",
        metavar="EXAMPLE",
        help="copy a skill that comes with SkillHub; without EXAMPLE, list them",
    )
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Write the skill and print how it will be found. Raises InvalidArgument, InvalidSetting and LibraryUnwritable."""
    from skillhub_mcp.authoring.files import write_new
    from skillhub_mcp.settings import settings_of

    if args.from_template == "":
        return _list_examples(args)
    if not args.project and "SKILLS_DIR" not in options:
        note_publication(settings_of(options))
    wanted = _wanted(args, options)
    write_new(wanted.directory, wanted.files)
    findable = _findable(wanted, options)
    cost = _cost(wanted)
    if args.json:
        print_json(report_json(wanted, findable, cost))
    else:
        print_text("\n".join(report_lines(wanted, findable, cost)))
    return EXIT_OK


def _list_examples(args: argparse.Namespace) -> int:
    from skillhub_mcp.authoring.files import examples
    from skillhub_mcp.cli.colours import painter
    from skillhub_mcp.cli.screen import stdout_screen
    from skillhub_mcp.cli.table import TableRow, table_lines

    found = examples()
    if args.json:
        print_json({"examples": [{"name": one.name, "description": one.description} for one in found]})
        return EXIT_OK
    rows = [TableRow((one.name,), one_line(one.description, width=None)) for one in found]
    screen = stdout_screen()
    if screen is None:
        for row in rows:
            print_text(f"{row.cells[0]}  {row.text}")
    else:
        # The lines are harmless already, and have colours.
        print("\n".join(table_lines(("name", "description"), rows, screen.columns, painter(sys.stdout, os.environ))))
    print_note(f"\nskillhub new {shlex.quote(args.name or 'NAME')} --from-template EXAMPLE")
    return EXIT_OK


def _wanted(args: argparse.Namespace, options: Mapping[str, str]) -> NewSkill:
    from skillhub_mcp.authoring.draft import described, draft_files, renamed, says_when
    from skillhub_mcp.authoring.files import files_of
    from skillhub_mcp.settings import settings_of
    from skillhub_mcp.skills.model import SKILL_FILE

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
        wanted = NewSkill(
            name,
            directory,
            {path: text.encode() for path, text in texts.items()},
            drafted=not typed,
            completed=bool(typed) and not says_when(typed),
        )
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
    is_specified = is_specified_name(name)
    if is_specified and entry_problem(name) is None:
        return name
    mended = safe_alias(name)
    if mended and entry_problem(mended) is not None:
        mended = f"{mended}-skill"
    reason = "is a device on Windows, where nobody could have a directory of that name"
    if not is_specified:
        reason = "is not of 1 to 64 lowercase letters, digits and single hyphens"
    hint = f"skillhub new {mended}" if mended else "choose a name such as pdf-tables"
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
    from skillhub_mcp.skills.model import SKILL_FILE, FileStamp
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


def _findable(wanted: NewSkill, options: Mapping[str, str]) -> Findable:
    try:
        return _looked_up(wanted, options)
    except SkillHubError as error:
        # The skill is written, and whoever wrote it must know that.
        return Findable(None, problem=error.message)


def _looked_up(wanted: NewSkill, options: Mapping[str, str]) -> Findable:
    from skillhub_mcp.cli.open_hub import open_hub
    from skillhub_mcp.evaluation.overlaps import search_for_itself
    from skillhub_mcp.skills.names import fold_name

    # Looked at as a server without this command's options would; and trying a skill is not a use of it.
    own = {name: value for name, value in options.items() if name != "SKILLS_DIR"}
    with open_hub({**own, "SKILLHUB_USAGE_LOG": "", "SKILLHUB_SKIP_AUTO_REINDEX": "0"}) as hub:
        everything = hub.listed()
        real = os.path.realpath(wanted.directory)
        listed = next((one for one in everything if os.path.realpath(one.skill.directory) == real), None)
        names = [one for one in everything if fold_name(one.skill.name) == wanted.name and one is not listed]
        if listed is None:
            return Findable(None, names, serve_with=_serve_with(wanted, own))
        found = listed.served and listed.shadowed_by is None and not listed.skill.disable_model_invocation
        return Findable(listed, names, search_for_itself(hub, listed.skill) if found else None)


def _serve_with(wanted: NewSkill, options: Mapping[str, str]) -> str:
    """Return what makes a skill served that no root has, or that a filter leaves out."""
    from skillhub_mcp.chosen_roots import roots_of
    from skillhub_mcp.settings import read_settings
    from skillhub_mcp.skills.roots import is_at_or_below

    settings, sources = read_settings(os.environ, options)
    place = os.path.realpath(os.path.dirname(wanted.directory))
    if any(is_at_or_below(place, root.real) for root in roots_of(settings)):
        return f"skillhub why {wanted.name}"
    chosen = {one.setting.name for one in sources if one.source != "default"}
    if "SKILLS_DIR" in chosen:
        return f"add {os.path.dirname(wanted.directory)} to SKILLS_DIR"
    if "SKILLHUB_ROOTS" in chosen:
        return f"add {os.path.dirname(wanted.directory)} to SKILLHUB_ROOTS"
    return f"skillhub roots add {shlex.quote(os.path.dirname(wanted.directory))}"


def _cost(wanted: NewSkill) -> Cost:
    from skillhub_mcp.validation.checker import check
    from skillhub_mcp.validation.targets import targets
    from skillhub_mcp.validation.verdict import Cost

    return next(check(target).cost for target in targets([wanted.directory]).found) or Cost(0, 0, 0)
