"""`skillhub allow` and `skillhub deny`: the rules for loading and running skills, and the files that hold them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from skillhub_mcp.bootstrap.policy import every_skill, rule_files
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import ask, can_ask, print_note, print_text, shown_path
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.errors import InvalidArgument, SkillNotFound
from skillhub_mcp.mcp_tools import TOOL_ACTIONS
from skillhub_mcp.policy.access import RuleFiles, UnreadableRules
from skillhub_mcp.policy.files import PolicyFile, forget_rules, put_rule
from skillhub_mcp.policy.rules import (
    NO_RULES,
    RULE_LISTS,
    Decision,
    Effect,
    ListedRule,
    PermissionRule,
    Rules,
    effects_of,
)
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.policy.unknown_names import KnownNames
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.digest import skill_digest
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import is_specified_name, near_names, safe_alias
from skillhub_mcp.skills.selectors import is_rule_selector, is_selector

DESCRIPTION = (
    "Add or forget rules for skills; without arguments, print them. Deny takes precedence over allow. Without rules "
    "everything is allowed."
)
_OTHERS = {"allow": Decision.ALLOW, "ask": Decision.CONFIRM, "deny": Decision.DENY}
_SHOWN_NAMES = 3
_SHOWN_DIGITS = 12


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="skill, glob, or source:, category: or tag: group")
    parser.add_argument("--forget", action="append", default=[], metavar="NAME", help="remove the rules for a skill")
    parser.add_argument("--others", choices=tuple(_OTHERS), help="what applies to skills without a rule")
    parser.add_argument("--run", dest="running", action="store_true", help="about running commands, not loading")
    if name == "allow":
        parser.add_argument("--network", action="store_true", help="with --run, let its commands use the network")
        parser.add_argument("--packages", action="store_true", help="with --run, fetch packages of scripts (PEP 723)")
        parser.add_argument("--any-version", action="store_true", help="with --run, also when its files change")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Change the rules, or print them. Raises InvalidArgument and PolicyUnwritable."""
    settings = settings_of(options)
    project = project_of(settings).root
    files = rule_files(project)
    action = Action.RUN if args.running or _beside(args) else Action.LOAD
    if not (args.names or args.forget or args.others):
        if action is Action.LOAD or args.json or not can_ask():
            return _show(files, options, as_json=args.json)
        args.names = [_asked(args.command, options)]
    with open_hub(options) as hub:
        skills = every_skill(settings, hub.snapshot_and_policy()[0])
    before, own = files.in_force(), files.own
    others = _OTHERS[args.others] if args.others else Decision.ALLOW if own.read() is None else None
    rules = [_rule(name, action) for name in args.names]
    forgotten = [_rule(name, action) for name in args.forget]
    for rule in forgotten:
        _check_is_ruled(rule, own.read() or NO_RULES, own.path)
    if action is Action.RUN and args.command == "allow":
        group = next((name for name in args.names if is_selector(name)), "")
        if group and (args.network or not args.any_version):
            hint = "name the skill" if args.network else "add --any-version"
            raise InvalidArgument(group, "is a group, so its rule can name no files and no network", hint=hint)
        rules = [
            replace(
                rule,
                digest=None if args.any_version else _present_digest(rule, options),
                network=args.network,
                packages=args.packages,
            )
            for rule in rules
        ]
    removed = [] if args.dry_run else _changed(args, own, rules, forgotten, others=others)
    now = rule_files(project)
    effects = effects_of(before, now.in_force(), skills, tools=TOOL_ACTIONS)
    notes = [*_unknown(rules, skills), *_still_denied(action, rules, now)]
    if args.json:
        return print_json(
            {
                "dry_run": args.dry_run,
                "rules": [rule.as_json() for rule in rules],
                "removed": [{"list": one.verdict, "rule": one.rule.as_json()} for one in removed],
                "changes": [
                    {"action": one.action.value, "decision": one.decision.value, "skills": list(one.names)}
                    for one in effects
                ],
                "notes": notes,
            }
        )
    path, verb = shown_path(own.path), "would be saved in" if args.dry_run else "saved in"
    for one in removed:
        print_text(in_line(f"removed {one.verdict} {_about(one.rule)} from {path}"))
    for rule in rules:
        print_text(in_line(f"{args.command} {_about(rule)}: {verb} {path}"))
    for note in [*(f"from now on: {_effect_text(one)}" for one in effects), *notes, _others_text(now)]:
        print_note(in_line(note))
    return EXIT_OK


