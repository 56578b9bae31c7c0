"""An ONNX model in this process: its tokenizer and its network, loaded with the first call.

Nothing here reaches the network: `onnxruntime` sends telemetry from version 1.29 on, so it is switched off.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from skillhub_mcp.embedders.model_directory import ModelDirectory, ModelUnusable, read_model_directory

if TYPE_CHECKING:
    from numpy.typing import NDArray

Text = str | tuple[str, str]

# More hinder the client that we run beside, and gain little on texts this short.
_MOST_THREADS = 4
# Bounds the memory of one run: a network's attention is as large as tokens times the longest text.
MAX_BATCH_TEXTS = 16
MAX_BATCH_TOKENS = 2_048
_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_MOST_CHARACTERS_OF_ERROR = 200
_ENDING_SECONDS = 1.0
_STEP_SECONDS = 0.01
_RUNNING: set[Any] = set()
_FATAL_ONLY = 4


@dataclass(frozen=True, slots=True)
class Output:
    """What a network answers for a batch: its outputs by name, and (texts, tokens) which tokens are not padding."""

    by_name: dict[str, NDArray[Any]]
    mask: NDArray[Any]


class OnnxModel:
    """The model in a directory. Safe to use from several threads."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._loading = threading.Lock()

    @cached_property
    def directory(self) -> ModelDirectory:
        """What the directory held when this was first asked for. Raises ModelUnusable."""
        return read_model_directory(self.path)

    def outputs(self, texts: Sequence[Text], *, seconds: float) -> Iterator[tuple[list[int], Output]]:
        """Yield the indices of texts and their outputs, in batches of similar length.

        Two texts in one item are compared. The runs stop after `seconds`. Raises ModelUnusable.
        """
        with self._loading:
            network = self._network
        deadline = time.monotonic() + seconds
        encoded = [network.encode(text) for text in texts]
        for numbers in _batches([len(one.ids) for one in encoded]):
            yield numbers, network.run([encoded[number] for number in numbers], deadline=deadline)

    @cached_property
    def _network(self) -> _Network:
        return _load(self.directory)


class _Network:
    """A loaded tokenizer and network."""

    def __init__(self, tokenizer: Any, session: Any, directory: ModelDirectory) -> None:
        self._tokenizer = tokenizer
        self._session = session
        self._inputs = {one.name: one for one in session.get_inputs()}
        self._outputs = [one.name for one in session.get_outputs() if "float" in one.type]
        unknown = sorted(self._inputs.keys() - set(_INPUTS))
        if unknown or "input_ids" not in self._inputs:
            named = f"asks for {', '.join(unknown)}" if unknown else "asks for no input_ids"
            raise ModelUnusable(f"{named}, which is not an encoder of texts", fix="use a model that encodes texts")
        if not self._outputs:
            raise ModelUnusable("answers with no floating-point numbers", fix="use an export with such an output")
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=directory.max_tokens)

    def encode(self, text: Text) -> Any:
        """Return the tokens of a text, or of two."""
        texts = (text,) if isinstance(text, str) else text
        with _translated("has a tokenizer.json that cannot be used"):
            return self._tokenizer.encode(*texts)

    def run(self, encoded: Sequence[Any], *, deadline: float) -> Output:
        """Return the outputs for one batch. Raises ModelUnusable."""
        import numpy as np
        from onnxruntime import RunOptions

        width = max(len(one.ids) for one in encoded)

        def padded(rows: Sequence[Sequence[int]]) -> NDArray[Any]:
            # The mask hides the padding, so its number does not count.
            return np.array([[*row, *[0] * (width - len(row))] for row in rows], dtype=np.int64)

        mask = padded([one.attention_mask for one in encoded])
        fed = {
            "input_ids": padded([one.ids for one in encoded]),
            "attention_mask": mask,
            "token_type_ids": padded([one.type_ids for one in encoded]),
            "position_ids": np.tile(np.arange(width, dtype=np.int64), (len(encoded), 1)),
        }
        feeds = {
            name: fed[name].astype(np.int32) if "int32" in one.type else fed[name] for name, one in self._inputs.items()
        }
        options = RunOptions()
        options.log_severity_level = _FATAL_ONLY
        timer = threading.Timer(deadline - time.monotonic(), setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        _RUNNING.add(options)
        try:
            with _translated("cannot be run"):
                answered = self._session.run(self._outputs, feeds, options)
        except ModelUnusable as error:
            if options.terminate:
                raise ModelUnusable(
                    "did not answer in time", fix="use a smaller model, or one with 8-bit weights"
                ) from error
            raise
        finally:
            timer.cancel()
            _RUNNING.discard(options)
        return Output(dict(zip(self._outputs, answered, strict=True)), mask)


def _load(directory: ModelDirectory) -> _Network:
    """Return the network. Raises ModelUnusable."""
    # Read when the library is first loaded.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ModelUnusable(
            f"needs the package {error.name or 'onnxruntime'}, which is not installed or does not load ({error})",
            fix="in a checkout of SkillHub: pip install '.[onnx]'",
        ) from error
    # Windows has a switch of its own.
    onnxruntime.disable_telemetry_events()
    with _translated("has a tokenizer.json that cannot be read"):
        tokenizer = Tokenizer.from_file(directory.tokenizer)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(_MOST_THREADS, _cores())
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The arena keeps the memory of the longest batch for good.
    options.enable_cpu_mem_arena = False
    options.log_severity_level = _FATAL_ONLY
    with _translated("has a model.onnx that cannot be read"):
        session = onnxruntime.InferenceSession(directory.model, options, providers=["CPUExecutionProvider"])
    return _Network(tokenizer, session, directory)


@contextmanager
def _translated(problem: str) -> Iterator[None]:
    try:
        yield
    # Both libraries raise plain Exception.
    except Exception as error:
        why = (str(error).splitlines() or [type(error).__name__])[0][:_MOST_CHARACTERS_OF_ERROR]
        raise ModelUnusable(
            f"{problem}: {why}", fix="export the model again, or take it from its page again"
        ) from error


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of texts of such lengths in batches, of which each pads little and is bounded."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        if batch and (len(batch) >= MAX_BATCH_TEXTS or (len(batch) + 1) * lengths[number] > MAX_BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _cores() -> int:
    # A container may give us fewer than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@atexit.register
def _end_runs() -> None:
    """End what still runs: a thread that is inside a network while Python ends would crash it."""
    until = time.monotonic() + _ENDING_SECONDS
    while _RUNNING and time.monotonic() < until:
        for options in list(_RUNNING):
            options.terminate = True
        time.sleep(_STEP_SECONDS)
