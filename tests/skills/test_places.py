"""Places with skills: their paths, why each is searched or not, and the command that changes it."""

from __future__ import annotations

import os

import pytest

from skillhub_mcp.project import Project
from skillhub_mcp.skills.places import (
    CLIENT_SKILLS,
    RootsChoice,
    SkillPlace,
    known_places,
    why_not,
    why_searched,
)
from skillhub_mcp.skills.roots import SkillRoot, Source

DEFAULT = RootsChoice(("project", "user", "hub"), ("/home/me/.skillhub/skills",))
CURSOR = SkillPlace("/home/me/.cursor/skills", Source.HUB, owner="Cursor")
IN_PROJECT = SkillPlace("/code/.cursor/skills", Source.PROJECT, owner="Cursor")
OWN = SkillPlace("/code/.agents/skills", Source.PROJECT, "project")
EXAMPLES = SkillPlace("/package/examples", Source.BUILTIN, "builtin")


def places(project: Project, **environment: str) -> dict[str, SkillPlace]:
    found = known_places(
        project,
        home="/home/me",
        hub="/home/me/.skillhub/skills",
        builtin="/package/examples",
        environment=environment,
        recorded=["/team", "/home/me/.codex/skills"],
        recorded_in_project=["/code/vendor"],
    )
    return {place.path: place for place in found}


def test_every_place_of_project_home_and_clients_is_listed_once() -> None:
    found = places(Project("/code", "/code/sub", ("/code", "/code/sub")))
    assert found["/code/sub/.agents/skills"] == SkillPlace("/code/sub/.agents/skills", Source.PROJECT, "project")
    assert found["/code/sub/.github/skills"].owner == found["/code/.github/skills"].owner == "GitHub Copilot"
    assert found["/code/.agent/skills"].word == "project"
    assert found["/home/me/.claude/skills"] == SkillPlace(
        "/home/me/.claude/skills", Source.HUB, "claude", "Claude Code"
    )
    assert found["/home/me/.config/opencode/skills"].owner == "OpenCode"
    assert found["/team"] == SkillPlace("/team", Source.HUB, "hub")
    assert found["/code/vendor"] == SkillPlace("/code/vendor", Source.PROJECT, "project")
    # A recorded client directory is served.
    assert found["/home/me/.codex/skills"] == SkillPlace("/home/me/.codex/skills", Source.HUB, "hub")
    assert list(found)[-1] == "/package/examples"


def test_a_variable_that_moves_a_client_moves_its_skills() -> None:
    found = places(
        Project("/code", "/code", ("/code",)),
        CLAUDE_CONFIG_DIR="/moved",
        CRUSH_SKILLS_DIR="/crush",
        XDG_CONFIG_HOME="no",
    )
    assert {"/moved/skills", "/crush", "/home/me/.config/goose/skills"} <= found.keys()
    assert "/home/me/.claude/skills" not in found


def test_a_home_directory_is_not_a_project() -> None:
    found = places(Project("/home/me", "/home/me", ("/home/me",)))
    assert found["/home/me/.cursor/skills"].source is Source.HUB
    assert found["/home/me/.agents/skills"].source is Source.USER


def test_each_client_is_in_the_table_once_with_relative_paths() -> None:
    names = [one.client for one in CLIENT_SKILLS]
    assert len(set(names)) == len(names)
    paths = [path for one in CLIENT_SKILLS for path in (one.user, one.project) if path]
    assert all(path.startswith(".") and ".." not in path.split("/") for path in paths)


@pytest.mark.parametrize(
    ("place", "choice", "why", "fix"),
    [
        (CURSOR, DEFAULT, "belongs to Cursor", "skillhub roots add SHOWN"),
        (IN_PROJECT, DEFAULT, "belongs to Cursor", "skillhub roots add --project SHOWN"),
        (EXAMPLES, DEFAULT, "have not been added", "skillhub roots add builtin"),
        (CURSOR, RootsChoice(("hub",), ("/s",), dirs_given=True), "SKILLS_DIR is set", "SKILLS_DIR=/s:{path}"),
        (OWN, RootsChoice(("hub",), ("/s",), dirs_given=True), "SKILLS_DIR is set", "SKILLHUB_ROOTS=hub,project"),
        (
            OWN,
            RootsChoice(("user",), ("/s",), words_given=True),
            "does not name project",
            "SKILLHUB_ROOTS=user,project",
        ),
        (CURSOR, RootsChoice(("user",), ("/s",), words_given=True), "does not name hub", "SKILLHUB_ROOTS=user,hub"),
        (CURSOR, RootsChoice(("hub",), ("/s",), words_given=True), "belongs to Cursor", "skillhub roots add SHOWN"),
        (CURSOR, RootsChoice(("hub",), ("/s",), True, True), "SKILLS_DIR does not name it", "SKILLS_DIR=/s:{path}"),
        (
            IN_PROJECT,
            RootsChoice(("project", "hub"), ("/s",), True, True),
            "belongs to Cursor",
            "skillhub roots add --project SHOWN",
        ),
    ],
)
def test_an_unsearched_place_says_why_and_how_to_serve_it(
    place: SkillPlace, choice: RootsChoice, why: str, fix: str
) -> None:
    reason = why_not(place, choice, shown="SHOWN")
    assert why in reason.why
    assert (reason.command or reason.setting) == fix.format(path=place.path).replace(":", os.pathsep)
    assert bool(reason.command) is fix.startswith("skillhub")


@pytest.mark.parametrize(
    ("root", "choice", "recorded", "change"),
    [
        (SkillRoot("/team", "/team", recorded=True), DEFAULT, (), "skillhub roots remove SHOWN"),
        (SkillRoot("/p", "/p", Source.BUILTIN), DEFAULT, ("builtin",), "skillhub roots remove builtin"),
        (SkillRoot("/h/.claude/skills", "", Source.USER), DEFAULT, ("claude",), "skillhub roots remove claude"),
        (SkillRoot("/h/.agents/skills", "", Source.USER), DEFAULT, (), "SKILLHUB_ROOTS=project,hub"),
        (SkillRoot("/s", "/s"), RootsChoice(("hub",), ("/s",), dirs_given=True), (), "SKILLS_DIR"),
        (
            SkillRoot("/h/.claude/skills", "", Source.USER),
            RootsChoice(("claude",), (), True),
            ("claude",),
            "SKILLHUB_ROOTS",
        ),
    ],
)
def test_a_searched_place_says_how_to_stop_serving_it(
    root: SkillRoot, choice: RootsChoice, recorded: tuple[str, ...], change: str
) -> None:
    reason = why_searched(root, choice, shown="SHOWN", recorded=recorded)
    assert (reason.command or reason.setting) == change
    assert reason.why
