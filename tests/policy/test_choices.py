"""Choices: skills switched off and on, everywhere or in one project."""

from __future__ import annotations

import json

import pytest
from tests.disclosure.library import skill

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.policy.choices import CHOICES_FORMAT, NO_CHOICES, Choices


def is_on(choices: Choices, name: str = "pdf", *, directory: str = "/s/pdf", project: str = "/repo") -> bool:
    return not choices.is_off(skill(name, directory=directory), project=project)


@pytest.mark.acceptance("S0-85")
@pytest.mark.parametrize("key", ["pdf", "PDF", " pdf ", "/s/pdf"])
def test_a_name_in_any_case_or_a_path_switches_a_skill_off(key: str) -> None:
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
def test_names_are_folded_and_paths_are_exact(key: str, name: str | None) -> None:
    off = NO_CHOICES.switched(key, on=False)
    assert is_on(off, name or "pdf") == (name is None)
    # Names in a file are folded too.
    assert is_on(CHOICES_FORMAT.parse(json.dumps({"format": 1, "user": {key: False}})), name or "pdf") == (name is None)


@pytest.mark.acceptance("S0-85")
def test_a_projects_choice_precedes_the_users_and_a_path_precedes_a_name() -> None:
    off = NO_CHOICES.switched("pdf", on=False)
    here = off.switched("pdf", on=True, project="/repo")
    assert is_on(here)
    assert not is_on(here, project="/other")
    by_path = NO_CHOICES.switched("/s/pdf", on=False, project="/repo").switched("pdf", on=True, project="/repo")
    assert not is_on(by_path)
    # A later layer decides, also by name over a path of the earlier one.
    assert is_on(NO_CHOICES.switched("/s/pdf", on=False).switched("pdf", on=True, project="/repo"))


def test_switching_removes_choices_for_the_other_names_of_the_skill() -> None:
    off = NO_CHOICES.switched("/s/pdf", on=False).switched("docx", on=False)
    assert off.switched("pdf", also=("/s/pdf",), on=True) == NO_CHOICES.switched("docx", on=False)


def test_switching_on_one_of_two_namesakes_leaves_the_other_off() -> None:
    off = NO_CHOICES.switched("pdf", on=False)
    one = off.switched("/s/pdf", names=("pdf", "PDF"), on=True)
    assert is_on(one)
    assert not is_on(one, directory="/other/pdf")
    assert not is_on(one.switched("/s/pdf", names=("pdf", "PDF"), on=False))
    # A choice by name is for both again.
    both = one.switched("pdf", also=("/s/pdf", "/other/pdf"), on=False)
    assert both == off
    # The default is not stored.
    assert NO_CHOICES.switched("/s/pdf", names=("pdf", "docx"), on=True) == NO_CHOICES


def test_a_switch_affects_one_skill_in_one_project() -> None:
    choices = NO_CHOICES
    for name, project in (("pdf", "/one"), ("docx", "/one"), ("pdf", "/two"), ("pdf", None), ("docx", None)):
        choices = choices.switched(name, on=False, project=project)
    changed = choices.switched("pdf", on=True, project="/one").switched("docx", on=True)
    assert changed == Choices(
        user={"pdf": False}, projects={"/one": {"pdf": True, "docx": False}, "/two": {"pdf": False}}
    )
    assert is_on(changed, project="/one")
    assert not is_on(changed, project="/two")
    # A project's layer counts without choices for all projects.
    assert not is_on(NO_CHOICES.switched("pdf", on=False, project="/repo"))
    assert not is_on(NO_CHOICES.switched("Docx", on=False), "DOCX")


def test_an_alias_switches_a_skill_with_an_unspecified_name() -> None:
    off = NO_CHOICES.switched("pdf-tools", on=False)
    assert not is_on(off, "PDF Tools")
    assert is_on(off, "PDF")


def test_written_choices_are_read_back() -> None:
    choices = NO_CHOICES.switched("日本語", on=False).switched("/a b", on=True, project="/repo é")
    assert CHOICES_FORMAT.parse(CHOICES_FORMAT.text(choices)) == choices
    assert CHOICES_FORMAT.parse('{"format": 1}') == NO_CHOICES


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        '{"format": 1, "user": []}',
        '{"format": 1, "user": {"a": "off"}}',
        '{"format": 1, "projects": []}',
        '{"format": 1, "projects": {"/r": {"a": 0}}}',
        "[" * 100_000,
    ],
)
def test_invalid_choices_are_rejected(text: str) -> None:
    with pytest.raises(BadJson):
        CHOICES_FORMAT.parse(text)
