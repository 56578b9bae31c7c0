"""LanceDB is imported without what no table needs, and what was left out is there for who asks."""

from __future__ import annotations

import subprocess
import sys

CLIENT = "lance_namespace_urllib3_client"


def run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_client_of_its_rest_service_is_made_when_somebody_asks_for_it() -> None:
    run(f"""
import sys
from skillhub_mcp.index.lance_import import import_lancedb

def loaded():
    return "{CLIENT}.api" in sys.modules

lancedb = import_lancedb()
assert lancedb.connect and not loaded()
assert import_lancedb() is lancedb and not loaded()
import {CLIENT} as client
assert not hasattr(client, "__wrapped__") and not loaded()
from {CLIENT} import BranchApi
assert loaded() and BranchApi.__module__ == "{CLIENT}.api.branch_api"
assert client.ApiClient and client.Configuration
assert not hasattr(client, "Nothing")
""")


def test_what_it_does_not_have_is_not_found_in_it() -> None:
    run(f"""
from skillhub_mcp.index.lance_import import import_lancedb
import_lancedb()
import {CLIENT} as client
assert not hasattr(client, "Nothing")
assert client.BranchApi
""")


def test_where_somebody_imported_all_of_it_before_nothing_is_put_off() -> None:
    run(f"""
import {CLIENT} as client
from skillhub_mcp.index.lance_import import import_lancedb
import_lancedb()
import {CLIENT} as same
assert client is same and client.BranchApi
""")
