"""LanceDB answers every search, observed from outside a server process."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bench.wire import StdioServer
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.search.builders import COMMAND

SOURCE = Path(__file__).parents[2] / "src"


def maps(server: StdioServer) -> str:
    return Path(f"/proc/{server.process}/maps").read_text(encoding="utf-8")


def found(server: StdioServer, query: str) -> str:
    return str(server.call("search_skills", {"query": query})["content"][0]["text"])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc")
def test_a_server_loads_lancedb_at_its_first_search_and_rebuilds_a_table_that_was_moved_away(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    write_skill("heron", "Watches the heron.")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    with StdioServer(COMMAND, hub_environment) as server:
        server.initialize()
        server.request("tools/list")
        assert "_lancedb" not in maps(server)
        assert "walrus" in found(server, "walrus")
        assert "_lancedb" in maps(server)
        table = Path(hub_environment["DB_PATH"], "skills.lance")
        shutil.move(table, table.with_name("away"))
        answer = found(server, "watches the heron")
        assert "INDEX_UNAVAILABLE" in answer or ("heron" in answer and table.is_dir())


def test_nothing_tunes_the_interpreter_or_the_allocator() -> None:
    tuned = re.compile(r"mallopt|setswitchinterval|gc\.(?:freeze|set_threshold)|vars\([^)]*\)\[[^]]*\] =")
    assert [path.name for path in SOURCE.rglob("*.py") if tuned.search(path.read_text(encoding="utf-8"))] == []


def test_an_idle_server_with_a_compact_index_does_not_load_lancedb(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    with hub_of(hub_environment) as hub:
        hub.search("walrus")
    program = (
        "import sys; from skillhub_mcp.index.writer import IndexWriter;"
        f"IndexWriter({hub_environment['DB_PATH']!r}, embedder=None).tidy(); print('lancedb' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"
