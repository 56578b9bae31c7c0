"""Arrays in a file: read or mapped alike, and what is no such file, or lies about itself, is refused at no cost."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skillhub_mcp.index import mapped_arrays
from skillhub_mcp.index.mapped_arrays import ArrayWriter, open_arrays, read_meta

KINDS = {"words": "|u1", "numbers": "<i4", "none": "<f4"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of two arrays that were written in turns, and one that has nothing."""
    content = io.BytesIO()
    writer = ArrayWriter(content, {name: (kind, 9) for name, kind in KINDS.items()})
    for number in range(3):
        writer.append("numbers", np.arange(number, dtype=np.int64))
        writer.append("words", np.full(1, number))
    writer.finish({"of": "whom"})
    (tmp_path / "a.arrays").write_bytes(content.getvalue())
    return tmp_path / "a.arrays"


@pytest.fixture(params=["read", "mapped"], autouse=True)
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "mapped":
        monkeypatch.setattr(mapped_arrays, "READ_BYTES", 0)
    return str(request.param)


def rewritten(path: Path, **changes: Any) -> str:
    """The file with another header, which has the right checksum."""
    content = path.read_bytes()
    begin = content.index(b'{"meta"')
    header = json.loads(content[begin : content.index(b"\0", begin)])
    header["arrays"]["numbers"] = changes.pop("numbers", header["arrays"]["numbers"])
    text = json.dumps({**header, **changes}).encode()
    start = content[: begin - 8] + len(text).to_bytes(4, "little") + zlib.crc32(text).to_bytes(4, "little") + text
    path.write_bytes(start.ljust(4_096, b"\0") + content[4_096:])
    return str(path)


def test_what_is_written_in_pieces_is_read_whole_and_cannot_be_changed(path: Path) -> None:
    stored = open_arrays(str(path), KINDS)
    assert {name: values.tolist() for name, values in stored.arrays.items()} == {
        "words": [0, 1, 2],
        "numbers": [0, 0, 1],
        "none": [],
    }
    assert stored.meta == read_meta(str(path)) == {"of": "whom"}
    with pytest.raises(ValueError, match="read-only"):
        stored.arrays["numbers"][0] = 5


def test_what_was_opened_stays_when_another_takes_its_place(path: Path) -> None:
    stored = open_arrays(str(path), KINDS)
    other = path.with_name("b")
    other.write_bytes(b"")
    os.replace(other, path)
    stored.release()
    assert stored.arrays["numbers"].tolist() == [0, 0, 1]


@pytest.mark.parametrize("kept", [0, 3, 30, 4_095, 4_096, -1])
def test_a_file_that_was_cut_is_refused(path: Path, kept: int) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"a\.arrays is damaged"):
        open_arrays(str(path), KINDS)


def test_a_changed_byte_is_noticed_when_it_is_read_or_asked_for(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 0xFF
    path.write_bytes(content)
    if how == "mapped":
        stored = open_arrays(str(path), KINDS)
        with pytest.raises(ValueError, match="damaged"):
            stored.verify()
    else:
        with pytest.raises(ValueError, match="damaged"):
            open_arrays(str(path), KINDS)


def test_every_byte_of_the_header_counts(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(len(whole[:4_096].rstrip(b"\0"))):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(ValueError, match="damaged"):
            open_arrays(str(path), KINDS)


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(["<i4", 4_096, 1 << 60, 0], id="more than there is memory"),
        pytest.param(["<i4", 4_096, -1, 0], id="less than nothing"),
        pytest.param(["<i4", -8, 1, 0], id="before the file"),
        pytest.param(["<i4", 1 << 70, 1, 0], id="behind it"),
        pytest.param(["<i4", 4_096, 1.5, 0], id="half of one"),
        pytest.param(["|O", 4_096, 1, 0], id="objects"),
        pytest.param(["<i8", 4_096, 1, 0], id="another type"),
        pytest.param(["<i4", 4_096], id="not described"),
        pytest.param("<i4", id="no description"),
    ],
)
def test_an_array_that_lies_about_itself_is_refused(path: Path, numbers: object) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="damaged"):
            open_arrays(rewritten(path, numbers=numbers), KINDS)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("changes", [{"size": 5}, {"meta": 5}, {"arrays": {}}, {"arrays": None}])
def test_a_header_that_says_what_is_not_so_is_refused(path: Path, changes: dict[str, object]) -> None:
    content = path.read_bytes()
    assert open_arrays(rewritten(path), KINDS).meta == {"of": "whom"}
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        open_arrays(rewritten(path, **changes), KINDS)


def test_a_file_that_is_another_is_refused(path: Path) -> None:
    path.write_bytes(b"PK\3\4" + path.read_bytes()[4:])
    for read in (lambda: open_arrays(str(path), KINDS), lambda: read_meta(str(path))):
        with pytest.raises(ValueError, match="damaged"):
            read()
