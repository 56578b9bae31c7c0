"""The entries of one archive, each judged when it is found. Any that is refused refuses the whole archive."""

from __future__ import annotations

from skillhub_mcp.errors import ArchiveRefused
from skillhub_mcp.library.bounds import Bounds, in_mib
from skillhub_mcp.library.entry_rules import EntryNames, entry_problem
from skillhub_mcp.library.tree import TreeEntry, TreeEntryKind

_SHOWN = 200
# What macOS packs beside the files: what its file system knows of them, and no file of a skill.
_MACOS = "__MACOSX"
_AGAIN = "fetch or pack it again: nothing of it was unpacked"


class ArchiveEntries:
    """Collects the files of the archive that messages call `name`."""

    def __init__(self, name: str, bounds: Bounds) -> None:
        self.name = name
        self.bounds = bounds
        self._names = EntryNames()
        self._found: dict[str, TreeEntry] = {}
        self._seen, self._bytes = 0, 0

    def in_order(self) -> tuple[TreeEntry, ...]:
        """Return the files in the order of their paths' bytes."""
        return tuple(sorted(self._found.values(), key=lambda entry: entry.path.encode()))

    def add(self, raw: bytes, *, is_directory: bool, size: int = 0, executable: bool = False) -> str | None:
        """Judge an entry by its name as it is written, and return the path of a file; None for what is left out.

        Raises ArchiveRefused.
        """
        shown = shown_name(raw)
        self._seen += 1
        if self._seen > self.bounds.source_entries:
            raise self.refused(f"is one entry too many: an archive has at most {self.bounds.source_entries:,}", shown)
        self._bytes += size
        if self._bytes > self.bounds.source_bytes:
            most = in_mib(self.bounds.source_bytes)
            raise self.refused(f"makes the archive too large: it unpacks to {most} at most", shown)
        try:
            path = raw.decode()
        except UnicodeDecodeError:
            raise self.refused("has a name that is not UTF-8", shown) from None
        path = path.removeprefix("./")
        if is_directory:
            path = path.removesuffix("/")
            if path in ("", "."):
                return None
        problem = entry_problem(path) or self._names.problem(path, is_directory=is_directory)
        if problem:
            raise self.refused(problem, shown)
        if is_directory or path.startswith(f"{_MACOS}/"):
            return None
        self._found[path] = TreeEntry(path, TreeEntryKind.FILE, size, executable)
        return path

    def refused(self, reason: str, entry: str = "") -> ArchiveRefused:
        """Return the error that refuses the archive, for an entry or as a whole."""
        return ArchiveRefused(self.name, reason, entry=entry, hint=_AGAIN)

    def never(self, what: str, raw: bytes) -> ArchiveRefused:
        """Return the error for an entry that is `what`, such as 'a link'."""
        reason = f"is {what}, and an archive may have files and directories only"
        return ArchiveRefused(self.name, reason, entry=shown_name(raw), hint="pack it again without that")

    def check_ratio(self, unpacked: int, packed: int, entry: str = "") -> None:
        """Raise ArchiveRefused where bytes unpack to more than they may: a bomb."""
        bounds = self.bounds
        if unpacked > bounds.ratio_from and unpacked > bounds.ratio * packed:
            most = f"at most {bounds.ratio} : 1 beyond {in_mib(bounds.ratio_from)}"
            raise self.refused(f"{'' if entry else 'it '}unpacks to too many times its size: {most}", entry)


def shown_name(raw: bytes) -> str:
    """Return the name of an entry for messages, whatever its bytes are and however many."""
    text = raw.decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
