"""What a change of rules changes, for the skills that are there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.mcp_tools import TOOL_ACTIONS
from skillhub_mcp.policy.rules import (
    NO_RULES,
    Decision,
    Effect,
    PermissionRule,
    Rules,
    RulesInForce,
    effects_of,
    in_force,
)
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.registry import Registry

RUN_ALL = PermissionRule("run_skill_command")


def ruled(own: Rules) -> RulesInForce:
    return in_force(own)


@pytest.fixture
def skills(write_skill: SkillWriter, skills_dir: Path) -> Sequence[Skill]:
    write_skill("zeta")
    write_skill("PDF Tools", directory="pdf-tools")
    return Registry([str(skills_dir)]).snapshot.everything


def test_a_denial_is_told_once_and_what_falls_behind_consent_with_it(skills: Sequence[Skill]) -> None:
    denied = Rules((PermissionRule("skill_load", "pdf-tools"),))
    assert effects_of(ruled(NO_RULES), ruled(denied), skills, tools=TOOL_ACTIONS) == (
        Effect(Action.LOAD, Decision.DENY, ("PDF Tools",)),
        Effect(Action.LOAD, Decision.CONFIRM, ("zeta",)),
    )
    assert effects_of(ruled(denied), ruled(denied), skills, tools=TOOL_ACTIONS) == ()


def test_running_is_told_where_loading_changes_otherwise(skills: Sequence[Skill]) -> None:
    assert effects_of(ruled(NO_RULES), ruled(Rules((RUN_ALL,), others=Decision.ALLOW)), skills, tools=TOOL_ACTIONS) == (
        Effect(Action.RUN, Decision.DENY, ("PDF Tools", "zeta")),
    )
    allowed = Rules(allow=(PermissionRule("skill_load"),))
    assert effects_of(ruled(Rules((PermissionRule("skill_load"),))), ruled(allowed), skills, tools=TOOL_ACTIONS) == (
        Effect(Action.LOAD, Decision.ALLOW, ("PDF Tools", "zeta")),
        Effect(Action.RUN, Decision.CONFIRM, ("PDF Tools", "zeta")),
    )
