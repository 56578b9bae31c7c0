"""URLs without what may be a secret in them, for everything that is recorded, printed or logged."""

from __future__ import annotations

import re

# What stands for the parameters that were removed.
REDACTED = "***"

_NOT_IN_URL = r"\s'\"<>`"
_URL = re.compile(
    # The part before the `@` of a skill's URI is its name.
    rf"(?<!skill:)//(?P<user>[^/?#{_NOT_IN_URL}]*@"
    # A password with a slash or a question mark that was not escaped; digits are a port.
    rf"|[^/?#:@\[{_NOT_IN_URL}]*:(?!\d+(?:[/?#]|\Z))[^{_NOT_IN_URL}]{{0,200}}?@)?"
    rf"(?P<place>[^?#{_NOT_IN_URL}]*)(?:\?(?P<query>[^#{_NOT_IN_URL}]*))?"
)
# No service takes a secret by these names.
_HARMLESS = frozenset(
    ("api-version", "archive", "at", "branch", "commit", "dl", "download", "file", "filename", "format", "name", "path",
     "raw", "ref", "ref_type", "rev", "subdir", "tag", "version")
)  # fmt: skip


def redacted(text: str) -> str:
    """Return a text without the passwords and secret query parameters (`***`) of its URLs; ssh keeps its user."""
    return _URL.sub(_without_secrets, text)


def redacted_query(query: str) -> str:
    """Return a query with `***` for its parameters that may hold a secret."""
    parts = [part for part in query.split("&") if part]
    kept = [part for part in parts if "=" in part and part.partition("=")[0].lower() in _HARMLESS]
    return "&".join([*kept, REDACTED] if len(kept) < len(parts) else kept)


def _without_secrets(url: re.Match[str]) -> str:
    user, place, query = url.group("user", "place", "query")
    name = (user or "").partition(":")[0].removesuffix("@")
    is_ssh = url.string[max(url.start() - 4, 0) : url.start()].lower() == "ssh:"
    kept = f"{name}@" if name and is_ssh else ""
    asked = f"?{redacted_query(query)}" if query else ""
    return f"//{kept}{place}{asked}"
