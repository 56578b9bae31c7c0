"""`skillhub pick`."""

from __future__ import annotations

from typing import Any


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
