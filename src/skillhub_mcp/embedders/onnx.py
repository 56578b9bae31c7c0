"""The embedder over the user's own ONNX model, a sentence encoder, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from skillhub_mcp.embedders.base import Purpose, Vector
from skillhub_mcp.embedders.model_directory import ModelDirectory, ModelUnusable, Pooling
from skillhub_mcp.embedders.onnx_model import MAX_BATCH_TEXTS, OnnxModel, Output
from skillhub_mcp.embedders.remote import sendable
from skillhub_mcp.errors import EmbeddingError

_IDENTITY_DIGITS = 16
_UNKNOWN = "onnx:unknown"
_WAITING_SECONDS = 5.0
_UNHURRIED_SECONDS = 60.0
# Networks that were exported with their pooling name it so.
_POOLED_OUTPUTS = ("sentence_embedding", "sentence_embeddings", "text_embeds", "embeddings")
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
# The output of BERT's training task, not the meaning of a sentence.
_NOT_MEANING = "pooler_output"
_TOKEN_AXES = 3
_POOLED_AXES = 2
# A classifier answers with few numbers; no encoder has so few.
_FEWEST_NUMBERS = 8


class OnnxEmbedder:
    """An Embedder over a model directory, loaded with the first call.

    A run takes at most `waiting` seconds while a user waits, and `unhurried` while none does.
    """

    is_instant = False
    texts_at_once = MAX_BATCH_TEXTS

    def __init__(self, path: str, *, waiting: float = _WAITING_SECONDS, unhurried: float = _UNHURRIED_SECONDS) -> None:
        self._model = OnnxModel(path)
        self._waiting = waiting
        self._unhurried = unhurried

    @cached_property
    def identity(self) -> str:
        """`onnx:` and the digest of the model, the same for as long as this object lives."""
        try:
            return f"onnx:{self._model.directory.digest[:_IDENTITY_DIGITS]}"
        except ModelUnusable:
            # Said by each call.
            return _UNKNOWN

    def embed_documents(self, texts: Sequence[str], *, waiting: bool = False) -> list[Vector]:
        """Return one vector per text, in order. Raises EmbeddingError."""
        return self._vectors(texts, "document", self._waiting if waiting else self._unhurried)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Raises EmbeddingError."""
        return self._vectors([text], "query", self._waiting)[0]

    def _vectors(self, texts: Sequence[str], purpose: Purpose, seconds: float) -> list[Vector]:
        vectors: list[Vector] = [[]] * len(texts)
        try:
            for numbers, output in self._model.outputs(self._prompted(texts, purpose), seconds=seconds):
                units = _units(_pooled(output, self._model.directory))
                for number, unit in zip(numbers, units, strict=True):
                    vectors[number] = unit.tolist()
        except ModelUnusable as error:
            raise self._failure(error) from error
        return vectors

    def _prompted(self, texts: Sequence[str], purpose: Purpose) -> list[str]:
        prompt = sendable(self._model.directory.prompts[purpose])
        if self.identity == _UNKNOWN:
            # The index would take the vectors for those of another model.
            raise ModelUnusable("was not there when this program started", fix="start it again")
        return [prompt + sendable(text) for text in texts]

    def _failure(self, error: ModelUnusable) -> EmbeddingError:
        return EmbeddingError(
            f"The model in {self._model.path} (EMBEDDING_MODEL) {error.reason}",
            hint=f"{error.fix}; EMBEDDING_PROVIDER=auto searches without it",
        )


def _pooled(output: Output, directory: ModelDirectory) -> Any:
    """Return one vector per text (texts, dimension). Raises ModelUnusable if the outputs are not an encoder's."""
    import numpy as np

    found = output.by_name
    name = next((one for one in (*_POOLED_OUTPUTS, *_TOKEN_OUTPUTS) if one in found), None)
    if name is None:
        others = [one for one in found if one != _NOT_MEANING]
        name = next((one for one in others if found[one].ndim == _TOKEN_AXES), others[0] if others else None)
    answered = found[name].astype(np.float32) if name is not None else np.empty(0, dtype=np.float32)
    if answered.ndim == _TOKEN_AXES and answered.shape[:2] == output.mask.shape:
        if directory.applies_dense:
            raise ModelUnusable(
                "has a layer after pooling that its model.onnx lacks (modules.json)",
                fix="export it with that layer, to an output called sentence_embedding",
            )
        answered = _POOL[directory.pooling or "mean"](answered, output.mask)
    if answered.ndim != _POOLED_AXES or len(answered) != len(output.mask) or answered.shape[1] < _FEWEST_NUMBERS:
        shapes = ", ".join(f"{one} {list(array.shape)}" for one, array in found.items())
        raise ModelUnusable(
            f"answers {len(output.mask)} texts with {shapes}, which are not vectors of texts",
            fix="use a sentence encoder; a cross-encoder is for SEARCH_RERANK_MODEL",
        )
    return answered


def _mean(tokens: Any, mask: Any) -> Any:
    import numpy as np

    return np.einsum("btd,bt->bd", tokens, mask.astype(np.float32)) / mask.sum(axis=1)[:, None]


def _weighted_mean(tokens: Any, mask: Any) -> Any:
    """Return the mean in which each token is weighted by its position: the last has seen all the others."""
    import numpy as np

    return _mean(tokens, np.arange(1, tokens.shape[1] + 1) * mask)


def _first(tokens: Any, mask: Any) -> Any:
    del mask
    return tokens[:, 0]


def _last(tokens: Any, mask: Any) -> Any:
    return tokens[range(len(tokens)), mask.sum(axis=1) - 1]


def _largest(tokens: Any, mask: Any) -> Any:
    import numpy as np

    return np.where(mask[..., None] > 0, tokens, -np.inf).max(axis=1)


_POOL: Mapping[Pooling, Callable[[Any, Any], Any]] = {
    "mean": _mean,
    "weightedmean": _weighted_mean,
    "cls": _first,
    "lasttoken": _last,
    "max": _largest,
}


def _units(vectors: Any) -> Any:
    """Return the vectors with length 1. Raises ModelUnusable for one that has no direction."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ModelUnusable(
            "answers with zero or non-finite numbers", fix="use an export with 32-bit numbers, or export it again"
        )
    return vectors / lengths
