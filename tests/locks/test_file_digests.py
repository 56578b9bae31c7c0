"""The digests of files, kept as long as the files are unchanged."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillhub_mcp.locks.file_digests import (
    FileDigest,
    KnownDigests,
    computed_hash,
    digest_of,
    digests_of,
    irregular_of,
    regular_of,
    states_of,
)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written now was written a while ago."""
    now = time.time_ns
    monkeypatch.setattr("skillhub_mcp.locks.file_digests.time.time_ns", lambda: now() + 60_000_000_000)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there, and there is no FIFO")
def test_every_file_is_told_hidden_ones_and_links_too_and_only_regular_ones_count(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".b").write_bytes(b"1")
    (tmp_path / "run").write_bytes(b"22")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("run")
    (tmp_path / "a" / "up").symlink_to("..")
    os.mkfifo(tmp_path / "pipe")
    regular = {"a/.b": FileDigest(sha256(b"1"), 1, False), "run": FileDigest(sha256(b"22"), 2, True)}
    files = digests_of(str(tmp_path))
    assert regular_of(files) == regular
    assert irregular_of(files) == {"link": "-> run", "a/up": "-> ..", "pipe": "FIFO"}
    assert digest_of(files) == digest_of(regular)
    assert set(states_of(str(tmp_path))) == files.keys()


def test_directories_in_each_other_without_a_bound_cannot_be_looked_through(
    tmp_path: Path, make_deep: Callable[[Path], None]
) -> None:
    make_deep(tmp_path)
    for look in (digests_of, computed_hash):
        with pytest.raises(OSError, match="more than 128 directories deep"):
            look(str(tmp_path))


@pytest.mark.usefixtures("later")
def test_an_unchanged_file_is_read_once(tmp_path: Path) -> None:
    known: KnownDigests = {}
    (tmp_path / "a").write_bytes(b"1")
    first = digests_of(str(tmp_path), known)["a"]
    assert digests_of(str(tmp_path), known)["a"] is first
    (tmp_path / "a").write_bytes(b"3")
    assert digests_of(str(tmp_path), known)["a"].sha256 == sha256(b"3")


@pytest.mark.usefixtures("later")
def test_a_file_of_the_same_size_with_its_old_time_set_back_is_read_again(tmp_path: Path) -> None:
    known, file = dict[str, Any](), tmp_path / "a"
    file.write_bytes(b"1")
    before = file.stat()
    digests_of(str(tmp_path), known)
    while file.stat().st_ctime_ns == before.st_ctime_ns:
        file.write_bytes(b"2")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digests_of(str(tmp_path), known)["a"].sha256 == sha256(b"2")


@pytest.mark.usefixtures("later")
def test_a_bit_that_was_turned_is_seen(tmp_path: Path) -> None:
    known, file = dict[str, Any](), tmp_path / "a"
    file.write_bytes(b"1")
    assert not digests_of(str(tmp_path), known)["a"].executable
    file.chmod(0o755)
    assert digests_of(str(tmp_path), known)["a"].executable


@pytest.mark.usefixtures("later")
@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_that_leads_elsewhere_is_seen(tmp_path: Path) -> None:
    known, link = dict[str, Any](), tmp_path / "link"
    link.symlink_to("a")
    assert digests_of(str(tmp_path), known)["link"].irregular == "-> a"
    link.unlink()
    link.symlink_to("b")
    assert digests_of(str(tmp_path), known)["link"].irregular == "-> b"


def test_a_file_that_was_written_a_moment_ago_is_read_again(tmp_path: Path) -> None:
    known: KnownDigests = {}
    (tmp_path / "a").write_bytes(b"1")
    first = digests_of(str(tmp_path), known)["a"]
    assert digests_of(str(tmp_path), known)["a"] is not first
