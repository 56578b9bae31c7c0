"""Settings that are invalid and have their default: commands that they concern say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub


@pytest.mark.acceptance("S0-74")
@pytest.mark.parametrize(
    "command",
    [
        ("catalogue", "--format", "codelia"),
        ("catalogue",),
        ("inspect",),
        ("context", "list"),
        ("context", "search", "notes"),
        ("context", "load", "--name", "repo-review"),
    ],
    ids=" ".join,
)
def test_a_bad_limit_is_told_beside_what_the_default_gives(
    skillhub: Skillhub, project: Path, command: tuple[str, ...]
) -> None:
    usual = skillhub(*command, "--cwd", project)
    bad = skillhub(*command, "--cwd", project, SKILLHUB_CATALOGUE_MAX_BYTES="abc")
    assert (bad.code, bad.out) == (usual.code, usual.out)
    told = "SKILLHUB_CATALOGUE_MAX_BYTES='abc' must be a whole number from 1 to 67108864; using 32768\n"
    assert bad.err == told + usual.err
