"""Archives are reproducible, and any ZIP reader can read them."""

from __future__ import annotations

import hashlib
import io
import zipfile

from skillhub_mcp._util.zip_archive import ArchivedFile, archive

FILES = {
    "scripts/run.sh": ArchivedFile(b"#!/bin/sh\necho hi\n", executable=True),
    "SKILL.md": ArchivedFile(b"---\nname: pdf-forms\ndescription: Fills forms.\n---\n# How\n"),
    "assets/\u00fcber.txt": ArchivedFile("Gr\u00fc\u00dfe\n".encode()),
    "empty": ArchivedFile(b""),
}


def test_an_uncompressed_archive_is_reproducible() -> None:
    # With other bytes every skill that was installed from a hub would look changed.
    made = archive(FILES, compressed=False)
    assert hashlib.sha256(made).hexdigest() == "cc7022c9526a5aec70427be759c485c0c3c74baf87eac3f58c96acee5d3b39b6"
    assert archive(dict(reversed(FILES.items())), compressed=False) == made


def test_an_archive_keeps_content_and_modes() -> None:
    with zipfile.ZipFile(io.BytesIO(archive(FILES, compressed=False))) as made:
        found = {entry.filename: entry for entry in made.infolist()}
        assert {name: made.read(name) for name in found} == {name: file.content for name, file in FILES.items()}
    assert {name: entry.external_attr >> 16 for name, entry in found.items()} == {
        name: 0o100755 if file.executable else 0o100644 for name, file in FILES.items()
    }
