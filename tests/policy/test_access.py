"""The policy of filters, choices and rules."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.errors import (
    ConfirmationRequired,
    PermissionDenied,
    PolicyUnreadable,
    RunNotPermitted,
    SkillDisabled,
    SkillNotFound,
    SkillUntrusted,
)
from skillhub_mcp.policy.access import EVERY_SKILL, Access, Availability, Grant, Policy, RuleFiles, UnreadableRules
from skillhub_mcp.policy.choices import NO_CHOICES, Choices
from skillhub_mcp.policy.files import CHOICES, PROJECT_RULES, RULES, change_rules
from skillhub_mcp.policy.rules import NO_RULES, Decision, ListedRule, PermissionRule, Rules, RunRights
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.policy.trust import TrustMode
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.model import Skill, Trust
from skillhub_mcp.skills.registry import Registry


@pytest.fixture
def skill(write_skill: SkillWriter, skills_dir: Path) -> Skill:
    write_skill("PDF Tools", directory="pdf-tools")
    (found,) = Registry([str(skills_dir)]).snapshot.everything
    return found


def with_rules(*, deny: tuple[PermissionRule, ...] = (), allow: tuple[PermissionRule, ...] = ()) -> Policy:
    return Policy(Visibility(), rules=Rules(deny, allow))


def of_project(skill: Skill, trust: Trust = Trust.AWAITED) -> Skill:
    """Return the skill as one of a project."""
    return replace(skill, trust=trust)


@pytest.mark.parametrize("trust", list(Trust))
def test_only_available_skills_are_offered(skill: Skill, trust: Trust) -> None:
    denied = (PermissionRule("skill_load", "pdf-tools"),)
    policy, one = Policy(Visibility()), of_project(skill, trust)
    for each in (
        policy,
        replace(policy, visibility=Visibility(frozenset({"other"}))),
        replace(policy, caller=Visibility(frozenset({"other"}))),
        replace(policy, choices=NO_CHOICES.switched("pdf tools", on=False)),
        replace(policy, trust=TrustMode.NONE),
        replace(policy, rules=Rules(others=Decision.DENY)),
        replace(policy, rules=Rules(denied)),
        replace(policy, rules=replace(NO_RULES, then=Rules(denied))),
        replace(policy, unreadable=UnreadableRules("rules", "/x", "broken")),
    ):
        assert each.offers(one) is (each.availability(one) is Availability.ON)


@pytest.mark.acceptance("S0-82")
def test_excluded_skills_are_refused_with_the_reason(skill: Skill) -> None:
    free, other = Policy(Visibility()), Visibility(frozenset({"other"}))
    assert free.availability(skill) is Availability.ON
    assert not free.leaves_out([skill])
    # Rules use the alias of an unspecified name.
    denied = with_rules(deny=(PermissionRule("skill_load", "pdf-tools"),))
    off = replace(free, choices=NO_CHOICES.switched("pdf tools", on=False))
    for policy, availability, error, message in (
        (replace(free, visibility=other), Availability.FILTERED, SkillDisabled, "not enabled on this server"),
        (replace(free, caller=other), Availability.FILTERED, SkillNotFound, "No skill is named"),
        (off, Availability.OFF, SkillDisabled, "is disabled"),
        (denied, Availability.DENIED, PermissionDenied, "A rule denies read_skill_file"),
    ):
        assert policy.availability(skill) is availability
        assert policy.leaves_out([skill])
        with pytest.raises(error, match=message):
            policy.check(skill, Action.READ)
    # One that needs consent is listed, but not to be used freely.
    assert with_rules().offers(skill)
    assert with_rules().leaves_out([skill])


@pytest.mark.acceptance("S0-65")
def test_consent_covers_only_its_action(skill: Skill) -> None:
    policy = with_rules()
    with pytest.raises(ConfirmationRequired) as caught:
        policy.check(skill, Action.LOAD)
    asked = caught.value
    assert (asked.tool, asked.skill_name, asked.rule_name) == ("skill_load", "PDF Tools", "pdf-tools")
    assert (asked.description, asked.directory) == (skill.description, skill.directory)
    assert caught.value.hint == "ask the user to run: skillhub allow pdf-tools"
    granted = {Grant(Action.LOAD, skill.directory)}
    policy.check(skill, Action.LOAD, granted)
    policy.check(skill, Action.READ, granted)
    with pytest.raises(ConfirmationRequired) as caught:
        policy.check(skill, Action.RUN, granted)
    assert (caught.value.hint or "").endswith("pdf-tools --run")
    policy.check(skill, Action.RUN, {Grant(Action.RUN, skill.directory)})
    with pytest.raises(ConfirmationRequired):
        policy.check(skill, Action.LOAD, {Grant(Action.LOAD, "/elsewhere"), Grant(Action.READ, skill.directory)})


READ_ANY, RUN_ANY = PermissionRule("read_skill_file"), PermissionRule("run_skill_command")


def test_denying_files_or_commands_does_not_deny_loading(skill: Skill) -> None:
    allowed = (PermissionRule("skill_load"), RUN_ANY)
    for denied, action in ((READ_ANY, Action.READ), (RUN_ANY, Action.RUN)):
        policy = with_rules(deny=(denied,), allow=allowed)
        assert policy.offers(skill)
        policy.check(skill, Action.LOAD)
        with pytest.raises(PermissionDenied) as caught:
            policy.check(skill, action)
        assert (caught.value.facts["tool"], caught.value.facts["skill_name"]) == (denied.tool, "PDF Tools")
        policy.check(skill, Action.RUN if action is Action.READ else Action.READ)


def test_a_denied_tool_cannot_be_called() -> None:
    policy = with_rules(deny=(PermissionRule("search_skills"), PermissionRule("skill_load", "pdf-tools")))
    with pytest.raises(PermissionDenied) as caught:
        policy.check_tool("search_skills")
    assert (caught.value.facts["tool"], caught.value.facts.get("skill_name")) == ("search_skills", None)
    policy.check_tool("skill_load")


def test_a_shell_command_counts_as_consent_but_does_not_override_a_denial(skill: Skill) -> None:
    replace(with_rules(), asks=False).check(skill, Action.RUN)
    with pytest.raises(PermissionDenied):
        replace(with_rules(deny=(PermissionRule("skill_load"),)), asks=False).check(skill, Action.LOAD)


def access_to(tmp_path: Path, visibility: Visibility = EVERY_SKILL) -> Access:
    """Access in project `one` of two, whose rules are in their directories; the user's are in `own.json`."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir(exist_ok=True)
    own = RULES.file(str(tmp_path / "own.json"))
    return Access(
        visibility,
        project=lambda: str(tmp_path / "one"),
        choices=CHOICES.file(str(tmp_path / "c.json")),
        rule_files=lambda root: RuleFiles(own, PROJECT_RULES.file(f"{root}/r.json", within=root)),
        asks=True,
    )


