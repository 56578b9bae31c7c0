"""Tiny models for ONNX, written byte by byte: a sentence encoder and a cross-encoder over a vocabulary of a few words.

The numbers of the messages' fields are those of `onnx.proto3`, the public schema of the format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SUBJECTS: Mapping[str, Sequence[str]] = {
    "documents": ("pdf", "invoice", "table", "read"),
    "ships": ("container", "deploy", "cluster", "docker"),
    "kitchen": ("bread", "bake", "oven", "dough"),
    "animals": ("walrus", "seal", "feed", "fish"),
}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "query", ":")
WORDS = (*SPECIAL, *(word for words in SUBJECTS.values() for word in words))
DIMENSION = 16

FLOAT, INT64, BOOL = 1, 7, 9


def encoder(
    directory: Path,
    *,
    seed: int = 0,
    output: str = "last_hidden_state",
    inputs: Sequence[str] = ("input_ids",),
    takes: Sequence[int | str] = ("batch", "tokens"),
    vectors: NDArray[np.float32] | None = None,
    files: Mapping[str, object] | None = None,
    name: str = "model.onnx",
) -> Path:
    """Write a sentence encoder with `vectors`, else those of `word_vectors`, padding included.

    `output` may also be `sentence_embedding`, the sum over all tokens. `takes` is its input size (texts, tokens); a
    name means any. `files` are written as JSON beside it.
    """
    if output == "sentence_embedding":
        nodes = [
            node("Gather", ["vectors", "input_ids"], ["tokens"]),
            node("ReduceSum", ["tokens", "axis_1"], [output], keepdims=0),
        ]
        shape: Sequence[int | str] = ("batch", DIMENSION)
    else:
        nodes = [node("Gather", ["vectors", "input_ids"], [output])]
        shape = ("batch", "tokens", DIMENSION)
    constants = {"vectors": word_vectors(seed) if vectors is None else vectors, "axis_1": np.array([1])}
    return write(directory, nodes, constants, inputs, value(output, FLOAT, shape), takes=takes, files=files, name=name)


def cross_encoder(directory: Path, *, labels: int = 1, sign: float = 1.0) -> Path:
    """Write a cross-encoder: its logit is `sign` times the number of the query's tokens in the text, less three.

    With two `labels` the first is the opposite; with more they are all alike.
    """
    nodes = [
        node("Unsqueeze", ["input_ids", "axis_2"], ["rows"]),
        node("Unsqueeze", ["input_ids", "axis_1"], ["columns"]),
        node("Equal", ["rows", "columns"], ["same"]),
        node("Cast", ["same"], ["same_1"], to=FLOAT),
        node("Cast", ["token_type_ids"], ["second"], to=FLOAT),
        node("Cast", ["attention_mask"], ["real"], to=FLOAT),
        node("Sub", ["real", "second"], ["first"]),
        node("Unsqueeze", ["first", "axis_2"], ["first_2"]),
        node("Unsqueeze", ["second", "axis_1"], ["second_1"]),
        node("Mul", ["same_1", "first_2"], ["from_first"]),
        node("Mul", ["from_first", "second_1"], ["to_second"]),
        node("ReduceSum", ["to_second", "axes"], ["found"], keepdims=0),
        node("Sub", ["found", "three"], ["strength"]),
        node("Unsqueeze", ["strength", "axis_1"], ["column"]),
        node("Mul", ["column", "signs"], ["logits"]),
    ]
    constants: dict[str, NDArray[Any]] = {
        "axis_1": np.array([1]),
        "axis_2": np.array([2]),
        "axes": np.array([1, 2]),
        "three": np.array(3.0, dtype=np.float32),
        "signs": np.array([-1.0, 1.0] if labels == 2 else [sign] * labels, dtype=np.float32),
    }
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    return write(directory, nodes, constants, inputs, value("logits", FLOAT, ("batch", labels)))


def endless(directory: Path) -> Path:
    """Write an encoder that hangs: it counts to 2**62 before it answers."""
    body = graph(
        "body",
        [node("Identity", ["go_on"], ["still"]), node("Add", ["count", "one"], ["more"])],
        {"one": np.array(1.0, dtype=np.float32)},
        [value("step", INT64, ()), value("go_on", BOOL, ()), value("count", FLOAT, ())],
        [value("still", BOOL, ()), value("more", FLOAT, ())],
    )
    nodes = [
        node("Loop", ["steps", "true", "zero"], ["counted"], body=body),
        node("Gather", ["vectors", "input_ids"], ["tokens"]),
        node("Add", ["tokens", "counted"], ["last_hidden_state"]),
    ]
    constants: dict[str, NDArray[Any]] = {
        "steps": np.array(2**62),
        "true": np.array(True),
        "zero": np.array(0.0, dtype=np.float32),
        "vectors": word_vectors(0),
    }
    output = value("last_hidden_state", FLOAT, ("batch", "tokens", DIMENSION))
    return write(directory, nodes, constants, ("input_ids",), output)


def without_numbers(directory: Path) -> Path:
    """Write an encoder whose vectors are not numbers."""
    return encoder(directory, vectors=np.full((len(WORDS), DIMENSION), np.nan, dtype=np.float32))


def word_vectors(seed: int) -> NDArray[np.float32]:
    """Return the vector of each word of `WORDS` (words, dimension): its subject's plus a small one of its own."""
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((len(WORDS), DIMENSION)) * 0.3
    for words in SUBJECTS.values():
        vectors[[WORDS.index(word) for word in words]] += random.standard_normal(DIMENSION)
    found: NDArray[np.float32] = vectors.astype(np.float32)
    return found


