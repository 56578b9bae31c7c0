"""The files of an ONNX model, and its pooling, prompts and lengths. Loads no model.

The layouts are those of Hugging Face's exports, with the files of Sentence Transformers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.embedders.base import Purpose

Pooling = Literal["mean", "cls", "max", "lasttoken", "weightedmean"]

_POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "max", "lasttoken", "weightedmean")
_MODEL_NAMES = ("model.onnx", os.path.join("onnx", "model.onnx"))
_TOKENIZER_NAMES = ("tokenizer.json", os.path.join("onnx", "tokenizer.json"))
_OTHER_TOKENIZERS = ("vocab.txt", "tokenizer.model", "sentencepiece.bpe.model", "vocab.json")
# The network's cost grows with the square of the length, and a description has at most 1,024 characters.
_MOST_TOKENS = 512
_MOST_CONFIG_BYTES = 1_000_000
# Hashing a gigabyte would take a second at each start. Training changes weights everywhere, so parts distinguish two
# models; a file of up to 8 MiB is hashed whole.
_DIGEST_PARTS = 64
_DIGEST_PART_BYTES = 1 << 17
# A smaller length means that it is unknown.
_SHORTEST = 8
_WAYS = {
    "pooling_mode_mean_tokens": "mean",
    # The same direction, and length does not count.
    "pooling_mode_mean_sqrt_len_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
# Positions that these architectures keep for themselves.
_KEPT_POSITIONS = 2
_OFFSET_POSITIONS = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})


class ModelUnusable(Exception):
    """A model cannot be used, for a `reason`; `fix` is the remedy."""

    def __init__(self, reason: str, *, fix: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """The files of a model and its configuration.

    `pooling` is None if unspecified. `prompts` are the prefixes by which models such as E5 distinguish queries from
    documents. With `applies_dense`, pooling is followed by a layer that `model` lacks.
    """

    model: str
    tokenizer: str
    digest: str
    max_tokens: int
    pooling: Pooling | None
    prompts: Mapping[Purpose, str]
    applies_dense: bool


def read_model_directory(path: str) -> ModelDirectory:
    """Return what is in the directory. Raises ModelUnusable."""
    if not os.path.isdir(path):
        problem = "is a file, not a directory" if os.path.exists(path) else "is not there"
        raise ModelUnusable(problem, fix="name the directory that holds tokenizer.json and model.onnx")
    tokenizer = _tokenizer(path)
    model = _model(path)
    try:
        config = _config(path, "config.json")
        own_tokenizer = _config(path, "tokenizer_config.json")
        sentence = _config(path, "sentence_bert_config.json")
        modules = _modules(path)
        pooling = _pooling(path, modules)
        prompts = _prompts(_config(path, "config_sentence_transformers.json"))
        configuration = repr((sorted(config.items()), sorted(sentence.items()), pooling, prompts))
        digest = _digest((*_weights(model), tokenizer), configuration)
    except OSError as error:
        problem = f"has a file that cannot be read: {error.strerror or error} ({error.filename})"
        raise ModelUnusable(problem, fix="make its files readable to you") from error
    return ModelDirectory(
        model=model,
        tokenizer=tokenizer,
        digest=digest,
        max_tokens=_max_tokens(config, own_tokenizer, sentence),
        pooling=pooling,
        prompts=prompts,
        applies_dense=any(kind.endswith(".Dense") for kind in modules),
    )


def _first_file(path: str, names: Sequence[str]) -> str | None:
    return next((file for name in names if os.path.isfile(file := os.path.join(path, name))), None)


def _tokenizer(path: str) -> str:
    if found := _first_file(path, _TOKENIZER_NAMES):
        return found
    if other := _first_file(path, _OTHER_TOKENIZERS):
        raise ModelUnusable(
            f"has {os.path.basename(other)} and no tokenizer.json",
            fix="take tokenizer.json from the model's page, or save its fast tokenizer there (save_pretrained)",
        )
    raise ModelUnusable("has no tokenizer.json", fix="name the directory that holds tokenizer.json and model.onnx")


def _model(path: str) -> str:
    if usual := _first_file(path, _MODEL_NAMES):
        return usual
    found = [one for pattern in ("*.onnx", "onnx/*.onnx") for one in sorted(Path(path).glob(pattern))]
    if len(found) == 1:
        return str(found[0])
    if found:
        names = ", ".join(str(one.relative_to(path)) for one in found)
        raise ModelUnusable(f"has {names}, and none is model.onnx", fix="name the one to use model.onnx")
    raise ModelUnusable("has no model.onnx", fix="export the model to ONNX, or take its onnx/model.onnx")


def _weights(model: str) -> tuple[str, ...]:
    """Return the model's file, and those beside it that hold what is too large for it."""
    folder, name = os.path.split(model)
    others = (one for one in os.listdir(folder) if one.startswith((f"{name}_data", f"{name}.data")))
    return (model, *(os.path.join(folder, one) for one in sorted(others)))


