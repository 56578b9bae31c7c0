"""The errors of the HTTP library below the SDKs, `httpx` or `httpx2`, which the SDKs pass through."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def transport_failures() -> tuple[type[Exception], ...]:
    """The errors of a request that got no answer."""
    return (OSError, *(library.HTTPError for library in _libraries()))


def settings_failures() -> tuple[type[Exception], ...]:
    """The errors of a request that a retry cannot fix: its address or its headers cannot be sent.

    Catch them before `transport_failures`, which include some of them.
    """
    found: list[type[Exception]] = [UnicodeEncodeError]
    for library in _libraries():
        found += [library.InvalidURL, library.UnsupportedProtocol, library.LocalProtocolError]
    return tuple(found)


def _libraries() -> list[Any]:
    return [importlib.import_module(name) for name in ("httpx", "httpx2") if importlib.util.find_spec(name) is not None]
