"""The local embedder: static word vectors, read from the files of the `wordllama` package if it is installed.

The package itself is not imported: its loader uses the network, and importing it configures logging for the process.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from skillhub_mcp.embedders.remote import sendable
from skillhub_mcp.errors import EmbeddingError

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Vector

PACKAGE = "wordllama"
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_TENSOR = "embedding.weight"


def is_installed() -> bool:
    """Whether the package with the word vectors is installed; imports nothing."""
    return find_spec(PACKAGE) is not None


class LocalEmbedder:
    """An Embedder over static word vectors: the mean of a text's tokens. The weights, 16 MB, are memory-mapped."""

    identity = "local:wordllama-l2-supercat-256"
    is_instant = True
    texts_at_once = 100

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def embed_documents(self, texts: Sequence[str], *, waiting: bool = False) -> list[Vector]:
        """Return one vector per text, in order. Raises EmbeddingError if the package's files cannot be read."""
        del waiting
        return self._means(texts)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Raises EmbeddingError."""
        return self._means([text])[0]

    def _means(self, texts: Sequence[str]) -> list[Vector]:
        import numpy as np

        with self._loading:
            tokenizer, all_weights = self._model
        # One by one: the tokenizer's own threads cost more than they save on texts this short.
        each = [tokenizer.encode(sendable(text), add_special_tokens=False).ids for text in texts]
        # Numbers of half precision are converted one by one: each only once, however often it occurs.
        distinct, places = np.unique(np.array(list(chain.from_iterable(each)), dtype=np.intp), return_inverse=True)
        weights = all_weights[distinct].astype(np.float32)
        means, begin = [], 0
        for numbers in each:
            end = begin + len(numbers)
            mean = weights[places[begin:end]].mean(axis=0) if numbers else np.ones(all_weights.shape[1])
            means.append((mean / max(float(np.linalg.norm(mean)), 1e-9)).tolist())
            begin = end
        return means

    @cached_property
    def _model(self) -> tuple[Any, NDArray[Any]]:
        """The tokenizer, and the matrix of weights."""
        spec = find_spec(PACKAGE)
        if spec is None or spec.origin is None:
            raise EmbeddingError(
                "EMBEDDING_PROVIDER=local needs the word vectors of the package wordllama, which is not installed",
                hint="in a checkout of SkillHub: pip install '.[local]'",
            )
        folder = Path(spec.origin).parent
        try:
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
            tokenizer.no_truncation()
            return tokenizer, _mapped(folder / _WEIGHTS, _TENSOR)
        # The tokenizer's reader raises plain Exception.
        except Exception as error:
            raise EmbeddingError(
                f"The word vectors of {PACKAGE} cannot be read: {error}", hint="pip install --force-reinstall wordllama"
            ) from error


def _mapped(path: Path, tensor: str) -> NDArray[Any]:
    """Return a matrix of half-precision numbers of a safetensors file, mapped: `safetensors` itself copies it.

    The format is a length, a JSON header of that length, and the numbers.
    """
    import numpy as np

    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(size))[tensor]
    if entry["dtype"] != "F16":
        raise ValueError(f"{path.name} holds {entry['dtype']} numbers, not F16")
    start = 8 + size + entry["data_offsets"][0]
    return np.memmap(path, dtype="<f2", mode="r", offset=start, shape=tuple(entry["shape"]))
