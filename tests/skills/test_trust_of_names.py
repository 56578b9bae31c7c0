"""An untrusted skill takes no name of the user's or the hub's skills, in any spelling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.judges import Offering

from skillhub_mcp.api import available_skills
from skillhub_mcp.project import find_project
from skillhub_mcp.publishing.uris import skill_paths
from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.registry import Registry, build_registry_index
from skillhub_mcp.skills.roots import SkillRoot, Source, choose_roots
from skillhub_mcp.skills.snapshot import ShadowReason, Snapshot


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tmp_path / "repo"


@pytest.fixture
def roots(repo: Path, skills_dir: Path, tmp_path: Path) -> tuple[SkillRoot, ...]:
    places = ("project", "user", "hub")
    project = find_project(str(repo))
    return choose_roots(places, project=project, home=str(tmp_path / "home"), hub=[str(skills_dir)], builtin="")


@pytest.fixture
def bring(write_skill: SkillWriter, repo: Path) -> Callable[..., Path]:
    def bring(name: str, **options: str) -> Path:
        return write_skill(name, "The project's.", root=repo / ".agents" / "skills", **options)

    return bring


def snapshot_of(roots: tuple[SkillRoot, ...], trust: Trust = Trust.AWAITED) -> Snapshot:
    judged = [replace(root, trust=trust) if root.within else root for root in roots]
    return Registry(judged, admission=LENIENT).snapshot


def source_of(snapshot: Snapshot, text: str) -> Source | None:
    found = Names(snapshot).find(text)
    return None if found is None else snapshot.source(found)


@pytest.mark.parametrize(
    ("own", "theirs", "typed"),
    [
        ("commit", "commit", "commit"),
        # Aliases, in both directions and against another alias.
        ("Chat with PDF", "chat-with-pdf", "chat-with-pdf"),
        ("Chat with PDF", "Chat: with PDF", "chat-with-pdf"),
        # A name that looks like a handle.
        ("commit", "commit@hub", "commit@hub"),
    ],
)
def test_a_hub_skill_keeps_its_name_until_the_project_is_trusted(
    write_skill: SkillWriter,
    bring: Callable[..., Path],
    roots: tuple[SkillRoot, ...],
    own: str,
    theirs: str,
    typed: str,
) -> None:
    write_skill(own, "The hub's.", directory="one")
    bring(theirs, directory="two")
    for trust in (Trust.AWAITED, Trust.CHANGED):
        snapshot = snapshot_of(roots, trust)
        assert source_of(snapshot, typed) is Source.HUB
        (brought,) = (skill for skill in snapshot.everything if skill.awaits_trust)
        handle = Names(snapshot).handle(brought)
        assert Names(snapshot).find(handle) is brought
        assert brought in Names(snapshot).findable()
    assert source_of(snapshot_of(roots, Trust.AGREED), typed if own == theirs else theirs) is Source.PROJECT


def test_a_skill_that_lost_its_name_is_found_by_its_source(
    write_skill: SkillWriter, bring: Callable[..., Path], roots: tuple[SkillRoot, ...]
) -> None:
    write_skill("commit", "The hub's.")
    bring("commit")
    bring("only-here")
    names = Names(snapshot_of(roots))
    assert [names.handle(skill) for skill in names.findable()] == ["commit", "commit@project", "only-here"]
    assert [skill.name for skill in names.offered()] == ["commit", "only-here"]
    assert [skill.name for skill in names.listed()] == ["commit"]
    (lost,) = names.shadowed()
    assert (lost.skill.trust, lost.why) == (Trust.AWAITED, ShadowReason.TRUST)
    agreed = Names(snapshot_of(roots, Trust.AGREED))
    # Trusted skills follow the order of the roots, and the other is shadowed as usual.
    assert [agreed.handle(skill) for skill in agreed.findable()] == ["commit", "only-here"]
    assert [skill.name for skill in agreed.listed()] == ["commit", "only-here"]
    assert [lost.why for lost in agreed.shadowed()] == [ShadowReason.ROOT]


def test_a_disabled_skill_keeps_its_name_and_a_hidden_one_does_not(
    write_skill: SkillWriter, bring: Callable[..., Path], roots: tuple[SkillRoot, ...]
) -> None:
    write_skill("commit", "The hub's.")
    bring("commit")
    snapshot = snapshot_of(roots)
    own, theirs = (Names(snapshot).find(name) for name in ("commit", "commit@project"))
    assert own is not None
    off = Names(snapshot, Offering(lambda skill: skill is not own))
    assert off.find("commit") is own
    assert off.offered() == ()
    assert off.findable() == (theirs,)
    hidden = Names(snapshot, Offering(hides=lambda skill: skill is own))
    assert hidden.find("commit") is theirs
    assert hidden.findable() == (theirs,)


def test_skills_recorded_for_a_project_belong_to_the_user(
    write_skill: SkillWriter, repo: Path, skills_dir: Path, tmp_path: Path
) -> None:
    inside, outside = repo / ".cursor" / "skills", tmp_path / "team"
    (tmp_path / "link").symlink_to(repo)
    by_link = tmp_path / "link" / "skills"
    roots = choose_roots(
        ("project", "hub"),
        project=find_project(str(repo)),
        home="",
        hub=[str(skills_dir)],
        builtin="",
        recorded_in_project=[str(inside), str(outside), str(by_link)],
    )
    assert {root.path: root.trust for root in roots if root.recorded} == {
        str(inside): Trust.AWAITED,
        str(outside): Trust.OWN,
        str(by_link): Trust.AWAITED,
    }
    write_skill("commit", root=outside)
    write_skill("commit")
    assert source_of(snapshot_of(roots), "commit") is Source.PROJECT


def test_an_untrusted_skill_is_indexed_but_not_in_the_models_list(
    write_skill: SkillWriter, bring: Callable[..., Path], roots: tuple[SkillRoot, ...]
) -> None:
    write_skill("deploy", "The hub's.")
    bring("Deploy")
    index = build_registry_index(Names(snapshot_of(roots)))
    assert [(entry.name, entry.awaits_trust) for entry in index.skills] == [
        ("Deploy", True),
        ("deploy", False),
    ]
    assert available_skills(index) == "Available Skills:\n- name=deploy | source=hub | description=The hub's."
    agreed = build_registry_index(Names(snapshot_of(roots, Trust.AGREED)))
    assert [entry.name for entry in agreed.for_models] == ["Deploy", "deploy"]


def test_an_untrusted_skill_is_published_only_under_its_own_name(
    write_skill: SkillWriter, bring: Callable[..., Path], roots: tuple[SkillRoot, ...]
) -> None:
    write_skill("deploy")
    bring("Deploy")
    bring("evil")
    published = {path: skill.name for path, skill in skill_paths(snapshot_of(roots)).items()}
    assert published == {("hub", "deploy"): "deploy", ("project", "evil"): "evil"}
    assert ("project", "Deploy", "deploy") in skill_paths(snapshot_of(roots, Trust.AGREED))
