"""Writing fixes: the file keeps its mode, and a file that has changed since it was read is left alone."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.skills.model import Problem
from skillhub_mcp.validation import apply_fixes
from skillhub_mcp.validation.apply_fixes import FixedFile, fix_file, write
from skillhub_mcp.validation.targets import targets


@pytest.fixture
def fixed(write_skill: SkillWriter) -> FixedFile:
    directory = write_skill("my-skill", frontmatter="name: My_Skill\ndescription: Use when due.")
    found = fix_file(targets([str(directory)]).found[0])
    assert found is not None
    return found


def test_the_fixed_file_keeps_the_mode(fixed: FixedFile) -> None:
    os.chmod(fixed.path, 0o640)
    write(fixed)
    assert Path(fixed.path).read_bytes() == fixed.after
    assert stat.S_IMODE(os.stat(fixed.path).st_mode) == 0o640
    assert os.listdir(os.path.dirname(fixed.path)) == ["SKILL.md"]


def test_a_file_changed_since_it_was_read_is_not_overwritten(fixed: FixedFile) -> None:
    changed = fixed.before + b"One line more.\n"
    Path(fixed.path).write_bytes(changed)
    assert write(fixed) == Problem(fixed.path, "has changed since it was read", "run the command again")
    assert Path(fixed.path).read_bytes() == changed


def test_a_failed_write_keeps_the_file_and_names_the_fix(fixed: FixedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(apply_fixes, "atomic_write", fail)
    problem = write(fixed)
    assert problem is not None
    assert (problem.subject, problem.message) == (fixed.path, f"cannot be written: {os.strerror(errno.ENOSPC)}")
    assert problem.fix.startswith("make its directory writable")
    assert Path(fixed.path).read_bytes() == fixed.before