def test_two_projects_have_separate_policies_for_each_caller(tmp_path: Path, skill: Skill) -> None:
    access = access_to(tmp_path)
    two = str(tmp_path / "two")
    callers: list[Visibility | None] = [None]
    access.narrow_by(lambda: callers[0])
    change_rules(f"{two}/r.json", put=[ListedRule("deny", PermissionRule("skill_load"))])
    for caller in (None, Visibility(frozenset({"PDF Tools"}))):
        callers[0] = caller
        here, there = access.now(), access.now(two)
        assert [one.availability(of_project(skill)) for one in (here, there)] == [Availability.ON, Availability.DENIED]
        assert access.now() is here
        assert access.now(two) is there
    CHOICES.change(str(tmp_path / "c.json"), lambda choices: choices.switched("pdf tools", on=False, project=two))
    assert access.now(two).availability(skill) is Availability.OFF
    assert access.now().availability(skill) is Availability.ON
    (tmp_path / "own.json").write_text("{", encoding="utf-8")
    with pytest.raises(PolicyUnreadable, match=r"Your permissions\.json cannot be used"):
        access.now()


@pytest.mark.parametrize("trust", [Trust.AGREED, Trust.AWAITED, Trust.CHANGED])
def test_project_rules_affect_only_the_projects_skills(tmp_path: Path, skill: Skill, trust: Trust) -> None:
    access, one = access_to(tmp_path), tmp_path / "one"
    deny = PermissionRule("skill_load")
    for tool in ("skill_load", "search_skills"):
        change_rules(f"{one}/r.json", put=[ListedRule("deny", PermissionRule(tool))])
    policy = access.now()
    assert policy.availability(of_project(skill, trust)) is Availability.DENIED
    assert policy.availability(skill) is Availability.ON
    policy.check(skill, Action.LOAD)
    policy.check_tool("search_skills")
    # A project cannot allow what the user's rules leave to consent.
    (one / "r.json").unlink()
    (tmp_path / "own.json").write_text('{"permissions": {"others": "confirm"}}', encoding="utf-8")
    change_rules(f"{one}/r.json", put=[ListedRule("allow", deny)])
    for each in (skill, of_project(skill, trust)):
        with pytest.raises(ConfirmationRequired):
            access.now().check(each, Action.LOAD)


