"""Entries are computed as soon as the skills are known, so that no request waits, and deleted with the skills."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.publishing.conftest import Later
from tests.publishing.publishers import publishing

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.entries import PublishedEntry
from skillhub_mcp.publishing.entry_cache import PUBLICATION_FILE, EntryCache
from skillhub_mcp.publishing.prewarm import EntryPrewarmer
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.settings import read_settings

pytestmark = pytest.mark.slow

Environment = dict[str, str]


def path_of(environment: Environment) -> Path:
    return Path(environment["DB_PATH"]).parent / PUBLICATION_FILE


@contextmanager
def kept(environment: Environment) -> Iterator[EntryCache]:
    """What is kept beside the index, seen from outside."""
    entries = EntryCache(str(path_of(environment)))
    try:
        yield entries
    finally:
        entries.close()


def names(environment: Environment) -> set[str]:
    with kept(environment) as entries:
        return {Path(directory).name for directory in entries.directories()}


def test_the_entry_of_every_skill_is_made_once_listed_or_not(
    hub_environment: Environment, write_skill: SkillWriter, later: Later
) -> None:
    write_skill("a")
    write_skill("b", extra="disable-model-invocation: true")
    write_skill("shut")
    write_skill("日本語", directory="概要")
    later()
    environment = {**hub_environment, "SKILLHUB_ENABLED_SKILLS": "a,b"}
    with publishing(environment) as (publisher, _):
        assert publisher.prepare() == 3
        assert publisher.prepare() == 0
    assert names(environment) == {"a", "b", "shut"}
    # They outlive the process.
    with publishing(environment) as (publisher, _):
        assert publisher.prepare() == 0


def test_only_what_changed_is_computed_again_and_what_is_removed_is_deleted(
    hub_environment: Environment, write_skill: SkillWriter, later: Later
) -> None:
    stays, changes, goes = (write_skill(name) for name in ("stays", "changes", "goes"))
    later()
    with publishing(hub_environment) as (publisher, hub):
        assert publisher.prepare() == 3
        (changes / "SKILL.md").write_text("---\nname: changes\ndescription: Anew.\n---\n", encoding="utf-8")
        shutil.rmtree(goes)
        write_skill("comes")
        hub.refresh()
        assert publisher.prepare() == 2
        assert names(hub_environment) == {"stays", "changes", "comes"}
        shutil.rmtree(stays)
        hub.refresh()
        assert publisher.prepare() == 0
        assert names(hub_environment) == {"changes", "comes"}
    shutil.rmtree(changes)
    # What went while no server ran is forgotten by the next.
    with publishing(hub_environment) as (publisher, _):
        publisher.prepare()
    assert names(hub_environment) == {"comes"}


def test_what_another_server_keeps_in_the_same_file_stays(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("mine")
    write_skill("theirs", root=tmp_path / "other")
    # Its name begins like this server's root.
    write_skill("neighbour", root=tmp_path / "skills-of-others")
    for place in ("other", "skills-of-others"):
        with publishing({**hub_environment, "SKILLS_DIR": str(tmp_path / place)}) as (publisher, _):
            publisher.prepare()
    with publishing(hub_environment) as (publisher, _):
        publisher.prepare()
    assert names(hub_environment) == {"mine", "theirs", "neighbour"}


def test_preparing_stops_when_it_is_told_and_goes_on_the_next_time(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    for number in range(205):
        write_skill(f"s-{number:03}")
    stop = threading.Event()
    stop.set()
    with publishing(hub_environment) as (publisher, _):
        assert publisher.prepare(stop=stop) == 100
        assert len(names(hub_environment)) == 100
        publisher.prepare()
        assert len(names(hub_environment)) == 205


def test_a_hostile_skill_does_not_delay_others(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("honest")
    write_skill("digits", frontmatter=f"name: digits\ndescription: d\nversion: {'9' * 50_000}")
    write_skill("keys", frontmatter="name: keys\ndescription: d\n" + "\n".join(f"k{n}: {n}.{n}" for n in range(4_000)))
    write_skill("deep", frontmatter=f"name: deep\ndescription: d\na: {'[' * 30}{']' * 30}")
    write_skill("too-deep", frontmatter=f"name: too-deep\ndescription: d\na: {'[' * 5_000}{']' * 5_000}")
    write_skill("bomb", frontmatter="name: bomb\ndescription: d\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]")
    write_skill("many", files={f"{number}/{number}.txt": "x" for number in range(600)})
    with publishing(hub_environment) as (publisher, _):
        publisher.prepare()
        withheld_by_name = {one.skill.name: one.withheld for one in publisher.publications()}
        assert withheld_by_name["many"] is not None
        assert {name for name, withheld in withheld_by_name.items() if withheld is None} == {
            "honest",
            "digits",
            "keys",
            "deep",
            "bomb",
        }
        assert {skill.path[-1] for skill in publisher.page().skills} == set(withheld_by_name) - {"many"}


# The thread


class Watched(Publisher):
    """A publisher that says when it has prepared."""

    def __init__(self, hub: SkillHub, path: Path) -> None:
        super().__init__(hub, EntryCache(str(path)), serve_dotfiles=False)
        self.done = threading.Semaphore(0)
        self.fails_next = False

    def prepare(self, *, stop: threading.Event | None = None) -> int:
        try:
            if self.fails_next:
                self.fails_next = False
                raise RuntimeError("an unexpected failure")
            return super().prepare(stop=stop)
        finally:
            self.done.release()


@contextmanager
def in_a_thread(environment: Environment) -> Iterator[tuple[Watched, EntryPrewarmer]]:
    settings, _ = read_settings(environment)
    hub = make_hub(settings)
    publisher = Watched(hub, path_of(environment))
    preparing = EntryPrewarmer(hub, publisher)
    hub.start()
    try:
        yield publisher, preparing
    finally:
        preparing.close()
        hub.close()


def wait_for(wanted: set[str], publisher: Watched, environment: Environment) -> None:
    """Wait until the entries of these skills are kept: a change may be seen in several looks."""
    while names(environment) != wanted:
        assert publisher.done.acquire(timeout=60)


def test_the_thread_prepares_at_the_start_and_after_every_change(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("a")
    with in_a_thread(hub_environment) as (publisher, preparing):
        assert names(hub_environment) == set()
        preparing.start()
        preparing.start()
        wait_for({"a"}, publisher, hub_environment)
        write_skill("b")
        # The hub notices it by itself and says so.
        wait_for({"a", "b"}, publisher, hub_environment)
    assert [thread.name for thread in threading.enumerate() if thread.name == "skillhub-publish"] == []


def test_the_thread_outlives_an_unexpected_failure(
    hub_environment: Environment, write_skill: SkillWriter, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill("a")
    with in_a_thread(hub_environment) as (publisher, preparing):
        publisher.fails_next = True
        preparing.start()
        assert publisher.done.acquire(timeout=60)
        write_skill("b")
        wait_for({"a", "b"}, publisher, hub_environment)
    assert "an unexpected failure" in caplog.text


def test_closing_before_the_start_leaves_nothing_behind(hub_environment: Environment) -> None:
    with in_a_thread(hub_environment) as (_, preparing):
        preparing.close()
        preparing.start()
        assert [thread.name for thread in threading.enumerate() if thread.name == "skillhub-publish"] == []


def test_an_entry_that_is_kept_under_another_name_is_computed_again(
    hub_environment: Environment, write_skill: SkillWriter, later: Later
) -> None:
    skill = write_skill("demo")
    later()
    with kept(hub_environment) as entries:
        entries.put({str(skill): PublishedEntry("other", {}, withheld="of another time")})
    with publishing(hub_environment) as (publisher, _):
        assert publisher.prepare() == 1
        assert publisher.page().skills[0].entry.name == "demo"
