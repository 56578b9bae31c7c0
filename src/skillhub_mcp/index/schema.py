"""The table of skills: its columns, its indexes, and its rows as Arrow's tables.

Other programs may read the table: the columns and the four text indexes of the product specification are its contract.
`terms` and `features` are what search asks for and ranks by.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.index.state_file import label_of

if TYPE_CHECKING:
    from typing import Any

    from skillhub_mcp.index.features import SkillFeatures
    from skillhub_mcp.skills.model import Skill

TEXT_FIELDS = ("name", "description", "tags_text", "category")
# In the metadata of a table's schema: the random id that the table got when it was created.
TABLE_ID = b"skillhub.table_id"
TERMS_INDEX = "terms_idx"

# LanceDB takes no two rows with one value of such a column, even from writers at the same time.
UNIQUE = {b"lance-schema:unenforced-primary-key": b"true"}
_ID_BYTES = 8


def table_schema(dimension: int | None, *, more: Sequence[Any] = ()) -> Any:
    """Return the schema of a new table with an id of its own. `dimension` is the length of vectors; None for none.

    `more` are further fields.
    """
    import pyarrow as pa

    text = pa.string()
    fields = [
        pa.field("path", text, nullable=False, metadata=UNIQUE),
        pa.field("root", text, nullable=False),
        pa.field("content_hash", text, nullable=False),
        pa.field("name", text, nullable=False),
        pa.field("description", text, nullable=False),
        pa.field("category", text),
        pa.field("tags", pa.list_(text)),
        pa.field("tags_text", text),
        pa.field("instructions", text),
        pa.field("metadata", text),
        pa.field("terms", text),
        pa.field("features", pa.binary(), nullable=False),
        *(() if dimension is None else vector_fields(dimension)),
        *more,
    ]
    return pa.schema(fields, metadata={TABLE_ID: secrets.token_hex(_ID_BYTES).encode()})


def vector_fields(dimension: int) -> list[Any]:
    """Return the columns of a vector and of the hash of the text that was embedded."""
    import pyarrow as pa

    return [pa.field("embedded_hash", pa.string()), pa.field("vector", pa.list_(pa.float32(), dimension))]


def text_hash(text: str) -> str:
    """Return the hash by which a vector of a text is found again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def indexes() -> dict[str, tuple[str, Any]]:
    """Return the column and the configuration of each index of the table, by the index's name."""
    from lancedb.index import FTS, Bitmap, BTree, LabelList

    # icu/split finds words in every script without a model; LanceDB's default finds none in Japanese, Chinese, Korean.
    found = {f"{field}_idx": (field, FTS(base_tokenizer="icu/split")) for field in TEXT_FIELDS}
    analysed = FTS(
        base_tokenizer="whitespace",
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
        lower_case=False,
        max_token_length=None,
    )
    return found | {
        TERMS_INDEX: ("terms", analysed),
        "category_bitmap": ("category", Bitmap()),
        "root_bitmap": ("root", Bitmap()),
        "tags_idx": ("tags", LabelList()),
        "path_idx": ("path", BTree()),
    }


def row_columns(
    key: str, skill: Skill, instructions: str, features: SkillFeatures, vector: Sequence[float] | None
) -> dict[str, object]:
    """Return the columns of the row of a skill with that body."""
    return {
        "path": key,
        "root": label_of(key),
        "content_hash": skill.stamp.content_hash,
        "name": skill.name,
        "description": skill.description,
        "category": skill.category,
        "tags": skill.tags,
        "tags_text": " ".join(skill.tags),
        "instructions": instructions,
        "metadata": json.dumps(skill.metadata, ensure_ascii=False, sort_keys=True),
        "terms": features.text,
        "features": features.encoded,
        "embedded_hash": None if vector is None else text_hash(skill.searchable_text),
        "vector": vector,
    }
