"""Skills inverted: for each term the skills that have it, how often in each field, and what that is worth.

A segment has numbered skills; the index of a table version is one of all skills, or a large one and a small one that
was written later (`skill_index`). It is a file beside the table, derived from the rows and read as it lies there
(`mapped_arrays`), so that opening costs nothing and a search reads what its terms have. Building one of any size takes
the memory of a block of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

from skillhub_mcp.index.features import FIELDS, CountedSkills, SkillFeatures, unpack_counts
from skillhub_mcp.index.impacts import WEIGHTS, impact
from skillhub_mcp.index.mapped_arrays import ArrayWriter, StoredArrays, mapped, open_arrays, read_arrays, read_meta

if TYPE_CHECKING:
    import mmap
    from typing import Any

    from numpy.typing import NDArray

# No key has it.
_BETWEEN = "\0"
_KINDS = {
    # The keys of the skills. Its name is that of the first format, which replicas read.
    "directories": "|u1",
    "lengths": "<u4",
    "mean_lengths": "<f8",
    "embedded": "|u1",
    "gone": "<i4",
    "hashes": "<u4",
    "starts": "<i8",
    "owners": "<i4",
    "impacts": "<u2",
    "counts": "<u4",
    "vectors": "<f4",
}
# Postings in memory at once while skills are inverted, and while a segment is written: some 40 bytes each. Of each run
# of the former a few pages are mapped with each block of the latter.
_RUN_POSTINGS = 1 << 19
_BLOCK_POSTINGS = 1 << 17
_BLOCK_ROWS = 4_096
# An addition is written anew with each change: when it is more than this share of its base, it is to be merged into it
# by who has time, and by the change itself where nobody had.
ADDED_SHARE, _MOST_ADDED_SHARE = 0.05, 0.2
# Impacts are stored as shares of the largest there can be: two bytes, which cannot say anything worse.
_IMPACT_STEPS = 0xFFFF
_HASHES = 1 << 32


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class InvertedSkills:
    """Skills by number, each with its row's key, and their terms inverted.

    `lengths` are those of the fields in terms: shape (skills, fields). `vectors` has shape (skills, dimension) and is
    None where no skill has one; `embedded` says which have. The skills that have the term `hashes[i]` are
    `owners[starts[i]:starts[i + 1]]`, ascending, and `counts` are its packed counts in each.
    """

    keys: Sequence[str]
    lengths: NDArray[Any]
    vectors: NDArray[Any] | None
    embedded: NDArray[Any]
    hashes: NDArray[Any]
    starts: NDArray[Any]
    owners: NDArray[Any]
    counts: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Base:
    """The segment that another is an addition to: the version of the table in its file's name, and its mark."""

    version: int
    mark: str


@dataclass(frozen=True, slots=True)
class Addition:
    """What makes a segment an addition: its base, the skills of that which are gone, and the base's mean lengths."""

    base: Base
    gone: NDArray[Any]
    mean_lengths: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Segment:
    """Inverted skills in a file, with what each posting is worth, as a share of `WEIGHTS.largest` in 65,535 steps.

    `impacts` were computed with `mean_lengths`. An addition to a `base` replaces or removes the skills `gone` of that.
    `mark` is a random name of this very segment, and `stored` what all of it was read from.
    """

    skills: InvertedSkills
    impacts: NDArray[Any]
    mean_lengths: NDArray[Any]
    mark: str
    base: Base | None
    gone: NDArray[Any]
    stored: StoredArrays


@dataclass(frozen=True, slots=True)
class Part:
    """Skills of which those where `kept` is true go into a segment; None for all.

    `impacts` are those of their postings, as stored, where they are known for the segment's mean lengths. `release`
    gives back the memory of what was read of their file.
    """

    skills: InvertedSkills
    kept: NDArray[Any] | None = None
    release: Callable[[], None] = _nothing
    impacts: NDArray[Any] | None = None

    @classmethod
    def of(cls, segment: Segment, kept: NDArray[Any] | None = None) -> Part:
        """Return skills of a segment."""
        return cls(segment.skills, kept, segment.stored.release)


