"""What a caller is told who names a folder: its skill has another name, or none."""

from __future__ import annotations

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
        ("STRASSE", "straße"),
        ("ｔｏｏｌｓ", "tools"),
        ("tools", "ｔｏｏｌｓ"),
        ("tools ", "tools"),
        ("データ", "データ"),
        ("file", "ﬁle"),
        ("kit", "\u212ait"),
        ("ki\u212a", "kik"),
    ],
)
def test_a_folder_of_that_name_is_found_however_either_is_written(
    hub_environment: dict[str, str], write_skill: SkillWriter, folder: str, named: str
) -> None:
    write_skill("pdf-kit", "Fills in forms.", directory=folder)
    write_skill("otter", "Feeds the otter.")
    with hub_of(hub_environment) as hub, pytest.raises(SkillNotFound) as failed:
        hub.load(named)
    assert failed.value.near == ("pdf-kit",)
    assert "the folder of that name holds 'pdf-kit'" in failed.value.message


def test_a_folder_of_another_name_is_none(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    write_skill("pdf-kit", "Fills in forms.", directory="tools-x")
    with hub_of(hub_environment) as hub:
        for named in ("tools-y", "x", "tools", "ls-x"):
            with pytest.raises(SkillNotFound) as failed:
                hub.load(named)
            assert "folder" not in failed.value.message


@pytest.mark.parametrize("named", ["", " ", "\u3000\t"])
def test_an_empty_name_is_told_to_be_one(hub_environment: dict[str, str], write_skill: SkillWriter, named: str) -> None:
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
        ("tools@user", "the source 'user' has no skill of that name"),
        ("elsewhere@hub", "the folder of that name holds 'other'"),
        ("elsewhere@user", "the source 'user' has no skill of that name"),
    ],
)
def test_why_another_name_is_meant_is_true(
    hub_environment: dict[str, str], write_skill: SkillWriter, named: str, reason: str
) -> None:
    write_skill("tools")
    write_skill("other", directory="elsewhere")
    with hub_of(hub_environment) as hub, pytest.raises(SkillNotFound) as failed:
        hub.load(named)
    assert failed.value.message == f"No skill is named {named!r}: {reason}"
    assert failed.value.hint in ("load it as 'tools'", "load it as 'other'")