@pytest.mark.parametrize("broken", ["{", '{"permissions": {"deny": 7}}', "link"])
def test_unreadable_project_rules_disable_only_the_projects_skills(tmp_path: Path, skill: Skill, broken: str) -> None:
    access, rules = access_to(tmp_path), tmp_path / "one" / "r.json"
    if broken == "link":
        (tmp_path / "elsewhere.json").write_text('{"permissions": {}}', encoding="utf-8")
        rules.symlink_to(tmp_path / "elsewhere.json")
    else:
        rules.write_text(broken, encoding="utf-8")
    policy = access.now()
    # Searches cache by policy.
    assert access.now() is policy
    assert policy.availability(of_project(skill)) is Availability.UNDECIDED
    assert not policy.offers(of_project(skill))
    with pytest.raises(PolicyUnreadable, match=r"The project's .* cannot be used") as caught:
        policy.check(of_project(skill), Action.LOAD)
    assert caught.value.path == str(rules)
    assert caught.value.hint == "fix or remove it; the skills of the project are not loaded until then"
    policy.check(skill, Action.LOAD)
    assert access.now(str(tmp_path / "two")).offers(of_project(skill))
    rules.unlink()
    assert access.now().offers(of_project(skill))


def test_a_project_cannot_deny_a_skill_that_the_user_switched_on(tmp_path: Path, skill: Skill) -> None:
    access, one = access_to(tmp_path), str(tmp_path / "one")
    change_rules(f"{one}/r.json", put=[ListedRule("deny", PermissionRule("skill_load"))])
    for on, now in ((True, Availability.ON), (False, Availability.OFF)):
        CHOICES.change(str(tmp_path / "c.json"), partial(Choices.switched, key="pdf tools", on=on, project=one))
        assert access.now().availability(of_project(skill)) is now
    (tmp_path / "c.json").unlink()
    assert access.now().availability(of_project(skill)) is Availability.DENIED


def test_mode_none_excludes_untrusted_skills(skill: Skill) -> None:
    policy = Policy(Visibility(), trust=TrustMode.NONE)
    for trust in Trust:
        one = of_project(skill, trust)
        assert policy.offers(one) is not trust.is_awaited
    with pytest.raises(SkillUntrusted) as caught:
        policy.check(of_project(skill), Action.LOAD)
    assert "`skillhub trust`" in (caught.value.hint or "")


def test_mode_ask_requires_consent_for_untrusted_skills(skill: Skill) -> None:
    policy = Policy(Visibility(), trust=TrustMode.ASK, project="/p")
    awaiting = of_project(skill)
    assert policy.offers(awaiting)
    # A rule by name does not allow it: another skill may get that name.
    allowed = replace(policy, rules=Rules(allow=(PermissionRule("skill_load", "pdf-tools"),)))
    for each in (policy, allowed):
        for action in (Action.LOAD, Action.READ):
            with pytest.raises(ConfirmationRequired) as caught:
                each.check(awaiting, action)
            assert caught.value.hint == "ask the user to run: skillhub trust"
    policy.check(awaiting, Action.READ, {Grant(Action.LOAD, awaiting.directory)})
    for trusted in (skill, of_project(skill, Trust.AGREED)):
        policy.check(trusted, Action.LOAD)
    # A command in the shell is consent.
    replace(policy, asks=False).check(awaiting, Action.LOAD)


