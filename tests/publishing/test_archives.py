"""The archive of a skill: the same bytes wherever it is made, and what any reader of zips reads from it."""

from __future__ import annotations

import hashlib
import io
import zipfile

import pytest

from skillhub_mcp.publishing.archives import ArchivedFile, archive_pieces

FILES = [
    ArchivedFile("SKILL.md", b"---\nname: pdf-forms\ndescription: Fills forms.\n---\n# How\n"),
    ArchivedFile("assets/\u00fcber.txt", "Gr\u00fc\u00dfe\n".encode()),
    ArchivedFile("empty", b""),
    ArchivedFile("scripts/run.sh", b"#!/bin/sh\necho hi\n", executable=True),
]


def test_an_archive_has_these_bytes_on_every_machine() -> None:
    # Another digest would make every installed skill look changed: let it change with the format of the archive only.
    made = b"".join(archive_pieces(FILES))
    assert hashlib.sha256(made).hexdigest() == "894296bd55db7491f73f794d7364587d321652ac9aeadee90a078593139922fd"


def test_what_was_archived_is_read_again_with_its_modes() -> None:
    with zipfile.ZipFile(io.BytesIO(b"".join(archive_pieces(FILES)))) as archive:
        assert archive.testzip() is None
        found = {entry.filename: entry for entry in archive.infolist()}
        assert {name: archive.read(name) for name in found} == {file.path: file.content for file in FILES}
    assert {name: oct(entry.external_attr >> 16) for name, entry in found.items()} == {
        file.path: "0o100755" if file.executable else "0o100644" for file in FILES
    }
    assert {entry.date_time for entry in found.values()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_name_that_is_no_text_is_not_archived() -> None:
    with pytest.raises(UnicodeEncodeError):
        list(archive_pieces([ArchivedFile("a\udcff", b"")]))