class SegmentBuilder:
    """Inverts skills as they come: with `open_run`, in the memory of a block of them, however many there are.

    `open_run` opens a file that vanishes when it is closed; without it everything stays in memory.
    """

    def __init__(self, open_run: Callable[[], BinaryIO] | None = None) -> None:
        self._open_run = open_run
        self._runs: list[Part] = []
        self._pending = _Pending()

    def add(self, key: str, features: SkillFeatures, vector: Sequence[float] | None) -> None:
        """Add a skill. Raises OSError."""
        terms = len(features.hashes)
        self._pending.add([key], features.lengths, [terms], features.hashes, features.counts, [vector])
        self._write_run()

    def add_counted(
        self, keys: Sequence[str], counted: CountedSkills, vectors: Sequence[Sequence[float] | None]
    ) -> None:
        """Add several skills. Raises OSError."""
        import numpy as np

        terms = np.diff(counted.starts)
        self._pending.add(keys, counted.lengths, terms, counted.hashes, counted.counts, vectors)
        self._write_run()

    def parts(self) -> list[Part]:
        """Return the skills added so far."""
        if self._pending.keys or not self._runs:
            self._runs.append(Part(self._pending.inverted()))
            self._pending = _Pending()
        return self._runs

    def _write_run(self) -> None:
        if self._open_run is not None and self._pending.postings >= _RUN_POSTINGS:
            with self._open_run() as run:
                write_segment(run, [Part(self._pending.inverted())], table_id="")
                run.flush()
                self._runs.append(Part.of(read_segment(mapped(run), "")))
                self._runs[-1].release()
            self._pending = _Pending()


