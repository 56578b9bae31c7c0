"""The contract of view providers: the same for directories and publications."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.search.builders import text_hits
from tests.store.publications import Library

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index.live import LiveOptions, LiveView
from skillhub_mcp.index.views import ViewSource
from skillhub_mcp.index.writer import IndexWriter
from skillhub_mcp.skills.admission import STRICT
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.store.replica import Mirror, Replica
from skillhub_mcp.store.tables import open_target


@dataclass(frozen=True)
class Provided:
    """A provider of the skills in a directory; `update` rescans it."""

    views: ViewSource
    update: Callable[[], object]


def of_directories(skills: Path, tmp_path: Path, *, background: bool) -> Provided:
    writer = IndexWriter(str(tmp_path / "db" / "skills.lancedb"), embedder=None)
    live = LiveView(make_roots([str(skills)]), writer, LiveOptions(background=background))
    return Provided(live, lambda: None)


def of_publication(skills: Path, tmp_path: Path, *, background: bool) -> Provided:
    target = open_target(str(tmp_path / "publication"), {})
    places = {"SKILLS_DIR": str(skills), "DB_PATH": str(tmp_path / "own" / "skills.lancedb")}
    library = Library({**places, "EMBEDDING_PROVIDER": "none", "HOME": str(tmp_path)})
    library.publish(target)
    mirror = Mirror(str(tmp_path / "mirror"))
    replica = Replica(target, mirror, embedding="none", refresh_seconds=0.2, background=background)
    return Provided(replica, lambda: library.publish(target))


PROVIDERS = [of_directories, of_publication]


@pytest.fixture(params=PROVIDERS, ids=lambda one: one.__name__)
def provided(
    request: pytest.FixtureRequest, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> Iterator[Provided]:
    """A provider with threads, of two skills."""
    write_skill("walrus", "Feeds the walrus.")
    write_skill("Odd Name", "Breaks a rule.", directory="odd")
    made = request.param(skills_dir, tmp_path, background=True)
    yield made
    made.views.close()
    running = {thread.name for thread in threading.enumerate()}
    assert not {name for name in running if name.startswith(("skillhub-sync", "skillhub-replica", "skillhub-watch"))}


def found(views: ViewSource, query: str) -> list[str]:
    view, index = views.view()
    among = frozenset(skill.directory for skill in view.snapshot.skills)
    return [Path(hit.directory).name for hit in text_hits(index, query, limit=5, among=among)]


def test_the_first_caller_waits_for_skills_and_index(provided: Provided) -> None:
    assert provided.views.peek() is None
    assert [skill.name for skill in provided.views.snapshot().skills] == ["Odd Name", "walrus"]
    assert found(provided.views, "walrus") == ["walrus"]
    view = provided.views.peek()
    assert view is not None
    assert view.problem is None


def test_a_view_does_not_change_while_another_replaces_it(provided: Provided, write_skill: SkillWriter) -> None:
    views = provided.views
    before, index = views.view()
    changed = threading.Event()
    views.subscribe(lambda is_other: changed.set() if is_other else None)
    write_skill("otter", "Floats with the otter.")
    provided.update()
    assert changed.wait(30)
    assert found(views, "otter") == ["otter"]
    assert {skill.name for skill in before.snapshot.skills} == {"Odd Name", "walrus"}
    assert index.statistics.skills == 2


def test_a_fresh_view_sees_the_latest_writes(provided: Provided, write_skill: SkillWriter) -> None:
    provided.views.view()
    write_skill("otter", "Floats with the otter.")
    provided.update()
    provided.views.sync()
    assert "otter" in {skill.name for skill in provided.views.snapshot(fresh=True).skills}


def test_other_rules_admit_other_skills(provided: Provided) -> None:
    assert [skill.name for skill in provided.views.snapshot(admission=STRICT).skills] == ["walrus"]
    assert len(provided.views.snapshot().skills) == 2


def test_an_unreadable_index_is_replaced_before_the_next_answer(provided: Provided) -> None:
    _, index = provided.views.view()
    try:
        assert provided.views.view(instead_of=index)[1] is not index
    except IndexUnavailable as error:
        # A publication with a damaged index reports it, and does not retry for ever.
        assert "cannot be searched" in error.message  # noqa: PT017


@pytest.mark.parametrize("make", PROVIDERS)
def test_without_threads_one_scan_answers_every_query(
    make: Callable[..., Provided], write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    provided = make(skills_dir, tmp_path, background=False)
    assert found(provided.views, "walrus") == ["walrus"]
    write_skill("otter", "Floats with the otter.")
    provided.update()
    assert found(provided.views, "otter") == []
    assert {skill.name for skill in provided.views.sync().snapshot.skills} == {"walrus", "otter"}
    assert found(provided.views, "otter") == ["otter"]
    provided.views.close()
