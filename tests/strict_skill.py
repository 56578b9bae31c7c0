"""FastMCP's own model of a skill, as its clients check one: called otherwise since 4.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastmcp.skills import MCPSkill as StrictSkill
else:
    try:
        from fastmcp.skills import MCPSkill as StrictSkill
    except ImportError:
        from fastmcp.skills.models import Skill as StrictSkill

__all__ = ["StrictSkill"]