class _Pending:
    """Skills that are to be inverted."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.postings = 0
        self._lengths: list[NDArray[Any]] = []
        self._terms: list[Sequence[int] | NDArray[Any]] = []
        self._hashes: list[NDArray[Any]] = []
        self._counts: list[NDArray[Any]] = []
        self._vectors: list[Sequence[float] | None] = []

    def add(
        self,
        keys: Sequence[str],
        lengths: NDArray[Any],
        terms: Sequence[int] | NDArray[Any],
        hashes: NDArray[Any],
        counts: NDArray[Any],
        vectors: Sequence[Sequence[float] | None],
    ) -> None:
        self.keys += keys
        self.postings += len(hashes)
        self._lengths.append(lengths.reshape(-1, len(FIELDS)))
        self._terms.append(terms)
        self._hashes.append(hashes)
        self._counts.append(counts)
        self._vectors += vectors

    def inverted(self) -> InvertedSkills:
        import numpy as np

        every = np.concatenate([np.zeros(0, dtype="<u4"), *self._hashes])
        counts = np.concatenate([np.zeros(0, dtype="<u4"), *self._counts])
        terms = np.concatenate([np.zeros(0, dtype=np.int64), *self._terms])
        owners = np.repeat(np.arange(len(terms), dtype=np.int32), terms)
        every, owners, counts = _sorted([every, owners, counts])
        starts = _first_of_each(every)
        embedded = np.array([vector is not None for vector in self._vectors], dtype=bool)
        matrix = None
        if embedded.any():
            dimension = max(len(one) for one in self._vectors if one is not None)
            matrix = np.zeros((len(embedded), dimension), dtype=np.float32)
            for number in embedded.nonzero()[0].tolist():
                matrix[number] = self._vectors[number]
        return InvertedSkills(
            keys=self.keys,
            lengths=np.concatenate([np.zeros((0, len(FIELDS)), np.uint32), *self._lengths]).astype(np.uint32),
            vectors=matrix,
            embedded=embedded,
            hashes=every[starts],
            starts=np.append(starts, len(every)),
            owners=owners,
            counts=counts,
        )


def write_segment(file: BinaryIO, parts: Sequence[Part], *, table_id: str, addition: Addition | None = None) -> None:
    """Write the kept skills of the `parts` as one segment, in their order.

    Raises OSError, and ValueError for parts that say what cannot be, or whose vectors differ in length.
    """
    import numpy as np

    gone = np.zeros(0, dtype=np.int32) if addition is None else addition.gone
    numbers = _new_numbers(parts)
    keys = [
        key
        for part, own in zip(parts, numbers, strict=True)
        for key, number in zip(part.skills.keys, own.tolist(), strict=True)
        if number >= 0
    ]
    skills = len(keys)
    lengths = np.concatenate(
        [np.zeros((0, len(FIELDS)), np.uint32)]
        + [part.skills.lengths[own >= 0] for part, own in zip(parts, numbers, strict=True)]
    )
    if addition is None:
        mean_lengths = np.maximum(lengths.sum(axis=0, dtype=np.float64) / max(1, skills), 0.1)
    else:
        mean_lengths = addition.mean_lengths
    dimensions = {part.skills.vectors.shape[1] for part in parts if part.skills.vectors is not None}
    if len(dimensions) > 1:
        raise ValueError("vectors of two lengths")
    dimension = max(dimensions, default=0)
    packed = _BETWEEN.join(keys).encode("utf-8", "surrogatepass")
    postings = sum(len(part.skills.owners) for part in parts)
    terms = sum(len(part.skills.hashes) for part in parts)
    most = {
        "directories": len(packed),
        "lengths": lengths.size,
        "mean_lengths": len(FIELDS),
        "embedded": skills,
        "gone": len(gone),
        "hashes": terms,
        "starts": terms + 1,
        "owners": postings,
        "impacts": postings,
        "counts": postings,
        "vectors": skills * dimension,
    }
    writer = ArrayWriter(file, {name: (kind, most[name]) for name, kind in _KINDS.items()})
    writer.append("directories", np.frombuffer(packed, dtype=np.uint8))
    writer.append("lengths", lengths)
    writer.append("mean_lengths", mean_lengths)
    writer.append("gone", gone)
    _write_postings(writer, parts, numbers, mean_lengths)
    for part, own in zip(parts, numbers, strict=True):
        _write_vectors(writer, part, own >= 0, dimension)
    writer.finish(
        {
            "table": table_id,
            "weights": str(WEIGHTS),
            "skills": skills,
            "mark": os.urandom(8).hex(),
            "base": None if addition is None else [addition.base.version, addition.base.mark],
        }
    )


def write_update(
    file: BinaryIO,
    segments: Sequence[Segment],
    changed: Sequence[Part],
    *,
    removed: Collection[str],
    version: int,
    table_id: str,
    share: float = _MOST_ADDED_SHARE,
) -> float:
    """Write the segment of the next version: the skills of `segments`, some `changed`, new or removed.

    It is an addition to the first of the `segments`, which is that of the table's `version`, up to a `share` of that;
    then it is a whole one. Returns the share, 0 for a whole one. Raises OSError, and ValueError as `write_segment`, and
    for a segment that is merged and has changed since it was written.
    """
    import numpy as np

    kept = _kept(segments, {*removed, *(key for part in changed for key in part.skills.keys)})
    parts = [*map(Part.of, segments, kept), *changed]
    base, gone = segments[0], (~kept[0]).nonzero()[0].astype(np.int32)
    added = sum(len(part.skills.keys) for part in changed) + sum(int(own.sum()) for own in kept[1:])
    if added + len(gone) > share * len(kept[0]):
        _write_whole(file, segments, parts, table_id=table_id)
        return 0.0
    addition = Addition(Base(version, base.mark), gone, base.mean_lengths)
    # Those of the addition before were worked out with the same mean lengths.
    known = [replace(part, impacts=one.impacts) for part, one in zip(parts[1:], segments[1:], strict=False)]
    write_segment(file, [*known, *changed], table_id=table_id, addition=addition)
    return (added + len(gone)) / max(1, len(kept[0]))


def write_merged(file: BinaryIO, segments: Sequence[Segment], *, table_id: str) -> None:
    """Write one segment with the skills of `segments`. Raises what `write_update` does."""
    _write_whole(file, segments, list(map(Part.of, segments, _kept(segments, frozenset()))), table_id=table_id)


def _kept(segments: Sequence[Segment], left: Collection[str]) -> list[NDArray[Any]]:
    """Return which skills of each segment are there without those whose keys are in `left`: each of shape (skills,)."""
    import numpy as np

    kept = [
        ~np.fromiter(map(left.__contains__, own), dtype=bool, count=len(own))
        for own in (segment.skills.keys for segment in segments)
    ]
    for segment in segments[1:]:
        kept[0][segment.gone] = False
    return kept


def _write_whole(file: BinaryIO, segments: Sequence[Segment], parts: Sequence[Part], *, table_id: str) -> None:
    for segment in segments:
        segment.stored.verify()
    write_segment(file, parts, table_id=table_id)


def open_segment(path: str, table_id: str, *, known: Iterable[Segment] = ()) -> Segment:
    """Return the segment in a file. Raises OSError or ValueError if there is no usable one of that table.

    One that is `known`, and was read from that file as it is, is not read again: of what searches have mapped of it
    nothing is lost.
    """
    for one in known:
        if one.stored.is_content_of(path) and one.stored.meta.get("table") == table_id:
            return replace(one, skills=replace(one.skills, keys=read_keys(one)))
    name = os.path.basename(path)
    return _segment(open_arrays(path, _KINDS), table_id, name)


def read_keys(segment: Segment) -> list[str]:
    """Return the keys of a segment's skills, from its file. Raises ValueError."""
    text = segment.stored.arrays["directories"].tobytes().decode("utf-8", "surrogatepass")
    return text.split(_BETWEEN) if len(segment.skills.lengths) else []


