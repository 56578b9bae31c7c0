"""LanceDB is imported without what no table needs, and what was left out is there for who asks."""

from __future__ import annotations

import subprocess
import sys

import pytest

CLIENT = "lance_namespace_urllib3_client"


@pytest.mark.parametrize(
    "then",
    [
        "assert not loaded()",
        f"from {CLIENT} import BranchApi; assert loaded(); assert BranchApi.__module__ == '{CLIENT}.api.branch_api'",
        f"import {CLIENT} as client; assert not hasattr(client, '__wrapped__'); assert not loaded()",
        f"import {CLIENT} as client; assert client.ApiClient; assert client.Configuration; assert loaded()",
        f"import {CLIENT} as client\ntry: client.Nothing\nexcept AttributeError: pass\nelse: raise SystemExit('found')",
        "assert import_lancedb() is lancedb; assert not loaded()",
    ],
)
def test_the_client_of_its_rest_service_is_made_when_somebody_asks_for_it(then: str) -> None:
    program = f"""
import sys
from skillhub_mcp.index.lance_import import import_lancedb
lancedb = import_lancedb()
assert lancedb.connect
def loaded():
    return '{CLIENT}.api' in sys.modules
{then}
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_where_somebody_imported_all_of_it_before_nothing_is_put_off() -> None:
    program = (
        f"import {CLIENT} as client; from skillhub_mcp.index.lance_import import import_lancedb; import_lancedb(); "
        f"import {CLIENT} as same; assert client is same; assert client.BranchApi"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
