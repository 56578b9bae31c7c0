"""The local reranker: a cross-encoder that the person has reads the query beside each name and description."""

from __future__ import annotations

from collections.abc import Sequence

from skillhub_mcp.embedders.model_directory import ModelUnusable
from skillhub_mcp.embedders.onnx_model import OnnxModel, Output
from skillhub_mcp.embedders.remote import sendable
from skillhub_mcp.errors import RerankingError

# A person waits, and the order by the rest is good.
SECONDS = 3.0
_QUERY_CHARACTERS = 1_000
_DESCRIPTION_CHARACTERS = 600
_LABELS = "logits"
# One number is how well they fit; of two the second says yes.
_YES_OR_NO = 2


class LocalReranker:
    """A Reranker over a model directory, loaded with the first search; a run that takes too long is ended."""

    def __init__(self, path: str, *, seconds: float = SECONDS) -> None:
        self._model = OnnxModel(path)
        self._seconds = seconds

    def rerank(self, query: str, skills: Sequence[tuple[str, str]]) -> list[float]:
        """Return the model's odds, from 0 to 1, that each fits. Raises RerankingError, also where it takes too long."""
        asked = sendable(query[:_QUERY_CHARACTERS])
        pairs = [(asked, sendable(f"{name}: {text[:_DESCRIPTION_CHARACTERS]}")) for name, text in skills]
        # Texts are answered in batches, and what else is in one changes the last digits.
        distinct = sorted(set(pairs))
        found: dict[tuple[str, str], float] = {}
        try:
            for numbers, output in self._model.outputs(distinct, seconds=self._seconds):
                found |= {distinct[number]: one for number, one in zip(numbers, _odds(output), strict=True)}
        except ModelUnusable as error:
            raise self._failure(error) from error
        return [found[pair] for pair in pairs]

    def _failure(self, error: ModelUnusable) -> RerankingError:
        return RerankingError(
            f"The model in {self._model.path} (SEARCH_RERANK_MODEL) {error.reason}",
            hint=f"{error.fix}; SEARCH_RERANK=0 searches without it",
        )


def _odds(output: Output) -> list[float]:
    """Return how likely each text of a batch fits. Raises ModelUnusable for outputs of another kind of model."""
    import numpy as np

    found = output.by_name
    logits = found.get(_LABELS, next(iter(found.values()))).astype(np.float64)
    if logits.ndim == 1:
        logits = logits[:, None]
    if logits.ndim != 2 or len(logits) != len(output.mask) or not 1 <= logits.shape[1] <= _YES_OR_NO:  # noqa: PLR2004
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in found.items())
        raise ModelUnusable(
            f"answers {len(output.mask)} pairs of texts with {shapes}, which says of none how well it fits",
            fix="use a cross-encoder with one label, or two; a sentence encoder is for EMBEDDING_MODEL",
        )
    if not np.isfinite(logits).all():
        raise ModelUnusable(
            "answers with numbers that are not finite", fix="use an export with 32-bit numbers, or export it again"
        )
    strength = logits[:, -1] - (logits[:, 0] if logits.shape[1] == _YES_OR_NO else 0.0)
    odds: list[float] = (0.5 + 0.5 * np.tanh(strength / 2.0)).tolist()
    return odds
