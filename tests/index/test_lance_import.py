"""LanceDB is imported without what no table needs, and what was left out is there for who asks.

Each process imports it once, which is most of what these tests take: one proves several things.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CLIENT = "lance_namespace_urllib3_client"


def run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_packages_of_its_rest_service_are_made_when_somebody_asks_for_something_of_them() -> None:
    run(f"""
import sys
from skillhub_mcp.index.lance_import import import_lancedb

def models():
    return [name for name in sys.modules if name.startswith("{CLIENT}.models.")]

lancedb = import_lancedb()
few = models()
assert lancedb.connect and "{CLIENT}.api" not in sys.modules and len(few) < 40
import {CLIENT} as client
import lance_namespace
assert import_lancedb() is lancedb and models() == few
assert not hasattr(client, "__wrapped__") and not hasattr(lance_namespace, "__wrapped__") and models() == few

assert lance_namespace.ListTablesResponse(tables=["a"]).tables == ["a"]
assert len(models()) > 100 and "{CLIENT}.api" not in sys.modules
assert isinstance(lance_namespace.LanceNamespace, type) and not hasattr(lance_namespace, "Nothing")
from {CLIENT} import BranchApi
assert BranchApi.__module__ == "{CLIENT}.api.branch_api"
assert client.ApiClient and client.Configuration and not hasattr(client, "Nothing")
""")


def test_what_lancedb_took_of_them_is_what_it_stands_for_in_any_use(tmp_path: Path) -> None:
    run(f"""
from skillhub_mcp.index.lance_import import import_lancedb
lancedb = import_lancedb()
db = lancedb.db
response = db.ListTablesResponse(tables=["a"])
import lance_namespace
assert type(response) is lance_namespace.ListTablesResponse
assert isinstance(response, db.ListTablesResponse) and not isinstance("a", db.ListTablesResponse)
assert db.ListTablesResponse.model_fields.keys() == lance_namespace.ListTablesResponse.model_fields.keys()

class Ours(db.LanceNamespace):
    def namespace_id(self):
        return "ours"

assert issubclass(Ours, lance_namespace.LanceNamespace) and Ours().namespace_id() == "ours"

connection = lancedb.connect_namespace("dir", {{"root": {str(tmp_path)!r}}})
connection.create_table("skills", [{{"path": "a"}}])
assert list(connection.table_names()) == ["skills"]
assert connection.open_table("skills").count_rows() == 1

import sys
if sys.version_info < (3, 12):
    from overrides import override
    try:
        class Child(dict):
            @override
            def of_no_parent(self):
                pass
    except TypeError:
        pass
    else:
        raise AssertionError("the methods of others are not checked any more")
""")


def test_where_somebody_imported_all_of_it_before_nothing_is_put_off() -> None:
    run(f"""
import sys
import {CLIENT} as client
import lance_namespace
sys.modules["overrides"] = overrides = type(sys)("overrides")
from skillhub_mcp.index.lance_import import import_lancedb
db = import_lancedb().db
import {CLIENT} as same
assert client is same and client.BranchApi
assert db.ListTablesResponse is lance_namespace.ListTablesResponse
assert sys.modules["overrides"] is overrides
""")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not tell what a process has loaded")
def test_what_takes_long_of_its_import_keeps_no_other_thread_waiting() -> None:
    run("""
import gc, sys
from skillhub_mcp.index import lance_import

def loaded():
    mapped = open("/proc/self/maps").read()
    return [name for name in ("libarrow.so", "libarrow_dataset.so", "_lancedb.") if name in mapped]

assert loaded() == []
lance_import._load_libraries()
assert len(loaded()) == 3 and "pyarrow" not in sys.modules and "lancedb" not in sys.modules
gc.freeze()
before = gc.get_freeze_count()
lance_import.import_lancedb()
assert gc.isenabled() and gc.get_freeze_count() > before + 10_000
""")


def test_a_process_that_leaves_nothing_out_of_its_looks_for_garbage_goes_on_so() -> None:
    # Who asks what refers to an object is not told of what is left out: Hypothesis took that for an error.
    run("""
import gc
from skillhub_mcp.index.lance_import import import_lancedb
import_lancedb()
assert gc.isenabled() and gc.get_freeze_count() == 0
""")
