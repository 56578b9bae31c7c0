"""The files of the index that a publication has: a segment of all skills, a small one of what changed, statistics.

A base is written once and kept while few skills differ from it; `base_keys` says which it has, so that the next
publisher, who may be another machine, knows without fetching it. Everything is by key.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from skillhub_mcp.foreign_json import read_json
from skillhub_mcp.index.features import decode_features
from skillhub_mcp.index.impacts import WEIGHTS
from skillhub_mcp.index.segment import ADDED_SHARE, Addition, Base, Part, SegmentBuilder, read_segment, write_segment
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.statistics import StatisticsBuilder, save_statistics
from skillhub_mcp.storage.manifest import ObjectRef

_CHUNK_BYTES = 1024 * 1024
_HASH_DIGITS = 16
_FEATURES_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class RowToStore:
    """A row of the local index: its key there, the hash of its SKILL.md, and whether it has a vector now."""

    row: str
    content_hash: str
    embedded: bool

    @property
    def mark(self) -> str:
        """What changes whenever the row does."""
        return f"{self.content_hash[-_HASH_DIGITS:]}{'+' if self.embedded else '-'}"


@dataclass(frozen=True, slots=True)
class BaseKeys:
    """Which skills a base has: their keys in its order, each with its row's mark; and what an addition to it names."""

    ref: ObjectRef
    mark: str
    weights: str
    mean_lengths: tuple[float, ...]
    rows: Mapping[str, str]

    def to_json(self) -> bytes:
        """Return it as it is stored."""
        own = {
            "base": [self.ref.sha256, self.ref.size],
            "mark": self.mark,
            "weights": self.weights,
            "mean_lengths": list(self.mean_lengths),
            "rows": list(self.rows.items()),
        }
        return json.dumps(own, separators=(",", ":")).encode()


def read_base_keys(content: bytes) -> BaseKeys:
    """Return what is stored. Raises ValueError for anything else."""
    try:
        own = read_json(content.decode())
        sha256, size = own["base"]
        rows = {str(key): str(mark) for key, mark in own["rows"]}
        lengths = tuple(map(float, own["mean_lengths"]))
        return BaseKeys(ObjectRef(str(sha256), int(size)), str(own["mark"]), str(own["weights"]), lengths, rows)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("these are no keys of a base") from error


@dataclass(frozen=True, slots=True)
class AdditionPlan:
    """What differs from a base: keys whose skills the addition has, and the numbers of those in the base that went."""

    added: Sequence[str]
    gone: Sequence[int]


def plan_addition(base: BaseKeys, rows: Mapping[str, RowToStore]) -> AdditionPlan | None:
    """Return what an addition to `base` has to say for these rows; None where a new base is better."""
    if base.weights != str(WEIGHTS):
        return None
    added = [key for key, row in rows.items() if base.rows.get(key) != row.mark]
    gone = [number for number, (key, mark) in enumerate(base.rows.items()) if key not in rows or rows[key].mark != mark]
    if len(added) + len(gone) > ADDED_SHARE * len(base.rows):
        return None
    return AdditionPlan(sorted(added), gone)


def write_base(path: str, index: SkillIndex, rows: Mapping[str, RowToStore], table_id: str) -> BaseKeys:
    """Write all rows as one segment to a new file, and return its keys. Raises OSError and ValueError."""
    import numpy as np

    published, present = {row.row: key for key, row in rows.items()}, index.row_keys()
    parts, ordered, begin = [], [], 0
    for segment in index.segments:
        end = begin + len(segment.skills.lengths)
        own = [published.get(key, "") for key in present[begin:end]]
        begin = end
        kept = np.fromiter(map(bool, own), dtype=bool, count=len(own))
        ordered += [key for key in own if key]
        parts.append(Part(replace(segment.skills, keys=own), kept, segment.stored.release))
    with open(path, "w+b") as file:
        write_segment(file, parts, table_id=table_id)
        file.flush()
        written = _read_back(file, table_id)
    ref = ref_of(path)
    lengths = tuple(written.mean_lengths.tolist())
    return BaseKeys(ref, written.mark, str(WEIGHTS), lengths, {key: rows[key].mark for key in ordered})


def write_addition(
    path: str, index: SkillIndex, base: BaseKeys, plan: AdditionPlan, rows: Mapping[str, RowToStore], table_id: str
) -> ObjectRef:
    """Write the addition to a new file, and return what it is. Raises OSError, ValueError and IndexDamaged."""
    import numpy as np

    builder = SegmentBuilder()
    added = [rows[key].row for key in plan.added]
    features, vectors = index.table.features(added), index.table.vectors(added)
    for key in plan.added:
        row = rows[key]
        if row.row not in features:
            raise ValueError(f"the index has no row for {key!r}")
        stored = vectors.get(row.row) if row.embedded else None
        encoded = features[row.row][0]
        builder.add(key, decode_features(encoded), None if stored is None else stored.vector)
    gone = np.array(plan.gone, dtype=np.int32)
    addition = Addition(Base(0, base.mark), gone, np.array(base.mean_lengths, dtype=np.float64))
    with open(path, "w+b") as file:
        write_segment(file, builder.parts(), table_id=table_id, addition=addition)
    return ref_of(path)


def write_statistics(path: str, index: SkillIndex, rows: Iterable[RowToStore], table_id: str) -> ObjectRef:
    """Write the statistics of these rows to a new file, and return what it is. Raises OSError and IndexDamaged."""
    wanted = {row.row for row in rows}
    others = [key for key in index.row_keys() if key and key not in wanted]
    statistics = index.statistics
    if others:
        fewer = len(others) <= len(wanted)
        builder = StatisticsBuilder.from_statistics(statistics) if fewer else StatisticsBuilder()
        ordered = others if fewer else sorted(wanted)
        for start in range(0, len(ordered), _FEATURES_AT_ONCE):
            for features, words in index.table.features(ordered[start : start + _FEATURES_AT_ONCE]).values():
                builder.add(features, words, times=-1 if fewer else 1)
        statistics = builder.build()
    save_statistics(path, statistics, table_id)
    return ref_of(path)


def ref_of(path: str) -> ObjectRef:
    """Return what a local file would be as an object. Raises OSError."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            found.update(chunk)
    return ObjectRef(found.hexdigest(), os.path.getsize(path))


def _read_back(file: BinaryIO, table_id: str) -> Any:
    from skillhub_mcp.index.mapped_arrays import mapped

    return read_segment(mapped(file), table_id)