def _changed(
    args: argparse.Namespace,
    own: PolicyFile[Rules],
    rules: Sequence[PermissionRule],
    forgotten: Sequence[PermissionRule],
    *,
    others: Decision | None,
) -> list[ListedRule]:
    """Write the rules and return those that are gone."""
    put, forget = (
        partial(write, what=own.what, tools=TOOL_ACTIONS, others=others) for write in (put_rule, forget_rules)
    )
    if not (rules or forgotten):
        # No rule has an empty name: only `others` is written.
        forget(own.path, PermissionRule(TOOL_ACTIONS.rule_tool(Action.LOAD), ""))
    removed = [one for rule in forgotten for one in forget(own.path, rule)]
    return [*removed, *(one for rule in rules for one in put(own.path, args.command, rule))]


def _show(files: RuleFiles, options: Mapping[str, str], *, as_json: bool) -> int:
    shown: dict[str, Rules | UnreadableRules | None] = {files.own.path: files.own.read()}
    if files.project is not None:
        shown[files.project.path] = files.read_project()
    if as_json:
        read = {path: rules for path, rules in shown.items() if isinstance(rules, Rules)}
        listed = [one for rules in read.values() for one in rules.listed()]
        own = files.in_force().own
        return print_json(
            {
                "in_force": bool(read),
                "files": [
                    {"path": path, "exists": rules is not None, "of_project": path != files.own.path}
                    | ({"problem": rules.reason} if isinstance(rules, UnreadableRules) else {})
                    for path, rules in shown.items()
                ],
                "permissions": {
                    name: [one.rule.as_json() for one in listed if one.verdict == name] for name in RULE_LISTS
                },
                "others": {
                    one.value: own.decide(one, (), tools=TOOL_ACTIONS).value for one in (Action.LOAD, Action.RUN)
                },
            }
        )
    for path, rules in shown.items():
        about = "  (about the skills that the project brings)" if path != files.own.path else ""
        print_text(in_line(shown_path(path)) + (about if rules is not None else "  (does not exist)"))
        if isinstance(rules, UnreadableRules):
            print_text(f"  cannot be used: {in_line(rules.reason)}: those skills are not loaded")
            continue
        for one in () if rules is None else rules.listed():
            changed = one.rule.digest is not None and _present_digest(one.rule, options) not in (None, one.rule.digest)
            note = "  (its files have changed since: it requires your consent)" if changed else ""
            print_text(f"  {one.verdict:<8} {in_line(_about(one.rule))}{note}")
    print_text(f"\n{_others_text(files)}")
    return EXIT_OK


def _others_text(files: RuleFiles) -> str:
    if files.own.read() is None and files.read_project() is None:
        return "No rules: everything is allowed."
    own = files.in_force().own
    load, run = (own.decide(action, (), tools=TOOL_ACTIONS) for action in (Action.LOAD, Action.RUN))
    every = "Every other skill" if any(one.rule.skill_name for one in own.listed()) else "Every skill"
    said = {Decision.DENY: "is denied", Decision.ALLOW: "is allowed", Decision.CONFIRM: "requires your consent"}
    if load in (run, Decision.DENY):
        return f"{every} {said[load]}."
    return f"Loading {every.lower()} {said[load]}; running its commands {said[run]}."


