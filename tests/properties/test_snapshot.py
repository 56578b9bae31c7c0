"""What is made of what was there before and what changed is the same as what is made of everything."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.skills.admission import LENIENT, STRICT
from skillhub_mcp.skills.model import FileStamp, Skill, Trust
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.rules import violation
from skillhub_mcp.skills.scanner import CachedSkillFile, Scan, ScanCache, scan_from_cache

ROOTS = (SkillRoot("/hub", "hub"), SkillRoot("/mine", "mine", trust=Trust.AWAITED), SkillRoot("/other", "other"))
DIRECTORIES = [f"{root.path}/{name}" for root in ROOTS for name in ("a", "b", "pdf", "c")]
NAMES = ("a", "pdf", "PDF tools", "pdf-tools", "Pdf  Tools", "!?")

entries = st.one_of(
    st.none(),
    st.tuples(st.sampled_from(NAMES), st.integers(1, 3), st.sampled_from("xyz"), st.booleans(), st.booleans()),
)
changes = st.dictionaries(st.sampled_from(DIRECTORIES), entries, max_size=4)


def entry(directory: str, name: str, mtime: int, content: str, readable: bool, strict: bool) -> CachedSkillFile:
    root = directory.rpartition("/")[0]
    stamp = FileStamp(mtime, 1, content * 64, 9)
    found = () if strict else (violation("key-unknown", "it is"),)
    if not readable:
        return CachedSkillFile(root, stamp, None, (violation("file-unreadable", "it is"),))
    skill = Skill(name, "d", directory, root, None, (), False, (), None, None, {}, found, stamp)
    return CachedSkillFile(root, stamp, skill, found)


def after(memory: ScanCache, change: dict[str, tuple[str, int, str, bool, bool] | None]) -> ScanCache:
    changed = {path: None if own is None else entry(path, *own) for path, own in change.items()}
    return {path: own for path, own in {**memory, **changed}.items() if own is not None}


@given(st.dictionaries(st.sampled_from(DIRECTORIES), entries), st.lists(changes, min_size=1, max_size=4), st.booleans())
def test_a_snapshot_that_follows_changes_is_the_one_made_anew(
    first: dict[str, tuple[str, int, str, bool, bool] | None],
    following: list[dict[str, tuple[str, int, str, bool, bool] | None]],
    strict: bool,
) -> None:
    admission = STRICT if strict else LENIENT
    memory = after({}, first)
    before = Scan(scan_from_cache(ROOTS, memory=memory, admission=admission), memory, 0, False, admission)
    for change in following:
        memory = after(memory, change)
        assert before.snapshot.digest
        followed = scan_from_cache(ROOTS, memory=memory, admission=admission, before=before)
        anew = scan_from_cache(ROOTS, memory=memory, admission=admission)
        assert followed == anew
        assert followed.digest == anew.digest
        # What did not change are the same objects.
        kept = [skill for skill in before.snapshot.everything if followed.by_directory(skill.directory) is skill]
        assert len(kept) >= len(before.snapshot.everything) - len(change)
        before = replace(before, snapshot=followed, memory=memory)
