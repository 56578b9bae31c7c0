"""What the keys of an index's rows mean: paths have the texts that are in memory already."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator

from skillhub_mcp.index.row_keys import paths_in
from skillhub_mcp.skills.model import FileStamp, Skill
from skillhub_mcp.skills.scanner import CachedSkillFile

ROOT = "/skills"


def entry(number: int) -> CachedSkillFile:
    stamp = FileStamp(1, 2, "c0ffee", 3)
    skill = Skill(
        name=f"s{number}", description="", directory=f"{ROOT}/s{number}", root=ROOT, category=None, tags=(),
        always_apply=False, allowed_tools=(), license=None, compatibility=None, metadata={}, diagnostics=(),
        stamp=stamp,
    )  # fmt: skip
    return CachedSkillFile(ROOT, stamp, skill, ())


def memory(count: int) -> dict[str, CachedSkillFile]:
    return {one.skill.directory: one for one in map(entry, range(count)) if one.skill is not None}


def again(paths: list[str]) -> list[str]:
    """Return the same paths as other texts."""
    return ["".join(path) for path in map(list, paths)]


class NeverWalked(UserDict[str, CachedSkillFile]):
    def __iter__(self) -> Iterator[str]:
        raise AssertionError("gone through")


def test_paths_that_are_in_memory_have_its_texts_and_others_stay_in_their_places() -> None:
    known = memory(4)
    own = list(known)
    for asked in (own, own[1:3], [*own[:2], f"{ROOT}/new", *own[3:]], [*reversed(own)]):
        found = paths_in(known)(again(asked))
        assert found == asked
        assert all(any(one is text for text in own) for one in found if one in known)


def test_a_few_rows_are_not_held_against_all_that_is_in_memory() -> None:
    assert paths_in(NeverWalked(memory(4)))([f"{ROOT}/s2"]) == [f"{ROOT}/s2"]
