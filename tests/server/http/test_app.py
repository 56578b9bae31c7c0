"""Listening at an address: an unusable one is refused with its wrong part."""

from __future__ import annotations

import pytest

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.server.http.app import HttpOptions, listening


def refused(host: str, port: int) -> tuple[str, str | None]:
    with (
        pytest.raises(InvalidSetting) as caught,
        listening(HttpOptions(host, port, allowed_hosts=(), allowed_origins=())),
    ):
        pass
    return caught.value.message, caught.value.hint


def test_busy_ports_and_foreign_addresses_are_distinguished() -> None:
    with listening(HttpOptions("127.0.0.1", 0, allowed_hosts=(), allowed_origins=())) as taken:
        port = taken.getsockname()[1]
        message, hint = refused("127.0.0.1", port)
    assert message.startswith(f"--port='{port}' is not available at 127.0.0.1: ")
    assert hint == "choose another port"
    # A documentation address (RFC 5737) that no machine has.
    assert refused("192.0.2.1", 0) == (
        "--host='192.0.2.1' is not an address of this machine",
        "127.0.0.1 is for this machine alone, 0.0.0.0 for every address that it has",
    )