def test_a_callers_filter_narrows_the_servers(tmp_path: Path, write_skill: SkillWriter, skills_dir: Path) -> None:
    write_skill("one", category="open")
    write_skill("two", category="closed")
    one, two = Registry([str(skills_dir)]).snapshot.everything
    access = access_to(tmp_path, Visibility(categories=frozenset({"open"})))
    callers: dict[str, Visibility | None] = {"who": None}
    access.narrow_by(lambda: callers["who"])
    assert [access.now().availability(skill) for skill in (one, two)] == [Availability.ON, Availability.FILTERED]
    assert [access.sees(skill) for skill in (one, two)] == [True, False]
    assert access.sees_everything()
    with pytest.raises(SkillDisabled):
        access.now().check(two, Action.LOAD)
    callers["who"] = Visibility(frozenset({"two"}))
    for skill in (one, two):
        assert access.now().availability(skill) is Availability.FILTERED
        assert not access.now().offers(skill)
        assert not access.sees(skill)
    assert not access.sees_everything()
    # The error reveals neither the skill nor the setting.
    with pytest.raises(SkillNotFound) as caught:
        access.now().check(one, Action.LOAD, {Grant(Action.LOAD, one.directory)})
    assert str(caught.value) == "No skill is named 'one'"
    with pytest.raises(SkillDisabled):
        access.now().check(two, Action.LOAD)


def test_policies_of_callers_are_cached_until_a_change(tmp_path: Path, skill: Skill) -> None:
    access = access_to(tmp_path)
    callers: list[Visibility | None] = [None]
    access.narrow_by(lambda: callers[0])

    def policy_of(*names: str) -> Policy:
        callers[0] = Visibility(frozenset(names)) if names else None
        return access.now()

    kept = {name: policy_of(name) for name in ("a", "b")}
    base = policy_of()
    assert len({id(one) for one in (base, *kept.values())}) == 3
    assert all(policy_of(name) is kept[name] for name in kept)
    assert policy_of() is base
    CHOICES.change(str(tmp_path / "c.json"), lambda choices: choices.switched("pdf tools", on=False))
    assert policy_of("PDF Tools").availability(skill) is Availability.OFF
    assert policy_of("a") is not kept["a"]
    again = policy_of("a")
    for number in range(300):
        policy_of(str(number))
    assert policy_of("a") is not again


def test_a_call_keeps_one_policy_in_all_its_threads(tmp_path: Path, skill: Skill) -> None:
    access = access_to(tmp_path)
    with access.pinned() as policy:
        CHOICES.change(str(tmp_path / "c.json"), lambda choices: choices.switched("pdf tools", on=False))
        assert access.now() is policy
        inside = copy_context()
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(inside.run, access.now).result() is policy
            assert pool.submit(access.now).result().availability(skill) is Availability.OFF
    assert access.now().availability(skill) is Availability.OFF
    # A task that outlives the call gets the current policy.
    assert inside.run(access.now).availability(skill) is Availability.OFF


def test_a_pinned_policy_is_for_one_access_and_project(tmp_path: Path) -> None:
    one, other = access_to(tmp_path), access_to(tmp_path, Visibility(frozenset({"walrus"})))
    with one.pinned() as policy:
        assert other.now() is not policy
        assert one.now(str(tmp_path / "elsewhere")) is not policy
        assert one.now() is policy


DIGEST, OTHER = ("sha256:" + digit * 64 for digit in "ab")
RUN_PDF = PermissionRule("run_skill_command", "pdf-tools", DIGEST)


