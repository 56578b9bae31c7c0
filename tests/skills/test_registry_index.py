"""The registry index of a snapshot: entries, conflicts and counts, restricted by source and by filter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.judges import Offering

from skillhub_mcp.skills.admission import REGISTRY_STRICT
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.registry import (
    RegistryIndex,
    ScannedRoot,
    build_registry_index,
)
from skillhub_mcp.skills.roots import Source, distinct_roots
from skillhub_mcp.skills.scanner import scan
from skillhub_mcp.skills.snapshot import Snapshot

MtimeSetter = Callable[[Path, int], None]
SECOND = 1_000_000_000


@pytest.fixture
def two_roots(tmp_path: Path, write_skill: SkillWriter, written_at: MtimeSetter) -> Snapshot:
    """A project and a hub that share a name; the hub has it twice, and a broken skill."""
    for place, (age, root, name, directory) in enumerate(
        [
            (1, "project", "same", "same"),
            (5, "project", "own", "own"),
            (2, "hub", "same", "later"),
            (1, "hub", "same", "earlier"),
            (1, "hub", "other", "other"),
        ]
    ):
        skill = write_skill(name, root=tmp_path / root, directory=directory, extra=f"version: {place}")
        written_at(skill, age * 1_000 * SECOND)
    write_skill("broken", root=tmp_path / "hub", frontmatter="description: Nameless.")
    roots = distinct_roots(
        [
            (Source.PROJECT, str(tmp_path / "project")),
            (Source.USER, str(tmp_path / "missing")),
            (Source.HUB, str(tmp_path / "hub")),
        ]
    )
    return scan(roots, memory={}, admission=REGISTRY_STRICT, whole=False).snapshot


def summary(index: RegistryIndex) -> list[tuple[str, str]]:
    return [(entry.name, entry.meta.version or "") for entry in index.skills]


@pytest.mark.acceptance("S3-33", "S3-34", "S3-36")
def test_the_report_counts_found_skills_and_their_outcome_by_root(two_roots: Snapshot) -> None:
    report = build_registry_index(Names(two_roots)).report
    paths = [root.path for root in two_roots.report.roots]
    assert report.roots == (
        ScannedRoot(Source.PROJECT, paths[0], 1, exists=True, found=2),
        ScannedRoot(Source.USER, paths[1], 2, exists=False, found=0),
        ScannedRoot(Source.HUB, paths[2], 3, exists=True, found=4),
    )
    assert (report.found, report.valid) == (6, 3)
    # Every file is served, shadowed or refused.
    assert report.found == report.valid + len(report.conflicts) + len([p for p in report.ignored if p.rule])
    # A missing place of the user is not an error.
    assert report.ignored_counts == {"name-missing": 1}
    assert report.digest == two_roots.digest
    assert report.seconds == two_roots.report.seconds > 0


def test_forbidden_skills_are_in_no_entry_count_or_conflict(two_roots: Snapshot) -> None:
    index = build_registry_index(Names(two_roots, Offering(lambda skill: skill.name != "same")))
    assert summary(index) == [("other", "4"), ("own", "1")]
    assert (index.report.valid, index.report.conflicts) == (2, ())
    of_hub = build_registry_index(Names(two_roots, Offering(lambda skill: skill.name == "same")), source=Source.HUB)
    assert summary(of_hub) == [("same", "2")]


def test_a_name_with_a_source_prefix_is_first_found_by_its_full_name(tmp_path: Path, write_skill: SkillWriter) -> None:
    write_skill("'a@user'", root=tmp_path / "hub", directory="odd")
    write_skill("a", root=tmp_path / "user", directory="a")
    roots = distinct_roots([(Source.USER, str(tmp_path / "user")), (Source.HUB, str(tmp_path / "hub"))])
    snapshot = scan(roots, memory={}).snapshot
    odd = Names(snapshot).find("a@user")
    assert odd is not None
    assert odd.name == "a@user"
    assert all(Names(snapshot).find(Names(snapshot).handle(skill)) is skill for skill in snapshot.everything)


def test_a_report_for_one_caller_covers_only_their_skills(write_skill: SkillWriter, skills_dir: Path) -> None:
    roots = distinct_roots([(Source.HUB, str(skills_dir))])
    write_skill("own")
    write_skill("hidden")
    write_skill("broken", frontmatter="name: broken\ndescription: [")
    (skills_dir / "no-skill" / "SKILL.md").mkdir(parents=True)
    snapshot = scan(roots, memory={}, whole=False).snapshot
    whole = build_registry_index(Names(snapshot, Offering(lambda skill: skill.name == "own"))).report
    assert whole.found == 3
    assert whole.ignored
    own = build_registry_index(Names(snapshot, Offering(lambda skill: skill.name == "own")), whole=False).report
    assert (own.found, own.valid, [root.found for root in own.roots]) == (1, 1, [1])
    assert (own.ignored, own.ignored_counts) == ((), {})
    write_skill("hidden", "Something else.")
    again = scan(roots, memory={}, whole=False).snapshot
    assert again.digest != snapshot.digest
    # Changes to other skills do not concern this caller.
    changed = build_registry_index(Names(again, Offering(lambda skill: skill.name == "own")), whole=False)
    assert changed.report.digest == own.digest
