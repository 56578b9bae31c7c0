"""Rules: deny beats allow beats confirm, and what is not understood is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.mcp_tools import TOOL_ACTIONS
from skillhub_mcp.policy.rules import (
    NO_RULES,
    NOTHING_RULED,
    Decision,
    ListedRule,
    PermissionRule,
    Rules,
    in_force,
    parse_rules,
    rules_text,
)
from skillhub_mcp.policy.tool_actions import Action

LOAD_A = PermissionRule("skill_load", "a")
LOAD_B = PermissionRule("skill_load", "b")
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
    assert in_force(None) == NOTHING_RULED


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


RUN_X = {"tool": "run_skill_command", "skill_name": "x"}


def test_a_rule_that_allows_running_may_name_the_files_and_allow_more_for_them() -> None:
    digest = "sha256:" + "0" * 64
    written_rule = {**RUN_X, "digest": digest, "network": True, "packages": True}
    rules = parse_rules(written(allow=[written_rule, {"tool": "run_skill_command", "packages": True}]), TOOL_ACTIONS)
    assert rules.allow[0] == PermissionRule("run_skill_command", "x", digest, network=True, packages=True)
    assert rules.allow[0].as_json() == written_rule
    assert rules.allow[1] == PermissionRule("run_skill_command", packages=True)


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        ({"deny": [{**RUN_X, "digest": "sha256:" + "0" * 64}]}, "digest belongs to rules that allow running"),
        ({"confirm": [{**RUN_X, "network": True}]}, "network belongs to rules that allow running"),
        (
            {"allow": [{"tool": "skill_load", "skill_name": "x", "network": True}]},
            "network belongs to rules that allow",
        ),
        ({"allow": [{"tool": "run_skill_command", "network": True}]}, "network belongs to a rule with a skill_name"),
        ({"allow": [{**RUN_X, "digest": "0" * 64}]}, "digest must be sha256: and 64 hexadecimal digits"),
        ({"allow": [{**RUN_X, "digest": None}]}, "digest must be sha256:"),
        ({"allow": [{**RUN_X, "network": "yes"}]}, "network must be true or false"),
        ({"allow": [{**RUN_X, "packages": 1}]}, "packages must be true or false"),
    ],
)
def test_what_is_allowed_beside_running_is_refused_where_it_would_mean_nothing(
    lists: dict[str, Any], reason: str
) -> None:
    with pytest.raises(BadJson, match=reason):
        parse_rules(written(**lists), TOOL_ACTIONS)


REFUSED = [
    ("{", "line 1 is not JSON"),
    ("[]", 'it must be an object with the key "permissions"'),
    ('{"permisions": {}}', 'it must be an object with the key "permissions"'),
    ('{"permissions": []}', 'it must be an object with the key "permissions"'),
    (written(denies=[]), "permissions.denies is not one of deny, allow, confirm"),
    (written(other="allow"), "permissions.other is not one of deny, allow, confirm, others"),
    (written(others="never"), 'permissions.others must be "allow", "confirm" or "deny"'),
    (written(others=None), 'permissions.others must be "allow", "confirm" or "deny"'),
    (written(others=["allow"]), 'permissions.others must be "allow", "confirm" or "deny"'),
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
    with pytest.raises(BadJson) as caught:
        parse_rules(text, TOOL_ACTIONS)
    assert reason in str(caught.value)


@pytest.mark.acceptance("S0-67")
@pytest.mark.parametrize(
    "name", ["Repo-Review", "internal-*", "a--b", "-a", "a-", "", " a", "a_b", "*", None, 3, ["a"]]
)
def test_a_skill_name_is_one_exact_name_and_nothing_wider(name: Any) -> None:
    for verdict in ("allow", "deny", "confirm"):
        with pytest.raises(BadJson, match=r"skill_name must be one exact name in lower-case kebab-case"):
            parse_rules(written(**{verdict: [{"tool": "skill_load", "skill_name": name}]}), TOOL_ACTIONS)


@pytest.mark.parametrize("group", ["internal-*", "*", "source:project", "category:office", "tag:py*"])
def test_a_rule_may_select_a_glob_or_a_group_and_is_written_back_as_it_was(group: str) -> None:
    text = written(deny=[{"tool": "skill_load", "select": group}])
    rules = parse_rules(text, TOOL_ACTIONS)
    assert rules.deny == (PermissionRule("skill_load", group),)
    assert parse_rules(rules_text(rules), TOOL_ACTIONS) == rules
    terms = ("internal-notes", "source:project", "category:office", "tag:python")
    assert rules.decide(Action.LOAD, terms, tools=TOOL_ACTIONS) is Decision.DENY
    others = ("internal", "source:hub", "category:dev", "tag:rust")
    assert (rules.decide(Action.LOAD, others, tools=TOOL_ACTIONS) is Decision.DENY) is (group == "*")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"select": "pdf"}, "select must be a glob of names, or source:"),
        ({"select": "tag:"}, "select must be a glob of names, or source:"),
        ({"select": 3}, "select must be a glob of names, or source:"),
        ({"select": "a-*", "skill_name": "a"}, "has both skill_name and select"),
    ],
)
def test_a_group_that_is_not_understood_is_refused(rule: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadJson, match=reason):
        parse_rules(written(allow=[{"tool": "skill_load", **rule}]), TOOL_ACTIONS)


def test_a_projects_rules_narrow_its_own_skills_and_allow_only_where_the_person_has_none() -> None:
    own, foreign = Rules(deny=(LOAD_A,)), Rules(deny=(PermissionRule("skill_load", "b"),), allow=(LOAD_ANY,))
    both = in_force(own, foreign).with_project
    assert [both.decide(Action.LOAD, (name,), tools=TOOL_ACTIONS) for name in "abc"] == [
        Decision.DENY,
        Decision.DENY,
        Decision.CONFIRM,
    ]
    alone = in_force(None, foreign).with_project
    assert [alone.decide(Action.LOAD, (name,), tools=TOOL_ACTIONS) for name in "abc"] == [
        Decision.ALLOW,
        Decision.DENY,
        Decision.ALLOW,
    ]


def test_rules_that_leave_the_others_open_decide_only_what_they_name() -> None:
    rules = parse_rules(written(others="allow", deny=[LOAD_A.as_json()], confirm=[LOAD_B.as_json()]), TOOL_ACTIONS)
    decided = {name: [rules.decide(act, (name,), tools=TOOL_ACTIONS) for act in Action] for name in "abc"}
    assert decided == {
        "a": [Decision.DENY] * 3,
        # What needs consent to be loaded needs it to be read and run.
        "b": [Decision.CONFIRM] * 3,
        "c": [Decision.ALLOW] * 3,
    }
    assert parse_rules(written(others="confirm"), TOOL_ACTIONS) == parse_rules(written(), TOOL_ACTIONS) == Rules()


def test_a_project_decides_where_its_person_leaves_the_others_open() -> None:
    own = Rules(allow=(LOAD_A,), confirm=(LOAD_B,), others=Decision.ALLOW)
    foreign = Rules(deny=(PermissionRule("search_skills"),), allow=(LOAD_B, PermissionRule("skill_load", "c")))
    both = in_force(own, foreign).with_project
    assert [both.decide(Action.LOAD, (name,), tools=TOOL_ACTIONS) for name in "abcd"] == [
        Decision.ALLOW,
        # What the person wants to be asked about, a project does not allow.
        Decision.CONFIRM,
        Decision.ALLOW,
        Decision.CONFIRM,
    ]
    assert both.listed() == (ListedRule("allow", LOAD_A), ListedRule("confirm", LOAD_B))


def test_rules_about_the_same_are_those_of_one_action_and_one_skill() -> None:
    same = [PermissionRule(tool, "a") for tool in TOOL_ACTIONS.load]
    assert all(LOAD_A.concerns_the_same(rule, TOOL_ACTIONS) for rule in same)
    for other in (LOAD_B, LOAD_ANY, PermissionRule("read_skill_file", "a"), PermissionRule("run_skill_command", "a")):
        assert not LOAD_A.concerns_the_same(other, TOOL_ACTIONS)
        assert not other.concerns_the_same(LOAD_A, TOOL_ACTIONS)
    # Tools that concern no single skill are different things each.
    search, inspect = PermissionRule("search_skills"), PermissionRule("context_inspect")
    assert not search.concerns_the_same(inspect, TOOL_ACTIONS)
    assert search.concerns_the_same(search, TOOL_ACTIONS)


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


files_of_rules = st.builds(Rules, some_rules, some_rules, some_rules, others=st.sampled_from(list(Decision)))
ORDER = [Decision.DENY, Decision.CONFIRM, Decision.ALLOW]


@given(
    own=st.none() | files_of_rules,
    foreign=files_of_rules,
    name=st.sampled_from(["a", "b", "c"]),
    act=st.sampled_from(Action),
)
def test_a_project_narrows_and_never_widens(own: Rules | None, foreign: Rules, name: str, act: Action) -> None:
    def rank(foreign: Rules | None) -> int:
        return ORDER.index(in_force(own, foreign).with_project.decide(act, (name,), tools=TOOL_ACTIONS))

    assert rank(foreign) <= rank(None)


@given(
    foreign=st.none() | files_of_rules,
    name=st.sampled_from(["a", "b", "c"]),
    act=st.sampled_from(Action),
    remembered=st.sampled_from([LOAD_A, LOAD_B, PermissionRule("run_skill_command", "a")]),
)
def test_a_first_answer_that_is_remembered_takes_nothing_away(
    foreign: Rules | None, name: str, act: Action, remembered: PermissionRule
) -> None:
    def rank(own: Rules | None) -> int:
        return ORDER.index(in_force(own, foreign).with_project.decide(act, (name,), tools=TOOL_ACTIONS))

    first = Rules(allow=(remembered,), others=Decision.ALLOW)
    assert rank(first) >= rank(None)
    if name != remembered.skill_name:
        assert rank(first) == rank(None)


@given(rule=st.builds(PermissionRule, st.sampled_from(sorted(TOOL_ACTIONS.by_tool))))
def test_a_rule_that_was_written_is_read_back(rule: PermissionRule) -> None:
    assert parse_rules(written(allow=[rule.as_json()]), TOOL_ACTIONS).allow == (rule,)


def test_rules_may_deny_every_skill_that_they_do_not_name() -> None:
    rules = parse_rules(written(others="deny", allow=[LOAD_A.as_json()], confirm=[LOAD_B.as_json()]), TOOL_ACTIONS)
    decided = [rules.decide(Action.LOAD, {name}, tools=TOOL_ACTIONS) for name in ("a", "b", "c")]
    assert decided == [Decision.ALLOW, Decision.CONFIRM, Decision.DENY]
