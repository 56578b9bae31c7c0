"""Which paths of entries are refused on every system, since skills are copied between them. Pure."""

from __future__ import annotations

import re
import unicodedata

from skillhub_mcp.skills.files.paths import path_problem

# Windows opens a device under such a name, whatever follows a dot, and in any directory. It reads ¹, ² and ³ as digits.
_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³]|conin\$|conout\$)[ ]*(?:\..*)?")
# Git's own directory, as some file systems spell it too: what git finds there, it obeys and runs.
_GIT_NAMES = frozenset({".git", "git~1"})


def entry_problem(path: str) -> str | None:
    """Return why an entry of that path is never unpacked, as the end of a sentence about it; None if it may be."""
    if not path:
        return "has no name"
    if "\\" in path:
        return "has a backslash, which separates names on Windows"
    names = path.split("/")
    if any(name == "." for name in names):
        return "has the name '.'"
    return path_problem(path, serve_dotfiles=True) or next(filter(None, map(_name_problem, names)), None)


def _name_problem(name: str) -> str | None:
    if not name:
        return "has an empty name at its end"
    if ":" in name:
        return "has a ':', which names a drive or a stream on Windows"
    if name[-1] in ". ":
        return "has a name that ends in a dot or a blank, which Windows leaves out"
    if _DEVICE.fullmatch(name):
        return f"has the name {name!r}, which is a device on Windows"
    if _folded_name(name) in _GIT_NAMES:
        return "is in git's own directory, which git obeys"
    return None


def folded(path: str) -> str:
    """Return the text that two paths share if any file system takes them for one: by letter case, form or width."""
    return "/".join(map(_folded_name, path.split("/")))


def _folded_name(name: str) -> str:
    if name.isascii():
        return name.lower()
    # HFS+ ignores what cannot be seen.
    seen = "".join(one for one in name if unicodedata.category(one) != "Cf" and not "\ufe00" <= one <= "\ufe0f")
    # Folding may undo what normalising did, and the other way round.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen.casefold()).casefold())


class EntryNames:
    """The names of the entries so far."""

    def __init__(self) -> None:
        self._spelled: dict[str, str] = {}
        self._files: set[str] = set()
        self._directories: set[str] = set()

    def problem(self, path: str, *, is_directory: bool = False) -> str | None:
        """Note an entry, and return why it cannot lie beside those before it; None if it can."""
        names, keys = path.split("/"), folded(path).split("/")
        for end in range(1, len(names) + 1):
            here, key = "/".join(names[:end]), "/".join(keys[:end])
            spelled = self._spelled.setdefault(key, here)
            if spelled != here:
                return f"and {spelled!r} are one name where letter case or form do not count"
            if end < len(names) or is_directory:
                if key in self._files:
                    return f"needs a directory {here!r}, which is a file"
                self._directories.add(key)
            elif key in self._files:
                return "is there twice"
            elif key in self._directories:
                return "is a file and a directory"
            else:
                self._files.add(key)
        return None