def write_tokenizer(directory: Path) -> None:
    """Write a tokenizer.json that splits at spaces and knows `WORDS`."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", WORDS.index("[CLS]")), ("[SEP]", WORDS.index("[SEP]"))],
    )
    tokenizer.save(str(directory / "tokenizer.json"))


def write(
    directory: Path,
    nodes: Sequence[bytes],
    constants: Mapping[str, NDArray[Any]],
    inputs: Sequence[str],
    output: bytes,
    *,
    takes: Sequence[int | str] = ("batch", "tokens"),
    files: Mapping[str, object] | None = None,
    name: str = "model.onnx",
) -> Path:
    """Write a model with its tokenizer, and return the directory. Its inputs are whole numbers of the size `takes`."""
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    values = [value(one, INT64, takes) for one in inputs]
    model = (
        number(1, 8)  # the version of the format
        + message(7, graph("graph", nodes, constants, values, [output]))
        + message(8, number(2, 17))  # the version of the operators
    )
    # As a download replaces it: who has the old one open keeps it.
    (directory / f"{name}.new").write_bytes(model)
    (directory / f"{name}.new").replace(directory / name)
    write_tokenizer(directory)
    for path, content in (files or {}).items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(content if isinstance(content, str) else json.dumps(content))
    return directory


def graph(
    name: str,
    nodes: Sequence[bytes],
    constants: Mapping[str, NDArray[Any]],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
) -> bytes:
    """Return a GraphProto."""
    return (
        b"".join(message(1, one) for one in nodes)
        + text(2, name)
        + b"".join(message(5, tensor(key, array)) for key, array in constants.items())
        + b"".join(message(11, one) for one in inputs)
        + b"".join(message(12, one) for one in outputs)
    )


def node(kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: int | bytes) -> bytes:
    """Return a NodeProto; its attributes are whole numbers or graphs."""
    written = b"".join(text(1, one) for one in inputs) + b"".join(text(2, one) for one in outputs) + text(4, kind)
    for name, content in attributes.items():
        kept = number(3, content) + number(20, 2) if isinstance(content, int) else message(6, content) + number(20, 5)
        written += message(5, text(1, name) + kept)
    return written


def tensor(name: str, array: NDArray[Any]) -> bytes:
    """Return a TensorProto."""
    kind = {"f": FLOAT, "i": INT64, "b": BOOL}[array.dtype.kind]
    return (
        b"".join(number(1, size) for size in array.shape)
        + number(2, kind)
        + text(8, name)
        + message(9, array.tobytes())
    )


def value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    """Return a ValueInfoProto of a tensor; a size that is a word may be any."""
    sizes = b"".join(message(1, number(1, size) if isinstance(size, int) else text(2, size)) for size in shape)
    return text(1, name) + message(2, message(1, number(1, kind) + message(2, sizes)))


def message(field: int, content: bytes) -> bytes:
    """Return a field of bytes."""
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def text(field: int, content: str) -> bytes:
    """Return a field of text."""
    return message(field, content.encode())


def number(field: int, content: int) -> bytes:
    """Return a field of a whole number."""
    return _varint(field << 3) + _varint(content)


def _varint(content: int) -> bytes:
    written = b""
    while content > 0x7F:
        written += bytes([content & 0x7F | 0x80])
        content >>= 7
    return written + bytes([content])
