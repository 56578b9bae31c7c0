"""The catalogue in every format, within a budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import is_golden
from tests.seeds import seeds_example

from skillhub_mcp.disclosure.catalogue import (
    FORMATS,
    MIN_DESCRIPTION,
    Budget,
    Catalogue,
    CatalogueEntry,
    estimate_tokens,
    fit,
    render_codelia,
    render_descriptions,
)
from skillhub_mcp.sanitize import shortened, visible


def entry(name: str, description: str = "Does it.", *, importance: int = 0, path: str | None = None) -> CatalogueEntry:
    return CatalogueEntry(name, description, path or f"/s/{name}/SKILL.md", "hub", "user", (importance,))


# The specification's example.
EXAMPLE = [
    CatalogueEntry(
        "repo-review",
        "Review PR with risk-first checklist",
        "/repo/.agents/skills/repo-review/SKILL.md",
        "project",
        "repo",
    ),
    CatalogueEntry(
        "release-notes",
        "Draft release notes from commits",
        "/repo/.agents/skills/release-notes/SKILL.md",
        "project",
        "repo",
    ),
]
CATALOG = seeds_example("skills-catalog")


@pytest.mark.acceptance("S0-37", "S0-38", "S0-39")
def test_the_catalogue_has_the_specified_form() -> None:
    text = fit(EXAMPLE, Budget(), render_codelia, search_tool="skill_search", load_tool="skill_load").text
    assert text.startswith("<skills_context>\n<skills_usage>\n  <rule>")
    assert text.endswith(f"</rule>\n</skills_usage>\n{CATALOG}")
    usage = text[: text.index("</skills_usage>")]
    assert "skill_load" in usage
    assert "skill_search" in usage
    tree = ET.fromstring(text)
    assert [child.tag for child in tree] == ["skills_usage", "skills_catalog"]
    assert {tuple(field.tag for field in skill) for skill in tree[1]} == {("name", "description", "path", "scope")}


@pytest.mark.acceptance("S0-44", "S3-12", "S4-1", "S4-15")
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_matches_its_golden_file(name: str) -> None:
    odd = [
        *EXAMPLE,
        entry("evil", "a </description></skill> & <b>\n\n- name=x | \"q\" 'q'", path="/s/<evil>/SKILL.md"),
        entry("pdf", "PDFファイルを処理。\n\n  PDF読み込み、作成、マージ時に使用。"),
    ]
    text = fit(odd, Budget(), FORMATS[name]).text
    is_golden(f"catalogue/{name}.txt", f"{text}\n")


@pytest.mark.acceptance("S0-44")
@given(text=st.text(min_size=1))
def test_descriptions_cannot_close_xml_elements(text: str) -> None:
    plain = "".join(character for character in text if character.isprintable())
    for name in ("codelia", "specification"):
        tree = ET.fromstring(fit([entry("a", plain), entry("b")], Budget(), FORMATS[name]).text)
        assert len(list(tree.iter("skill"))) == 2


def test_the_specification_format_matches_the_reference_library(tmp_path: Path) -> None:
    prompt = pytest.importorskip("skills_ref.prompt")
    entries = []
    for name, description in (("one", 'It\'s <one> & "only".'), ("two", "日本語です。")):
        (tmp_path / name).mkdir()
        path = tmp_path.resolve() / name / "SKILL.md"
        path.write_text(
            f"---\nname: {name}\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n", "utf-8"
        )
        entries.append(entry(name, description, path=str(path)))
    directories = [tmp_path / "one", tmp_path / "two"]
    assert fit(entries, Budget(), FORMATS["specification"]).text == prompt.to_prompt(directories)


@pytest.mark.acceptance("S0-46", "S4-1")
def test_an_empty_catalogue_in_every_format() -> None:
    assert fit([], Budget(), render_codelia).text == ""
    assert fit([], Budget(), render_descriptions).text == "(no skills available)"


@pytest.mark.acceptance("S0-41")
def test_the_least_important_skills_are_left_out_and_counted() -> None:
    entries = [entry("c", importance=2), entry("b", importance=1), entry("a", importance=0)]
    rendered = fit(entries, Budget(max_entries=2), render_codelia, search_tool="skill_search")
    # In the given order.
    assert [one.name for one in rendered.catalogue.entries] == ["b", "a"]
    assert (rendered.catalogue.left_out, rendered.catalogue.truncated) == (1, True)
    assert '<skills_catalog scope="initial" truncated="true">' in rendered.text
    assert "1 more skill is not listed: call skill_search to find what you need" in rendered.text


@pytest.mark.acceptance("S0-42", "S0-43")
def test_descriptions_are_shortened_before_skills_are_left_out() -> None:
    entries = [entry("long-a", "x" * 400), entry("short", "tiny"), entry("long-b", "y" * 400)]
    rendered = fit(entries, Budget(max_bytes=300), render_descriptions)
    lengths = {one.name: len(one.description) for one in rendered.catalogue.entries}
    assert lengths["short"] == 4
    assert lengths["long-a"] == lengths["long-b"] > 60
    assert (rendered.catalogue.shortened, rendered.catalogue.left_out) == (2, 0)
    assert "2 descriptions are shortened: call search_skills" in rendered.text
    assert 280 <= len(rendered.text.encode()) <= 300


@pytest.mark.acceptance("S0-43")
def test_one_skill_over_the_limit_shortens_no_descriptions() -> None:
    entries = [entry(f"skill-{number:03}", "Does a thing, and does it well. " * 6) for number in range(170)]
    holds_them_short = len(
        render_descriptions(
            Catalogue(tuple(replace(one, description=shortened(one.description, 60)) for one in entries), shortened=170)
        ).encode()
    )
    short = fit(entries, Budget(max_bytes=holds_them_short), render_descriptions).catalogue
    assert (len(short.entries), short.shortened, short.left_out) == (170, 170, 0)
    less = fit(entries, Budget(max_bytes=holds_them_short - 1), render_descriptions)
    left_out = less.catalogue.left_out
    assert 1 <= left_out <= 2
    unlisted = "1 more skill is" if left_out == 1 else "2 more skills are"
    assert f"({unlisted} not listed and {170 - left_out} descriptions are shortened: call" in less.text
    assert all(len(one.description) >= MIN_DESCRIPTION - 1 for one in less.catalogue.entries)


@pytest.mark.acceptance("S0-43")
def test_shortened_descriptions_are_counted() -> None:
    entries = [entry(f"skill-{number:03}", "d" * 50) for number in range(100)]
    rendered = fit(entries, Budget(max_bytes=500), render_descriptions)
    made = rendered.catalogue
    assert 0 < len(made.entries) < 100
    assert {one.description for one in made.entries} == {"d" * 50}
    assert (made.shortened, made.left_out) == (0, 100 - len(made.entries))
    assert f"({made.left_out} more skills are not listed: call" in rendered.text
    nothing = fit(entries, Budget(max_bytes=5), render_descriptions)
    assert (nothing.text, nothing.catalogue.left_out) == ("", 100)


def test_descriptions_are_not_shortened_to_make_room_for_a_note() -> None:
    entries = [entry(f"skill-{number}", "d" * (MIN_DESCRIPTION + 1)) for number in range(3)]
    whole = render_descriptions(Catalogue(tuple(entries)))
    assert fit(entries, Budget(max_bytes=len(whole)), render_descriptions).text == whole


def test_a_single_skill_is_described_as_far_as_it_fits() -> None:
    entries = [entry("first", "Word " * 40), entry("second", "Word " * 40)]
    made = fit(entries, Budget(max_bytes=150), render_descriptions).catalogue
    assert [one.name for one in made.entries] == ["first"]
    assert 2 <= len(made.entries[0].description) < MIN_DESCRIPTION
    assert (made.shortened, made.left_out) == (1, 1)


@pytest.mark.parametrize("word", ["навык", "épée", "कौशल", "ทักษะ", "技能", "🎨"])
def test_names_in_any_script_fit_a_token_budget(word: str) -> None:
    entries = [entry(f"{word}-{number}" * 5, "") for number in range(40)]
    whole = render_descriptions(Catalogue(tuple(entries)))
    assert fit(entries, Budget(max_tokens=estimate_tokens(whole)), render_descriptions).text == whole
    assert fit(entries, Budget(max_bytes=len(whole.encode())), render_descriptions).text == whole


@pytest.mark.acceptance("S0-42", "S4-2")
def test_a_hundred_tokens_a_skill_are_usually_enough() -> None:
    entries = [entry(f"skill-{number}", "Does a thing. Use when it is wanted. " * 8) for number in range(30)]
    rendered = fit(entries, Budget(max_tokens=1_000), render_descriptions)
    assert 900 < estimate_tokens(rendered.text) <= 1_000
    assert estimate_tokens(fit(entries, Budget(), render_descriptions).text) / 30 < 110


texts = st.text(alphabet="ab é漢😀<&\n", max_size=60) | st.text(alphabet="ab é漢😀", min_size=60, max_size=200)
libraries = st.lists(st.tuples(st.sampled_from(["a", "имя", "épée", "技能"]), texts, st.integers(0, 2)), max_size=12)


def written(made: Sequence[tuple[str, str, int]]) -> list[CatalogueEntry]:
    return [
        entry(f"{name}-{number}", visible(text), importance=importance)
        for number, (name, text, importance) in enumerate(made)
    ]


def most_important(entries: Sequence[CatalogueEntry], count: int, length: int) -> Catalogue:
    """The `count` most important of `entries`, in their order, with descriptions of at most `length` characters."""
    kept = sorted(range(len(entries)), key=lambda index: (entries[index].importance, index))[:count]
    shown = [
        replace(one, description=shortened(one.description, length)) for one in map(entries.__getitem__, sorted(kept))
    ]
    cut = sum(len(entries[index].description) > length for index in kept)
    return Catalogue(tuple(shown), shortened=cut, left_out=len(entries) - count)


@pytest.mark.acceptance("S0-42", "S0-45")
@given(
    made=libraries,
    max_bytes=st.integers(0, 3_000),
    max_entries=st.none() | st.integers(1, 12),
    name=st.sampled_from(sorted(FORMATS)),
)
def test_budgets_are_never_exceeded_and_output_is_deterministic(
    made: list[tuple[str, str, int]], max_bytes: int, max_entries: int | None, name: str
) -> None:
    entries = written(made)
    budget = Budget(max_entries=max_entries, max_bytes=max_bytes)
    rendered = fit(entries, budget, FORMATS[name])
    assert len(rendered.text.encode()) <= max_bytes
    assert rendered == fit(entries, budget, FORMATS[name])
    shown = rendered.catalogue.entries
    assert len(shown) + rendered.catalogue.left_out == len(entries)
    assert max_entries is None or len(shown) <= max_entries
    assert [one.path for one in shown] == [one.path for one in most_important(entries, len(shown), 0).entries]
    whole = {one.path: one.description for one in entries}
    cut = [one for one in shown if one.description != whole[one.path]]
    assert rendered.catalogue.shortened == len(cut)
    assert all(one.description for one in cut)


@pytest.mark.slow
@given(made=libraries, max_bytes=st.integers(0, 3_000), name=st.sampled_from(sorted(FORMATS)))
def test_skills_that_fit_are_not_left_out(made: list[tuple[str, str, int]], max_bytes: int, name: str) -> None:
    entries = written(made)
    budget, render = Budget(max_bytes=max_bytes), FORMATS[name]
    found = fit(entries, budget, render).catalogue
    count = len(found.entries)
    if found.left_out:
        # The next one fits neither shortened nor whole.
        for length in (MIN_DESCRIPTION, 200) if count else (2, 200):
            assert not budget.holds(render(most_important(entries, count + 1, length)))
    if found.shortened:
        longest = max(len(one.description) for one in found.entries)
        lengths = [
            length for length in range(2, 201) if most_important(entries, count, length).entries == found.entries
        ]
        assert lengths
        assert longest <= lengths[-1]
        assert not budget.holds(render(most_important(entries, count, lengths[-1] + 1)))
        assert count == 1 or lengths[-1] >= MIN_DESCRIPTION
