"""A home directory, and the agent-context tools' catalogues of it and a project."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.disclosure.catalogue import Budget
from skillhub_mcp.disclosure.context.catalogue import Catalogues
from skillhub_mcp.project import find_project
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.roots import SkillRoot

Add = Callable[..., Path]


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture
def add(write_skill: SkillWriter) -> Add:
    """Write a skill into `.agents/skills` of a directory."""

    def add(place: Path, name: str, description: str = "Does it. Use when due.", **options: Any) -> Path:
        return write_skill(name, description, root=place / ".agents" / "skills", **options)

    return add


def agreed(roots: tuple[SkillRoot, ...]) -> tuple[SkillRoot, ...]:
    """The roots of somebody who trusts the project."""
    return tuple(replace(root, trust=Trust.AGREED) if root.within else root for root in roots)


@pytest.fixture
def catalogues(project: Path, home: Path) -> Catalogues:
    def project_of(cwd: str) -> Any:
        return find_project(cwd or str(project), home=str(home))

    return Catalogues(project_of, home=str(home), budget=Budget(200, 32_768), judge=agreed)
