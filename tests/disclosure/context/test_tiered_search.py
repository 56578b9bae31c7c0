"""The search of the agent-context tools: path, name, prefix, then shared words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.disclosure.context.catalogue import skill_id
from skillhub_mcp.disclosure.context.schema import SkillMetadata
from skillhub_mcp.disclosure.context.tiered_search import TieredResult, tiered_search
from skillhub_mcp.errors import InvalidArgument

CWD = "/repo/packages/x"


def skill(name: str, description: str = "Does it.", *, scope: Any = "repo", above: str = "/repo") -> SkillMetadata:
    directory = f"{above}/.agents/skills/{name}"
    path = f"{directory}/SKILL.md"
    return SkillMetadata(
        id=skill_id(path), name=name, description=description, path=path, dir=directory, scope=scope, mtimeMs=1.0
    )


SKILLS = [
    skill("release-notes", "Draft release notes from commits"),
    skill("release", "Ships a version"),
    skill("repo-review", "Review PR with risk-first checklist"),
    skill("changelog", "Keeps the list of what changed in each release", scope="user", above="/home/me"),
]


def ask(query: str, skills: list[SkillMetadata] | None = None, **options: Any) -> TieredResult:
    return tiered_search(SKILLS if skills is None else skills, query, cwd=CWD, **{"limit": 8, **options})


def names(found: TieredResult) -> list[tuple[str, str]]:
    return [(hit.skill.name, hit.reason) for hit in found.hits]


@pytest.mark.acceptance("S0-6", "S0-28")
@pytest.mark.parametrize(
    "query",
    [
        "/repo/.agents/skills/repo-review/SKILL.md",
        "/repo/.agents/skills/repo-review",
        "../../.agents/skills/repo-review/SKILL.md",
        "/repo/x/../.agents/skills/repo-review/",
    ],
)
def test_a_matching_path_ranks_first(query: str) -> None:
    assert names(ask(query))[0] == ("repo-review", "exact_path")


@pytest.mark.acceptance("S0-6", "S0-29", "S0-30", "S0-31")
def test_exact_names_rank_above_prefixes_and_shared_words() -> None:
    assert names(ask("release")) == [
        ("release", "exact_name"),
        ("release-notes", "prefix"),
        ("changelog", "token_overlap"),
    ]
    scores = [hit.score for hit in ask("release").hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.acceptance("S0-31")
@pytest.mark.parametrize(
    ("query", "description"),
    [
        ("議事録", "会議の議事録を作成する"),
        ("周报", "生成中文周报"),
        ("보고서 작성", "주간 보고서를 만든다"),
        ("отчёт", "Пишет отчёт о неделе"),
        ("ＰＤＦ", "Reads PDF files"),
        ("Notes", "Takes notes"),
    ],
)
def test_words_match_in_every_script(query: str, description: str) -> None:
    others = [skill("paint", "Paints walls"), skill("塗装", "壁を塗る")]
    found = ask(query, [skill("wanted", description), *others])
    assert names(found) == [("wanted", "token_overlap")]


@pytest.mark.acceptance("S0-31")
@pytest.mark.parametrize(
    "query",
    [
        "I would like to have release notes for what we did, please",
        "Ich möchte notes für den release machen, und das mit einem commit",
        "commits からノートを書いてください",
    ],
)
def test_stop_words_do_not_match(query: str) -> None:
    others = [
        skill(f"other-{number}", "What you would use to make this and that for all of it, mit dem und für das")
        for number in range(20)
    ] + [skill("greeting", "挨拶を書いてください")]
    found = ask(query, [*SKILLS, *others])
    assert "release-notes" in {hit.skill.name for hit in found.hits}
    assert not {hit.skill.name for hit in found.hits} & {other.name for other in others[:-1]}
    assert found.count <= 4


def test_a_query_of_stop_words_finds_nothing() -> None:
    assert names(ask("how do I", [skill("how-to", "Explains."), skill("other", "How to do it.")])) == []
    assert names(ask("めがねの", [skill("glasses", "めがねを選ぶ"), skill("b", "い")])) == [
        ("glasses", "token_overlap")
    ]


@pytest.mark.acceptance("S0-32")
def test_ties_are_broken_by_scope_and_path() -> None:
    same = [
        skill("b", "Paints walls", scope="user", above="/a"),
        skill("d", "Paints walls", above="/z"),
        skill("c", "Paints walls", above="/y"),
    ]
    assert [hit.skill.name for hit in ask("paints walls", same).hits] == ["c", "d", "b"]
    assert [hit.skill.name for hit in ask("paints walls", same[::-1]).hits] == ["c", "d", "b"]


@pytest.mark.acceptance("S0-33")
def test_a_scope_filters_hits() -> None:
    assert names(ask("release", scope="user")) == [("changelog", "token_overlap")]
    with pytest.raises(InvalidArgument, match="'hub' is not one of repo, user"):
        ask("release", scope="hub")


@pytest.mark.acceptance("S0-34", "S0-35")
def test_the_limit_is_at_most_fifty() -> None:
    many = [skill(f"paint-{number}", "Paints") for number in range(60)]
    for limit, shown in ((3, 3), (50, 50), (60, 50)):
        found = ask("paint", many, limit=limit)
        assert (len(found.hits), found.count, found.truncated) == (shown, 60, True)
    for limit in (0, -1):
        with pytest.raises(InvalidArgument):
            ask("paint", many, limit=limit)


@pytest.mark.acceptance("S0-36")
def test_an_empty_query_is_an_error() -> None:
    found = ask("quantum")
    assert (found.hits, found.count, found.truncated) == ((), 0, False)
    for query in ("", "  \n"):
        with pytest.raises(InvalidArgument, match="query is empty"):
            ask(query)


NAMES = st.lists(st.from_regex(r"[a-c]{1,3}(-[a-c]{1,2})?", fullmatch=True), min_size=1, max_size=12, unique=True)


@pytest.mark.slow
@given(names=NAMES, query=st.from_regex(r"[a-c]{1,3}(-[a-c]{1,2})?", fullmatch=True), seed=st.randoms())
def test_the_order_is_deterministic(names: list[str], query: str, seed: Any) -> None:
    skills = [skill(name, f"About {name}") for name in names]
    shuffled = list(skills)
    seed.shuffle(shuffled)
    assert ask(query, skills) == ask(query, shuffled)
    order = {"exact_path": 0, "exact_name": 1, "prefix": 2, "token_overlap": 3}
    tiers = [order[hit.reason] for hit in ask(query, skills).hits]
    assert tiers == sorted(tiers)