def _digest(paths: Sequence[str], configuration: str) -> str:
    digest = hashlib.sha256(configuration.encode("utf-8", "surrogateescape"))
    for path in paths:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest.update(f"\0{size}\0".encode())
            if size <= _DIGEST_PARTS * _DIGEST_PART_BYTES:
                digest.update(file.read())
                continue
            for part in range(_DIGEST_PARTS):
                file.seek((size - _DIGEST_PART_BYTES) * part // (_DIGEST_PARTS - 1))
                digest.update(file.read(_DIGEST_PART_BYTES))
    return digest.hexdigest()


def _config(path: str, name: str) -> Mapping[str, Any]:
    """Return the object that a file holds, empty if it does not exist. Raises ModelUnusable and OSError."""
    read = _json(path, name)
    return read if isinstance(read, dict) else {}


def _modules(path: str) -> Mapping[str, str]:
    """Return the folder of each layer of Sentence Transformers, by its class. Raises ModelUnusable and OSError."""
    read = _json(path, "modules.json")
    layers = [one for one in read if isinstance(one, dict)] if isinstance(read, list) else []
    return {str(one.get("type", "")): str(one.get("path", "")) for one in layers}


def _json(path: str, name: str) -> Any:
    try:
        with open(os.path.join(path, name), encoding="utf-8") as file:
            return read_json(file.read(_MOST_CONFIG_BYTES))
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, BadJson) as error:
        why = str(error) if isinstance(error, BadJson) else "it is not UTF-8"
        fix = "take the file from the model's page again"
        raise ModelUnusable(f"has a {name} that cannot be read: {why}", fix=fix) from error


def _pooling(path: str, modules: Mapping[str, str]) -> Pooling | None:
    folder = next((folder for kind, folder in modules.items() if kind.endswith(".Pooling")), "1_Pooling")
    name = os.path.join(folder, "config.json")
    config = _config(path, name)
    # Older versions write one switch for each way, newer ones a name.
    chosen = config.get("pooling_mode")
    switched_on = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    ways = [chosen] if isinstance(chosen, str) else [_WAYS.get(key, key) for key in switched_on]
    if not ways:
        return None
    way = next((one for one in _POOLINGS if [one] == ways), None)
    if way is None:
        raise ModelUnusable(
            f"pools token vectors by {' and '.join(ways)} ({name})",
            fix=f"use a model that pools by one of {', '.join(_POOLINGS)}",
        )
    return way


def _prompts(written: Mapping[str, Any]) -> Mapping[Purpose, str]:
    named = written.get("prompts")
    prompts = {name: one for name, one in named.items() if isinstance(one, str)} if isinstance(named, dict) else {}
    usual = prompts.get(str(written.get("default_prompt_name")), "")
    documents = (prompts[name] for name in ("document", "passage", "corpus") if name in prompts)
    return {"query": prompts.get("query", usual), "document": next(documents, usual)}


def _max_tokens(config: Mapping[str, Any], tokenizer: Mapping[str, Any], sentence: Mapping[str, Any]) -> int:
    positions = config.get("max_position_embeddings")
    if type(positions) is int and config.get("model_type") in _OFFSET_POSITIONS:
        positions -= _KEPT_POSITIONS
    lengths = (sentence.get("max_seq_length"), positions, tokenizer.get("model_max_length"))
    return min([_MOST_TOKENS, *(one for one in lengths if type(one) is int and one >= _SHORTEST)])
