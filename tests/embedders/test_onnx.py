"""The ONNX embedder, with tiny models written by the tests and the real runtime."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.fakes.onnx_models import (
    DIMENSION,
    WORDS,
    cross_encoder,
    encoder,
    endless,
    without_numbers,
    word_vectors,
)

from skillhub_mcp.embedders.base import Vector
from skillhub_mcp.embedders.model_directory import ModelUnusable, read_model_directory
from skillhub_mcp.embedders.onnx import OnnxEmbedder
from skillhub_mcp.errors import EmbeddingError

SHORT = 0.3
WITH_MASK = ("input_ids", "attention_mask", "token_type_ids")


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def unit(vector: NDArray[np.float32]) -> list[float]:
    normalised: list[float] = (vector / np.linalg.norm(vector)).tolist()
    return normalised


def of_words(*words: str, seed: int = 0) -> list[float]:
    """Return the normalised mean of the words' vectors."""
    return unit(word_vectors(seed)[[WORDS.index(word) for word in words]].mean(axis=0))


def test_texts_get_unit_vectors_and_similar_texts_are_near(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(str(encoder(tmp_path)))
    texts = ["read an invoice", "", "deploy containers \ud800 \0 ☃", "bread " * 5_000]
    vectors = embedder.embed_documents(texts)
    assert [len(vector) for vector in vectors] == [DIMENSION] * len(texts)
    assert all(math.hypot(*vector) == pytest.approx(1.0, abs=1e-5) for vector in vectors)
    query = embedder.embed_query("table in a pdf")
    assert cosine(query, vectors[0]) > cosine(query, vectors[3])
    assert embedder.embed_documents([]) == []


def test_a_vector_does_not_depend_on_its_batch(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(str(encoder(tmp_path, inputs=WITH_MASK)))
    texts = [" ".join(WORDS[6 : 6 + length]) for length in range(1, 16)] * 3
    together = embedder.embed_documents(texts)
    for text, vector in zip(texts, together, strict=True):
        assert vector == pytest.approx(embedder.embed_documents([text])[0], abs=1e-6)


TOKENS = word_vectors(0)[[WORDS.index(word) for word in ("[CLS]", "pdf", "bread", "[SEP]")]]
POOLED = {
    "mean": TOKENS.mean(axis=0),
    "cls": TOKENS[0],
    "lasttoken": TOKENS[-1],
    "max": TOKENS.max(axis=0),
    "weightedmean": np.arange(1, 5) @ TOKENS,
}


@pytest.mark.parametrize("way", POOLED)
@pytest.mark.parametrize("switches", [True, False], ids=["switches", "name"])
def test_pooling_follows_the_configuration_of_the_model(tmp_path: Path, way: str, switches: bool) -> None:
    name = {"cls": "cls_token", "lasttoken": "lasttoken"}.get(way, f"{way}_tokens")
    config = {"pooling_mode_max_tokens": False, f"pooling_mode_{name}": True} if switches else {"pooling_mode": way}
    embedder = OnnxEmbedder(str(encoder(tmp_path, files={"1_Pooling/config.json": config})))
    # The longer text pads the first.
    assert embedder.embed_documents(["pdf bread", "pdf " * 9])[0] == pytest.approx(unit(POOLED[way]), abs=1e-5)


def test_a_pooled_output_is_not_pooled_again(tmp_path: Path) -> None:
    path = encoder(tmp_path, output="sentence_embedding", files={"1_Pooling/config.json": {"pooling_mode": "cls"}})
    assert OnnxEmbedder(str(path)).embed_query("pdf bread") == pytest.approx(unit(POOLED["mean"]), abs=1e-5)


def test_queries_and_documents_get_their_prompts(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "passage": "bread "}, "default_prompt_name": None}
    embedder = OnnxEmbedder(str(encoder(tmp_path, files={"config_sentence_transformers.json": prompts})))
    assert embedder.embed_query("pdf") == pytest.approx(of_words("[CLS]", "query", ":", "pdf", "[SEP]"), abs=1e-5)
    document = embedder.embed_documents(["pdf"])[0]
    assert document == pytest.approx(of_words("[CLS]", "bread", "pdf", "[SEP]"), abs=1e-5)


def test_a_text_is_truncated_to_the_models_length(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(str(encoder(tmp_path, files={"sentence_bert_config.json": {"max_seq_length": 8}})))
    assert embedder.embed_query("pdf " * 6 + "bread") == pytest.approx(embedder.embed_query("pdf " * 6), abs=1e-5)


@pytest.mark.parametrize("name", ["onnx/model.onnx", "onnx/model_quantized.onnx", "model_int8.onnx"])
def test_a_model_is_found_in_the_usual_places(tmp_path: Path, name: str) -> None:
    found = read_model_directory(str(encoder(tmp_path, name=name)))
    assert found.model == str(tmp_path / name)


def test_several_models_are_refused(tmp_path: Path) -> None:
    for name in ("onnx/model_int8.onnx", "onnx/model_fp16.onnx"):
        encoder(tmp_path, name=name)
    with pytest.raises(ModelUnusable, match=r"model_fp16\.onnx, onnx/model_int8\.onnx, and none is model\.onnx"):
        read_model_directory(str(tmp_path))


LENGTHS: dict[str, tuple[dict[str, object], int]] = {
    "unspecified": ({}, 512),
    "its own": ({"sentence_bert_config.json": {"max_seq_length": 128}, "config.json": {}}, 128),
    "positions": ({"config.json": {"max_position_embeddings": 256}}, 256),
    "reserved positions": ({"config.json": {"max_position_embeddings": 130, "model_type": "xlm-roberta"}}, 128),
    "the tokenizer's": ({"tokenizer_config.json": {"model_max_length": 64}}, 64),
    "unlimited": ({"tokenizer_config.json": {"model_max_length": 10**30}}, 512),
    "above the maximum": ({"sentence_bert_config.json": {"max_seq_length": 8192}}, 512),
    "nonsense": ({"sentence_bert_config.json": {"max_seq_length": "long"}}, 512),
}


@pytest.mark.parametrize("case", LENGTHS)
def test_the_maximum_length_comes_from_the_files_within_bounds(tmp_path: Path, case: str) -> None:
    files, tokens = LENGTHS[case]
    assert read_model_directory(str(encoder(tmp_path, files=files))).max_tokens == tokens


def test_the_identity_depends_on_the_model_not_on_its_path(tmp_path: Path) -> None:
    first, second, moved = (OnnxEmbedder(str(encoder(tmp_path / name, seed=seed))) for name, seed in
                            (("a", 0), ("b", 1), ("c", 0)))  # fmt: skip
    assert first.identity == moved.identity != second.identity
    assert first.embed_query("pdf") == moved.embed_query("pdf") != second.embed_query("pdf")
    prompts = {"prompts": {"document": "bread "}}
    prompted = OnnxEmbedder(str(encoder(tmp_path / "d", files={"config_sentence_transformers.json": prompts})))
    assert prompted.identity != first.identity


def test_a_model_replaced_on_disk_stays_in_use(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(str(encoder(tmp_path)))
    identity, vector = embedder.identity, embedder.embed_query("pdf")
    encoder(tmp_path, seed=1)
    assert (embedder.identity, embedder.embed_query("pdf")) == (identity, vector)
    assert OnnxEmbedder(str(tmp_path)).identity != identity


def test_a_model_that_was_missing_at_start_is_not_used(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(str(tmp_path / "model"))
    assert embedder.identity == "onnx:unknown"
    encoder(tmp_path / "model")
    with pytest.raises(EmbeddingError, match="was not there when this program started"):
        embedder.embed_documents(["pdf"])
    assert OnnxEmbedder(str(tmp_path / "model")).embed_query("pdf")


@pytest.mark.slow
def test_a_hanging_model_is_stopped(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(str(endless(tmp_path)), waiting=SHORT, unhurried=SHORT)
    for ask in (lambda: embedder.embed_query("pdf"), lambda: embedder.embed_documents(["pdf", "bread"])):
        with pytest.raises(EmbeddingError, match="in time") as caught:
            ask()
        assert "smaller model" in (caught.value.hint or "")


def broken(path: Path) -> Path:
    (encoder(path) / "model.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1")
    return path


def without_tokenizer(path: Path) -> Path:
    (encoder(path) / "tokenizer.json").unlink()
    (path / "vocab.txt").write_text("pdf")
    return path


def with_broken_tokenizer(path: Path) -> Path:
    (encoder(path) / "tokenizer.json").write_text("{}")
    return path


def unreadable_settings(path: Path) -> Path:
    return encoder(path, files={"config.json": "{"})


def a_file(path: Path) -> Path:
    return encoder(path) / "model.onnx"


UNUSABLE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no directory": (lambda path: path / "none", "is not there"),
    "a file": (a_file, "is a file, not a directory"),
    "no model": (lambda path: path, "no tokenizer.json"),
    "no tokenizer": (without_tokenizer, "vocab.txt and no tokenizer.json"),
    "broken tokenizer": (with_broken_tokenizer, "tokenizer.json that cannot be read"),
    "broken model": (broken, "model.onnx that cannot be read"),
    "broken settings": (unreadable_settings, "config.json that cannot be read: line 1"),
    "not a number": (without_numbers, "non-finite"),
    "a cross-encoder": (cross_encoder, r"logits \[1, 1\]"),
    "another pooling": (
        lambda path: encoder(path, files={"1_Pooling/config.json": {"pooling_mode": "attention"}}),
        "pools token vectors by attention",
    ),
    "a dense layer": (
        lambda path: encoder(path, files={"modules.json": [{"type": "sentence_transformers.models.Dense"}]}),
        "a layer after pooling",
    ),
    "other inputs": (lambda path: encoder(path, inputs=("input_ids", "pixel_values")), "asks for pixel_values"),
    "inputs of one size": (lambda path: encoder(path, takes=(1, 8)), "cannot be run: .*dimensions for input"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_model_is_reported_with_cause_and_fix(tmp_path: Path, case: str) -> None:
    write, cause = UNUSABLE[case]
    embedder = OnnxEmbedder(str(write(tmp_path)))
    assert embedder.identity.startswith("onnx:")
    for _ in range(2):
        with pytest.raises(EmbeddingError, match=cause) as caught:
            embedder.embed_query("pdf")
    assert str(tmp_path) in caught.value.message
    assert "EMBEDDING_MODEL" in caught.value.message
    assert caught.value.hint
    with pytest.raises(EmbeddingError):
        embedder.embed_documents(["pdf"])


def test_a_missing_runtime_is_reported_with_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbeddingError, match="onnxruntime") as caught:
        OnnxEmbedder(str(encoder(tmp_path))).embed_query("pdf")
    assert "pip install '.[onnx]'" in (caught.value.hint or "")


@pytest.mark.slow
def test_the_runtime_sends_no_telemetry_and_is_loaded_with_the_first_text(tmp_path: Path) -> None:
    # Versions from 1.29 on contain the address of a telemetry collector.
    import onnxruntime

    for library in (Path(onnxruntime.__file__).parent / "capi").glob("*.so*"):
        assert b"OneCollector" not in library.read_bytes()
    encoder(tmp_path)
    program = (
        "import os, sys; from skillhub_mcp.embedders.onnx import OnnxEmbedder;"
        f"made = OnnxEmbedder({str(tmp_path)!r}); made.identity;"
        "assert not {'onnxruntime', 'tokenizers', 'numpy'} & set(sys.modules);"
        "made.embed_query('pdf'); assert os.environ['ORT_DISABLE_TELEMETRY'] == '1'"
    )
    environment = {name: one for name, one in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
