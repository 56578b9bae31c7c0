"""`skillhub pick`: as lines, and in the picker's own test harness."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from skillhub_mcp.cli.picker import HubSkills, Picker
from skillhub_mcp.cli.picker_rows import (
    NOT_SEARCHED,
    PickerRow,
    PickerScope,
    SearchedFor,
    fitting_rows,
    nearest_rows,
)
from skillhub_mcp.settings import read_settings


def row(name: str, description: str = "Does it.", *, scope: str = "user", state: str = "on") -> PickerRow:
    source = "project" if scope == "repo" else "hub"
    text = f"{name}\n{description}\n/s/{name}".casefold()
    return PickerRow(name, name, description, f"/s/{name}", source, cast("PickerScope", scope), state, text)


ROWS = [
    row("pdf-forms", "Fills in forms."),
    row("release-notes", "Writes notes from commits.", scope="repo"),
    row("git", "Knows Git and its releases.", state="off"),
]


@pytest.mark.acceptance("S0-83", "S0-84", "S0-86")
def test_without_a_terminal_the_skills_are_lines(skillhub: Skillhub, write_skill: SkillWriter, project: Path) -> None:
    write_skill("pdf", "Reads PDFs; knows review forms.")
    skillhub("disable", "pdf")
    view = {"SKILLHUB_ROOTS": "project,hub", "SKILLHUB_CWD": str(project)}
    assert skillhub("pick", "--list", **view).out == (
        "off     pdf  hub, user  Reads PDFs; knows review forms.\n"
        "on      repo-review  project, repo  Review PRs.\n"
        "2 of 2 skills, 1 off\n"
    )
    assert skillhub("pick", "--list", "zzz", **view).out == "(no match)\n"
    (only,) = skillhub("pick", "--scope", "user", "--json", **view).json["skills"]
    assert (only["name"], only["state"], only["scope"], only["source"]) == ("pdf", "off", "user", "hub")


def test_without_any_skills_it_says_how_to_get_some(skillhub: Skillhub) -> None:
    assert "put a folder with a SKILL.md there" in skillhub("pick", "--list").out
    none = skillhub("pick", "--json").json
    assert (none["skills"], none["count"], none["total"], len(none["problems"])) == ([], 0, 0, 1)


def test_without_a_terminal_it_says_what_prints_skills(skillhub: Skillhub) -> None:
    done = skillhub("pick", TERM="dumb")
    assert (done.code, done.out) == (1, "")
    assert "TERM is dumb" in done.err
    assert "skillhub pick --list" in done.err


@pytest.mark.acceptance("S0-83", "S0-84")
def test_rows_fit_by_name_by_search_or_by_every_word_somewhere() -> None:
    def names(typed: str, scope: PickerScope = "all", found: SearchedFor = NOT_SEARCHED) -> list[str]:
        return [one.name for one in fitting_rows(ROWS, typed, scope, found)]

    assert names("RELEASE") == ["release-notes", "git"]
    assert names("no re") == ["release-notes", "git"]
    assert names("/s/pdf") == ["pdf-forms"]
    assert names("", "repo") == ["release-notes"]
    assert names("zzz") == []
    # What the search found comes in its order, below names that begin with what was typed.
    found = SearchedFor(("/s/pdf-forms", "/s/git"))
    assert names("rel", found=found) == ["release-notes", "pdf-forms", "git"]
    near = SearchedFor(near_misses=("/s/git", "/s/gone"))
    assert names("zzz", found=near) == []
    assert nearest_rows(ROWS, "all", near) == [ROWS[2]]


@pytest.fixture
def skills(hub_environment: dict[str, str], write_skill: SkillWriter, project: Path) -> Iterator[HubSkills]:
    write_skill("pdf-forms", "Fills in forms.", body="# Steps\n\nFill it in.\n")
    write_skill("git-log", "Knows Git and its releases.")
    view = {"SKILLHUB_ROOTS": "project,hub", "SKILLHUB_CWD": str(project)}
    settings, _ = read_settings({**hub_environment, **view})
    made = HubSkills(settings)
    yield made
    made.hub.close()


def drive(skills: HubSkills, act: Callable[[Picker, Pilot[PickerRow]], Awaitable[None]]) -> PickerRow | None:
    async def go() -> PickerRow | None:
        app = Picker(skills)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            await act(app, pilot)
            await app.workers.wait_for_complete()
            await pilot.pause()
        return app.return_value

    return asyncio.run(go())


def shown(app: Picker) -> list[str]:
    table = app.query_one(DataTable)
    return [str(table.get_row_at(number)[1]) for number in range(table.row_count)]


@pytest.mark.acceptance("S0-83", "S0-84")
def test_typing_narrows_the_rows_and_enter_takes_the_first(skills: HubSkills) -> None:
    async def act(app: Picker, pilot: Pilot[PickerRow]) -> None:
        assert shown(app) == ["git-log", "pdf-forms", "repo-review"]
        await pilot.press("ctrl+s")
        assert shown(app) == ["repo-review"]
        await pilot.press("ctrl+s", "ctrl+s", *"pdf")
        await pilot.pause()
        assert shown(app)[0] == "pdf-forms"
        assert app.query_one("#text", Static) is not None
        await pilot.press("enter")

    chosen = drive(skills, act)
    assert chosen is not None
    assert chosen.name == "pdf-forms"


@pytest.mark.acceptance("S0-85")
def test_a_skill_that_is_switched_off_is_taken_only_when_asked_twice(skills: HubSkills, skillhub: Skillhub) -> None:
    async def act(app: Picker, pilot: Pilot[PickerRow]) -> None:
        await pilot.press(*"git", "ctrl+t")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert app.is_running
        assert app.return_value is None
        await pilot.press("enter")

    chosen = drive(skills, act)
    assert chosen is not None
    assert (chosen.name, chosen.state) == ("git-log", "off")
    assert [one["state"] for one in skillhub("pick", "git-log", "--json").json["skills"]] == ["off"]


def test_escape_takes_nothing_and_a_name_is_copied(skills: HubSkills) -> None:
    async def act(app: Picker, pilot: Pilot[PickerRow]) -> None:
        await pilot.press("down", "ctrl+y")
        assert app.clipboard == "pdf-forms"
        await pilot.press("escape")

    assert drive(skills, act) is None


@pytest.mark.skipif(os.name == "nt", reason="it is edited otherwise there")
def test_the_guide_names_the_keys() -> None:
    keys = {key for binding in Picker.BINDINGS for key in cast("str", getattr(binding, "key", "")).split(",")}
    assert {"ctrl+o", "ctrl+y", "ctrl+t", "ctrl+r", "ctrl+s"} <= keys
