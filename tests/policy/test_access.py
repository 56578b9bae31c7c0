"""One policy out of filters, choices and rules, and its answers about a skill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.errors import ConfirmationRequired, PermissionDenied, PolicyUnreadable, SkillDisabled
from skillhub_mcp.policy.access import Access, Policy, RuleFiles, Standing
from skillhub_mcp.policy.choices import NO_CHOICES
from skillhub_mcp.policy.files import add_rule, change_choices, choices_file, rules_file
from skillhub_mcp.policy.rules import Act, Rule, Rules
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.registry import Registry
from skillhub_mcp.skills.visibility import Visibility


@pytest.fixture
def skill(write_skill: SkillWriter, skills_dir: Path) -> Skill:
    write_skill("PDF Tools", directory="pdf-tools")
    (found,) = Registry([str(skills_dir)]).snapshot.everything
    return found


def with_rules(*, deny: tuple[Rule, ...] = (), allow: tuple[Rule, ...] = ()) -> Policy:
    return Policy(Visibility(), rules=Rules(deny, allow))


def test_a_skill_stands_as_filters_choices_and_rules_have_it(skill: Skill) -> None:
    policy = Policy(Visibility())
    assert policy.standing(skill) is Standing.ON
    assert replace(policy, visibility=Visibility(frozenset({"other"}))).standing(skill) is Standing.FILTERED
    assert replace(policy, choices=NO_CHOICES.switched("pdf tools", on=False)).standing(skill) is Standing.OFF
    assert with_rules(deny=(Rule("skill_load", "pdf-tools"),)).standing(skill) is Standing.DENIED


@pytest.mark.acceptance("S0-82")
def test_what_is_not_served_is_refused_with_its_reason(skill: Skill) -> None:
    with pytest.raises(SkillDisabled, match="not enabled on this server"):
        Policy(Visibility(frozenset({"other"}))).check(skill, Act.LOAD)
    with pytest.raises(SkillDisabled, match="switched off"):
        Policy(Visibility(), choices=NO_CHOICES.switched("pdf tools", on=False)).check(skill, Act.LOAD)
    # A wild name is known to the rules by its safe alias.
    with pytest.raises(PermissionDenied):
        with_rules(deny=(Rule("skill_load", "pdf-tools"),)).check(skill, Act.READ)


@pytest.mark.acceptance("S0-65")
def test_what_is_open_needs_a_word_and_the_word_covers_what_it_was_given_for(skill: Skill) -> None:
    policy = with_rules()
    with pytest.raises(ConfirmationRequired) as caught:
        policy.check(skill, Act.LOAD)
    assert caught.value.rule_name == "pdf-tools"
    assert caught.value.hint == "ask them to run: skillhub permissions allow pdf-tools"
    granted = {(Act.LOAD, skill.directory)}
    policy.check(skill, Act.LOAD, granted)
    policy.check(skill, Act.READ, granted)
    with pytest.raises(ConfirmationRequired) as caught:
        policy.check(skill, Act.RUN, granted)
    assert (caught.value.hint or "").endswith("pdf-tools --run")
    policy.check(skill, Act.RUN, {(Act.RUN, skill.directory)})
    with pytest.raises(ConfirmationRequired):
        policy.check(skill, Act.LOAD, {(Act.LOAD, "/elsewhere"), (Act.READ, skill.directory)})


def test_a_persons_own_command_is_their_word_and_never_undoes_a_denial(skill: Skill) -> None:
    replace(with_rules(), asks=False).check(skill, Act.RUN)
    with pytest.raises(PermissionDenied):
        replace(with_rules(deny=(Rule("skill_load"),)), asks=False).check(skill, Act.LOAD)


def test_the_policy_is_the_same_until_a_file_changes_and_each_project_has_its_own(tmp_path: Path, skill: Skill) -> None:
    def files(root: str) -> RuleFiles:
        return RuleFiles(
            (rules_file(str(tmp_path / "own.json"), what="Own"),), (rules_file(f"{root}/r.json", what="Its"),)
        )

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    access = Access(
        Visibility(), project=one, choices=choices_file(str(tmp_path / "c.json")), rule_files=files, asks=True
    )
    before = access.now()
    assert access.now() is before
    change_choices(str(tmp_path / "c.json"), lambda choices: choices.switched("pdf tools", on=False, project=one))
    assert access.now().standing(skill) is Standing.OFF
    assert access.now(two).standing(skill) is Standing.ON
    add_rule(f"{two}/r.json", "deny", Rule("skill_load"), what="Its")
    assert access.now(two).standing(skill) is Standing.DENIED
    (tmp_path / "own.json").write_text("{", encoding="utf-8")
    with pytest.raises(PolicyUnreadable, match="Own cannot be used"):
        access.now()
