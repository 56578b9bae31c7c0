"""A snapshot of skills that are made when they are asked for: it says what one of skills that are there says."""

from __future__ import annotations

import os
import string
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.skills.discovery import Ignored
from skillhub_mcp.skills.late_snapshot import UnreadSkills, late_snapshot
from skillhub_mcp.skills.model import FileStamp, Skill, Trust
from skillhub_mcp.skills.namesakes import Names
from skillhub_mcp.skills.roots import SkillRoot, Source
from skillhub_mcp.skills.snapshot import ScanReport, Snapshot, make_snapshot

ONE, TWO = "/one", "/two"
ROOTS = (SkillRoot(ONE, ONE, Source.HUB), SkillRoot(TWO, TWO, Source.PROJECT))

names = st.sampled_from(["pdf", "pdf-2", "PDF 2", "Pdf", "émile", "...", "", "x" * 70])


@st.composite
def libraries(draw: st.DrawFn) -> tuple[list[Skill], tuple[SkillRoot, ...]]:
    places = draw(
        st.lists(
            st.tuples(st.sampled_from([ONE, TWO]), st.text(string.ascii_lowercase + "-", min_size=1, max_size=3)),
            unique=True,
            max_size=10,
        )
    )
    skills = [
        skill(
            draw(names),
            f"{root}/{directory}",
            mtime_ns=draw(st.integers(0, 2)),
            content_hash=draw(st.sampled_from(["", "a", "b"])),
            disable_model_invocation=draw(st.booleans()),
        )
        for root, directory in places
    ]
    trust = draw(st.sampled_from(list(Trust)))
    return skills, (ROOTS[0], replace(ROOTS[1], trust=trust))


def skill(
    name: str, directory: str, *, mtime_ns: int = 0, content_hash: str = "", disable_model_invocation: bool = False
) -> Skill:
    return Skill(
        name=name,
        description=f"About {name}.",
        directory=directory,
        root=os.path.dirname(directory),
        category=None,
        tags=(),
        always_apply=False,
        allowed_tools=(),
        license=None,
        compatibility=None,
        metadata={},
        diagnostics=(),
        stamp=FileStamp(mtime_ns, 1, content_hash, 9),
        disable_model_invocation=disable_model_invocation,
    )


def report(roots: tuple[SkillRoot, ...] = ROOTS) -> ScanReport:
    return ScanReport(roots, 0, (), (), (), Ignored(), 0.0)


def unread(skills: Sequence[Skill], made: list[str]) -> UnreadSkills:
    def make(numbers: Sequence[int]) -> Iterable[Skill]:
        made.extend(skills[number].directory for number in numbers)
        return [skills[number] for number in numbers]

    flagged = {number for number, one in enumerate(skills) if one.disable_model_invocation}
    return UnreadSkills([one.name for one in skills], [one.directory for one in skills], flagged, make)


@pytest.mark.slow
@given(libraries())
def test_it_says_what_a_snapshot_of_the_same_skills_says(library: tuple[list[Skill], tuple[SkillRoot, ...]]) -> None:
    skills, roots = library
    made: list[str] = []
    late, now = late_snapshot(unread(skills, made), report(roots)), make_snapshot(skills, report(roots))
    assert late.choosable == now.choosable
    asked = {one.name for one in skills} | {one.alias for one in skills} | {one.directory for one in skills}
    for text in asked | {f"{name}@{source.value}" for name in asked for source in Source} | {"nothing"}:
        assert list(late.named(text)) == list(now.named(text))
        assert list(late.exactly(text)) == list(now.exactly(text))
        assert Names(late).find(text) == Names(now).find(text)
        assert late.by_directory(text) == now.by_directory(text)
    for one in now.everything:
        assert Names(late).handle(late.by_directory(one.directory) or one) == Names(now).handle(one)
        assert late.rank(one) == now.rank(one)
        assert late.namesakes(one) == now.namesakes(one)
    assert late.digest == now.digest
    for field in fields(Snapshot):
        of_late, of_now = getattr(late, field.name), getattr(now, field.name)
        assert (list(of_late) if isinstance(of_now, tuple) else of_late) == (
            list(of_now) if isinstance(of_now, tuple) else of_now
        )
    # Each was made once, and is the same wherever it is found.
    assert len(made) == len(set(made)) == len(skills)
    assert all(late.by_directory(one.directory) is one for one in late.everything)


def test_only_what_is_asked_for_is_made_and_what_shares_its_name_or_has_another_alias() -> None:
    made: list[str] = []
    several = [skill(f"plain-{number}", f"{ONE}/plain-{number}") for number in range(6)]
    several += [skill("same", f"{ONE}/same"), skill("same", f"{ONE}/other"), skill("Odd Name", f"{ONE}/odd")]
    snapshot = late_snapshot(unread(several, made), report())
    assert sorted(made) == [f"{ONE}/odd", f"{ONE}/other", f"{ONE}/same"]
    assert (len(snapshot.skills), len(snapshot.everything), len(snapshot.choosable)) == (8, 9, 8)
    (found,) = snapshot.named("plain-3")
    assert found is snapshot.by_directory(f"{ONE}/plain-3")
    assert made[3:] == [f"{ONE}/plain-3"]
    assert len(list(snapshot.everything)) == len(made) == len(several)


def test_the_parts_of_an_order_are_those_of_the_whole() -> None:
    several = [skill(f"plain-{number}", f"{ONE}/plain-{number}") for number in (3, 1, 2)]
    everything = late_snapshot(unread(several, []), report()).everything
    whole = list(everything)
    assert [one.name for one in whole] == ["plain-1", "plain-2", "plain-3"]
    assert (everything[0], everything[-1], everything[1:], list(reversed(everything))) == (
        whole[0],
        whole[-1],
        whole[1:],
        whole[::-1],
    )
