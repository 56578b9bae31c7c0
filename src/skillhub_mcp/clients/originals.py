"""What was there before we changed a client's file, so that disconnecting gives back its very bytes."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass

from skillhub_mcp._util.private_files import PrivateFiles
from skillhub_mcp.clients.model import ClientEntry

_MOST = 200


@dataclass(frozen=True, slots=True)
class Original:
    """One change: the bytes before it (None: there was no file), a digest of those after it, and our entry.

    `directories` are those that we made for the file, the outer first.
    """

    before: bytes | None
    after: str
    entry: ClientEntry
    directories: tuple[str, ...] = ()

    def is_of(self, content: bytes | None) -> bool:
        """Whether `content` is what the change left: nobody has touched the file since."""
        return content is not None and digest_of(content) == self.after


def digest_of(content: bytes) -> str:
    """Return the digest that an original has of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


class Originals:
    """Originals by the place of the file and the name of the entry, readable by the owner only."""

    def __init__(self, directory: str) -> None:
        self._files = PrivateFiles(directory, most=_MOST)

    def read(self, place: str, name: str) -> Original | None:
        """Return the original for an entry, or None where there is none that can be used."""
        content = self._files.read((place, name))
        if content is None:
            return None
        try:
            said = json.loads(content)
            before = said["before"]
            return Original(
                None if before is None else base64.b64decode(before, validate=True),
                str(said["after"]),
                dict(said["entry"]),
                tuple(str(directory) for directory in said["directories"]),
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            # An original that is cut or foreign: the entry is then taken out of the text instead.
            return None

    def write(self, place: str, name: str, original: Original) -> None:
        """Keep the original for an entry in place of an earlier one. Raises OSError."""
        before = None if original.before is None else base64.b64encode(original.before).decode("ascii")
        said = {
            "path": place,
            "name": name,
            "before": before,
            "after": original.after,
            "entry": original.entry,
            "directories": original.directories,
        }
        self._files.write((place, name), json.dumps(said, ensure_ascii=True).encode("ascii"))

    def remove(self, place: str, name: str) -> None:
        """Remove the original for an entry, if there is one. Raises OSError."""
        self._files.remove((place, name))
