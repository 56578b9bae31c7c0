"""Name resolution for a caller who may use only some of the skills."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.judges import Offering

from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import Source, distinct_roots
from skillhub_mcp.skills.scanner import scan
from skillhub_mcp.skills.snapshot import Snapshot


@pytest.fixture
def snapshot(tmp_path: Path, write_skill: SkillWriter) -> Snapshot:
    """`commit` in a project, twice among the user's skills and in the hub, with a skill of that alias."""
    for root, directory, name in (
        ("project", "commit", "commit"),
        ("user", "commit", "commit"),
        ("second", "commit", "commit"),
        ("hub", "commit", "commit"),
        ("hub", "aliased", "Commit!"),
        ("hub", "alone", "alone"),
    ):
        write_skill(name, f"From {root}.", root=tmp_path / root, directory=directory)
    roots = [(Source.PROJECT, "project"), (Source.USER, "user"), (Source.USER, "second"), (Source.HUB, "hub")]
    return scan(distinct_roots([(source, str(tmp_path / root)) for source, root in roots]), memory={}).snapshot


def below(*roots: str) -> Callable[[Skill], bool]:
    return lambda skill: Path(skill.root).name in roots


def place(skill: Skill | None) -> str:
    return "nothing" if skill is None else f"{Path(skill.root).name}/{Path(skill.directory).name}"


def test_the_first_available_skill_gets_the_name(snapshot: Snapshot) -> None:
    def answering(*withheld: str) -> str:
        return place(Names(snapshot, Offering(lambda skill: not below(*withheld)(skill))).find("commit"))

    assert answering() == "project/commit"
    assert answering("project") == "user/commit"
    assert answering("project", "user") == "second/commit"
    assert answering("project", "user", "second") == "hub/commit"
    # If none is available, the first one gives the reason.
    assert answering("project", "user", "second", "hub") == "project/commit"


def test_an_alias_resolves_if_no_available_skill_has_that_name(snapshot: Snapshot) -> None:
    names = Names(snapshot, Offering(lambda skill: skill.name != "commit"))
    assert place(names.find("commit")) == "hub/aliased"
    assert names.handle(names.offered()[0]) == "Commit!"
    assert place(Names(snapshot).find("commit")) == "project/commit"


def test_hidden_skills_are_ignored_and_cannot_be_found(snapshot: Snapshot) -> None:
    names = Names(snapshot, Offering(hides=below("project", "second")))
    assert place(names.find("commit")) == "user/commit"
    hidden = [skill for skill in snapshot.everything if below("project", "second")(skill)]
    assert len(hidden) == 2
    for skill in hidden:
        assert names.find(skill.directory) is None
    assert names.find("commit@project") is None
    # A disabled skill does not replace an enabled one, and a hidden one is never mentioned.
    off = Names(snapshot, Offering(lambda _: False, hides=below("project")))
    assert place(off.find("commit")) == "user/commit"
    assert Names(snapshot, Offering(hides=lambda _: True)).find("commit") is None


def test_a_name_with_its_source_means_exactly_that_skill(snapshot: Snapshot) -> None:
    names = Names(snapshot, Offering(lambda skill: not below("project", "user")(skill)))
    assert place(names.find("commit@project")) == "project/commit"
    assert place(names.find("commit@user")) == "user/commit"
    assert place(names.find("commit@hub")) == "hub/commit"


def test_every_handle_resolves_to_its_skill(snapshot: Snapshot) -> None:
    for judge in (
        Offering(),
        Offering(lambda skill: not below("project")(skill)),
        Offering(lambda _: False),
        Offering(hides=below("project", "user")),
    ):
        names = Names(snapshot, judge)
        seen = [skill for skill in snapshot.everything if not judge.hides(skill)]
        handles = {place(skill): names.handle(skill) for skill in seen}
        assert all(names.find(names.handle(skill)) is skill for skill in seen), handles
        assert len(set(handles.values())) == len(seen)
    off = Names(snapshot, Offering(lambda skill: not below("project")(skill)))
    handles = {place(skill): off.handle(skill).removeprefix(skill.root) for skill in snapshot.everything}
    assert handles == {
        "project/commit": "commit@project",
        "user/commit": "commit",
        "second/commit": "/commit",
        "hub/commit": "commit@hub",
        "hub/aliased": "Commit!",
        "hub/alone": "alone",
    }


def test_one_skill_of_each_name_is_offered_and_shadows_the_others(snapshot: Snapshot) -> None:
    names = Names(snapshot, Offering(lambda skill: not below("project")(skill)))
    assert [place(skill) for skill in names.offered()] == ["hub/aliased", "hub/alone", "user/commit"]
    assert [(place(lost.skill), place(lost.winner)) for lost in names.shadowed()] == [
        ("hub/commit", "user/commit"),
        ("second/commit", "user/commit"),
    ]
    # A disabled winner is not shadowed by its replacement.
    first = names.find("commit@project")
    assert first is not None
    assert names.shadowing(first) is None


def test_a_source_lists_the_skills_that_names_resolve_to(snapshot: Snapshot) -> None:
    assert [place(skill) for skill in Names(snapshot).of_source(Source.USER)] == ["user/commit"]
    names = Names(snapshot, Offering(lambda skill: not below("project", "user")(skill)))
    assert [place(skill) for skill in names.of_source(Source.USER)] == ["second/commit"]
    assert [place(skill) for skill in names.of_source(Source.HUB)] == ["hub/aliased", "hub/alone", "hub/commit"]
    # Behind a disabled and a served skill, only the path is left.
    third = Names(snapshot, Offering(lambda skill: not below("user")(skill)))
    assert third.of_source(Source.USER) == ()


def test_only_copies_of_the_served_skill_count_as_copies(tmp_path: Path, write_skill: SkillWriter) -> None:
    for root, text in (("one", "First."), ("two", "First."), ("three", "Other.")):
        write_skill("same", text, root=tmp_path / root)
    roots = distinct_roots([(Source.HUB, str(tmp_path / root)) for root in ("one", "three", "two")])
    snapshot = scan(roots, memory={}).snapshot
    copy = next(skill for skill in snapshot.everything if below("two")(skill))
    assert Names(snapshot).is_copy(copy)
    assert not Names(snapshot, Offering(lambda skill: not below("one")(skill))).is_copy(copy)
    assert not Names(snapshot, Offering(hides=below("one", "three"))).is_copy(copy)
