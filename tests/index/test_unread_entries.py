"""A search from a shell over a large library: no value is made of the skills that nobody asks for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.hubs import hub_of

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index import state, state_entries, sync
from skillhub_mcp.index.indexer import Indexer
from skillhub_mcp.index.live_index import LiveIndex
from skillhub_mcp.index.state import IndexState, load_state, load_unread
from skillhub_mcp.index.sync import IndexSync, View
from skillhub_mcp.index.unread_entries import UnreadEntries
from skillhub_mcp.skills import scanner
from skillhub_mcp.skills.admission import LENIENT, STRICT
from skillhub_mcp.skills.discovery import Walk, walk_roots
from skillhub_mcp.skills.model import Skill, unread_skill
from skillhub_mcp.skills.roots import SkillRoot, Source

Writer = Callable[..., Path]

pytestmark = [
    pytest.mark.usefixtures("some_rows_are_many"),
    pytest.mark.skipif(not hasattr(os, "pread"), reason="all is read at once where a file has no places"),
]

QUESTIONS = ("walruses", "feed a walrus", "walrus", "the seal", "Sea Lion", "sea-lion", "of people", "bread")
LONG_AGO = 1_600_000_000


@pytest.fixture
def library(hub_environment: dict[str, str], write_skill: Writer, skills_dir: Path, tmp_path: Path) -> dict[str, str]:
    """A library with an index: of all kinds that a skill may be of."""
    for number in range(5):
        write_skill(f"walrus-{number}", f"Feeds walruses, the {number}th of them.", directory=f"sea/walrus-{number}")
    write_skill("seal", "Feeds the seal.", directory="a/seal")
    write_skill("seal", "Feeds the young seal.", directory="b/young")
    write_skill("Sea Lion", "Feeds sea lions, walruses and people.", directory="sea/lion")
    write_skill("crab", "Feeds walruses, which people alone may choose.", extra="disable-model-invocation: true")
    write_skill("tagged", "Feeds tagged walruses.", category="sea", tags="tusks, disable_model_invocation")
    write_skill("broken", frontmatter="name: [")
    write_skill("bread", "About bread.", root=tmp_path / "elsewhere")
    (skills_dir / "linked").symlink_to(tmp_path / "elsewhere" / "bread")
    written_long_ago(skills_dir, tmp_path / "elsewhere")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    assert list(tmp_path.glob("db/*.columns-*"))
    return hub_environment


def written_long_ago(*below: Path) -> None:
    """Nothing is so new that a second write could hide."""
    for file in (file for place in below for file in place.rglob("SKILL.md")):
        os.utime(file, (LONG_AGO, LONG_AGO))


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether what was published was enough, each time that somebody searched first."""
    found: list[bool] = []
    unchanged = IndexSync.unchanged

    def noted(own: IndexSync) -> View | None:
        view = unchanged(own)
        found.append(view is not None)
        return view

    monkeypatch.setattr(IndexSync, "unchanged", noted)
    return found


def answers(hub: SkillHub) -> list[Any]:
    """What a shell may ask of a library, and is told."""
    told: list[Any] = [hub.search(question, explain=True, limit=20) for question in QUESTIONS]
    told += [hub.search("walruses", source=source) for source in Source]
    told += [hub.search("walruses", category="sea"), hub.search("walruses", tags=["tusks"]), hub.search("")]
    told += [hub.listed(), hub.counts(), hub.skills(), hub.why_nothing(category="nothing"), hub.snapshot().digest]
    snapshot = hub.snapshot()
    told += [list(snapshot.skills), list(snapshot.everything), snapshot.report, snapshot.contested]
    told += [hub.load(name) for name in ("seal", "sea-lion") if hub.handle_named(name) is not None]
    told += [hub.find(one.directory) for one in snapshot.everything]
    return told


def answered(environment: dict[str, str]) -> list[Any]:
    with hub_of(environment) as hub:
        return answers(hub)


