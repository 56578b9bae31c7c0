"""Builders for the tests of search and index: skills, a small embedder, and the layers wired as in `bootstrap`."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from skillhub_mcp.analysis.analyzer import normalise_query
from skillhub_mcp.embedders.base import Embedder, Vector
from skillhub_mcp.errors import EmbeddingError
from skillhub_mcp.index.features import skill_features
from skillhub_mcp.index.indexed_roots import IndexedRoot, indexed_roots
from skillhub_mcp.index.live import LiveOptions, LiveView
from skillhub_mcp.index.rows import EmbeddingOptions
from skillhub_mcp.index.schema import row_columns, table_schema
from skillhub_mcp.index.search_index import SearchIndex
from skillhub_mcp.index.state_file import STATE_FILE, LibraryKeys, TableVersionId, decode_state, make_key
from skillhub_mcp.index.statistics import counted
from skillhub_mcp.index.store import Store
from skillhub_mcp.index.views import View
from skillhub_mcp.index.writer import IndexWriter, SyncDepth
from skillhub_mcp.search.candidates import Candidates, find_candidates
from skillhub_mcp.search.hits import Hit
from skillhub_mcp.search.impacts import ALL_FIELDS
from skillhub_mcp.search.query import Query
from skillhub_mcp.search.searcher import Searcher, SearchRequest
from skillhub_mcp.skills.model import FileStamp, Skill
from skillhub_mcp.skills.roots import SkillRoot, make_roots

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


def row(skill: Skill, instructions: str = "", vector: Vector | None = None) -> dict[str, object]:
    return row_columns(skill.directory, skill, instructions, skill_features(skill, instructions, {}), vector)


def search_index(
    place: Path, skills: Sequence[Skill], bodies: Sequence[str] = (), vectors: Sequence[Vector | None] = ()
) -> SearchIndex:
    """An index of `skills` below /library, on disk, with their bodies and vectors where there are any."""
    keys = LibraryKeys({"/library": "hub"})
    rows = [
        row_columns(make_key("hub", "/library", skill.directory), skill, body, skill_features(skill, body, {}), vector)
        for skill, body, vector in zip(
            skills, bodies or [""] * len(skills), vectors or [None] * len(skills), strict=True
        )
    ]
    dimension = next((len(vector) for vector in vectors if vector is not None), None)
    table = Store(str(place / "db"), "skills").rebuild(
        lambda schema: [pa.Table.from_pylist(rows, schema=schema)], table_schema(dimension)
    )
    lacking = sum(vector is None for vector in vectors) if vectors else None
    published = TableVersionId(table.table_id, table.version)
    return SearchIndex(published, keys, lambda: (table, counted(table.counted_of("hub"))), unembedded=lacking)


def candidates_of(
    index: SearchIndex, query: Query, among: Sequence[Skill], fields: frozenset[str] = ALL_FIELDS
) -> Candidates:
    """All of `among` that have a term of the query in one of the fields."""
    directories = frozenset(skill.directory for skill in among)
    return find_candidates(index, query.terms, among=directories, wanted=100, fields=fields)


def names(index: SearchIndex, query: str, *, among: Sequence[Skill], limit: int = 100) -> list[str]:
    """The names of the skills that `query` finds."""
    by_path = {skill.directory: skill.name for skill in among}
    return [by_path[hit.directory] for hit in text_hits(index, query, among=frozenset(by_path), limit=limit)]


def text_hits(index: SearchIndex, query: str, *, among: Collection[str], limit: int = 100) -> Sequence[Hit]:
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
    """One server's view of a database: its roots, its writer and its live view."""

    def __init__(
        self,
        db_path: str | Path,
        *roots: str | Path,
        embedder: Embedder | None = None,
        automatic: bool = True,
        lock_timeout: float = 30.0,
    ) -> None:
        self.db_path = str(db_path)
        self.roots: tuple[SkillRoot, ...] = make_roots([str(root) for root in roots])
        embedding = EmbeddingOptions(pause_seconds=300.0)
        self.writer = IndexWriter(self.db_path, embedder=embedder, lock_timeout=lock_timeout, embedding=embedding)
        self.live = LiveView(
            self.roots,
            self.writer,
            LiveOptions(automatic=automatic, background=False),
        )

    def sync(self, depth: SyncDepth = SyncDepth.CHANGES) -> View:
        """Sync, and embed what lacks a vector."""
        return self.live.sync(depth)

    def indexed_roots(self) -> tuple[IndexedRoot, ...]:
        """The roots that the database has rows of."""
        return indexed_roots(self.writer.states(), {root.path for root in self.roots})

    def find(self, query: str) -> list[str]:
        """The directory names of the skills that the current view finds."""
        view, index = self.live.view()
        hits = text_hits(index, query, among=frozenset(skill.directory for skill in view.snapshot.skills))
        return sorted(os.path.basename(hit.directory) for hit in hits)


def published_rows(db_path: str | Path) -> list[str]:
    """The directory names of all rows of the committed version, read by a new connection; duplicates are kept."""
    import lancedb

    state = decode_state(Path(db_path).with_name(STATE_FILE).read_bytes())
    table = lancedb.connect(str(db_path)).open_table(state.table)
    table.checkout(state.published.version)
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
