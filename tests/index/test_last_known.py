"""A large library before its files have been looked at: what is published answers, and what is used is looked at."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.hubs import hub_of
from tests.index.test_live_index import LONG, eventually

from skillhub_mcp.errors import SkillNotFound
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index import last_known, live_index, state, sync
from skillhub_mcp.index.indexer import Indexer
from skillhub_mcp.index.live_index import LiveIndex
from skillhub_mcp.server.http.readiness import readiness
from skillhub_mcp.skills import discovery, scanner
from skillhub_mcp.skills.discovery import Walk
from skillhub_mcp.skills.roots import SkillRoot

Writer = Callable[..., Path]


@pytest.fixture
def library(hub_environment: dict[str, str], write_skill: Writer) -> dict[str, str]:
    """A library with an index, and nobody who serves it."""
    write_skill("walrus", "About walruses.", body="As it was.\n", files={"notes.txt": "N"}, directory="sea/walrus")
    write_skill("bread", "About bread.", directory="kitchen/bread")
    write_skill("secret", "About walruses that only people may choose.", directory="sea/secret")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    return hub_environment


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch, skills_dir: Path) -> Iterator[threading.Event]:
    """Have two skills be many, and every walk over all of them wait until this is set."""
    may_walk, walk = threading.Event(), discovery.walk_roots

    def wait_and_walk(roots: tuple[SkillRoot, ...], *known: Any) -> Walk:
        if any(root.path == str(skills_dir) for root in roots):
            assert may_walk.wait(LONG)
        return walk(roots, *known)

    monkeypatch.setattr(scanner, "walk_roots", wait_and_walk)
    monkeypatch.setattr(last_known, "LARGE", 2)
    monkeypatch.setattr(live_index, "_WATCHES_SECONDS", 0.0)
    monkeypatch.setattr(live_index, "_MIN_SYNC_INTERVAL_SECONDS", 0.05)
    yield may_walk
    may_walk.set()


def names(hub: SkillHub, query: str) -> list[str]:
    return sorted(hit.handle for hit in hub.search(query).hits)


def test_everything_is_answered_before_the_files_have_been_looked_at(
    library: dict[str, str], walks: threading.Event
) -> None:
    with hub_of(library, background=True) as hub:
        assert [skill.name for skill in hub.skills()] == ["bread", "secret", "walrus"]
        assert hub.load("walrus").instructions == "As it was.\n"
        assert hub.read_file("walrus", "notes.txt").content == "N"
        assert hub.peek() is None
        assert names(hub, "walruses") == ["secret", "walrus"]
        assert readiness(hub).status_code == 200
        assert not hub._live.looked
        walks.set()


@pytest.mark.slow
def test_a_skill_that_was_changed_meanwhile_is_loaded_and_shown_as_it_is(
    library: dict[str, str], walks: threading.Event, write_skill: Writer
) -> None:
    with hub_of(library, background=True) as hub:
        assert names(hub, "walruses") == ["secret", "walrus"]
        write_skill("walrus", "About seals.", body="As it is.\n", directory="sea/walrus")
        write_skill("secret", "Nothing.", extra="disable-model-invocation: true\n", directory="sea/secret")
        loaded = hub.load("walrus")
        assert (loaded.skill.description, loaded.instructions) == ("About seals.", "As it is.\n")
        # Its row still says walruses; what is shown, and that the other is shown to nobody, is what the files say.
        assert [(hit.handle, hit.skill.description) for hit in hub.search("walruses").hits] == [
            ("walrus", "About seals.")
        ]
        walks.set()
        eventually(lambda: names(hub, "seals"), ["walrus"])


@pytest.mark.parametrize("reads_all", [True, False], ids=["all entries are read", "only those of a name are"])
def test_a_command_that_names_a_skill_looks_at_all_files_only_where_it_does_not_find_it(
    library: dict[str, str],
    walks: threading.Event,
    write_skill: Writer,
    monkeypatch: pytest.MonkeyPatch,
    reads_all: bool,
) -> None:
    monkeypatch.setattr(sync, "LARGE", 2)
    monkeypatch.setattr(state, "_MANY_BYTES", 1 << 30 if reads_all else 0)
    with hub_of(library) as hub:
        assert hub.load("bread").instructions
        assert not hub._live.looked
        assert isinstance(hub._live, LiveIndex)
        assert (hub._live._known is not None) == reads_all
        assert hub.load("walrus").instructions == "As it was.\n"
        write_skill("walrus", "About seals.", body="As it is.\n", directory="sea/walrus")
        write_skill("new", body="New.\n", directory="kitchen/new")
        write_skill("deep", body="Deep.\n", directory="a/b/deep")
        assert [hub.load(name).instructions for name in ("walrus", "new", "walrus@hub")] == [
            "As it is.\n",
            "New.\n",
            "As it is.\n",
        ]
        assert [file.path for file in hub.list_files("bread")[0]] == ["SKILL.md"]
        walks.set()
        assert hub.load("deep").instructions == "Deep.\n"
        assert hub._live.looked
        assert [skill.name for skill in hub.skills()] == ["bread", "deep", "new", "secret", "walrus"]


def test_a_command_that_lists_skills_has_looked_at_all_files(
    library: dict[str, str], walks: threading.Event, write_skill: Writer, skills_dir: Path
) -> None:
    walks.set()
    write_skill("deep", directory="a/b/deep")
    with hub_of(library) as hub:
        assert hub.load("bread")
        assert "deep" in [skill.name for skill in hub.skills()]
    shutil.rmtree(skills_dir / "sea/walrus")
    with hub_of(library) as hub, pytest.raises(SkillNotFound):
        hub.load("walrus")


def test_bytes_of_a_skill_that_is_gone_are_not_looked_for(
    library: dict[str, str], walks: threading.Event, skills_dir: Path
) -> None:
    with hub_of(library, background=True) as hub:
        walrus = hub.find("walrus")
        shutil.rmtree(skills_dir / "sea/walrus")
        with pytest.raises(SkillNotFound):
            hub.read_bytes(walrus, "SKILL.md", max_bytes=1_000)
        assert not hub._live.looked
        walks.set()


@pytest.mark.parametrize("searched", [True, False])
def test_a_new_and_a_moved_skill_are_found_where_they_would_be(
    library: dict[str, str], walks: threading.Event, write_skill: Writer, skills_dir: Path, *, searched: bool
) -> None:
    with hub_of(library, background=True) as hub:
        assert hub.load("bread")
        if searched:
            assert names(hub, "bread") == ["bread"]
        write_skill("new", body="New.\n", directory="kitchen/new")
        write_skill("top", body="Top.\n")
        write_skill("deep", body="Deep.\n", directory="a/b/deep")
        (skills_dir / "sea/walrus").rename(skills_dir / "kitchen/walrus")
        assert [hub.load(name).instructions for name in ("new", "top", str(skills_dir / "a/b/deep"))] == [
            "New.\n",
            "Top.\n",
            "Deep.\n",
        ]
        assert hub.load("walrus").skill.directory == str(skills_dir / "kitchen/walrus")
        assert not hub._live.looked
        walks.set()


def test_a_skill_that_is_nowhere_is_waited_for_a_moment_only(
    library: dict[str, str], walks: threading.Event, skills_dir: Path
) -> None:
    with hub_of(library, background=True) as hub:
        with pytest.raises(SkillNotFound):
            hub.load("no-such-skill")
        shutil.rmtree(skills_dir / "sea/walrus")
        with pytest.raises(SkillNotFound):
            hub.load("walrus")
        assert names(hub, "walruses") == ["secret"]
        assert not hub._live.looked
        walks.set()


@pytest.mark.slow
def test_changes_are_told_and_stamps_are_kept_once_the_files_have_been_looked_at(
    library: dict[str, str], walks: threading.Event, skills_dir: Path, write_skill: Writer
) -> None:
    changes = threading.Event()
    write_skill("bread", "About bread.", directory="kitchen/bread")
    with hub_of(library, background=True) as hub:
        hub.on_change(changes.set)
        assert names(hub, "walruses") == ["secret", "walrus"]
        shutil.rmtree(skills_dir / "sea/secret")
        write_skill("gull", "About gulls.", directory="sea/gull")
        walks.set()
        assert changes.wait(LONG)
        eventually(lambda: names(hub, "gulls"), ["gull"])
        assert [skill.name for skill in hub.skills()] == ["bread", "gull", "walrus"]


@pytest.mark.slow
def test_what_a_project_brings_is_looked_at_first(
    library: dict[str, str], walks: threading.Event, write_skill: Writer, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    root = project / ".agents" / "skills"
    write_skill("ours", "About walruses of ours.", root=root)
    environment = {
        **library,
        "SKILLHUB_PROJECT_ROOT": str(project),
        "SKILLHUB_TRUST": "all",
        "SKILLHUB_ROOTS": "project,hub",
    }
    walks.set()
    with hub_of(environment) as hub:
        hub.refresh()
    walks.clear()
    write_skill("ours", "About walruses.", extra="disable-model-invocation: true\n", root=root)
    write_skill("theirs", "About walruses of theirs.", root=root)
    with hub_of(environment, background=True) as hub:
        offered = {skill.name: skill.disable_model_invocation for skill in hub.skills()}
        assert offered == {"bread": False, "secret": False, "walrus": False, "ours": True, "theirs": False}
        assert "ours" not in names(hub, "walruses")
        assert not hub._live.looked
        walks.set()


@pytest.mark.parametrize("gone", ["state", "root", "index", "empty"])
def test_without_an_index_that_answers_for_what_is_there_the_files_are_looked_at_first(
    library: dict[str, str], walks: threading.Event, tmp_path: Path, skills_dir: Path, gone: str
) -> None:
    if gone == "state":
        (tmp_path / "db" / "index_state.json").unlink()
    elif gone == "index":
        shutil.rmtree(tmp_path / "db" / "skills.lancedb")
    else:
        skills_dir.rename(tmp_path / "elsewhere")
        if gone == "empty":
            skills_dir.mkdir()
    walks.set()
    with hub_of(library, background=True) as hub:
        there = ["bread", "secret", "walrus"]
        assert [skill.name for skill in hub.skills()] == there
        assert hub._live.looked
        assert bool(hub.snapshot().report.unavailable) is (gone in ("root", "empty"))


def test_an_index_that_cannot_be_opened_is_written_anew_before_it_answers(
    library: dict[str, str], walks: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, open_index = [], Indexer.open

    def fail_once(self: Indexer, *args: Any) -> object:
        opened.append(args)
        if len(opened) == 1:
            raise RuntimeError("no such thing")
        return open_index(self, *args)

    monkeypatch.setattr(Indexer, "open", fail_once)
    walks.set()
    with hub_of(library, background=True) as hub:
        assert names(hub, "walruses") == ["secret", "walrus"]
        assert hub._live.looked


@pytest.mark.slow
def test_a_command_waits_until_all_skills_are_known_that_it_may_not_read(
    library: dict[str, str], walks: threading.Event
) -> None:
    with hub_of(library, background=True) as hub:
        assert hub.load("walrus")
        waited = threading.Thread(target=hub._live.wait_until_looked)
        waited.start()
        assert not hub._live.looked
        assert waited.is_alive()
        walks.set()
        waited.join(LONG)
        assert hub._live.looked