def looked_at_each(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    with monkeypatch.context() as patch:
        patch.setattr(IndexSync, "unchanged", lambda _: None)
        return answered(environment)


def test_every_answer_is_the_one_that_a_look_at_every_entry_gives(
    library: dict[str, str], views: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answered(library) == looked_at_each(library, monkeypatch)
    assert views == [True]


def test_no_file_is_opened_and_only_what_is_shown_is_made(
    library: dict[str, str], views: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def noted(name: str, *given: Any) -> Skill:
        made.append(name)
        return unread_skill(name, *given)

    monkeypatch.setattr(state_entries, "unread_skill", noted)
    monkeypatch.setattr(scanner, "_read", None)
    with hub_of(library) as hub:
        (first,) = hub.search("the 3th of them", limit=1).hits
        assert first.handle == "walrus-3"
    assert views == [True]
    # Of the others, those that share a name or have another alias, and what may be flagged.
    assert "walrus-3" in made
    assert "tagged" not in made
    assert len(made) < 9


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", ["edited", "touched", "added", "removed", "renamed", "root gone", "link", "new root"]
)
def test_where_a_file_is_not_as_it_was_everything_is_looked_at(
    library: dict[str, str],
    views: list[bool],
    monkeypatch: pytest.MonkeyPatch,
    write_skill: Writer,
    skills_dir: Path,
    tmp_path: Path,
    change: str,
) -> None:
    if change == "edited":
        write_skill("walrus-1", "Feeds narwhals.", directory="sea/walrus-1")
    elif change == "touched":
        os.utime(skills_dir / "sea" / "walrus-1" / "SKILL.md", (LONG_AGO + 1, LONG_AGO + 1))
    elif change == "added":
        write_skill("walrus-9", "Feeds walruses.", directory="sea/walrus-9")
    elif change == "removed":
        shutil.rmtree(skills_dir / "sea" / "walrus-1")
    elif change == "renamed":
        (skills_dir / "sea" / "walrus-1").rename(skills_dir / "sea" / "walrus-one")
    elif change == "root gone":
        skills_dir.rename(tmp_path / "away")
    elif change == "link":
        (skills_dir / "linked").unlink()
        (skills_dir / "linked").symlink_to(skills_dir / "a" / "seal")
    else:
        write_skill("walrus-9", "Feeds walruses.", root=tmp_path / "more")
        library["SKILLS_DIR"] += os.pathsep + str(tmp_path / "more")
    found = answered_without_times(library)
    assert views == [False]
    with monkeypatch.context() as patch:
        patch.setattr(IndexSync, "unchanged", lambda _: None)
        assert found == answered_without_times(library)


def test_the_walk_that_found_a_change_is_the_one_that_is_gone_on_from(
    library: dict[str, str], views: list[bool], monkeypatch: pytest.MonkeyPatch, write_skill: Writer
) -> None:
    walks: list[int] = []

    def counted(roots: tuple[SkillRoot, ...], *known: Any) -> Walk:
        walks.append(len(roots))
        return walk_roots(roots, *known)

    monkeypatch.setattr(scanner, "walk_roots", counted)
    monkeypatch.setattr(sync, "walk_roots", counted)
    write_skill("walrus-9", "Feeds walruses.", directory="sea/walrus-9")
    with hub_of(library) as hub:
        assert "walrus-9" in {hit.handle for hit in hub.search("walruses", limit=20).hits}
        assert (views, walks) == ([False], [1])
        write_skill("walrus-8", "Feeds walruses.", directory="sea/walrus-8")
        hub.refresh()
        assert "walrus-8" in {hit.handle for hit in hub.search("walruses", limit=20).hits}


def answered_without_times(environment: dict[str, str]) -> list[tuple[str, str, tuple[str, ...]]]:
    with hub_of(environment) as hub:
        hits = [hit for question in QUESTIONS for hit in hub.search(question, limit=20).hits]
        return [(hit.handle, hit.skill.description, hit.copies) for hit in hits]


def test_the_second_search_after_a_change_finds_all_as_it_was_published(
    library: dict[str, str], views: list[bool], monkeypatch: pytest.MonkeyPatch, write_skill: Writer, skills_dir: Path
) -> None:
    monkeypatch.setattr(state, "_FEW_BYTES", 1 << 16)
    write_skill("walrus-1", "Feeds narwhals.", directory="sea/walrus-1")
    write_skill("narwhal", "Feeds narwhals, too.", extra="disable-model-invocation: true")
    write_skill("seal", frontmatter="name: [", directory="b/young")
    shutil.rmtree(skills_dir / "sea" / "walrus-2")
    written_long_ago(skills_dir)
    answered(library)
    assert answered(library) == looked_at_each(library, monkeypatch)
    assert views == [False, True]


def test_of_several_roots_those_that_are_searched_answer(
    library: dict[str, str], views: list[bool], monkeypatch: pytest.MonkeyPatch, write_skill: Writer, tmp_path: Path
) -> None:
    one = dict(library)
    for number in range(4):
        write_skill(f"orca-{number}", "Feeds orcas, and no walruses.", root=tmp_path / "more")
    write_skill("seal", "Feeds the old seal.", root=tmp_path / "more")
    written_long_ago(tmp_path / "more")
    library["SKILLS_DIR"] += os.pathsep + str(tmp_path / "more")
    answered(library)
    views.clear()
    for environment in (library, one, library | {"SKILLS_DIR": str(tmp_path / "more")}):
        assert answered(environment) == looked_at_each(environment, monkeypatch)
    assert views == [True, True, True]


def test_a_directory_below_two_roots_is_looked_for_among_all(
    library: dict[str, str], views: list[bool], monkeypatch: pytest.MonkeyPatch, skills_dir: Path
) -> None:
    # Of two servers, each of which has the other's skills, too.
    answered(library | {"SKILLS_DIR": str(skills_dir / "sea")})
    library["SKILLS_DIR"] += os.pathsep + str(skills_dir / "sea")
    assert answered(library) == looked_at_each(library, monkeypatch)
    assert views == [False, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", [{"SKILLHUB_STRICT": "true"}, {"SKILLHUB_SKIP_AUTO_REINDEX": "1"}, {"EMBEDDING_PROVIDER": "local"}]
)
def test_who_serves_other_skills_or_has_none_yet_looks_at_each(
    library: dict[str, str], views: list[bool], monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    assert answered(library | given) == looked_at_each(library | given, monkeypatch)
    assert views == [False]


@pytest.mark.parametrize(
    "given",
    [
        {"SKILLHUB_ENABLED_SKILLS": "walrus-1,seal,Sea Lion"},
        {"SKILLHUB_AUDIT": "block"},
        {"SKILLHUB_ENABLED_CATEGORIES": "sea"},
    ],
)
def test_who_is_kept_from_some_gets_the_same_answers(
    library: dict[str, str], views: list[bool], monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    assert answered(library | given) == looked_at_each(library | given, monkeypatch)
    assert views == [True]


def test_after_it_the_same_process_can_sync_and_has_what_is_new(
    library: dict[str, str], views: list[bool], write_skill: Writer
) -> None:
    with hub_of(library) as hub:
        assert len(hub.search("narwhals").hits) == 0
        strict = hub.registry_index(LENIENT)
        write_skill("narwhal", "Feeds narwhals.")
        hub.refresh()
        assert [hit.handle for hit in hub.search("narwhals").hits] == ["narwhal"]
        assert len(hub.registry_index(LENIENT).skills) == len(strict.skills) + 1
    assert views == [True]


def test_a_background_server_reads_all_of_it(library: dict[str, str], views: list[bool]) -> None:
    with hub_of(library, background=True) as hub:
        assert hub.search("walruses").hits
        assert isinstance(hub._live, LiveIndex)
    assert views == []


def test_a_state_that_is_published_during_the_walk_is_walked_again(
    library: dict[str, str],
    views: list[bool],
    monkeypatch: pytest.MonkeyPatch,
    write_skill: Writer,
    skills_dir: Path,
) -> None:
    write_skill("walrus-9", "Feeds walruses.", directory="sea/walrus-9")
    state_now = Indexer.state
    first: list[Indexer] = []

    def published_meanwhile(indexer: Indexer) -> IndexState | None:
        if not first:
            first.append(indexer)
            shutil.rmtree(skills_dir / "sea" / "walrus-1")
            write_skill("walrus-7", "Feeds walruses.", directory="sea/walrus-7")
            with hub_of(library) as other:
                other.refresh()
        return state_now(indexer)

    monkeypatch.setattr(Indexer, "state", published_meanwhile)
    with hub_of(library) as hub:
        handles = {hit.handle for hit in hub.search("walruses", limit=20).hits}
    assert {"walrus-7", "walrus-9"} <= handles
    assert "walrus-1" not in handles
    assert views == [False]


def test_what_another_process_published_since_is_found_by_the_next_sync(
    library: dict[str, str], views: list[bool], write_skill: Writer
) -> None:
    with hub_of(library) as hub:
        assert not hub.search("narwhals").hits
        write_skill("narwhal", "Feeds narwhals.")
        with hub_of(library) as other:
            other.refresh()
        # These two read the state of now, and the view is of the index before.
        hub.registry_index(STRICT)
        hub.damages()
        hub.refresh()
        assert [hit.handle for hit in hub.search("narwhals").hits] == ["narwhal"]
    assert views[0]


def damaged_line(place: Path, key: str, end: bytes) -> None:
    """Exchange the end of a line, and of nothing else, for other bytes; so many that all others begin as they did."""
    written = place.read_bytes()
    at = written.index(f'["hub/{key}",'.encode())
    stop = written.index(b"\n", at)
    line = written[at:stop]
    kept = line[: line.rindex(b",")]
    rest = len(line) - len(kept) - len(end)
    assert rest >= 0
    place.write_bytes(written[:at] + kept + end.rjust(rest + len(end)) + written[stop:])


def test_one_damaged_line_is_no_matter_of_a_search_for_another(
    library: dict[str, str], views: list[bool], tmp_path: Path
) -> None:
    (place,) = (tmp_path / "db").glob("*.entries-*")
    # It shares its name, and is made for that whatever is asked.
    damaged_line(place, "b/young", b"]")
    with hub_of(library) as hub:
        assert [hit.handle for hit in hub.search("bread").hits] == ["bread"]
    assert views == [False]


@pytest.mark.parametrize("end", [b"]", b",5]", b",[]", b"", b",{}"])
def test_a_skill_whose_line_is_damaged_is_told_as_lost(library: dict[str, str], tmp_path: Path, end: bytes) -> None:
    (place,) = (tmp_path / "db").glob("*.entries-*")
    with hub_of(library) as hub:
        hub.search("bread")
        damaged_line(place, "sea/walrus-3", end)
        with pytest.raises(IndexUnavailable, match="is lost"):
            hub.search("the 3th of them")


# The file


@pytest.fixture
def published(library: dict[str, str], tmp_path: Path, skills_dir: Path) -> tuple[IndexState, UnreadEntries]:
    found = load_unread(str(tmp_path / "db" / "index_state.json"), [str(skills_dir)])
    assert found is not None
    return found


def test_it_says_of_each_file_what_the_state_says(published: tuple[IndexState, UnreadEntries], tmp_path: Path) -> None:
    whole = load_state(str(tmp_path / "db" / "index_state.json"))
    assert whole is not None
    known = published[1].known
    assert set(known) == set(whole.memory)
    for place, one in whole.memory.items():
        stamp, seen = one.stamp, known[place].stamp
        assert (known[place].root, known[place].name) == (one.root, one.name)
        assert (seen.mtime_ns, seen.size, seen.ctime_ns, seen.read_at_ns) == (
            stamp.mtime_ns,
            stamp.size,
            stamp.ctime_ns,
            stamp.read_at_ns,
        )
    assert [one.directory.rpartition("/")[2] for one in published[1].refused] == ["broken"]
    skills = published[1].skills
    made = {one.directory: one for one in skills.make(range(len(skills.names)))}
    assert made == {place: one.skill for place, one in whole.memory.items() if one.skill is not None}
    assert [made[skills.directories[number]].name for number in skills.unchoosable] == ["crab"]


@pytest.mark.slow
@pytest.mark.parametrize("changed", [False, True], ids=["unchanged", "changed"])
@pytest.mark.parametrize(
    "lost", ["columns gone", "columns cut", "columns later", "lines cut", "lines a-little", "lines gone", "state cut"]
)
def test_a_damaged_file_is_left_to_who_reads_all(
    library: dict[str, str],
    views: list[bool],
    monkeypatch: pytest.MonkeyPatch,
    write_skill: Writer,
    tmp_path: Path,
    lost: str,
    changed: bool,
) -> None:
    what, _, how = lost.partition(" ")
    (place,) = (tmp_path / "db").glob(
        "index_state.json" if what == "state" else f"*.{what.replace('lines', 'entries')}-*"
    )
    if how == "gone":
        place.unlink()
    elif how == "later":
        place.write_bytes(place.read_bytes().replace(b'"format": 1', b'"format": 2'))
    else:
        size = place.stat().st_size
        place.write_bytes(place.read_bytes()[: size - 10 if how == "a-little" else size // 2])
    if changed:
        write_skill("walrus-9", "Feeds walruses.", directory="sea/walrus-9")
    found = answered_without_times(library)
    assert views == [False]
    with monkeypatch.context() as patch:
        patch.setattr(IndexSync, "unchanged", lambda _: None)
        assert found == answered_without_times(library)
