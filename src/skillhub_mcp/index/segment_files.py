"""The files of segments beside the table: one for each version, some an addition to that of an earlier version.

They are derived: named after the version, they carry the table's id, and whoever misses one has it made again from the
table's rows.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Collection, Sequence
from typing import BinaryIO

from skillhub_mcp.atomic_write import replacing
from skillhub_mcp.file_modes import private_mode
from skillhub_mcp.index.segment import (
    Segment,
    SegmentBuilder,
    base_version,
    check_pair,
    open_segment,
    write_merged,
    write_segment,
    write_update,
)


class SegmentFiles:
    """The segments of one table in the `directory` of its database. Methods raise OSError and ValueError."""

    def __init__(self, directory: str, table: str) -> None:
        self._directory = directory
        self._table = table

    def open(self, version: int, table_id: str, *, known: Sequence[Segment] = ()) -> tuple[Segment, ...]:
        """Return the segment of a version, after the one that it is an addition to, if it is one.

        Those that are `known` are not read again. Raises where there is none, or none of that table that can be used.
        """
        last = open_segment(self._path(version), table_id, known=known)
        if last.base is None:
            return (last,)
        base = open_segment(self._path(last.base.version), table_id, known=known)
        check_pair(base, last)
        return base, last

    def check(self, version: int, table_id: str) -> None:
        """Read all of the segments of a version; raises ValueError where something has changed since it was written."""
        for segment in self.open(version, table_id):
            segment.stored.verify()

    def vectors(self, version: int, table_id: str) -> dict[str, Sequence[float]]:
        """Return the vectors of a version's skills that have one, by key; raises as `check` does."""
        found: dict[str, Sequence[float]] = {}
        base: Sequence[str] = ()
        for segment in self.open(version, table_id):
            segment.stored.verify()
            skills = segment.skills
            # Those that an addition replaces come again in it, the others are gone.
            for number in segment.gone.tolist():
                found.pop(base[number], None)
            base = skills.keys
            if skills.vectors is not None:
                found |= {base[number]: skills.vectors[number] for number in skills.embedded.nonzero()[0].tolist()}
        return found

    def discard(self, version: int) -> None:
        """Delete the segment of a version, and the one that it is an addition to."""
        base = base_version(self._path(version))
        for one in (version,) if base is None else (version, base):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path(one))

    def builder(self) -> SegmentBuilder:
        """Return a builder of a segment of any size."""
        return SegmentBuilder(self._open_run)

    def write(self, version: int, table_id: str, skills: SegmentBuilder) -> None:
        """Keep the segment of a version that has these skills."""
        with self._replacing(version) as file:
            write_segment(file, skills.parts(), table_id=table_id)

    def rename(self, before: int, version: int) -> None:
        """Have what was written as the segment of the version `before` be that of a version with the same rows."""
        os.replace(self._path(before), self._path(version))

    def keep_as(self, before: int, version: int) -> None:
        """Have the segment of the version `before`, which stays, be that of one with the same rows, too."""
        path = self._path(version)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        try:
            os.link(self._path(before), path)
        except FileNotFoundError:
            raise
        except OSError:
            # Not every file system has links.
            with open(self._path(before), "rb") as source, self._replacing(version) as file:
                shutil.copyfileobj(source, file)

    def write_update(
        self,
        version: int,
        table_id: str,
        changed: SegmentBuilder,
        *,
        removed: Collection[str],
        before: int,
        known: Sequence[Segment] = (),
    ) -> float:
        """Keep the segment of a version that differs from the one `before` in these skills; for `known` see `open`.

        Returns what share of its base it is, 0 where it is no addition.
        """
        segments = self.open(before, table_id, known=known)
        base = before if segments[-1].base is None else segments[-1].base.version
        with self._replacing(version) as file:
            return write_update(
                file,
                segments,
                changed.parts(),
                removed=removed,
                version=base,
                table_id=table_id,
            )

    def merge(self, version: int, table_id: str) -> None:
        """Have the segment of a version be a whole one, in its own place: who has it open keeps what was there."""
        segments = self.open(version, table_id)
        if len(segments) > 1:
            with self._replacing(version) as file:
                write_merged(file, segments, table_id=table_id)

    def remove(self, *but: int | None) -> None:
        """Delete the segments of all versions but some, and but those that these are additions to."""
        kept = {version for version in but if version is not None}
        kept |= {base for version in kept if (base := base_version(self._path(version))) is not None}
        for name in os.listdir(self._directory):
            found = re.fullmatch(rf"postings-{re.escape(self._table)}-(\d+)\.arrays(?:\.[-\d]+\.new)?", name)
            if found and int(found[1]) not in kept:
                # What another process was writing may have its name by now.
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self._directory, name))

    def _replacing(self, version: int) -> contextlib.AbstractContextManager[BinaryIO]:
        return replacing(self._path(version), mode=private_mode(self._directory), follow=False)

    def _path(self, version: int) -> str:
        return os.path.join(self._directory, f"postings-{self._table}-{version}.arrays")

    def _open_run(self) -> BinaryIO:
        import tempfile

        return tempfile.TemporaryFile(dir=self._directory)