def check_pair(base: Segment, last: Segment) -> None:
    """Raise ValueError where `last` is no addition to `base`."""
    import numpy as np

    dimensions = {one.skills.vectors.shape[1] for one in (base, last) if one.skills.vectors is not None}
    if (
        last.base is None
        or base.base is not None
        or base.mark != last.base.mark
        or not are_numbers(last.gone, len(base.skills.keys))
        or len(dimensions) > 1
        or not np.array_equal(base.mean_lengths, last.mean_lengths)
    ):
        raise ValueError("a segment is an addition to another")


def base_version(path: str) -> int | None:
    """Return the version of the segment that the one in a file is an addition to; None for none, or no such file."""
    try:
        base = _base(read_meta(path))
    except (OSError, ValueError):
        return None
    return None if base is None else base.version


def read_segment(content: bytes | mmap.mmap, table_id: str) -> Segment:
    """Return the segment in the content of such a file. Raises ValueError."""
    return _segment(read_arrays(content, _KINDS, name="the segment"), table_id, "the segment")


def _segment(stored: StoredArrays, table_id: str, name: str) -> Segment:
    import numpy as np

    meta, arrays = stored.meta, stored.arrays
    if meta.get("table") != table_id:
        raise ValueError(f"{name} belongs to another table")
    if meta.get("weights") != str(WEIGHTS):
        raise ValueError(f"{name} was written with other weights")
    try:
        skills, mark, base = int(str(meta["skills"])), str(meta["mark"]), _base(meta)
        text = arrays["directories"].tobytes().decode("utf-8", "surrogatepass")
        keys = text.split(_BETWEEN) if skills else []
        lengths, vectors = arrays["lengths"].reshape(skills, len(FIELDS)), None
        if len(arrays["vectors"]):
            vectors = arrays["vectors"].reshape(skills, -1)
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{name} is damaged") from error
    hashes, starts, owners = arrays["hashes"], arrays["starts"], arrays["owners"]
    if (
        not len(keys) == len(arrays["embedded"]) == skills
        or len(arrays["mean_lengths"]) != len(FIELDS)
        or not (arrays["mean_lengths"] > 0).all()
        or len(starts) != len(hashes) + 1
        or not len(owners) == len(arrays["impacts"]) == len(arrays["counts"])
        or (starts[0], starts[-1]) != (0, len(owners))
        or (np.diff(starts) < 0).any()
        or not (hashes[1:] > hashes[:-1]).all()
        or (vectors is None and arrays["embedded"].any())
    ):
        raise ValueError(f"{name} is damaged")
    embedded = arrays["embedded"] > 0
    inverted = InvertedSkills(keys, lengths, vectors, embedded, hashes, starts, owners, arrays["counts"])
    return Segment(inverted, arrays["impacts"], arrays["mean_lengths"], mark, base, arrays["gone"], stored)


def _base(meta: Mapping[str, object]) -> Base | None:
    """Return the base that a segment's meta names. Raises ValueError."""
    match meta.get("base"):
        case None:
            return None
        case [int(version), str(mark)]:
            return Base(version, mark)
    raise ValueError("its base has no such name")


def are_numbers(owners: NDArray[Any], skills: int) -> bool:
    """Whether all of `owners` are numbers of so many skills: what was mapped may say anything."""
    import numpy as np

    # Negative ones are large as unsigned ones.
    return not len(owners) or int(owners.view(np.uint32).max()) < skills


def worth(impacts: NDArray[Any]) -> NDArray[Any]:
    """Return stored impacts as numbers from 0 to `WEIGHTS.largest`: float32."""
    import numpy as np

    found: NDArray[Any] = impacts * np.float32(WEIGHTS.largest / _IMPACT_STEPS)
    return found


def _new_numbers(parts: Sequence[Part]) -> list[NDArray[Any]]:
    """Return for each skill of each part its number in the segment, -1 for one that is not kept."""
    import numpy as np

    numbers, begin = [], 0
    for part in parts:
        kept = np.ones(len(part.skills.keys), dtype=bool) if part.kept is None else part.kept
        own = np.where(kept, begin - 1 + np.cumsum(kept), -1).astype(np.int32)
        begin += int(kept.sum())
        numbers.append(own)
    return numbers


