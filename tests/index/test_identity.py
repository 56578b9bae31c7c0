"""Whose an index is: databases and embedders side by side, older states that are adopted, newer ones refused."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes.embedding_api import EmbeddingApi
from tests.hubs import hub_of
from tests.index.earlier_states import write_as_format
from tests.search.builders import Desk, WordEmbedder, published_rows
from tests.server.connections import WAYS, reached

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index.identity import IndexFiles, IndexIdentity
from skillhub_mcp.index.lance_store import SCHEMA_VERSION, LanceStore
from skillhub_mcp.index.state import NO_EMBEDDING, STATE_FORMAT, StateHead, read_state_head, state_path
from skillhub_mcp.index.sync import SyncDepth

pytestmark = pytest.mark.slow

Writer = Callable[..., Path]
Environment = dict[str, str]
A_MONTH = 31 * 24 * 3600


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "db" / "skills.lancedb"


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi() as served:
        yield served


def edited(path: Path, **changed: object) -> bytes:
    """Change keys of a state file, or remove those that become None; return what it now holds."""
    state = {**json.loads(path.read_text(encoding="utf-8")), **changed}
    kept = {key: value for key, value in state.items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")
    return path.read_bytes()


def as_written_before_names(db: Path) -> None:
    """Make the state of the database's first index one of the format that did not say whose it is."""
    write_as_format(3, Path(state_path(str(db))))


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.suffix != ".lock"}


# Databases side by side


