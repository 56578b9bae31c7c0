"""File systems without modes, hard links or locks: the index says what is missing, and where to put it."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp._util.file_modes import missing_feature


def refuse(*_: Any, **__: Any) -> NoReturn:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def test_an_ordinary_directory_lacks_nothing_and_keeps_no_file(tmp_path: Path) -> None:
    assert missing_feature(str(tmp_path)) == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "call", "what"),
    [(os, "chmod", "file modes (chmod)"), (os, "link", "hard links"), (fcntl, "flock", "file locks")],
    ids=["chmod", "link", "flock"],
)
def test_an_index_on_a_file_system_that_lacks_something_is_reported_in_one_line(
    skillhub: Skillhub,
    write_skill: SkillWriter,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    module: Any,
    call: str,
    what: str,
) -> None:
    write_skill("one")
    monkeypatch.setattr(module, call, refuse)
    assert missing_feature(str(tmp_path)) == what
    if call == "link":
        # LanceDB's own hard links cannot be made to fail here.
        return
    done = skillhub("index")
    assert (done.code, "index     not written" in done.out) == (1, True)
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert line.startswith("The index at ")
    assert f" cannot be written: its file system has no {what}; set SKILLHUB_DB_PATH to a local disk" in line