def _write_postings(
    writer: ArrayWriter,
    parts: Sequence[Part],
    numbers: Sequence[NDArray[Any]],
    mean_lengths: NDArray[Any],
) -> None:
    import numpy as np

    written = 0
    for hashes, owners, counts, impacts in _blocks(parts, numbers, mean_lengths):
        begins = _first_of_each(hashes)
        writer.append("hashes", hashes[begins])
        writer.append("starts", begins + written)
        writer.append("owners", owners)
        writer.append("impacts", impacts)
        writer.append("counts", counts)
        written += len(hashes)
    writer.append("starts", np.array([written]))


def _blocks(
    parts: Sequence[Part], numbers: Sequence[NDArray[Any]], mean_lengths: NDArray[Any]
) -> Iterator[Sequence[NDArray[Any]]]:
    """Yield hash, owner, counts and impact of each kept posting, by hash and then owner, in blocks of whole terms."""
    import numpy as np

    postings = sum(len(part.skills.owners) for part in parts)
    # Hashes are spread evenly; those of many skills make some blocks a little larger.
    limits = np.linspace(0, _HASHES, postings // _BLOCK_POSTINGS + 2).astype(np.int64)
    for low, high in zip(limits.tolist(), limits[1:].tolist(), strict=False):
        found = [_between(part, own, low, high, mean_lengths) for part, own in zip(parts, numbers, strict=True)]
        columns = [np.concatenate(values) for values in zip(*found, strict=True)]
        yield _sorted(columns) if len(parts) > 1 else columns
        for part in parts:
            part.release()


def _sorted(columns: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """Return the columns of postings by the first, their hashes; those of one hash stay in their order."""
    import numpy as np

    hashes = columns[0]
    # Several times as fast as a stable `argsort`.
    keys = np.sort(hashes.astype(np.uint64) << np.uint64(32) | np.arange(len(hashes), dtype=np.uint64))
    order = (keys & np.uint64(_HASHES - 1)).astype(np.intp)
    return [column[order] for column in columns]


def _first_of_each(hashes: NDArray[Any]) -> NDArray[Any]:
    """Return where each of the sorted hashes occurs first: int64."""
    import numpy as np

    is_first = np.ones(len(hashes), dtype=bool)
    is_first[1:] = hashes[1:] != hashes[:-1]
    return is_first.nonzero()[0]


def _between(
    part: Part, numbers: NDArray[Any], low: int, high: int, mean_lengths: NDArray[Any]
) -> Sequence[NDArray[Any]]:
    """Return hash, new owner, counts and impact of the kept postings of the terms whose hash is in that range.

    It is from `low` to below `high`.
    """
    import numpy as np

    skills = part.skills
    # As the type of the hashes: any other has them converted, all of them.
    first = int(skills.hashes.searchsorted(np.uint32(low)))
    last = int(skills.hashes.searchsorted(np.uint32(high))) if high < _HASHES else len(skills.hashes)
    each = slice(int(skills.starts[first]), int(skills.starts[last]))
    own = skills.owners[each]
    if not are_numbers(own, len(numbers)):
        raise ValueError("postings of skills that there are not")
    hashes = np.repeat(skills.hashes[first:last], np.diff(skills.starts[first : last + 1]))
    owners, counts = numbers[own], skills.counts[each]
    impacts = None if part.impacts is None else part.impacts[each]
    kept = owners >= 0
    if not kept.all():
        hashes, owners, counts, own = hashes[kept], owners[kept], counts[kept], own[kept]
        impacts = None if impacts is None else impacts[kept]
    if impacts is None:
        worths = impact(unpack_counts(counts), skills.lengths[own], mean_lengths)
        impacts = np.rint(worths * np.float32(_IMPACT_STEPS / WEIGHTS.largest)).astype(np.uint16)
    return hashes, owners, counts, impacts


def _write_vectors(writer: ArrayWriter, part: Part, kept: NDArray[Any], dimension: int) -> None:
    import numpy as np

    skills = part.skills
    for begin in range(0, len(kept), _BLOCK_ROWS):
        each = slice(begin, begin + _BLOCK_ROWS)
        chosen = kept[each]
        writer.append("embedded", skills.embedded[each][chosen])
        if skills.vectors is None:
            writer.append("vectors", np.zeros((int(chosen.sum()), dimension), dtype=np.float32))
        else:
            writer.append("vectors", skills.vectors[each][chosen])
            part.release()
