"""`skillhub allow` and `skillhub deny`: the rules for loading and running skills, and the files that hold them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skillhub_mcp.bootstrap.library import every_skill, rule_files
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import decode_argument, did_you_mean
from skillhub_mcp.cli.console import ask, can_ask, print_line, print_note, print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.environment import shown_path
from skillhub_mcp.errors import InvalidArgument, SkillNotFound
from skillhub_mcp.policy.access import RuleFiles, UnreadableRules
from skillhub_mcp.policy.files import change_rules
from skillhub_mcp.policy.rules import NO_RULES, RULE_LISTS, Decision, ListedRule, PermissionRule, Rules
from skillhub_mcp.policy.tool_actions import DENYING, Action, rule_tool
from skillhub_mcp.policy.unknown_names import KnownNames
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.digest import skill_digest
from skillhub_mcp.skills.names import is_specified_name, safe_alias
from skillhub_mcp.skills.selectors import is_rule_selector, is_selector

_OTHERS = {"allow": Decision.ALLOW, "ask": Decision.CONFIRM, "deny": Decision.DENY}
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
    """Add or forget rules for skills; without arguments, print them. Deny takes precedence over allow. Without rules
    everything is allowed.
    """
    settings = settings_of(options)
    files = rule_files(project_of(settings).root)
    beside = any(getattr(args, option, False) for option in ("network", "packages", "any_version"))
    action = Action.RUN if args.running or beside else Action.LOAD
    if not (args.names or args.forget or args.others):
        if action is Action.LOAD or args.json or not can_ask():
            return _show(files, options, as_json=args.json)
        args.names = [_asked(args.command, options)]
    own = files.own
    before = own.read()
    rules = [_rule(name, action) for name in args.names]
    forgotten = [_rule_to_forget(name, action, before or NO_RULES, own.path) for name in args.forget]
    if action is Action.RUN and args.command == "allow":
        rules = [_running_rule(rule, args, options) for rule in rules]
    with open_hub(options) as hub:
        known = KnownNames(every_skill(settings, hub.snapshot_and_policy()[0]))
    removed: tuple[ListedRule, ...] = ()
    if not args.dry_run:
        removed = change_rules(
            own.path,
            put=[ListedRule(args.command, rule) for rule in rules],
            forget=forgotten,
            # A first rule changes nothing for other skills.
            others=_OTHERS[args.others] if args.others else Decision.ALLOW if before is None else None,
        )
    unknown = known.unknown_skills(rule.skill_name or "" for rule in rules)
    notes = [*(f"warning: no skill matches {one}" for one in unknown), *_still_denied(action, rules, files)]
    if args.json:
        gone = [{"list": one.verdict, "rule": one.rule.as_json()} for one in removed]
        changed = {"rules": [rule.as_json() for rule in rules], "removed": gone}
        return print_json({"dry_run": args.dry_run, **changed, "notes": notes})
    path = shown_path(own.path)
    for one in removed:
        print_line(f"removed {one.verdict} {_about(one.rule)} from {path}")
    for rule in rules:
        print_line(f"{args.command} {_about(rule)}: {'would be saved' if args.dry_run else 'saved'} in {path}")
    for note in [*notes, _others_text(files)]:
        print_note(note)
    return EXIT_OK


def _rule(typed: str, action: Action) -> PermissionRule:
    name = decode_argument(typed)
    if not (is_specified_name(name) or is_rule_selector(name)):
        alias = safe_alias(name)
        reason = f"{name!r} is not a name in lower-case kebab-case"
        raise InvalidArgument("NAME", reason, hint=f"try {alias!r}" if alias else None)
    return PermissionRule(rule_tool(action), name)


def _rule_to_forget(typed: str, action: Action, rules: Rules, path: str) -> PermissionRule:
    rule = _rule(typed, action)
    if not any(one.rule.concerns_the_same(rule) for one in rules.listed()):
        names = [one.rule.skill_name for one in rules.listed() if one.rule.skill_name is not None]
        hint = did_you_mean(rule.skill_name or "", names, "`skillhub allow` lists the rules")
        raise InvalidArgument("--forget", f"{path} has no rule for {_about(rule)}", hint=hint)
    return rule


def _running_rule(rule: PermissionRule, args: argparse.Namespace, options: Mapping[str, str]) -> PermissionRule:
    """Return the rule with what it allows, for the skill's present files unless any version is meant."""
    if is_selector(rule.skill_name or "") and (args.network or not args.any_version):
        hint = "name the skill" if args.network else "add --any-version"
        reason = "is a group, so its rule can name no files and no network"
        raise InvalidArgument(rule.skill_name or "", reason, hint=hint)
    digest = None if args.any_version else _present_digest(rule, options)
    return replace(rule, digest=digest, network=args.network, packages=args.packages)


