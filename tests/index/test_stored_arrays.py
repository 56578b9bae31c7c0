"""Arrays in a file: what is no such file, or lies about itself, is refused at no cost."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pytest

from skillhub_mcp.index.stored_arrays import load_arrays, save_arrays


def header(description: str) -> bytes:
    """Return the beginning of an array's file, which says what follows."""
    text = f"{description}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def archive(path: Path, content: bytes, compression: int = ZIP_STORED) -> str:
    with ZipFile(path, "w", compression) as written:
        written.writestr("words.npy", content)
    return str(path)


def of_size(shape: str, kind: str = "|u1") -> bytes:
    return header(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}")


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "a.npz")
    save_arrays(path, {"words": np.arange(3), "more": np.zeros((2, 0))})
    loaded = load_arrays(path, {"words": 1, "more": 2})
    assert (loaded["words"].tolist(), loaded["more"].shape) == ([0, 1, 2], (2, 0))


def test_a_few_bytes_that_would_become_gigabytes_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    content = of_size(f"({1 << 26},)") + bytes(1 << 26)
    archive(path, content, ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 17
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="damaged"):
            load_arrays(str(path), {"words": 1})
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(of_size(f"({1 << 60},)"), id="more than there is memory"),
        pytest.param(of_size("(-1,)"), id="less than nothing"),
        pytest.param(of_size("()") + b"1", id="other dimensions"),
        pytest.param(of_size("(1,)", "|O") + b"cos\nsystem\n(S'true'\ntR.", id="an object"),
        pytest.param(b"cos\nsystem\n(S'true'\ntR.", id="no array"),
        pytest.param(header("(" * 5_000), id="a header nested without end"),
    ],
)
def test_an_array_that_lies_about_itself_is_refused(content: bytes, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", content)
    with pytest.raises(ValueError):  # noqa: PT011 - numpy says it in many ways
        load_arrays(path, {"words": 1})


def test_an_array_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="damaged"):
        load_arrays(archive(tmp_path / "a.npz", of_size("(1,)") + b"1"), {"other": 1})


def test_no_byte_of_its_list_of_entries_can_change_unnoticed(tmp_path: Path) -> None:
    """The list at the end has no checksum: a longer comment to one entry hides the next ones."""
    file = tmp_path / "a.npz"
    arrays = {"words": np.arange(3), "more": np.eye(3), "last": np.zeros(0)}
    save_arrays(str(file), arrays)
    whole = file.read_bytes()
    # Every other byte: either byte of a length will do.
    for place in range(whole.index(b"PK\1\2"), len(whole), 2):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            read = load_arrays(str(file), {"words": 1, "more": 2, "last": 1})
        except (OSError, ValueError):
            continue
        assert all((read[name] == own).all() for name, own in arrays.items())
