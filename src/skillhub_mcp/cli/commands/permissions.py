"""`skillhub permissions`: the rules for loading and running skills, and the files that hold them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from skillhub_mcp.bootstrap.policy import every_skill, rule_files
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import Group, add_actions, add_json_option, add_setting_options, decode_argument
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_note, print_text
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
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.digest import skill_digest
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import is_specified_name, safe_alias
from skillhub_mcp.skills.suggestions import near_names

_SHOWN_NAMES = 3
_SHOWN_DIGITS = 12
_CHOICES = (Decision.ALLOW.value, Decision.CONFIRM.value)


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "permissions",
        group=Group.CONTROL,
        help="show and change which skills agents may load",
        description="Show and change the rules for loading skills. Deny takes precedence over allow. Without any rules "
        "everything is allowed; with your first one you choose whether the skills that no rule names stay allowed or "
        "require your consent.",
    )
    actions = add_actions(parser)
    showing = actions.add_parser("show", help="print the rules and their files")
    showing.set_defaults(run=_show)
    parsers = [showing]
    for verdict, what in (("allow", "add a rule that allows a skill"), ("deny", "add a rule that denies a skill")):
        action = actions.add_parser(verdict, help=what)
        action.set_defaults(run=partial(_put, verdict))
        action.add_argument("--force", action="store_true", help="also for a name that no skill has")
        if verdict == "allow":
            _add_run_options(action)
        parsers.append(action)
    forgetting = actions.add_parser("forget", help="remove the rules for a skill")
    forgetting.set_defaults(run=_forget)
    parsers.append(forgetting)
    for action in parsers[1:]:
        action.add_argument("name", nargs="?", metavar="NAME", help="skill (default: every skill)")
        action.add_argument(
            "--run", dest="running", action="store_true", help="for running its commands instead of loading it"
        )
        action.add_argument(
            "--others", choices=_CHOICES, help="what no rule decides: allowed, or only with your consent"
        )
    for action in parsers:
        add_json_option(action)
        add_setting_options(action)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be allowed beside running commands; each implies --run."""
    parser.add_argument("--network", action="store_true", help="with --run, let its commands use the network")
    parser.add_argument(
        "--packages", action="store_true", help="with --run, fetch the packages that its scripts declare (PEP 723)"
    )
    parser.add_argument(
        "--any-version", action="store_true", help="with --run, also when its files change, without being asked again"
    )


@dataclass(frozen=True, slots=True)
class _RulesOfFile:
    """A file of rules, and what it holds; None where it does not exist. `without_effect` are rules that do nothing.

    One `of_project` is about the skills that the project brings; `broken` says why it cannot be used.
    """

    path: str
    rules: Rules | None
    without_effect: tuple[ListedRule, ...] = ()
    of_project: bool = False
    broken: str = ""

    @property
    def listed(self) -> tuple[ListedRule, ...]:
        return () if self.rules is None else self.rules.listed()