def _check_is_ruled(rule: PermissionRule, rules: Rules, path: str) -> None:
    if any(one.rule.concerns_the_same(rule, TOOL_ACTIONS) for one in rules.listed()):
        return
    names = [one.rule.skill_name for one in rules.listed() if one.rule.skill_name is not None]
    near = near_names(rule.skill_name or "", names, limit=1)
    hint = f"did you mean {near[0]!r}?" if near else "`skillhub allow` lists the rules"
    raise InvalidArgument("--forget", f"{path} has no rule for {_about(rule)}", hint=hint)


def _present_digest(rule: PermissionRule, options: Mapping[str, str]) -> str | None:
    """Return the digest of the files of the skill that has the rule's name here; None if none has."""
    with open_hub(options) as hub:
        try:
            return skill_digest(hub.find(rule.skill_name or "").directory)
        except SkillNotFound:
            return None


def _unknown(rules: Sequence[PermissionRule], skills: Sequence[Skill]) -> list[str]:
    names = [rule.skill_name for rule in rules if rule.skill_name is not None]
    return [
        f"warning: no skill matches {one.name!r}" + (f"; did you mean {one.near!r}?" if one.near else "")
        for one in KnownNames(tuple(skills)).unknown_to_rules(names)
    ]


def _still_denied(action: Action, rules: Sequence[PermissionRule], files: RuleFiles) -> list[str]:
    """Return a note for each rule that still denies what was allowed: a denial counts in every file."""
    read = [(files.own.path, files.own.read())]
    project = files.read_project()
    if files.project is not None and isinstance(project, Rules):
        read.append((files.project.path, project))
    return [
        f"{shown_path(path)} has deny {_about(one.rule)}, which still counts"
        for rule in rules
        for path, found in read
        for one in (found.listed() if found else ())
        if one.verdict == "deny"
        and (path != files.own.path or one.rule != rule)
        and one.rule.tool in TOOL_ACTIONS.denying(action)
        and one.rule.skill_name in (None, rule.skill_name)
    ]


def _effect_text(effect: Effect) -> str:
    count = len(effect.names)
    named = ", ".join(effect.names[:_SHOWN_NAMES])
    if count > _SHOWN_NAMES:
        named += f" and {count - _SHOWN_NAMES:,} more"
    one, several = ("skill", "skills") if effect.action is Action.LOAD else ("skill's commands", "skills' commands")
    said = {Decision.DENY: "denied", Decision.ALLOW: "allowed", Decision.CONFIRM: "only with your consent"}
    return f"{count:,} {one if count == 1 else several} {said[effect.decision]}: {named}"


def _about(rule: PermissionRule) -> str:
    beside = [name for name, allowed in (("network", rule.network), ("packages", rule.packages)) if allowed]
    shown = f"{rule.tool} {rule.skill_name or '(every skill)'}"
    shown += f" with {' and '.join(beside)}" if beside else ""
    return shown if rule.digest is None else f"{shown} of the files {rule.digest[: len('sha256:') + _SHOWN_DIGITS]}"


def _beside(args: argparse.Namespace) -> bool:
    return any(getattr(args, option, False) for option in ("network", "packages", "any_version"))


def _asked(command: str, options: Mapping[str, str]) -> str:
    """Return the name of the skill that is typed. Raises InvalidArgument for none."""
    with open_hub(options) as hub:
        names = sorted(one.skill.name for one in hub.listed() if one.shadowed_by is None)
    print_note(f"Skills: {in_line(', '.join(names))}")
    typed = (ask(f"{command} commands of which skill? (Enter to leave)") or "").strip()
    if not typed:
        raise InvalidArgument("NAME", "is required", hint=f"skillhub {command} --help")
    return typed


def _rule(typed: str, action: Action) -> PermissionRule:
    name = decode_argument(typed)
    if not (is_specified_name(name) or is_rule_selector(name)):
        alias = safe_alias(name)
        reason = f"{name!r} is not a name in lower-case kebab-case"
        raise InvalidArgument("NAME", reason, hint=f"try {alias!r}" if alias else None)
    return PermissionRule(TOOL_ACTIONS.rule_tool(action), name)
