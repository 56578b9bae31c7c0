"""`skillhub permissions`: the rules for loading and running skills, and the files that hold them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from skillhub_mcp.bootstrap import project_of, rule_files
from skillhub_mcp.cli.arguments import add_actions, add_json_option, add_setting_options, decode_argument
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_note, print_text
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.mcp_tools import TOOL_ACTIONS
from skillhub_mcp.policy.access import RuleFiles
from skillhub_mcp.policy.files import add_rule, remove_rule
from skillhub_mcp.policy.rules import PermissionRule, Rules
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.names import is_specified_name, safe_alias

_LISTS = ("deny", "allow", "confirm")


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "permissions",
        help="show and change which skills agents may load",
        description="Show and change the rules for loading skills. Deny takes precedence over allow, and a skill with "
        "neither requires your consent. Without any rules everything is allowed.",
    )
    actions = add_actions(parser)
    showing = actions.add_parser("show", help="print the rules and their files")
    showing.set_defaults(run=_show)
    parsers = [showing]
    for verdict, what in (("allow", "add a rule that allows a skill"), ("deny", "add a rule that denies a skill")):
        action = actions.add_parser(verdict, help=what)
        action.set_defaults(run=partial(_add, verdict))
        parsers.append(action)
    forgetting = actions.add_parser("forget", help="remove the rules for a skill")
    forgetting.set_defaults(run=_forget)
    parsers.append(forgetting)
    for action in parsers[1:]:
        action.add_argument("name", nargs="?", metavar="NAME", help="skill (default: every skill)")
        action.add_argument(
            "--run", dest="running", action="store_true", help="for running its commands instead of loading it"
        )
    for action in parsers:
        add_json_option(action)
        add_setting_options(action)


def _show(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings, _ = read_settings(os.environ, options)
    files = rule_files(settings, project_of(settings).root)
    read = [(file.path, file.read()) for file in (*files.own, *files.foreign)]
    rules = files.combined()
    if args.json:
        print_json(
            {
                "in_force": rules.in_force,
                "files": [{"path": path, "exists": found is not None} for path, found in read],
                "permissions": _lists(rules),
            }
        )
        return EXIT_OK
    for path, found in read:
        print_text(f"{path}  {'' if found is not None else '(does not exist)'}".rstrip())
    if not rules.in_force:
        print_text("\nNo rules: everything is allowed.")
        return EXIT_OK
    print_text("")
    for verdict, written in _lists(rules).items():
        for rule in written:
            print_text(f"{verdict:<8} {rule['tool']}  {rule.get('skill_name', '(every skill)')}")
    print_text("All other skills require your consent.")
    return EXIT_OK


def _add(verdict: str, args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings, _ = read_settings(os.environ, options)
    file = rule_files(settings, project_of(settings).root).own[0]
    rule = _rule(args)
    add_rule(file.path, verdict, rule, what=file.what, tools=TOOL_ACTIONS)
    _warn(rule_files(settings, project_of(settings).root))
    return _done(args, f"{verdict} {rule.tool} {rule.skill_name or '(every skill)'}: saved in {file.path}")


def _forget(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings, _ = read_settings(os.environ, options)
    file = rule_files(settings, project_of(settings).root).own[0]
    rule = _rule(args)
    for verdict in _LISTS:
        remove_rule(file.path, verdict, rule, what=file.what, tools=TOOL_ACTIONS)
    _warn(rule_files(settings, project_of(settings).root))
    return _done(args, f"removed every rule for {rule.tool} {rule.skill_name or '(every skill)'} from {file.path}")


def _warn(files: RuleFiles) -> None:
    """Note the effect of the first rule: without rules everything is allowed, with rules only what they allow."""
    if not any(rule.tool in TOOL_ACTIONS.load and rule.skill_name is None for rule in files.combined().allow):
        print_note(
            "With rules in place, every skill that no rule allows requires your consent. To allow all others: "
            "skillhub permissions allow"
        )


def _done(args: argparse.Namespace, sentence: str) -> int:
    if args.json:
        print_json({"rule": _rule(args).as_json()})
    else:
        print_text(sentence)
    return EXIT_OK


def _rule(args: argparse.Namespace) -> PermissionRule:
    tool = TOOL_ACTIONS.rule_tool(Action.RUN if args.running else Action.LOAD)
    if args.name is None:
        return PermissionRule(tool)
    name = decode_argument(args.name)
    if not is_specified_name(name):
        alias = safe_alias(name)
        raise InvalidArgument(
            "NAME", f"{name!r} is not a name in lower-case kebab-case", hint=f"try {alias!r}" if alias else None
        )
    return PermissionRule(tool, name)


def _lists(rules: Rules) -> dict[str, list[dict[str, str]]]:
    return {name: [rule.as_json() for rule in getattr(rules, name)] for name in _LISTS}