def test_permission_to_run_is_for_the_allowed_digest(skill: Skill) -> None:
    policy = with_rules(allow=(RUN_PDF,))
    assert policy.check_run(skill, digest=lambda: DIGEST) == RunRights(named=True)
    with pytest.raises(ConfirmationRequired, match="its files have changed since it was allowed") as caught:
        policy.check_run(skill, digest=lambda: OTHER)
    assert (caught.value.changed, caught.value.digest) == (True, OTHER)
    # Also if other skills are allowed.
    lenient = replace(policy, rules=replace(policy.rules, others=Decision.ALLOW))
    with pytest.raises(ConfirmationRequired):
        lenient.check_run(skill, digest=lambda: OTHER)
    assert with_rules(allow=(replace(RUN_PDF, digest=None),)).check_run(skill, digest=lambda: OTHER) == RunRights()


def test_consent_to_run_is_for_the_digest_in_the_question(skill: Skill) -> None:
    granted = {Grant(Action.RUN, skill.directory, DIGEST)}
    with_rules().check_run(skill, granted, digest=lambda: DIGEST)
    with pytest.raises(ConfirmationRequired):
        with_rules().check_run(skill, granted, digest=lambda: OTHER)
    with pytest.raises(ConfirmationRequired):
        with_rules().check_run(skill, {Grant(Action.LOAD, skill.directory)}, digest=lambda: DIGEST)


def test_only_the_user_can_allow_network_and_packages(skill: Skill) -> None:
    more = replace(RUN_PDF, network=True, packages=True)
    policy = with_rules(allow=(more,))
    check = partial(Policy.check_run, digest=lambda: DIGEST, packages=lambda: ("pypdf",))
    assert check(policy, skill) == RunRights(network=True, packages=True, named=True)
    assert not with_rules(allow=(RUN_PDF,)).check_run(skill, digest=lambda: DIGEST).network
    # A project's rules allow neither.
    alone = replace(policy, rules=replace(NO_RULES, then=Rules(allow=(more,))))
    assert alone.check_run(of_project(skill, Trust.AGREED), digest=lambda: DIGEST) == RunRights()
    for undecided in (alone, with_rules(allow=(RUN_PDF,)), Policy(Visibility())):
        with pytest.raises(ConfirmationRequired, match=r"fetches packages \(pypdf\)") as caught:
            check(undecided, skill)
        assert caught.value.hint == "ask the user to run: skillhub allow pdf-tools --run --packages"
        check(undecided, skill, {Grant(Action.RUN, skill.directory, DIGEST, packages=True)})


def test_untrusted_skills_run_only_with_trust_or_permission_for_their_digest(skill: Skill) -> None:
    free = Policy(Visibility(), project="/repo")
    for trust in (Trust.AWAITED, Trust.CHANGED):
        foreign = of_project(skill, trust)
        with pytest.raises(ConfirmationRequired, match="its project awaits trust") as caught:
            free.check_run(foreign, digest=lambda: DIGEST)
        assert (caught.value.untrusted_in, caught.value.hint) == ("/repo", "ask the user to run: skillhub trust")
        # A rule without a digest is not enough.
        for wide in (PermissionRule("run_skill_command"), replace(RUN_PDF, digest=None)):
            with pytest.raises(ConfirmationRequired):
                with_rules(allow=(wide,)).check_run(foreign, digest=lambda: DIGEST)
        assert with_rules(allow=(RUN_PDF,)).check_run(foreign, digest=lambda: DIGEST).named
        free.check_run(foreign, {Grant(Action.RUN, skill.directory, DIGEST)}, digest=lambda: DIGEST)
    free.check_run(of_project(skill, Trust.AGREED), digest=lambda: DIGEST)


def test_callers_without_the_right_to_run_are_refused_before_files_are_read(skill: Skill) -> None:
    policy = replace(with_rules(allow=(RUN_PDF,)), may_run=False)
    with pytest.raises(RunNotPermitted):
        policy.check_run(skill, digest=pytest.fail)
    with pytest.raises(RunNotPermitted):
        policy.check_tool("run_skill_command")
    policy.check_tool("load_skill")
    denying = with_rules(deny=(PermissionRule("run_skill_command"),))
    with pytest.raises(PermissionDenied):
        denying.check_run(skill, digest=pytest.fail, packages=pytest.fail)
