"""Commands with models of the person's own: what they find, what they keep, and what `doctor` says of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.fakes.onnx_models import cross_encoder, encoder

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def skills(write_skill: SkillWriter) -> None:
    write_skill("walrus", "Feed walrus fish.")
    write_skill("oven", "Bake bread dough.")
    write_skill("docker", "Deploy container cluster.")


def encoding(path: Path, **other: str) -> dict[str, str]:
    return {"EMBEDDING_PROVIDER": "onnx", "EMBEDDING_MODEL": str(path), **other}


def names(skillhub: Skillhub, *query: str, **environment: str) -> list[str]:
    done = skillhub("search", *query, "--json", **environment)
    assert done.code == 0, done.err
    return [hit["name"] for hit in done.json["skills"]]


def test_a_skill_without_a_shared_word_is_found_by_its_subject(skillhub: Skillhub, tmp_path: Path) -> None:
    environment = encoding(encoder(tmp_path / "model"), SEARCH_MODE="vector")
    done = skillhub("index", **environment)
    assert done.code == 0
    assert "text only" not in done.err
    assert names(skillhub, "seal", **environment)[0] == "walrus"
    assert names(skillhub, "seal", EMBEDDING_PROVIDER="none") == []


@pytest.mark.acceptance("S2-50")
def test_two_models_have_an_index_each_and_an_exchanged_one_embeds_again(skillhub: Skillhub, tmp_path: Path) -> None:
    first, second = (encoding(encoder(tmp_path / name, seed=seed)) for seed, name in enumerate("ab"))
    for environment in (first, second):
        assert skillhub("index", **environment).code == 0
    facts = [skillhub("doctor", "--json", **environment).json["embeddings"] for environment in (first, second)]
    assert len(set(facts)) == 2
    encoder(tmp_path / "a", seed=1)
    assert skillhub("doctor", "--json", **first).json["embeddings"] == facts[1]
    assert names(skillhub, "oven", **first) == names(skillhub, "oven", **second)


FAULTS: dict[str, Callable[[Path], object]] = {
    "gone": shutil.rmtree,
    "broken": lambda path: (path / "model.onnx").write_bytes(b"<html>"),
    "a cross-encoder": cross_encoder,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_model_does_not_stop_a_search_and_doctor_names_it(
    skillhub: Skillhub, tmp_path: Path, fault: str
) -> None:
    path = tmp_path / "model"
    environment = encoding(encoder(path))
    FAULTS[fault](path)
    assert names(skillhub, "bread", **environment) == ["oven"]
    done = skillhub("doctor", **environment)
    assert done.code == 1
    assert done.out.count("problem  ") == 1
    assert "problem  embeddings\n  skills without vectors are found by text alone: " in done.out
    assert "→ correct EMBEDDING_MODEL, then run skillhub index" in done.out


@pytest.mark.parametrize(("sign", "first"), [(1.0, "long"), (-1.0, "short")])
def test_the_cross_encoder_orders_the_best(
    skillhub: Skillhub, tmp_path: Path, write_skill: SkillWriter, sign: float, first: str
) -> None:
    write_skill("short", "Feed seal.")
    write_skill("long", "Feed seal, read table.")
    model = cross_encoder(tmp_path / "model", sign=sign)
    ordered = names(skillhub, "feed", "seal", "table", SEARCH_RERANK="local", SEARCH_RERANK_MODEL=str(model))
    assert next(name for name in ordered if name in ("short", "long")) == first
