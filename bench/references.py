"""What figures of a large library are compared with, each a process of its own.

python bench/references.py ingest LIBRARY SCRATCH   read all skills, and have LanceDB take them in and index them
python bench/references.py walk LIBRARY             a bare os.scandir and stat walk
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_BATCH = 1_000


def walk(directory: str) -> int:
    """Return how many files lie below a directory, after a `stat` of each."""
    files = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                files += walk(entry.path)
            else:
                entry.stat()
                files += 1
    return files


def ingest(library: str, scratch: str) -> None:
    """Read each SKILL.md, and write a LanceDB table of their texts with the indexes that ours has.

    Ours keeps the postings of instructions in segments beside the table; here LanceDB's own index has them.
    """
    import lancedb
    import pyarrow as pa
    from lancedb.index import FTS, Bitmap, BTree, LabelList

    text = pa.string()
    names = ("path", "name", "description", "category", "tags_text", "instructions")
    schema = pa.schema([*(pa.field(name, text) for name in names), pa.field("tags", pa.list_(text))])

    def rows() -> Iterator[dict[str, object]]:
        for file in Path(library).rglob("SKILL.md"):
            head, _, body = file.read_text(encoding="utf-8").removeprefix("---\n").partition("\n---\n")
            said = re.search(r"(?m)^description: *(.*)$", head)
            row: dict[str, object] = dict.fromkeys(names, "")
            row |= {"path": str(file.parent), "name": file.parent.name, "instructions": body, "tags": []}
            yield {**row, "description": said[1] if said else ""}

    def batches() -> Iterator[pa.RecordBatch]:
        pending: list[dict[str, object]] = []
        for row in rows():
            pending.append(row)
            if len(pending) == _BATCH:
                yield pa.RecordBatch.from_pylist(pending, schema=schema)
                pending = []
        yield pa.RecordBatch.from_pylist(pending, schema=schema)

    table = lancedb.connect(scratch).create_table("skills", data=batches(), schema=schema)
    for field in ("name", "description", "tags_text", "category", "instructions"):
        table.create_index(field, config=FTS(base_tokenizer="icu/split"))
    table.create_index("category", config=Bitmap(), name="category_bitmap")
    table.create_index("tags", config=LabelList())
    table.create_index("path", config=BTree())


if __name__ == "__main__":
    if sys.argv[1] == "walk":
        print(walk(sys.argv[2]))
    else:
        ingest(sys.argv[2], sys.argv[3])
