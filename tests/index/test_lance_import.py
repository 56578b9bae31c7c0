"""LanceDB is imported without its REST client, which stays available to other programs."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_lancedb_works_without_importing_its_rest_client() -> None:
    run("""
import sys, tempfile
from skillhub_mcp.index.lance import import_lancedb
lancedb = import_lancedb()
assert not [name for name in sys.modules if name.startswith("lance_namespace")]
assert import_lancedb() is lancedb
with tempfile.TemporaryDirectory() as directory:
    database = lancedb.connect(directory)
    database.create_table("a", [{"x": 1}])
    assert database.list_tables().tables == ["a"]
import lance_namespace
assert lance_namespace.ListTablesResponse(tables=["a"]).tables == ["a"]
assert len(sys.meta_path) == len({id(one) for one in sys.meta_path})
""")


def test_an_already_imported_client_is_not_deferred() -> None:
    run("""
import lance_namespace
from skillhub_mcp.index.lance import import_lancedb
assert import_lancedb().db.ListTablesResponse is lance_namespace.ListTablesResponse
""")
