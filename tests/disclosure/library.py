"""Skills as values, for tests of the card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.search.builders import make_skill

from skillhub_mcp.skills.model import Skill


def skill(name: str, description: str = "Does it. Use when due.", **facts: Any) -> Skill:
    """A skill of that name in a directory of its own."""
    return replace(make_skill(name, description, root="/s"), **facts)
