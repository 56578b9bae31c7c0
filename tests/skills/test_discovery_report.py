"""The report counts unserved skills by the rules of discovery, within limits, without opening files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.skills import places
from skillhub_mcp.skills.places import RootsChoice, SkillPlace, Surroundings
from skillhub_mcp.skills.roots import Source, make_roots


def around(*paths: Path) -> Surroundings:
    places = tuple(SkillPlace(str(path), Source.HUB, owner="Cursor") for path in paths)
    return Surroundings(places, RootsChoice(("hub",), ()), cwd="")


@pytest.fixture
def unopened(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Fail if anything is opened after the call."""

    def refuse(path: object, *_: object, **__: object) -> int:
        raise AssertionError(f"{path} was opened")

    def start() -> None:
        monkeypatch.setattr("builtins.open", refuse)
        monkeypatch.setattr(os, "open", refuse)

    return start


def test_a_served_skill_counts_in_no_other_place_even_if_linked(
    tmp_path: Path, skills_dir: Path, write_skill: SkillWriter, unopened: Callable[[], None]
) -> None:
    own, linked, same = tmp_path / "own", tmp_path / "linked", tmp_path / "same"
    write_skill("served")
    for name in ("one", "two"):
        write_skill(name, root=own)
    linked.mkdir()
    for target in (skills_dir / "served", own / "one"):
        (linked / target.name).symlink_to(target)
    same.symlink_to(skills_dir)
    unopened()
    roots = make_roots([str(skills_dir)])
    counts, others = around(own, linked, same, tmp_path / "missing").survey(roots)
    assert counts == {str(skills_dir): 1}
    # The root under another path.
    assert [one.where for one in others] == [f"2 skills in {own}", f"0 skills in {linked}"]


def test_a_large_place_is_scanned_up_to_a_limit_and_says_so(
    tmp_path: Path, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch, unopened: Callable[[], None]
) -> None:
    monkeypatch.setattr(places, "MAX_DIRECTORIES", 3)
    for number in range(5):
        write_skill(f"skill-{number}", root=tmp_path / "large")
    unopened()
    (found,) = around(tmp_path / "large").survey(())[1]
    assert (found.where, found.at_least, found.problem) == (f"at least 2 skills in {tmp_path}/large", True, "")
    assert found.as_problem().sentence() == (
        f"at least 2 skills in {tmp_path}/large are not searched: the directory belongs to Cursor; "
        f"`skillhub roots add {tmp_path}/large` serves them"
    )


def test_the_report_skips_the_same_directories_as_discovery(tmp_path: Path, write_skill: SkillWriter) -> None:
    write_skill("inner", root=write_skill("outer", root=tmp_path / "place"))
    write_skill("system", root=tmp_path / "place" / ".system")
    (tmp_path / "place" / "loop").symlink_to(tmp_path / "place")
    (found,) = around(tmp_path / "place").survey(())[1]
    assert found.skills == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_place_is_reported(tmp_path: Path) -> None:
    place = tmp_path / "closed"
    place.mkdir(mode=0o000)
    (found,) = around(place).survey(())[1]
    assert (found.skills, found.problem) == (0, "cannot be read (Permission denied)")