def _show(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_of(options)
    files = rule_files(project_of(settings).root)
    shown = _read(files)
    rules = files.in_force().own
    others = {action: rules.decide(action, (), tools=TOOL_ACTIONS) for action in (Action.LOAD, Action.RUN)}
    if args.json:
        effective = [one for file in shown for one in file.listed if one not in file.without_effect]
        print_json(
            {
                "in_force": any(file.rules is not None for file in shown),
                "files": [
                    {
                        "path": file.path,
                        "exists": file.rules is not None or bool(file.broken),
                        "of_project": file.of_project,
                    }
                    | ({"problem": file.broken} if file.broken else {})
                    for file in shown
                ],
                "permissions": {
                    verdict: [one.rule.as_json() for one in effective if one.verdict == verdict]
                    for verdict in RULE_LISTS
                },
                "others": {action.value: decision.value for action, decision in others.items()},
            }
        )
        return EXIT_OK
    for file in shown:
        of_project = "  (about the skills that the project brings)" if file.of_project else ""
        print_text(in_line(file.path) + (of_project if file.rules is not None or file.broken else "  (does not exist)"))
        if file.broken:
            print_text(f"  {in_line(file.broken)}: those skills are not loaded")
        for one in file.listed:
            note = "  (no effect: your own rules decide)" if one in file.without_effect else ""
            if one.rule.digest is not None and _has_changed(one.rule, options):
                note += "  (its files have changed since: it requires your consent)"
            print_text(f"  {one.verdict:<8} {in_line(_about(one.rule))}{note}")
    if all(file.rules is None for file in shown):
        print_text("\nNo rules: everything is allowed.")
    else:
        named = any(one.rule.skill_name for file in shown for one in file.listed)
        print_text(f"\n{_others_text(others[Action.LOAD], others[Action.RUN], named=named)}")
    return EXIT_OK


def _read(files: RuleFiles) -> list[_RulesOfFile]:
    """Return every file, the person's own first.

    What a project allows counts only where the person's own rules leave the others open.
    """
    own = files.own.read()
    shown = [_RulesOfFile(files.own.path, own)]
    if files.project is not None:
        limited = own is not None and own.others is Decision.CONFIRM
        file = _of_project(files.project, files.read_project())
        ineffective = tuple(one for one in file.listed if limited and one.verdict == "allow")
        shown.append(replace(file, without_effect=ineffective))
    return shown


def _of_project(file: PolicyFile[Rules], found: Rules | UnreadableRules | None) -> _RulesOfFile:
    if isinstance(found, UnreadableRules):
        return _RulesOfFile(file.path, None, of_project=True, broken=f"cannot be used: {found.reason}")
    return _RulesOfFile(file.path, found, of_project=True)


def _others_text(load: Decision, run: Decision, *, named: bool) -> str:
    every = "Every other skill" if named else "Every skill"
    said = {Decision.DENY: "is denied", Decision.ALLOW: "is allowed", Decision.CONFIRM: "requires your consent"}
    if load in (run, Decision.DENY):
        return f"{every} {said[load]}."
    return f"Loading {every.lower()} {said[load]}; running its commands {said[run]}."


def _put(verdict: str, args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_of(options)
    project = project_of(settings).root
    files = rule_files(project)
    rule = _rule(args)
    skills = _skills(settings, options)
    if rule.skill_name is not None and not args.force:
        _check_name(rule.skill_name, skills)
    if verdict == "allow" and _action(args) is Action.RUN:
        rule = _with_run_rights(rule, args, options)
    before = files.in_force()
    others = None if args.others is None else Decision(args.others)
    if others is None and files.own.read() is None:
        others = _ask_about_others(verdict, rule, files, skills, as_json=args.json)
    file = files.own
    replaced = put_rule(file.path, verdict, rule, what=file.what, tools=TOOL_ACTIONS, others=others)
    now = rule_files(project)
    return _report(
        args,
        [
            *(f"removed {one.verdict} {_about(one.rule)} from {file.path}" for one in replaced),
            f"{verdict} {_about(rule)}: saved in {file.path}",
        ],
        {"rule": rule.as_json(), "replaced": [_listed_json(one) for one in replaced]},
        effects=effects_of(before, now.in_force(), skills, tools=TOOL_ACTIONS),
        notes=[
            *(_still_elsewhere(_action(args), rule, now) if verdict == "allow" else []),
            *_still_limited(args.others, now),
        ],
    )


def _forget(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_of(options)
    project = project_of(settings).root
    files = rule_files(project)
    file = files.own
    rule = _rule(args)
    rules = file.read() or NO_RULES
    if not any(one.rule.concerns_the_same(rule, TOOL_ACTIONS) for one in rules.listed()):
        names = [one.rule.skill_name for one in rules.listed() if one.rule.skill_name is not None]
        near = near_names(rule.skill_name or "", names, limit=1)
        raise InvalidArgument(
            "NAME",
            f"is about nothing in {file.path}: no rule there is for {_about(rule)}",
            hint=f"did you mean {near[0]!r}?" if near else "`skillhub permissions show` lists the rules",
        )
    before = files.in_force()
    others = None if args.others is None else Decision(args.others)
    removed = forget_rules(file.path, rule, what=file.what, tools=TOOL_ACTIONS, others=others)
    now = rule_files(project)
    return _report(
        args,
        [f"removed {one.verdict} {_about(one.rule)} from {file.path}" for one in removed],
        {"rule": rule.as_json(), "removed": [_listed_json(one) for one in removed]},
        effects=effects_of(before, now.in_force(), _skills(settings, options), tools=TOOL_ACTIONS),
        notes=[*_still_elsewhere(_action(args), rule, now), *_still_limited(args.others, now), *_left(now)],
    )


def _skills(settings: Settings, options: Mapping[str, str]) -> tuple[Skill, ...]:
    """Return every skill that a rule can be about: those of the roots, and those that the agent-context tools find."""
    with open_hub(options) as hub:
        return every_skill(settings, hub.snapshot_and_policy()[0])


def _with_run_rights(rule: PermissionRule, args: argparse.Namespace, options: Mapping[str, str]) -> PermissionRule:
    """Return the rule with what is allowed beside running, and of which files. Raises InvalidArgument."""
    if rule.skill_name is None and (args.network or args.any_version):
        option = "--network" if args.network else "--any-version"
        raise InvalidArgument(
            option, "is for one skill", hint="name the skill, as in `skillhub permissions allow NAME`"
        )
    digest = None
    if rule.skill_name is not None and not args.any_version:
        digest = _present_digest(rule.skill_name, options)
    return replace(rule, digest=digest, network=args.network, packages=args.packages)


def _present_digest(name: str, options: Mapping[str, str]) -> str | None:
    """Return the digest of the files of the skill that answers to `name` here; None where none does."""
    with open_hub(options) as hub:
        try:
            skill = hub.find(name)
        except SkillNotFound:
            return None
    return skill_digest(skill.directory)


def _has_changed(rule: PermissionRule, options: Mapping[str, str]) -> bool:
    present = _present_digest(rule.skill_name or "", options)
    return present is not None and present != rule.digest


def _check_name(name: str, skills: Sequence[Skill]) -> None:
    """Raise InvalidArgument for a name that no skill has."""
    for unknown in KnownNames(tuple(skills)).unknown_to_rules([name]):
        guess = f"did you mean {unknown.near!r}? " if unknown.near else ""
        raise InvalidArgument("NAME", f"{name!r} is no skill's name", hint=f"{guess}--force adds the rule all the same")


def _ask_about_others(
    verdict: str, rule: PermissionRule, files: RuleFiles, skills: Sequence[Skill], *, as_json: bool
) -> Decision:
    """Ask what a person's first rule means for all that it does not name.

    Raises InvalidArgument where nobody can answer.
    """
    alone = files.read_project() is None
    of_project = "until now the project's rules decide, about the skills that it brings"
    until_now = "without rules everything is allowed" if alone else of_project
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidArgument(
            "--others",
            f"is required with your first rule: {until_now}",
            hint="--others allow leaves all that the rule does not name as it is; --others confirm puts it behind your "
            "consent",
        )
    print_note(f"This is your first rule; {until_now}. What about all that it does not name?")
    for others in (Decision.ALLOW, Decision.CONFIRM):
        first = Rules((rule,), others=others) if verdict == "deny" else Rules(allow=(rule,), others=others)
        changed = effects_of(files.in_force(), files.in_force(first), skills, tools=TOOL_ACTIONS)
        print_note(f"  {others.value:<8} {in_line('; '.join(map(_effect_text, changed))) or 'nothing changes'}")
    while True:
        sys.stderr.write("The others [allow/confirm]: ")
        sys.stderr.flush()
        typed = sys.stdin.readline()
        if not typed:
            raise InvalidArgument("--others", "is required with your first rule, and nothing was answered")
        if typed.strip().lower() in _CHOICES:
            return Decision(typed.strip().lower())


def _still_elsewhere(action: Action, rule: PermissionRule, files: RuleFiles) -> list[str]:
    """Return a note for each other rule that denies the same: a denial counts wherever it stands."""
    return [
        f"{file.path} has {one.verdict} {_about(one.rule)}, which still counts{_for_whom(file)}"
        for file in _read(files)
        for one in file.listed
        if one.verdict == "deny"
        and one.rule.tool in TOOL_ACTIONS.denying(action)
        and one.rule.skill_name in (None, rule.skill_name)
    ]


def _still_limited(others: str | None, files: RuleFiles) -> list[str]:
    """Return a note for each file that puts the others behind consent, where they were to stay as they are."""
    if others != Decision.ALLOW.value:
        return []
    limiting = [file for file in _read(files) if file.rules and file.rules.others is Decision.CONFIRM]
    said = "puts what no rule decides behind your consent all the same"
    return [f"{file.path} {said}{_for_whom(file)}" for file in limiting]


def _for_whom(file: _RulesOfFile) -> str:
    return ", for the skills that the project brings" if file.of_project else ""


def _left(files: RuleFiles) -> list[str]:
    """Return a note if the person's own files have no rule left, and still put everything behind consent."""
    own = files.own.read()
    if own is None or own.listed() or own.others is not Decision.CONFIRM:
        return []
    note = "No rule of yours is left, and what no rule decides requires your consent. To change that: "
    return [f"{note}skillhub permissions allow --others allow"]


def _report(
    args: argparse.Namespace,
    sentences: Sequence[str],
    facts: Mapping[str, object],
    *,
    effects: Sequence[Effect],
    notes: Sequence[str],
) -> int:
    if args.json:
        changes = [
            {"action": one.action.value, "decision": one.decision.value, "skills": list(one.names)} for one in effects
        ]
        print_json({**facts, "changes": changes, "notes": list(notes)})
        return EXIT_OK
    for sentence in sentences:
        print_text(in_line(sentence))
    for effect in effects:
        print_note(f"From now on: {in_line(_effect_text(effect))}")
    for note in notes:
        print_note(in_line(note))
    return EXIT_OK


def _effect_text(effect: Effect) -> str:
    count = len(effect.names)
    named = ", ".join(effect.names[:_SHOWN_NAMES])
    if count > _SHOWN_NAMES:
        named += f" and {count - _SHOWN_NAMES:,} more"
    what = "skill" if effect.action is Action.LOAD else "skill's commands"
    what = what if count == 1 else {"skill": "skills", "skill's commands": "skills' commands"}[what]
    verb = {
        Decision.DENY: "denied",
        Decision.ALLOW: "allowed",
        Decision.CONFIRM: "only with your consent",
    }[effect.decision]
    return f"{count:,} {what} {verb}: {named}"


def _listed_json(one: ListedRule) -> dict[str, object]:
    return {"list": one.verdict, "rule": one.rule.as_json()}


def _about(rule: PermissionRule) -> str:
    beside = [name for name, allowed in (("network", rule.network), ("packages", rule.packages)) if allowed]
    shown = f"{rule.tool} {rule.skill_name or '(every skill)'}"
    shown += f" with {' and '.join(beside)}" if beside else ""
    return shown if rule.digest is None else f"{shown} of the files {rule.digest[: len('sha256:') + _SHOWN_DIGITS]}"


def _action(args: argparse.Namespace) -> Action:
    implied = any(getattr(args, option, False) for option in ("network", "packages", "any_version"))
    return Action.RUN if args.running or implied else Action.LOAD


def _rule(args: argparse.Namespace) -> PermissionRule:
    tool = TOOL_ACTIONS.rule_tool(_action(args))
    if args.name is None:
        return PermissionRule(tool)
    name = decode_argument(args.name)
    if not is_specified_name(name):
        alias = safe_alias(name)
        raise InvalidArgument(
            "NAME", f"{name!r} is not a name in lower-case kebab-case", hint=f"try {alias!r}" if alias else None
        )
    return PermissionRule(tool, name)
