"""Errors for unknown names that match a folder or another skill."""

from __future__ import annotations

import os

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.errors import InvalidArgument, SkillNotFound


@pytest.mark.parametrize(
    ("folder", "named"),
    [
        ("tools-x", "tools-x"),
        ("Tools-X", "tools-x"),
        ("tools-x", "TOOLS-X"),
        ("straße", "STRASSE"),
        ("tools", "ｔｏｏｌｓ"),
        ("tools ", "tools"),
        ("データ", "データ"),
    ],
)
def test_a_folder_name_matches_in_any_form(
    hub_environment: dict[str, str], write_skill: SkillWriter, folder: str, named: str
) -> None:
    write_skill("pdf-kit", "Fills in forms.", directory=folder)
    write_skill("otter", "Feeds the otter.")
    with hub_of(hub_environment) as hub, pytest.raises(SkillNotFound) as failed:
        hub.load(named)
    assert failed.value.near == ("pdf-kit",)
    assert "the folder of that name holds 'pdf-kit'" in failed.value.message


def test_another_folder_name_does_not_match(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    write_skill("pdf-kit", "Fills in forms.", directory="tools-x")
    with hub_of(hub_environment) as hub:
        for named in ("tools-y", "x", "tools", "ls-x"):
            with pytest.raises(SkillNotFound) as failed:
                hub.load(named)
            assert "folder" not in failed.value.message


@pytest.mark.parametrize("named", ["otter", "Otter", "otter@hub"])
def test_an_unknown_name_explains_why_its_folder_is_refused(
    hub_environment: dict[str, str], write_skill: SkillWriter, named: str
) -> None:
    folder = write_skill("walrus").parent / "otter"
    (folder / "SKILL.md").mkdir(parents=True)
    with hub_of(hub_environment) as hub:
        with pytest.raises(SkillNotFound) as failed:
            hub.load(named)
        reported = f"No skill is named {named!r}: the SKILL.md of a folder of that name is not a regular file"
        assert (failed.value.message, failed.value.hint) == (reported, "put a file there, or remove it")
        with pytest.raises(SkillNotFound) as failed:
            hub.load("ott")
        assert failed.value.message == "No skill is named 'ott'"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize(("mode", "what"), [(0, "a folder"), (0o444, "the SKILL.md of a folder")])
def test_an_unknown_name_explains_that_its_folder_is_unreadable(
    hub_environment: dict[str, str], write_skill: SkillWriter, mode: int, what: str
) -> None:
    write_skill("walrus")
    folder = write_skill("otter")
    folder.chmod(mode)
    try:
        with hub_of(hub_environment) as hub, pytest.raises(SkillNotFound) as failed:
            hub.load("otter")
    finally:
        folder.chmod(0o755)
    assert f": {what} of that name cannot be read (Permission denied)" in failed.value.message


@pytest.mark.parametrize("named", ["", " ", "\u3000\t"])
def test_an_empty_name_is_an_error(hub_environment: dict[str, str], write_skill: SkillWriter, named: str) -> None:
    write_skill("pdf-kit", "Fills in forms.")
    with hub_of(hub_environment) as hub:
        for ask in (hub.load, lambda name: hub.read_file(name, "a.md")):
            with pytest.raises(InvalidArgument) as failed:
                ask(named)
            assert (failed.value.message, failed.value.hint) == (
                "skill_name is empty",
                "find the names with search_skills",
            )


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("TOOLS", "it is written 'tools'"),
        ("tools (beta)@hub", "it is written 'tools-beta'"),
        ("tools@user", "the source 'user' has no skill of that name"),
        ("elsewhere@hub", "the folder of that name holds 'other'"),
        ("elsewhere@user", "the source 'user' has no skill of that name"),
    ],
)
def test_the_reason_for_a_suggested_name_is_correct(
    hub_environment: dict[str, str], write_skill: SkillWriter, named: str, reason: str
) -> None:
    write_skill("tools")
    write_skill("tools-beta")
    write_skill("other", directory="elsewhere")
    with hub_of(hub_environment) as hub, pytest.raises(SkillNotFound) as failed:
        hub.load(named)
    assert failed.value.message == f"No skill is named {named!r}: {reason}"
    assert failed.value.hint in ("load it as 'tools'", "load it as 'tools-beta'", "load it as 'other'")
