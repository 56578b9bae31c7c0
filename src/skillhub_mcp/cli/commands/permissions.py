"""`skillhub permissions`: the rules of who may load what, and where they are (seed 000 §8.1)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from skillhub_mcp.bootstrap import project_of, rule_files
from skillhub_mcp.cli.arguments import add_actions, add_json_option, add_setting_options, as_text
from skillhub_mcp.cli.output import EXIT_OK, note, print_json, say
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.policy.access import RuleFiles
from skillhub_mcp.policy.files import add_rule, remove_rule
from skillhub_mcp.policy.rules import PermissionRule, Rules
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.server.tools.actions import TOOL_ACTIONS
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.names import is_specified_name, safe_alias

_LISTS = ("deny", "allow", "confirm")


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "permissions",
        help="say which skills agents may load",
        description="Which skills agents may load: deny beats allow, and what is neither needs your agreement. Without "
        "any rules everything is allowed.",
    )
    actions = add_actions(parser)
    showing = actions.add_parser("show", help="print the rules and the files that they come from")
    showing.set_defaults(run=_show)
    parsers = [showing]
    for verdict, what in (("allow", "let a skill be loaded"), ("deny", "keep a skill from being loaded")):
        action = actions.add_parser(verdict, help=what)
        action.set_defaults(run=partial(_add, verdict))
        parsers.append(action)
    forgetting = actions.add_parser("forget", help="take out the rules about a skill")
    forgetting.set_defaults(run=_forget)
    parsers.append(forgetting)
    for action in parsers[1:]:
        action.add_argument("name", nargs="?", metavar="NAME", help="the skill; without it, every skill")
        action.add_argument("--run", dest="running", action="store_true", help="to run its commands, not to load it")
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
        say(f"{path}  {'' if found is not None else '(not there)'}".rstrip())
    if not rules.in_force:
        say("\nNo rules: everything is allowed.")
        return EXIT_OK
    say("")
    for verdict, written in _lists(rules).items():
        for rule in written:
            say(f"{verdict:<8} {rule['tool']}  {rule.get('skill_name', '(every skill)')}")
    say("Whatever else is loaded needs your agreement.")
    return EXIT_OK


def _add(verdict: str, args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings, _ = read_settings(os.environ, options)
    file = rule_files(settings, project_of(settings).root).own[0]
    rule = _rule(args)
    add_rule(file.path, verdict, rule, what=file.what, tools=TOOL_ACTIONS)
    _warn(rule_files(settings, project_of(settings).root))
    return _done(args, f"{verdict} {rule.tool} {rule.skill_name or '(every skill)'}: kept in {file.path}")


def _forget(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings, _ = read_settings(os.environ, options)
    file = rule_files(settings, project_of(settings).root).own[0]
    rule = _rule(args)
    for verdict in _LISTS:
        remove_rule(file.path, verdict, rule, what=file.what, tools=TOOL_ACTIONS)
    _warn(rule_files(settings, project_of(settings).root))
    return _done(args, f"no rule about {rule.tool} {rule.skill_name or 'of every skill'} is left in {file.path}")


def _warn(files: RuleFiles) -> None:
    """Say what a rule changes besides itself: the first one ends that everything is allowed."""
    if not any(rule.tool in TOOL_ACTIONS.load and rule.skill_name is None for rule in files.combined().allow):
        note(
            "Since there are rules, an agent needs your agreement for every skill that none of them allows. "
            "To allow the others: skillhub permissions allow"
        )


def _done(args: argparse.Namespace, sentence: str) -> int:
    if args.json:
        print_json({"rule": _rule(args).as_json()})
    else:
        say(sentence)
    return EXIT_OK


def _rule(args: argparse.Namespace) -> PermissionRule:
    tool = TOOL_ACTIONS.rule_tool(Action.RUN if args.running else Action.LOAD)
    if args.name is None:
        return PermissionRule(tool)
    name = as_text(args.name)
    if not is_specified_name(name):
        alias = safe_alias(name)
        raise InvalidArgument(
            "NAME", f"{name!r} is not one exact name in lower-case kebab-case", hint=f"try {alias!r}" if alias else None
        )
    return PermissionRule(tool, name)


def _lists(rules: Rules) -> dict[str, list[dict[str, str]]]:
    return {name: [rule.as_json() for rule in getattr(rules, name)] for name in _LISTS}
