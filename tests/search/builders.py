"""Builders for the tests of search and index: skills, a small embedder, and the layers wired as in `bootstrap`."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from skillhub_mcp.analysis.analyzer import normalise_query
from skillhub_mcp.embedders.base import Embedder, Vector
from skillhub_mcp.errors import EmbeddingError
from skillhub_mcp.index.indexer import Indexer, Published
from skillhub_mcp.index.lance_store import IN_MEMORY, LanceStore
from skillhub_mcp.index.row_embedder import EmbeddingOptions
from skillhub_mcp.index.rows import IndexRow
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.state import IndexState, load_state, state_path
from skillhub_mcp.index.sync import IndexSync, SyncDepth, View
from skillhub_mcp.search.hits import Hit
from skillhub_mcp.search.searcher import Searcher, SearchRequest
from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.model import FileStamp, Skill
from skillhub_mcp.skills.roots import SkillRoot, make_roots
from skillhub_mcp.skills.scanner import Scan, scan

COMMAND = (sys.executable, "-m", "skillhub_mcp")


def make_skill(
    name: str,
    description: str = "Does one thing well.",
    *,
    directory: str | None = None,
    root: str = "/library",
    category: str | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, object] | None = None,
) -> Skill:
    """A skill as a scan would have read it."""
    return Skill(
        name=name,
        description=description,
        directory=directory or f"{root}/{name}",
        root=root,
        category=category,
        tags=tuple(tags),
        always_apply=False,
        allowed_tools=(),
        license=None,
        compatibility=None,
        metadata=metadata or {},
        diagnostics=(),
        stamp=FileStamp(1_700_000_000_000_000_001, 100, hashlib.sha256(name.encode()).hexdigest(), 2**61),
    )


def row(skill: Skill, instructions: str = "", vector: Vector | None = None) -> IndexRow:
    return IndexRow(skill.directory, skill, instructions, vector)


def index_of(db_path: str | Path, skills: Sequence[Skill]) -> SkillIndex:
    """A text index of `skills` on disk."""
    store = LanceStore(str(db_path))
    return store.open(store.rebuild([row(skill) for skill in skills], dimension=None))


def names(index: SkillIndex, query: str, *, among: Sequence[Skill], limit: int = 100) -> list[str]:
    """The names of the skills that `query` finds."""
    by_path = {skill.directory: skill.name for skill in among}
    return [by_path[hit.directory] for hit in text_hits(index, query, among=frozenset(by_path), limit=limit)]


def text_hits(index: SkillIndex, query: str, *, among: Collection[str], limit: int = 100) -> Sequence[Hit]:
    """The skills that full text alone finds, best first."""
    return (
        Searcher()
        .search(index, SearchRequest(normalise_query(query), limit=limit, among=frozenset(among)))
        .hits[:limit]
    )


class WordEmbedder:
    """Embeds a text as counts of its hashed words: the same text gives the same vector, shared words a near one."""

    is_instant = False
    texts_at_once = 100

    def __init__(self, identity: str = "test:words", dimension: int = 16) -> None:
        self.identity = identity
        self.dimension = dimension
        self.texts: list[str] = []
        self.queries: list[str] = []
        self.fails = False
        # How many more calls for documents succeed, and what happens during each.
        self.lasts = 1_000_000
        self.meanwhile: Callable[[], object] = bool
        # Whether a user waited for the last call for documents.
        self.was_waiting: bool | None = None

    def embed_documents(self, texts: Sequence[str], *, waiting: bool = False) -> list[Vector]:
        self.was_waiting = waiting
        self._refuse()
        if self.lasts <= 0:
            raise EmbeddingError("the test's provider has died")
        self.lasts -= 1
        self.meanwhile()
        self.texts += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        self._refuse()
        self.queries.append(text)
        return self._vector(text)

    def _refuse(self) -> None:
        if self.fails:
            raise EmbeddingError("the test's provider is down")

    def _vector(self, text: str) -> Vector:
        counts = [0.0] * self.dimension
        for word in text.lower().split():
            counts[hashlib.sha256(word.encode()).digest()[0] % self.dimension] += 1.0
        length = sum(count * count for count in counts) ** 0.5 or 1.0
        return [count / length for count in counts]


class Desk:
    """One server's view of a database: its roots, its indexer and its sync."""

    def __init__(
        self,
        db_path: str | Path,
        *roots: str | Path,
        embedder: Embedder | None = None,
        automatic: bool = True,
        lock_timeout: float = 30.0,
        cooldown_seconds: float = 300.0,
    ) -> None:
        self.db_path = str(db_path)
        self.roots: tuple[SkillRoot, ...] = make_roots([str(root) for root in roots])
        self.indexer = Indexer(
            self.db_path,
            self.roots,
            embedder=embedder,
            lock_timeout=lock_timeout,
            embedding=EmbeddingOptions(pause_seconds=cooldown_seconds),
        )
        self.index_sync = IndexSync(
            self.roots,
            self.indexer,
            make_spare=lambda: Indexer(IN_MEMORY, self.roots, embedder=None),
            automatic=automatic,
            admission=LENIENT,
        )
        self.view: View | None = None

    def refresh(self, depth: SyncDepth = SyncDepth.CHANGES) -> View:
        self.view = self.index_sync.embed(self.index_sync.sync(self.view, depth, on_snapshot=lambda *_: None))
        return self.view

    def scan(self, *, reread: bool = False) -> Scan:
        state = self.state()
        memory = {} if state is None else state.memory_of(root.path for root in self.roots)
        return scan(self.roots, memory=memory, reread=reread)

    def sync(self, *, force_reason: str | None = None, rebuild: bool = False) -> Published:
        """Sync, and embed what lacks a vector."""
        published = self.sync_text(force_reason=force_reason, rebuild=rebuild)
        done = self.indexer.embed_missing()
        index, state = (
            (published.index, published.state)
            if done.published is None
            else (done.published.index, done.published.state)
        )
        return Published(index, state, done.reported(published.report), published.stamp)

    def sync_text(self, *, force_reason: str | None = None, rebuild: bool = False) -> Published:
        """Sync, and leave the vectors for later."""
        _, published = self.indexer.sync(
            lambda memory: scan(self.roots, memory=memory), force_reason=force_reason, rebuild=rebuild
        )
        return published

    def state(self) -> IndexState | None:
        return self.indexer.state()

    def published(self) -> IndexState:
        state = self.state()
        assert state is not None
        return state

    def find(self, query: str) -> list[str]:
        """The directory names of the skills that the current view finds."""
        assert self.view is not None
        assert self.view.index is not None
        among = frozenset(skill.directory for skill in self.view.snapshot.skills)
        hits = text_hits(self.view.index, query, among=among)
        return sorted(os.path.basename(hit.directory) for hit in hits)


def published_rows(db_path: str | Path) -> list[str]:
    """The directory names of all rows of the published version, read by a new connection; duplicates are kept."""
    import lancedb

    state = load_state(state_path(str(db_path)))
    assert state is not None
    table = lancedb.connect(str(db_path)).open_table("skills")
    table.checkout(state.table_version)
    rows = table.search().select(["path"]).limit(None).to_list()
    return sorted(os.path.basename(found["path"]) for found in rows)


def skillhub(
    environment: Mapping[str, str], *arguments: str, preexec: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a `skillhub` command in its own process."""
    return subprocess.run(
        [*COMMAND, *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        preexec_fn=preexec,
    )
