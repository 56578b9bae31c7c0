"""Two thousand real skills: each is served, shadowed, or refused with a reason; none is lost."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hubs import hub_of

from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.tools.results import compact_json, search_result
from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.loader import read_instructions
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import is_specified_name
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import Scan, scan

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen(corpus: Path) -> Scan:
    return scan(make_roots([str(corpus)]), memory={})


@pytest.fixture(scope="module")
def files(corpus: Path) -> dict[str, bytes]:
    """Every SKILL.md of the corpus, by its directory, found without the hub's help."""
    found = {os.path.realpath(path.parent): path for path in corpus.rglob("SKILL.md")}
    return {directory: path.read_bytes() for directory, path in found.items()}


def body_of(content: bytes) -> bytes:
    """Return what follows the second line that is three hyphens."""
    lines = content.splitlines(keepends=True)
    fences = [at for at, line in enumerate(lines) if line.rstrip() == b"---"]
    return b"".join(lines[fences[1] + 1 :])


@pytest.mark.acceptance("S2-53", "S2-54")
def test_every_skill_is_served_shadowed_or_refused_with_a_reason(seen: Scan, files: dict[str, bytes]) -> None:
    report = seen.snapshot.report
    served = {skill.directory for skill in seen.snapshot.skills}
    shadowed = {lost.skill.directory for lost in Names(seen.snapshot).shadowed()}
    refused = {out.directory for out in report.refused}
    assert served | shadowed | refused == set(files)
    assert len(served) + len(shadowed) + len(refused) == report.found == len(files)
    assert all(out.diagnostics for out in report.refused)
    assert report.problems == ()
    assert len(files) > 1_000


def test_each_shadowed_skill_names_the_served_winner(seen: Scan) -> None:
    shadowed = Names(seen.snapshot).shadowed()
    assert shadowed
    for lost in shadowed:
        assert lost.winner.name == lost.skill.name
        assert lost.winner is Names(seen.snapshot).find(lost.skill.name)


def test_diagnostics_name_existing_lines_and_those_of_unknown_keys_their_own(
    seen: Scan, files: dict[str, bytes]
) -> None:
    found = [(files[directory], one) for directory, entry in seen.memory.items() for one in entry.diagnostics]
    assert len([one for _, one in found if one.line is not None]) > 1_000
    for content, one in found:
        lines = content.split(b"\n")
        assert one.line is None or 1 <= one.line <= len(lines)
        if one.rule == "key-unknown":
            assert one.line is not None
            assert lines[one.line - 1].decode().startswith(one.message.split("'")[1])


@pytest.mark.acceptance("S2-22")
def test_every_body_is_the_bytes_after_the_closing_fence(seen: Scan, files: dict[str, bytes]) -> None:
    for skill in seen.snapshot.skills:
        content = files[skill.directory]
        assert read_instructions(skill).encode() == body_of(content)
        assert parse(content).body.encode() == body_of(content)


def test_every_name_and_alias_finds_a_skill(seen: Scan) -> None:
    for skill in seen.snapshot.skills:
        assert Names(seen.snapshot).find(skill.name) is skill
        assert is_specified_name(skill.alias)
        assert Names(seen.snapshot).find(skill.alias) is not None


def test_a_second_scan_opens_no_file(seen: Scan, corpus: Path) -> None:
    again = scan(make_roots([str(corpus)]), memory=seen.memory)
    assert again.opened == 0
    assert again.snapshot == seen.snapshot


@pytest.fixture(scope="module")
def hub(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SkillHub]:
    database = tmp_path_factory.mktemp("corpus") / "skills.lancedb"
    with hub_of({"SKILLS_DIR": str(corpus), "DB_PATH": str(database), "EMBEDDING_PROVIDER": "none"}) as hub:
        yield hub


def test_the_corpus_is_indexed_and_searched(hub: SkillHub) -> None:
    view = hub.refresh()
    assert view.index is not None
    assert view.index.statistics.skills == view.snapshot.report.found - len(view.snapshot.report.refused)
    assert hub.search("make an emoji reaction gif small enough for slack").hits[0].skill.name == "slack-gif-creator"
    assert hub.search("PDFから請求書番号を抽出").hits


@pytest.mark.parametrize(("file", "field"), [("queries.jsonl", "text"), ("agent_queries.jsonl", "query")])
def test_the_median_answer_has_at_most_2_500_bytes(hub: SkillHub, corpus: Path, file: str, field: str) -> None:
    questions = (corpus.parents[1] / "eval" / file).read_text(encoding="utf-8").splitlines()
    answers = [hub.search(json.loads(question)[field]) for question in questions]
    sizes = [len(compact_json(search_result(answer, every=False)).encode()) for answer in answers]
    assert statistics.median(sizes) <= 2_500
