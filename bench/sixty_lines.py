"""The formula that our search has to beat: BM25F over five fields and half of a cosine of word vectors, in sixty lines.

It shares the program's tokens, stems and stop words, and nothing else: no translation, no spelling, no index.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skillhub_mcp.analysis.analyzer import terms
from skillhub_mcp.embedders.local import LocalEmbedder
from skillhub_mcp.skills.model import Skill

_FIELDS = ((8.0, 0.3), (6.0, 0.4), (4.0, 0.3), (1.0, 0.9))
_K1 = 8.0
_BEST = 100


class SixtyLines:
    """An engine over skills with their bodies; with `meaning`, that share of the cosine is added."""

    def __init__(self, skills: Sequence[tuple[Skill, str]], *, meaning: float) -> None:
        self._directories = [skill.directory for skill, _ in skills]
        self._meaning = meaning
        texts = [(skill.name, skill.description, " ".join(skill.tags), body[:100_000]) for skill, body in skills]
        counts = [[Counter(terms(text)) for text in fields] for fields in texts]
        lengths = np.array([[float(sum(field.values())) for field in fields] for fields in counts])
        mean = np.maximum(lengths.mean(axis=0), 0.1)
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for number, fields in enumerate(counts):
            for term in set().union(*fields):
                weighted = sum(
                    weight * field[term] / (1.0 - b + b * length / average)
                    for (weight, b), field, length, average in zip(_FIELDS, fields, lengths[number], mean, strict=True)
                )
                self._postings.setdefault(term, []).append((number, weighted * (_K1 + 1.0) / (_K1 + weighted)))
        self._embedder = LocalEmbedder()
        described = [f"{skill.name}\n{skill.description}" for skill, _ in skills]
        self._vectors = np.array(self._embedder.embed_documents(described))

    def search(self, text: str) -> list[str]:
        """Return the directories of the ten best."""
        scores = np.zeros(len(self._directories))
        for term, times in Counter(terms(text)).items():
            having = self._postings.get(term, [])
            rarity = math.log1p((len(scores) - len(having) + 0.5) / (len(having) + 0.5))
            for number, worth in having:
                scores[number] += rarity * worth * (1.0 + math.log(times))
        totals = _scaled(scores)
        if self._meaning:
            totals = totals + self._meaning * _scaled(self._vectors @ np.array(self._embedder.embed_query(text)))
        return [self._directories[number] for number in np.argsort(-totals, kind="stable")[:10]]


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values on a scale from 0 to 1 over the best hundred; the others are 0."""
    best = np.sort(values)[-_BEST:]
    found: NDArray[np.float64] = np.clip((values - best[0]) / max(float(best[-1] - best[0]), 1e-9), 0.0, 1.0)
    return found
