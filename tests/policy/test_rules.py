"""Rules: deny beats allow beats confirm, and what is not understood is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.mcp_tools import TOOL_ACTIONS
from skillhub_mcp.policy.rules import (
    NO_RULES,
    BadRules,
    Decision,
    PermissionRule,
    Rules,
    combined,
    parse_rules,
)
from skillhub_mcp.policy.tool_actions import Action

LOAD_A = PermissionRule("skill_load", "a")
LOAD_ANY = PermissionRule("skill_load")


def written(**lists: Any) -> str:
    return json.dumps({"permissions": lists})


@pytest.mark.acceptance("S0-63")
@pytest.mark.parametrize(
    ("deny", "allow", "verdict"),
    [
        ((LOAD_A,), (LOAD_A,), Decision.DENY),
        ((LOAD_ANY,), (LOAD_A,), Decision.DENY),
        ((LOAD_A,), (LOAD_ANY,), Decision.DENY),
        ((PermissionRule("skill_load", "b"),), (LOAD_A,), Decision.ALLOW),
        ((), (LOAD_ANY,), Decision.ALLOW),
        ((), (PermissionRule("skill_load", "b"),), Decision.CONFIRM),
        ((), (), Decision.CONFIRM),
    ],
)
def test_deny_beats_allow_beats_confirm(
    deny: tuple[PermissionRule, ...], allow: tuple[PermissionRule, ...], verdict: Decision
) -> None:
    assert Rules(deny, allow).decide(Action.LOAD, ("a",), tools=TOOL_ACTIONS) is verdict


def test_without_any_rules_everything_is_allowed() -> None:
    assert {NO_RULES.decide(act, ("a",), tools=TOOL_ACTIONS) for act in Action} == {Decision.ALLOW}
    assert combined([], []) is NO_RULES


@pytest.mark.parametrize("tool", TOOL_ACTIONS.load)
def test_a_rule_about_one_loading_tool_is_about_them_all(tool: str) -> None:
    assert Rules((PermissionRule(tool, "a"),)).decide(Action.LOAD, ("a",), tools=TOOL_ACTIONS) is Decision.DENY
    assert Rules(allow=(PermissionRule(tool, "a"),)).decide(Action.LOAD, ("a",), tools=TOOL_ACTIONS) is Decision.ALLOW


def test_what_may_not_be_loaded_may_not_be_read_or_run_either() -> None:
    rules = Rules((LOAD_A,), (PermissionRule("read_skill_file"), PermissionRule("run_skill_command")))
    assert [rules.decide(act, ("a",), tools=TOOL_ACTIONS) for act in Action] == [Decision.DENY] * 3


def test_leave_to_load_is_leave_to_read_and_never_to_run() -> None:
    rules = Rules(allow=(LOAD_A,))
    assert [rules.decide(act, ("a",), tools=TOOL_ACTIONS) for act in Action] == [
        Decision.ALLOW,
        Decision.ALLOW,
        Decision.CONFIRM,
    ]
    reading = Rules(allow=(PermissionRule("read_skill_file"),))
    assert [reading.decide(act, ("a",), tools=TOOL_ACTIONS) for act in Action] == [
        Decision.CONFIRM,
        Decision.ALLOW,
        Decision.CONFIRM,
    ]


def test_a_denied_tool_is_denied_whatever_for_and_one_skills_rule_denies_no_tool() -> None:
    assert Rules((PermissionRule("search_skills"),)).denies_tool("search_skills")
    assert not Rules((LOAD_A,)).denies_tool("skill_load")


@pytest.mark.acceptance("S0-62", "S0-64", "S0-66")
def test_a_file_of_rules_is_read_and_other_keys_are_left_to_others() -> None:
    rules = parse_rules(
        written(
            allow=[{"tool": "skill_load", "skill_name": "repo-review"}, {"tool": "run_skill_command"}],
            deny=[{"tool": "skill_load", "skill_name": "x"}],
        ),
        TOOL_ACTIONS,
    )
    assert rules == Rules(
        (PermissionRule("skill_load", "x"),),
        (PermissionRule("skill_load", "repo-review"), PermissionRule("run_skill_command")),
    )
    assert parse_rules(written(), TOOL_ACTIONS) == Rules()
    assert parse_rules('{"permissions": {}, "model": {"name": "m"}}', TOOL_ACTIONS) == Rules()


REFUSED = [
    ("{", "line 1 is not JSON"),
    ("[]", 'it must be an object with the key "permissions"'),
    ('{"permisions": {}}', 'it must be an object with the key "permissions"'),
    ('{"permissions": []}', 'it must be an object with the key "permissions"'),
    (written(denies=[]), "permissions.denies is not one of deny, allow, confirm"),
    (written(deny={}), "permissions.deny must be a list"),
    (written(deny=["skill_load"]), 'permissions.deny[0] must be an object with a "tool"'),
    (written(deny=[{"skill_name": "a"}]), 'permissions.deny[0] must be an object with a "tool"'),
    (written(allow=[{"tool": "bash"}]), "permissions.allow[0]: 'bash' is not a tool of this hub"),
    (written(allow=[{"tool": "skill_load", "skil_name": "a"}]), "permissions.allow[0] has the unknown key 'skil_name'"),
    (written(allow=[{"tool": "search_skills", "skill_name": "a"}]), "search_skills concerns no single skill"),
    ('{"permissions": {"deny": [{"tool": "skill_load"}], "deny": []}}', "the key 'deny' appears twice"),
    ("[" * 100_000, "nested too deeply"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_not_understood_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(BadRules) as caught:
        parse_rules(text, TOOL_ACTIONS)
    assert reason in str(caught.value)


@pytest.mark.acceptance("S0-67")
@pytest.mark.parametrize(
    "name", ["Repo-Review", "internal-*", "a--b", "-a", "a-", "", " a", "a_b", "*", None, 3, ["a"]]
)
def test_a_skill_name_is_one_exact_name_and_nothing_wider(name: Any) -> None:
    for verdict in ("allow", "deny", "confirm"):
        with pytest.raises(BadRules, match=r"skill_name must be one exact name in lower-case kebab-case"):
            parse_rules(written(**{verdict: [{"tool": "skill_load", "skill_name": name}]}), TOOL_ACTIONS)


def test_a_projects_rules_narrow_and_allow_only_where_the_person_has_none() -> None:
    own, foreign = Rules(deny=(LOAD_A,)), Rules(deny=(PermissionRule("skill_load", "b"),), allow=(LOAD_ANY,))
    both = combined([own], [foreign])
    assert [both.decide(Action.LOAD, (name,), tools=TOOL_ACTIONS) for name in "abc"] == [
        Decision.DENY,
        Decision.DENY,
        Decision.CONFIRM,
    ]
    alone = combined([], [foreign])
    assert [alone.decide(Action.LOAD, (name,), tools=TOOL_ACTIONS) for name in "abc"] == [
        Decision.ALLOW,
        Decision.DENY,
        Decision.ALLOW,
    ]


some_rules = st.lists(
    st.builds(
        PermissionRule,
        st.sampled_from([tool for tool, action in TOOL_ACTIONS.by_tool.items() if action is not None]),
        st.none() | st.sampled_from(["a", "b"]),
    ),
    max_size=4,
).map(tuple)


@given(
    deny=some_rules, allow=some_rules, more=some_rules, name=st.sampled_from(["a", "b"]), act=st.sampled_from(Action)
)
def test_more_denials_never_let_more_through(
    deny: tuple[PermissionRule, ...],
    allow: tuple[PermissionRule, ...],
    more: tuple[PermissionRule, ...],
    name: str,
    act: Action,
) -> None:
    order = [Decision.DENY, Decision.CONFIRM, Decision.ALLOW]
    before = Rules(deny, allow).decide(act, (name,), tools=TOOL_ACTIONS)
    assert order.index(Rules(deny + more, allow).decide(act, (name,), tools=TOOL_ACTIONS)) <= order.index(before)
    assert order.index(Rules(deny, allow + more).decide(act, (name,), tools=TOOL_ACTIONS)) >= order.index(before)


@given(rule=st.builds(PermissionRule, st.sampled_from(sorted(TOOL_ACTIONS.by_tool))))
def test_a_rule_that_was_written_is_read_back(rule: PermissionRule) -> None:
    assert parse_rules(written(allow=[rule.as_json()]), TOOL_ACTIONS).allow == (rule,)
