"""Choices: off and on, for a person and for one project, and a file that is refused rather than guessed at."""

from __future__ import annotations

import json

import pytest

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.policy.choices import NO_CHOICES, Choices, choices_text, parse_choices


def is_on(choices: Choices, name: str = "pdf", *, directory: str = "/s/pdf", project: str = "/repo") -> bool:
    return choices.is_on(name=name, alias=name.lower(), directory=directory, project=project)


def test_a_skill_is_on_by_default() -> None:
    assert is_on(NO_CHOICES)


@pytest.mark.acceptance("S0-85")
@pytest.mark.parametrize("key", ["pdf", "PDF", " pdf ", "/s/pdf"])
def test_a_skill_is_switched_off_by_its_name_in_any_case_or_by_its_path(key: str) -> None:
    off = NO_CHOICES.switched(key, on=False)
    assert not is_on(off)
    assert is_on(off, "docx", directory="/s/docx")
    assert is_on(off.switched(key, on=True))
    assert off.switched(key, on=True) == NO_CHOICES


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("pdf tools", "PDF  Tools"),
        ("PDF\u00a0Tools", "pdf tools"),
        ("ＰＤＦ tools", "pdf tools"),
        ("cafe\u0301", "Café"),
        ("STRASSE", "straße"),
        ("/S/PDF", None),
    ],
)
def test_names_are_compared_folded_and_paths_exactly(key: str, name: str | None) -> None:
    off = NO_CHOICES.switched(key, on=False)
    assert is_on(off, name or "pdf") == (name is None)
    # A file from before blanks were collapsed still means the same skill.
    assert is_on(parse_choices(json.dumps({"format": 1, "user": {key: False}})), name or "pdf") == (name is None)


@pytest.mark.acceptance("S0-85")
def test_the_projects_choice_comes_before_the_persons_and_a_path_before_a_name() -> None:
    off = NO_CHOICES.switched("pdf", on=False)
    here = off.switched("pdf", on=True, project="/repo")
    assert is_on(here)
    assert not is_on(here, project="/other")
    by_path = NO_CHOICES.switched("/s/pdf", on=False, project="/repo").switched("pdf", on=True, project="/repo")
    assert not is_on(by_path)
    # A later layer decides, also by name over a path of the earlier one.
    assert is_on(NO_CHOICES.switched("/s/pdf", on=False).switched("pdf", on=True, project="/repo"))


def test_switching_takes_away_what_was_chosen_under_the_skills_other_names() -> None:
    off = NO_CHOICES.switched("/s/pdf", on=False).switched("docx", on=False)
    assert off.switched("pdf", also=("/s/pdf",), on=True) == NO_CHOICES.switched("docx", on=False)


def test_one_of_two_namesakes_is_switched_on_and_the_other_stays_off() -> None:
    off = NO_CHOICES.switched("pdf", on=False)
    one = off.switched("/s/pdf", names=("pdf", "PDF"), on=True)
    assert is_on(one)
    assert not is_on(one, directory="/other/pdf")
    assert not is_on(one.switched("/s/pdf", names=("pdf", "PDF"), on=False))
    # By name it is about both again.
    both = one.switched("pdf", also=("/s/pdf", "/other/pdf"), on=False)
    assert both == off
    # What nobody switched off is not stored.
    assert NO_CHOICES.switched("/s/pdf", names=("pdf", "docx"), on=True) == NO_CHOICES


def test_one_project_and_one_skill_of_several_are_switched_alone() -> None:
    choices = NO_CHOICES
    for name, project in (("pdf", "/one"), ("docx", "/one"), ("pdf", "/two"), ("pdf", None), ("docx", None)):
        choices = choices.switched(name, on=False, project=project)
    changed = choices.switched("pdf", on=True, project="/one").switched("docx", on=True)
    assert changed == Choices(
        user={"pdf": False}, projects={"/one": {"pdf": True, "docx": False}, "/two": {"pdf": False}}
    )
    assert is_on(changed, project="/one")
    assert not is_on(changed, project="/two")
    # A project's layer counts also where the person has chosen nothing for all projects.
    assert not is_on(NO_CHOICES.switched("pdf", on=False, project="/repo"))
    assert not is_on(NO_CHOICES.switched("Docx", on=False), "DOCX")


def test_a_name_outside_the_specification_is_switched_by_its_alias_too() -> None:
    off = NO_CHOICES.switched("pdf-tools", on=False)
    assert not off.is_on(name="PDF Tools", alias="pdf-tools", directory="/s/x", project="/repo")
    assert off.is_on(name="PDF", alias="pdf", directory="/s/x", project="/repo")


def test_other_keys_of_a_skill_are_found_however_they_are_written() -> None:
    off = NO_CHOICES.switched("pdf tools", on=False)
    assert off.switched("pdf-tools", also=("PDF  Tools",), on=True) == NO_CHOICES


def test_choices_are_read_back_as_they_were_written() -> None:
    choices = NO_CHOICES.switched("日本語", on=False).switched("/a b", on=True, project="/repo é")
    assert parse_choices(choices_text(choices)) == choices
    assert parse_choices('{"format": 1}') == NO_CHOICES


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1, "user": []}',
        '{"format": 1, "user": {"a": "off"}}',
        '{"format": 1, "projects": []}',
        '{"format": 1, "projects": {"/r": {"a": 0}}}',
        "[" * 100_000,
    ],
)
def test_a_file_that_means_something_else_is_refused(text: str) -> None:
    with pytest.raises(BadJson):
        parse_choices(text)


def test_the_file_is_the_same_for_the_same_choices() -> None:
    one = NO_CHOICES.switched("b", on=False).switched("a", on=False)
    other = NO_CHOICES.switched("a", on=False).switched("b", on=False)
    assert choices_text(one) == choices_text(other)
    assert json.loads(choices_text(one))["user"] == {"a": False, "b": False}
    assert choices_text(Choices(projects={"/repo": {}})) == choices_text(NO_CHOICES)