def _show(files: RuleFiles, options: Mapping[str, str], *, as_json: bool) -> int:
    shown: dict[str, Rules | UnreadableRules | None] = {files.own.path: files.own.read()}
    if files.project is not None:
        shown[files.project.path] = files.read_project()
    if as_json:
        read = [rules for rules in shown.values() if isinstance(rules, Rules)]
        listed = [one for rules in read for one in rules.listed()]
        load, run = _others(files)
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
                "others": {"load": load.value, "run": run.value},
            }
        )
    for path, rules in shown.items():
        about = "  (about the skills that the project brings)" if path != files.own.path else ""
        print_line(shown_path(path) + (about if rules is not None else "  (does not exist)"))
        if isinstance(rules, UnreadableRules):
            print_line(f"  cannot be used: {rules.reason}: those skills are not loaded")
        for one in rules.listed() if isinstance(rules, Rules) else ():
            changed = one.rule.digest is not None and _present_digest(one.rule, options) not in (None, one.rule.digest)
            note = "  (its files have changed since: it requires your consent)" if changed else ""
            print_line(f"  {one.verdict:<8} {_about(one.rule)}{note}")
    print_text(f"\n{_others_text(files)}")
    return EXIT_OK


def _others(files: RuleFiles) -> tuple[Decision, Decision]:
    """Return what is decided about loading and running skills without a rule."""
    own = files.own.read() or NO_RULES
    return own.decide(Action.LOAD, ()), own.decide(Action.RUN, ())


def _others_text(files: RuleFiles) -> str:
    if files.own.read() is None and files.read_project() is None:
        return "No rules: everything is allowed."
    load, run = _others(files)
    every = "Every other skill" if any(one.rule.skill_name for one in files.read()[0].listed()) else "Every skill"
    said = {Decision.DENY: "is denied", Decision.ALLOW: "is allowed", Decision.CONFIRM: "requires your consent"}
    if load in (run, Decision.DENY):
        return f"{every} {said[load]}."
    return f"Loading {every.lower()} {said[load]}; running its commands {said[run]}."


def _present_digest(rule: PermissionRule, options: Mapping[str, str]) -> str | None:
    """Return the digest of the files of the skill that has the rule's name here; None if none has."""
    with open_hub(options) as hub:
        try:
            return skill_digest(hub.find(rule.skill_name or "").directory)
        except SkillNotFound:
            return None


def _still_denied(action: Action, rules: Sequence[PermissionRule], files: RuleFiles) -> list[str]:
    """Return a note for each rule that still denies what was allowed: a denial counts in every file."""
    return [
        f"{shown_path(file.path)} has deny {_about(denial)}, which still counts"
        for rule in rules
        for file in files.usable()
        for denial in file.rules.deny
        if (file.of_project or denial != rule)
        and denial.tool in DENYING[action]
        and denial.skill_name in (None, rule.skill_name)
    ]


def _about(rule: PermissionRule) -> str:
    beside = [name for name, allowed in (("network", rule.network), ("packages", rule.packages)) if allowed]
    shown = f"{rule.tool} {rule.skill_name or '(every skill)'}"
    shown += f" with {' and '.join(beside)}" if beside else ""
    return shown if rule.digest is None else f"{shown} of the files {rule.digest[: len('sha256:') + _SHOWN_DIGITS]}"


def _asked(command: str, options: Mapping[str, str]) -> str:
    """Return the name of the skill that is typed. Raises InvalidArgument for none."""
    with open_hub(options) as hub:
        names = sorted(one.skill.name for one in hub.listed() if one.shadowed_by is None)
    print_note(f"Skills: {', '.join(names)}")
    typed = (ask(f"{command} commands of which skill? (Enter to leave)") or "").strip()
    if not typed:
        raise InvalidArgument("NAME", "is required", hint=f"skillhub {command} --help")
    return typed
