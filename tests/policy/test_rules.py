"""Rules: deny beats allow beats confirm, and invalid rules are rejected."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.policy.rules import (
    NO_RULES,
    Decision,
    ListedRule,
    PermissionRule,
    Rules,
    parse_rules,
    rules_text,
)
from skillhub_mcp.policy.tool_actions import TOOL_ACTIONS, TOOLS, Action

LOAD_A = PermissionRule("skill_load", "a")
LOAD_B = PermissionRule("skill_load", "b")
LOAD_ANY = PermissionRule("skill_load")
ORDER = [Decision.DENY, Decision.CONFIRM, Decision.ALLOW]


def in_force(own: Rules | None, project: Rules | None) -> Rules:
    return replace(own or NO_RULES, then=project)


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
    assert Rules(deny, allow).decide(Action.LOAD, ("a",)) is verdict


@pytest.mark.parametrize("tool", TOOLS[Action.LOAD])
def test_a_rule_for_one_loading_tool_covers_all_of_them(tool: str) -> None:
    assert Rules((PermissionRule(tool, "a"),)).decide(Action.LOAD, ("a",)) is Decision.DENY
    assert Rules(allow=(PermissionRule(tool, "a"),)).decide(Action.LOAD, ("a",)) is Decision.ALLOW


def test_denying_loading_denies_reading_and_running() -> None:
    rules = Rules((LOAD_A,), (PermissionRule("read_skill_file"), PermissionRule("run_skill_command")))
    assert [rules.decide(act, ("a",)) for act in Action] == [Decision.DENY] * 3


def test_permission_to_load_includes_reading_but_not_running() -> None:
    rules = Rules(allow=(LOAD_A,))
    assert [rules.decide(act, ("a",)) for act in Action] == [Decision.ALLOW, Decision.ALLOW, Decision.CONFIRM]
    reading = Rules(allow=(PermissionRule("read_skill_file"),))
    assert [reading.decide(act, ("a",)) for act in Action] == [Decision.CONFIRM, Decision.ALLOW, Decision.CONFIRM]


def test_only_a_rule_without_a_skill_denies_the_tool() -> None:
    assert Rules((PermissionRule("search_skills"),)).denies_tool("search_skills")
    assert not Rules((LOAD_A,)).denies_tool("skill_load")


@pytest.mark.acceptance("S0-62", "S0-64", "S0-66")
def test_rules_are_read_and_other_keys_ignored() -> None:
    rules = parse_rules(
        written(
            allow=[{"tool": "skill_load", "skill_name": "repo-review"}, {"tool": "run_skill_command"}],
            deny=[{"tool": "skill_load", "skill_name": "x"}],
        )
    )
    assert rules == Rules(
        (PermissionRule("skill_load", "x"),),
        (PermissionRule("skill_load", "repo-review"), PermissionRule("run_skill_command")),
    )
    assert parse_rules(written()) == Rules()
    assert parse_rules('{"permissions": {}, "model": {"name": "m"}}') == Rules()


RUN_X = {"tool": "run_skill_command", "skill_name": "x"}


def test_a_rule_for_running_may_have_a_digest_network_and_packages() -> None:
    digest = "sha256:" + "0" * 64
    written_rule = {**RUN_X, "digest": digest, "network": True, "packages": True}
    rules = parse_rules(written(allow=[written_rule, {"tool": "run_skill_command", "packages": True}]))
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
def test_digest_network_and_packages_are_rejected_elsewhere(lists: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadJson, match=reason):
        parse_rules(written(**lists))


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
def test_invalid_rules_are_rejected_with_their_place(text: str, reason: str) -> None:
    with pytest.raises(BadJson) as caught:
        parse_rules(text)
    assert reason in str(caught.value)


@pytest.mark.acceptance("S0-67")
@pytest.mark.parametrize(
    "name", ["Repo-Review", "internal-*", "a--b", "-a", "a-", "", " a", "a_b", "*", None, 3, ["a"]]
)
def test_a_skill_name_must_be_exact(name: Any) -> None:
    for verdict in ("allow", "deny", "confirm"):
        with pytest.raises(BadJson, match=r"skill_name must be one exact name in lower-case kebab-case"):
            parse_rules(written(**{verdict: [{"tool": "skill_load", "skill_name": name}]}))


@pytest.mark.parametrize("group", ["internal-*", "*", "source:project", "category:office", "tag:py*"])
def test_a_rule_may_select_a_glob_or_a_group(group: str) -> None:
    text = written(deny=[{"tool": "skill_load", "select": group}])
    rules = parse_rules(text)
    assert rules.deny == (PermissionRule("skill_load", group),)
    assert parse_rules(rules_text(rules)) == rules
    terms = ("internal-notes", "source:project", "category:office", "tag:python")
    assert rules.decide(Action.LOAD, terms) is Decision.DENY
    others = ("internal", "source:hub", "category:dev", "tag:rust")
    assert (rules.decide(Action.LOAD, others) is Decision.DENY) is (group == "*")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"select": "pdf"}, "select must be a glob of names, or source:"),
        ({"select": "tag:"}, "select must be a glob of names, or source:"),
        ({"select": 3}, "select must be a glob of names, or source:"),
        ({"select": "a-*", "skill_name": "a"}, "has both skill_name and select"),
    ],
)
def test_an_invalid_selector_is_rejected(rule: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadJson, match=reason):
        parse_rules(written(allow=[{"tool": "skill_load", **rule}]))


@pytest.mark.parametrize("others", Decision)
def test_others_decides_about_skills_without_a_rule(others: Decision) -> None:
    rules = parse_rules(written(others=others.value, deny=[LOAD_A.as_json()], confirm=[LOAD_B.as_json()]))
    decided = {name: [rules.decide(act, (name,)) for act in Action] for name in "abc"}
    # Consent for loading is needed for reading and running too.
    assert decided == {"a": [Decision.DENY] * 3, "b": [Decision.CONFIRM] * 3, "c": [others] * 3}
    assert parse_rules(written(others="confirm")) == parse_rules(written()) == Rules()


def test_a_project_decides_about_skills_that_the_user_left_open() -> None:
    own = Rules(allow=(LOAD_A,), confirm=(LOAD_B,), others=Decision.ALLOW)
    foreign = Rules(deny=(PermissionRule("search_skills"),), allow=(LOAD_B, PermissionRule("skill_load", "c")))
    both = in_force(own, foreign)
    assert [both.decide(Action.LOAD, (name,)) for name in "abcd"] == [
        Decision.ALLOW,
        # A project cannot allow what the user wants to confirm.
        Decision.CONFIRM,
        Decision.ALLOW,
        Decision.CONFIRM,
    ]
    assert both.listed() == (ListedRule("allow", LOAD_A), ListedRule("confirm", LOAD_B))


def test_rules_concern_the_same_if_action_and_skill_match() -> None:
    same = [PermissionRule(tool, "a") for tool in TOOLS[Action.LOAD]]
    assert all(LOAD_A.concerns_the_same(rule) for rule in same)
    for other in (LOAD_B, LOAD_ANY, PermissionRule("read_skill_file", "a"), PermissionRule("run_skill_command", "a")):
        assert not LOAD_A.concerns_the_same(other)
        assert not other.concerns_the_same(LOAD_A)
    # Each tool without a skill is different.
    search, inspect = PermissionRule("search_skills"), PermissionRule("context_inspect")
    assert not search.concerns_the_same(inspect)
    assert search.concerns_the_same(search)


some_rules = st.lists(
    st.builds(
        PermissionRule,
        st.sampled_from([tool for tool, action in TOOL_ACTIONS.items() if action is not None]),
        st.none() | st.sampled_from(["a", "b"]),
    ),
    max_size=4,
).map(tuple)


@given(
    deny=some_rules, allow=some_rules, more=some_rules, name=st.sampled_from(["a", "b"]), act=st.sampled_from(Action)
)
def test_adding_denials_never_permits_more(
    deny: tuple[PermissionRule, ...],
    allow: tuple[PermissionRule, ...],
    more: tuple[PermissionRule, ...],
    name: str,
    act: Action,
) -> None:
    before = Rules(deny, allow).decide(act, (name,))
    assert ORDER.index(Rules(deny + more, allow).decide(act, (name,))) <= ORDER.index(before)
    assert ORDER.index(Rules(deny, allow + more).decide(act, (name,))) >= ORDER.index(before)


files_of_rules = st.builds(Rules, some_rules, some_rules, some_rules, others=st.sampled_from(list(Decision)))


@given(
    own=st.none() | files_of_rules,
    foreign=files_of_rules,
    name=st.sampled_from(["a", "b", "c"]),
    act=st.sampled_from(Action),
)
def test_project_rules_never_permit_more(own: Rules | None, foreign: Rules, name: str, act: Action) -> None:
    def rank(foreign: Rules | None) -> int:
        return ORDER.index(in_force(own, foreign).decide(act, (name,)))

    assert rank(foreign) <= rank(None)


@given(
    foreign=st.none() | files_of_rules,
    name=st.sampled_from(["a", "b", "c"]),
    act=st.sampled_from(Action),
    remembered=st.sampled_from([LOAD_A, LOAD_B, PermissionRule("run_skill_command", "a")]),
)
def test_a_remembered_consent_never_permits_less(
    foreign: Rules | None, name: str, act: Action, remembered: PermissionRule
) -> None:
    def rank(own: Rules | None) -> int:
        return ORDER.index(in_force(own, foreign).decide(act, (name,)))

    first = Rules(allow=(remembered,), others=Decision.ALLOW)
    assert rank(first) >= rank(None)
    if name != remembered.skill_name:
        assert rank(first) == rank(None)


@given(rule=st.builds(PermissionRule, st.sampled_from(sorted(TOOL_ACTIONS))))
def test_a_written_rule_is_read_back(rule: PermissionRule) -> None:
    assert parse_rules(written(allow=[rule.as_json()])).allow == (rule,)