@pytest.mark.parametrize("way", WAYS, ids=map("-".join, WAYS))
def test_servers_of_two_databases_in_one_directory_each_find_their_own_skills(
    way: tuple[str, str], hub_environment: Environment, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("walrus", "Feeds the walrus.", root=tmp_path / "one")
    write_skill("penguin", "Feeds the penguin.", root=tmp_path / "two")
    directories = {"one": "walrus", "two": "penguin"}

    def environment_of(name: str) -> Environment:
        return {
            **hub_environment,
            "SKILLS_DIR": str(tmp_path / name),
            "DB_PATH": str(tmp_path / "db" / f"{name}.lance"),
        }

    async def search(name: str, query: str) -> list[str]:
        async with reached(way, environment_of(name)) as client:
            said = await client.call("search_skills", query=query)
        return [hit["name"] for hit in said.structured["skills"]]

    async def scenario() -> None:
        for _ in range(2):
            for name, skill in directories.items():
                assert await search(name, f"feed the {skill}") == [skill]

    asyncio.run(scenario())
    assert len(list((tmp_path / "db").glob("index_state*.json"))) == 2


def test_databases_in_one_directory_are_each_indexed_once(
    tmp_path: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    for name in ("a.db", "b.db"):
        assert Desk(tmp_path / "db" / name, skills_dir).sync().report is not None
    for name in ("a.db", "b.db", "a.db"):
        assert Desk(tmp_path / "db" / name, skills_dir).sync().report is None


def test_two_names_of_one_database_are_one_index(
    db: Path, tmp_path: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    Desk(db, skills_dir).sync()
    (tmp_path / "link.db").symlink_to(db)
    (tmp_path / "linked").symlink_to(db.parent)
    for other in (tmp_path / "link.db", tmp_path / "linked" / db.name):
        assert Desk(other, skills_dir).sync().report is None
    write_skill("two")
    assert Desk(tmp_path / "link.db", skills_dir).sync().report is not None
    assert Desk(db, skills_dir).sync().report is None
    assert published_rows(db) == ["one", "two"]


def test_a_directory_that_was_moved_keeps_its_index(
    db: Path, tmp_path: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    Desk(db, skills_dir).sync()
    db.parent.rename(tmp_path / "moved")
    assert Desk(tmp_path / "moved" / db.name, skills_dir).sync().report is None


# Embedders side by side


def test_two_embedding_settings_on_one_database_pay_for_each_text_once(
    hub_environment: Environment, write_skill: Writer, api: EmbeddingApi
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    write_skill("penguin", "Feeds the penguin.")
    openai = {"EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": "k", "EMBEDDING_BASE_URL": api.url_for("openai")}
    settings = [{**hub_environment, **openai, "EMBEDDING_MODEL": model} for model in ("small", "large")]

    def indexed() -> int:
        """The number of texts that it costs to start a hub of each setting, and one without embeddings."""
        before = len(api.texts)
        for environment in (*settings, hub_environment):
            with hub_of(environment) as hub:
                hub.refresh()
                assert [hit.skill.name for hit in hub.search("walrus").hits][:1] == ["walrus"]
        return len(api.texts) - before - len(settings)

    assert indexed() == 4
    assert indexed() == 0
    write_skill("walrus", "Feeds the walrus, twice.")
    assert indexed() == 2
    assert indexed() == 0


def test_each_embedder_has_a_table_and_the_first_has_the_usual_names(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    first, second = WordEmbedder("a:small", 8), WordEmbedder("b:large", 12)
    for embedder in (first, second, None):
        Desk(db, skills_dir, embedder=embedder).sync()
    states = sorted(path.name for path in db.parent.glob("index_state*.json"))
    assert len(states) == 3
    assert "index_state.json" in states
    tables = sorted(path.name for path in db.glob("*.lance"))
    assert len(tables) == 3
    assert "skills.lance" in tables
    for embedder, dimension in ((first, 8), (second, 12), (None, None)):
        synced = Desk(db, skills_dir, embedder=embedder).sync()
        assert (synced.report, synced.index.dimension) == (None, dimension)
    assert read_state_head(state_path(str(db))) == StateHead(
        STATE_FORMAT, SCHEMA_VERSION, "skills.lancedb", "a:small", "skills"
    )


def test_until_an_embedder_has_its_own_index_another_answers_by_text(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    Desk(db, skills_dir, embedder=WordEmbedder("a:small")).sync()
    desk = Desk(db, skills_dir, embedder=WordEmbedder("b:small"))
    received: list[tuple[int, int | None]] = []
    desk.index_sync.sync(
        None,
        on_snapshot=lambda snapshot, index: received.append(
            (len(snapshot.skills), None if index is None else index.dimension)
        ),
    )
    assert received == [(1, None)]
    # It would say of a skill that is there that nothing fits.
    assert Desk(db, skills_dir, db.parent, embedder=WordEmbedder("c:small")).indexer.stand_in() is None


def test_without_automatic_indexing_the_index_of_another_embedder_answers(
    hub_environment: Environment, write_skill: Writer
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    local = {**hub_environment, "EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": "k"}
    with hub_of({**local, "SKILLHUB_SKIP_AUTO_REINDEX": "1", "EMBEDDING_BASE_URL": "http://127.0.0.1:9/v1"}) as hub:
        assert [hit.skill.name for hit in hub.search("walrus").hits] == ["walrus"]


def test_an_index_that_nobody_has_used_for_a_month_is_removed_by_the_next_writer(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    forgotten, used = WordEmbedder("a:forgotten"), WordEmbedder("b:used")
    for embedder in (forgotten, used):
        Desk(db, skills_dir, embedder=embedder).sync()
    long_ago = time.time() - A_MONTH
    for path in (*db.glob("*.lance"), *db.parent.glob("index_state*.json")):
        os.utime(path, (long_ago, long_ago))
    # Opening it is using it.
    Desk(db, skills_dir, embedder=used).sync()
    write_skill("two")
    Desk(db, skills_dir).sync()
    heads = [read_state_head(str(path)) for path in db.parent.glob("index_state*.json")]
    assert sorted(head.embedder for head in heads if head is not None) == ["b:used", NO_EMBEDDING]
    tables = {path.stem for path in db.glob("*.lance")}
    assert len(tables) == 2
    assert {path.stem.split("-")[1] for path in db.glob("statistics-*")} == tables
    # Its names are free again.
    assert Desk(db, skills_dir, embedder=forgotten).sync().report is not None
    assert (db / "skills.lance").is_dir()


def test_the_index_of_a_server_that_is_idle_for_a_month_stays(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    embedder = WordEmbedder("a:idle")
    idle = Desk(db, skills_dir, embedder=embedder)
    idle.refresh()
    other = Desk(db, skills_dir)
    other.refresh()
    long_ago = time.time() - A_MONTH
    for path in (db / "skills.lance", state_path(str(db))):
        os.utime(path, (long_ago, long_ago))
    # All that a server does while nothing happens.
    idle.index_sync.is_replaced()
    write_skill("two")
    other.refresh()
    report = idle.refresh().report
    assert report is not None
    assert not report.rebuilt
    assert len(embedder.texts) == 2


def test_a_state_whose_table_is_gone_is_no_trouble_to_the_writers_of_others(
    db: Path, skills_dir: Path, write_skill: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill("one")
    Desk(db, skills_dir, embedder=WordEmbedder("a:small")).sync()
    shutil.rmtree(db / "skills.lance")
    Desk(db, skills_dir).sync()
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == []


# Files that are another's


def test_a_table_that_took_the_place_of_another_is_not_read(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    desk = Desk(db, skills_dir)
    version = desk.sync().index.version
    shutil.rmtree(db)
    store = LanceStore(str(db))
    while store.rebuild([], dimension=None) < version:
        pass
    report = Desk(db, skills_dir).sync().report
    assert report is not None
    assert report.rebuilt
    assert published_rows(db) == ["one"]


def test_a_state_file_that_was_copied_for_another_database_is_not_taken(
    db: Path, tmp_path: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    Desk(db, skills_dir).sync()
    other = tmp_path / "elsewhere" / "other.lancedb"
    other.parent.mkdir()
    for file in db.parent.glob("index_state*"):
        shutil.copy(file, other.parent)
    desk = Desk(other, skills_dir)
    assert desk.state() is None
    assert desk.sync().report is not None
    assert published_rows(other) == ["one"]
    assert Desk(other, skills_dir).sync().report is None


# Older and newer formats


def test_an_index_of_the_format_before_is_adopted_without_embedding_again(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one")
    embedder = WordEmbedder()
    with monkeypatch.context() as patch:
        # Tables had no id either.
        patch.setattr(secrets, "token_hex", lambda _: "")
        Desk(db, skills_dir, embedder=embedder).sync()
    as_written_before_names(db)
    embedder.texts.clear()
    assert Desk(db, skills_dir, embedder=embedder).sync().report is None
    write_skill("two")
    report = Desk(db, skills_dir, embedder=embedder).sync().report
    assert report is not None
    assert (report.rebuilt, report.written) == (False, 1)
    assert [text.splitlines()[0] for text in embedder.texts] == ["two"]
    head = read_state_head(state_path(str(db)))
    assert head is not None
    assert (head.format, head.database) == (STATE_FORMAT, db.name)


def test_beside_two_databases_nobody_can_tell_whose_an_older_state_is(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    Desk(db, skills_dir).sync()
    as_written_before_names(db)
    LanceStore(str(db.with_name("other.lancedb"))).rebuild([], dimension=None)
    for path in (db, db.with_name("other.lancedb")):
        report = Desk(path, skills_dir).sync().report
        assert report is not None
        assert report.rebuilt
    assert Desk(db, skills_dir).sync().report is None


@pytest.mark.parametrize(
    ("newer", "numbers"),
    [
        ({"format": STATE_FORMAT + 1}, f"(format {STATE_FORMAT + 1}; this one reads up to {STATE_FORMAT})"),
        ({"schema": SCHEMA_VERSION + 1}, f"(schema {SCHEMA_VERSION + 1}; this one reads up to {SCHEMA_VERSION})"),
        ({"format": STATE_FORMAT + 1, "schema": None, "roots": 5}, f"format {STATE_FORMAT + 1}"),
    ],
    ids=["format", "schema", "unreadable"],
)
def test_an_index_of_a_newer_version_is_refused_and_left_untouched(
    hub_environment: Environment, write_skill: Writer, newer: dict[str, object], numbers: str
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    database = Path(hub_environment["DB_PATH"])
    edited(Path(state_path(str(database))), **newer)
    before = contents(database.parent)
    write_skill("penguin", "Feeds the penguin.")
    for depth in (SyncDepth.CHANGES, SyncDepth.VERIFY, SyncDepth.REBUILD):
        with hub_of(hub_environment) as hub:
            view = hub.refresh(depth)
            assert view.problem is not None
            assert numbers in view.problem.message
            assert str(database) in view.problem.message
            assert "update skillhub, or set DB_PATH" in str(view.problem.hint)
            # Answers come from memory meanwhile.
            assert [hit.skill.name for hit in hub.search("penguin").hits][:1] == ["penguin"]
    assert contents(database.parent) == before


def test_without_automatic_indexing_a_newer_index_is_refused_too(
    hub_environment: Environment, write_skill: Writer
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    edited(Path(state_path(hub_environment["DB_PATH"])), format=STATE_FORMAT + 1)
    with (
        hub_of({**hub_environment, "SKILLHUB_SKIP_AUTO_REINDEX": "1"}) as hub,
        pytest.raises(IndexUnavailable, match="written by a newer SkillHub"),
    ):
        hub.search("walrus")


def test_the_newer_index_of_another_embedder_keeps_its_table(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    Desk(db, skills_dir, embedder=WordEmbedder("a:small")).sync()
    edited(Path(state_path(str(db))), format=STATE_FORMAT + 1)
    before = contents(db / "skills.lance")
    assert Desk(db, skills_dir).sync().report is not None
    assert contents(db / "skills.lance") == before


# Names


def test_the_files_of_an_index_are_found_again(tmp_path: Path) -> None:
    identity = IndexIdentity.of(str(tmp_path / "x.db"), "a:small")
    assert identity.find() is None
    assert identity.claim() == IndexFiles(str(tmp_path / "index_state.json"), "skills")


@pytest.mark.parametrize(
    ("written", "head"),
    [
        ("", None),
        ("[]", None),
        ("not json", None),
        ('{"format": 9', StateHead(9)),
        ('{"format": 9, "roots": {"' + "x" * 9_000, StateHead(9)),
        ('{"format":4,"schema":2,"database":"a,\\"roots\\":","embedder":"e","table":"t","roots":{', None),
    ],
)
def test_a_head_is_read_without_the_rest(tmp_path: Path, written: str, head: StateHead | None) -> None:
    (tmp_path / "state.json").write_text(written, encoding="utf-8")
    expected = StateHead(4, 2, 'a,"roots":', "e", "t") if "database" in written else head
    assert read_state_head(str(tmp_path / "state.json")) == expected
