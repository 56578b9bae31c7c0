"""The receipt of an installation: the digest of each file as it was installed, so that a later edit is seen.

A lock has one digest for a whole skill, and is shared with a team; a receipt is for this machine, and tells which file
was edited. Pure: `library` writes it, below the root's own directory.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skillhub_mcp.foreign_json import BadJson, read_json
from skillhub_mcp.locks.content_digest import FileDigest, digest_of, regular_of
from skillhub_mcp.locks.plain_files import read_plain
from skillhub_mcp.skills.own_directory import OWN_DIRECTORY

_VERSION = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class InstallReceipt:
    """The files of the skill `name` as they were installed, by path with `/`.

    Where a person locked their edits, `files` have them, and `origin` are those that the source gave; else None. What
    is no regular file is not written: the lock names it.
    """

    name: str
    files: Mapping[str, FileDigest] = field(default_factory=dict)
    origin: Mapping[str, FileDigest] | None = None

    @property
    def digest(self) -> str:
        """The digest of the skill as it was installed."""
        return digest_of(self.files)

    @property
    def from_source(self) -> Mapping[str, FileDigest]:
        """The files as the source gave them."""
        return self.files if self.origin is None else self.origin


def receipt_path(root: str, name: str) -> str:
    """Return where the receipt of a skill of `root` lies."""
    return os.path.join(root, OWN_DIRECTORY, "receipts", f"{name}.json")


def receipt_text(receipt: InstallReceipt) -> str:
    """Return the text of a receipt."""
    written: dict[str, object] = {"version": _VERSION, "name": receipt.name, "files": _written(receipt.files)}
    if receipt.origin is not None:
        written["origin"] = _written(receipt.origin)
    return json.dumps(written, indent=1) + "\n"


def parse_receipt(text: str, name: str) -> InstallReceipt | None:
    """Return the receipt of the skill `name` that a text says; None for one that is damaged, newer or of another.

    Without a receipt nothing says which file was edited: then each that differs from the source counts as edited.
    """
    try:
        whole = read_json(text)
        if not isinstance(whole, dict) or (whole.get("version"), whole.get("name")) != (_VERSION, name):
            return None
        files = _files(whole["files"])
        origin = _files(whole["origin"]) if "origin" in whole else None
    except (BadJson, KeyError, TypeError, AttributeError, ValueError):
        return None
    return InstallReceipt(name, files, origin)


def read_receipt(root: str, name: str) -> InstallReceipt | None:
    """Return the receipt of a skill of `root`; None where there is none that can be read."""
    try:
        content = read_plain(receipt_path(root, name))
        return None if content is None else parse_receipt(content.decode("utf-8"), name)
    except (OSError, UnicodeDecodeError):
        return None


def _written(files: Mapping[str, FileDigest]) -> Mapping[str, object]:
    return {
        path: {"sha256": one.sha256, "size": one.size, "executable": one.executable}
        for path, one in sorted(regular_of(files).items())
    }


def _files(written: Any) -> Mapping[str, FileDigest]:
    """Return the files that a receipt lists. Raises KeyError, TypeError, AttributeError and ValueError."""
    files = {path: FileDigest(one["sha256"], one["size"], one["executable"]) for path, one in written.items()}
    if not all(isinstance(one.sha256, str) and _SHA256.fullmatch(one.sha256) for one in files.values()):
        raise ValueError("a digest is malformed")
    return files
