"""What do the SDKs let through from the HTTP library below them? Either of two, of one shape; knows no provider."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def transport_failures() -> tuple[type[Exception], ...]:
    """The errors of a request that did not get its answer."""
    return (OSError, *(library.HTTPError for library in _libraries()))


def settings_failures() -> tuple[type[Exception], ...]:
    """The errors of a request that no wait would mend: its address or its headers cannot be sent.

    Catch them before `transport_failures`, which hold some of them.
    """
    found: list[type[Exception]] = [UnicodeEncodeError]
    for library in _libraries():
        found += [library.InvalidURL, library.UnsupportedProtocol, library.LocalProtocolError]
    return tuple(found)


def _libraries() -> list[Any]:
    return [importlib.import_module(name) for name in ("httpx", "httpx2") if importlib.util.find_spec(name) is not None]
