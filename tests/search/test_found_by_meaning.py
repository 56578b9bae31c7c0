"""Whether a skill that only its meaning finds counts as a fit (decision D42): a provider's model, asked by its SDK."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from tests.conftest import SkillWriter
from tests.fakes.embedding_api import EmbeddingApi
from tests.hubs import hub_of

from skillhub_mcp.search.engine import SearchAnswer

SUBJECTS = {
    "invoices": "Extract totals from invoices.",
    "walrus": "Feed a walrus.",
    "bread": "Bake sourdough bread.",
    "charts": "Draw bar charts.",
    "deploy": "Roll out a container.",
    "poems": "Write haiku.",
    "taxes": "File an income tax return.",
    "guitar": "Tune a guitar.",
    "maps": "Plot coordinates on maps.",
    "chess": "Analyse chess openings.",
}
RIGHT = "invoices"
# No word of it is in a skill.
QUESTION = "sum up what suppliers charged us"
DIMENSION = 64

Vector = list[float]


def combined(first: Vector, share: float, other: Vector) -> Vector:
    """A vector of length 1 with that cosine to `first`, for `other` at a right angle to it."""
    rest = math.sqrt(1.0 - share * share)
    return [share * a + rest * b for a, b in zip(first, other, strict=True)]


def axis(number: int) -> Vector:
    return [float(place == number) for place in range(DIMENSION)]


def at_right_angles() -> list[Vector]:
    return [axis(number) for number in range(len(SUBJECTS))]


def at_random() -> list[Vector]:
    """Vectors whose last number is 0, so that a question can have something that none of them has."""
    draw = random.Random(1)
    found = []
    for _ in SUBJECTS:
        drawn = [draw.gauss(0.0, 1.0) for _ in range(DIMENSION - 1)]
        length = math.hypot(*drawn)
        found.append([*(one / length for one in drawn), 0.0])
    return found


def with_much_in_common() -> list[Vector]:
    """Vectors with a cosine of about .4 to each other, as some models give any two texts."""
    return [combined(axis(DIMENSION - 2), math.sqrt(0.4), [*own[:-2], 0.0, 0.0]) for own in at_random()]


@dataclass
class Model:
    """A model that gives each skill a vector, and the question one at a `cosine` to that of the right skill."""

    skills: list[Vector] = field(default_factory=at_right_angles)
    cosine: float = 1.0

    def vector(self, text: str) -> Vector:
        for own, description in zip(self.skills, SUBJECTS.values(), strict=True):
            if description in text:
                return own
        return combined(self.skills[list(SUBJECTS).index(RIGHT)], self.cosine, axis(DIMENSION - 1))


Search = Callable[..., SearchAnswer]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def search(hub_environment: dict[str, str], write_skill: SkillWriter, model: Model) -> Iterator[Search]:
    """Searches for the question among ten skills, with the vectors of the model."""
    for name, description in SUBJECTS.items():
        write_skill(name, description)
    with EmbeddingApi(model.vector) as api:

        def ask(mode: str = "auto", **settings: str) -> SearchAnswer:
            environment = {
                **hub_environment,
                "EMBEDDING_PROVIDER": "openai",
                "OPENAI_API_KEY": "k",
                "EMBEDDING_BASE_URL": api.url_for("openai"),
                "SEARCH_MODE": mode,
                **settings,
            }
            with hub_of(environment) as hub:
                return hub.search(QUESTION)

        yield ask


@pytest.mark.acceptance("S2-19")
@pytest.mark.parametrize("mode", ["auto", "vector", "hybrid"])
@pytest.mark.parametrize("cosine", [0.8, 1.0])
@pytest.mark.parametrize("skills", [at_right_angles, at_random, with_much_in_common])
def test_the_right_skill_is_confident_without_a_shared_word(
    search: Search, model: Model, mode: str, cosine: float, skills: Callable[[], list[Vector]]
) -> None:
    model.skills, model.cosine = skills(), cosine
    answer = search(mode)
    assert answer.hits[0].skill.name == RIGHT
    assert answer.confident


@pytest.mark.parametrize("mode", ["auto", "vector", "hybrid"])
@pytest.mark.parametrize("skills", [at_right_angles, at_random])
def test_a_question_far_from_every_skill_has_only_near_misses(
    search: Search, model: Model, mode: str, skills: Callable[[], list[Vector]]
) -> None:
    model.skills, model.cosine = skills(), 0.05
    assert not search(mode).confident


def test_nearer_in_meaning_scores_higher(search: Search, model: Model) -> None:
    scores = []
    for cosine in (0.1, 0.3, 0.6, 1.0):
        model.cosine = cosine
        scores.append(search().hits[0].score)
    assert scores == sorted(scores)
