"""Looking for one skill in the file of entries finds who reading all of it finds, whatever is in the library."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillhub_mcp.index import state as state_module
from skillhub_mcp.index.state import IndexState, PublishedTable, RootState, load_named, load_state, save_state
from skillhub_mcp.skills.model import FileStamp, Skill, Trust
from skillhub_mcp.skills.namesakes import Names
from skillhub_mcp.skills.roots import SkillRoot, Source
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.skills.scanner import CachedSkillFile, scan_from_cache

ROOTS = (
    SkillRoot("/r/one", "/r/one", Source.HUB, 1),
    SkillRoot("/r/one/in", "/r/one/in", Source.USER, 2),
    SkillRoot("/r/two", "/r/two", Source.PROJECT, 3, trust=Trust.AWAITED),
)
WORDS = (
    "pdf",
    "PDF",
    "Pdf Tools",
    "pdf-tools",
    "pdf_tools",
    "été",
    "ÉTÉ",
    'a"b',
    "a\\b",
    'x],"pdf","y',
    "pdf@hub",
    "--",
)
names = st.one_of(st.sampled_from(WORDS), st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=5))
folders = st.sampled_from(("pdf", "a", "b/c", 'q"', "in", "in/pdf", "in/a", "é"))


@dataclass(frozen=True)
class OfSome:
    """A judge who hides and refuses some directories."""

    hidden: frozenset[str]
    refused: frozenset[str]

    def hides(self, skill: Skill, /) -> bool:
        return skill.directory in self.hidden

    def offers(self, skill: Skill, /) -> bool:
        return skill.directory not in self.hidden | self.refused


def entry(root: str, directory: str, name: str | None, time: int) -> CachedSkillFile:
    stamp = FileStamp(time, 1, "00", 9, time)
    found = (Diagnostic("rule", Severity.ERROR, 'of "],"pdf","', "", None),)
    if name is None:
        return CachedSkillFile(root, stamp, None, found)
    metadata = {"a": ["],", ["x"], "pdf", "b"]}
    skill = Skill(name, '],"pdf","', directory, root, None, ("],",), False, (), None, None, metadata, (), stamp)
    return CachedSkillFile(root, stamp, skill, ())


libraries = st.dictionaries(
    st.tuples(st.sampled_from(range(len(ROOTS))), folders), st.tuples(st.none() | names, st.integers(0, 3)), max_size=14
)


def state_of(library: Mapping[tuple[int, str], tuple[str | None, int]], before: IndexState | None = None) -> IndexState:
    roots = {}
    for number, root in enumerate(ROOTS):
        memory = {}
        for (of, folder), (name, time) in library.items():
            if of == number:
                place = f"{root.path}/{folder}"
                known = None if before is None else before.roots[root.path].memory.get(place)
                new = entry(root.path, place, name, time)
                memory[place] = known if known == new and known is not None else new
        roots[root.path] = RootState("0" * 64, 0, memory, f"{root.source.value}")
    return IndexState("db", "none", 1, "none", PublishedTable("skills", "x"), 1, roots)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    libraries,
    libraries,
    st.lists(st.tuples(st.sampled_from(range(len(ROOTS))), folders)),
    st.lists(st.one_of(names, st.builds("{}@{}".format, names, st.sampled_from(("hub", "user", "project"))))),
    st.sets(folders),
    st.sets(folders),
    st.integers(1, 4),
)
def test_a_skill_is_found_among_some_entries_as_among_all(
    library: dict[tuple[int, str], tuple[str | None, int]],
    later: dict[tuple[int, str], tuple[str | None, int]],
    gone: Sequence[tuple[int, str]],
    asked: Sequence[str],
    hidden: set[str],
    refused: set[str],
    many: int,
) -> None:
    paths = [root.path for root in ROOTS]
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_module, "_MANY_BYTES", 0)
        patch.setattr(os, "fsync", lambda _: None)
        path = os.path.join(place, "index_state.json")
        written, _ = save_state(path, state_of(library))
        after = {key: value for key, value in {**library, **later}.items() if key not in gone}
        appended, _ = save_state(path, state_of(after, written), before=written)
        assert appended.entries is not None
        with open(os.path.join(place, appended.entries.name), "ab") as torn:
            torn.write(b'["hub/pdf",1,2')
        whole = load_state(path)
        assert whole is not None
        every = scan_from_cache(ROOTS, memory=whole.memory_of(paths))
        away = (ROOTS[0].path, ROOTS[2].path)
        judge = OfSome(
            frozenset(f"{root}/{folder}" for root in away for folder in hidden),
            frozenset(f"{root}/{folder}" for root in paths for folder in refused),
        )
        among = Names(every, judge)
        for text in {*asked, *WORDS, *(f"{root}/pdf" for root in paths), f"{paths[0]}/in/SKILL.md"}:
            loaded = load_named(path, paths, (text,), many=many)
            if loaded is None:
                continue
            some = Names(scan_from_cache(ROOTS, memory=loaded[0].memory_of(paths)), judge)
            found = among.find(text)
            assert some.find(text) == found
            if found is not None:
                skill = some.find(text)
                assert skill is not None
                assert some.handle(skill) == among.handle(found)
                assert some.snapshot.source(skill) == every.source(found)


def test_few_of_many_entries_are_read(tmp_path: os.PathLike[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_module, "_MANY_BYTES", 0)
        path = os.path.join(tmp_path, "index_state.json")
        state, _ = save_state(path, state_of({(0, f"s{at}"): (f"s{at}", 1) for at in range(20)}))
        changed = state_of({(0, f"s{at}"): ("Renamed One" if at == 7 else f"s{at}", 1) for at in range(20)}, state)
        save_state(path, changed, before=state)
        for asked, found in (("s3", "/r/one/s3"), ("renamed-one", "/r/one/s7"), ("/r/one/s5", "/r/one/s5")):
            loaded = load_named(path, [ROOTS[0].path], (asked,), many=5)
            assert loaded is not None
            assert loaded[1] == {ROOTS[0].path}
            assert set(loaded[0].roots[ROOTS[0].path].memory) == {found}
        entries = next(name for name in os.listdir(tmp_path) if "entries" in name)
        os.truncate(os.path.join(tmp_path, entries), 200)
        assert load_named(path, [ROOTS[0].path], ("s3",), many=5) is None
