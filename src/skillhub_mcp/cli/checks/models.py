"""The models of the person's own, which encode or compare texts in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.errors import EmbeddingError, RerankingError
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import local_path
from skillhub_mcp.skills.problems import Problem

if TYPE_CHECKING:
    from skillhub_mcp.embedders.model_directory import ModelDirectory

# Loading a model of gigabytes from a slow disk takes its time.
_SECONDS = 20.0
_QUERY = "extract tables from a scanned document"
# As many as are reordered, each as long as descriptions are.
_DESCRIPTION = "Read documents, find their tables and write them to a sheet. Use when a person has a scan. " * 3
_SKILLS = [(f"skill-{number}", _DESCRIPTION) for number in range(20)]
_SLOW_SECONDS = 0.5


def check_models(installation: Installation) -> CheckResult:
    """Load each model that the settings name, have it answer, and return what was recognised of it."""
    settings = installation.settings
    found = []
    if settings.embedding.provider == "onnx":
        found.append(_check_encoder(local_path(settings.embedding.model), installation.embedding_failure))
    if settings.search.rerank == "local":
        found.append(_check_reranker(local_path(settings.search.rerank_model)))
    return CheckResult(
        problems=tuple(problem for one in found for problem in one.problems),
        warnings=tuple(problem for one in found for problem in one.warnings),
        details=tuple(line for one in found for line in one.details),
        facts={"models": [fact for one in found for fact in one.facts.values()]},
    )


def _check_encoder(path: str, missing: str | None) -> CheckResult:
    from skillhub_mcp.embedders.onnx import OnnxEmbedder

    embedder = OnnxEmbedder(path, waiting=_SECONDS)
    try:
        numbers = len(embedder.embed_query(_QUERY))
        seconds = _seconds_of(lambda: embedder.embed_query(_QUERY))
        directory = embedder.directory
    except EmbeddingError as error:
        return CheckResult(problems=(_problem(path, error),), facts={"embeddings": _fact("embeddings", path)})
    pooling = directory.pooling or "mean"
    said = pooling if directory.pooling else f"{pooling} (no file says)"
    prompts = directory.prompts
    told = "no prompts"
    if prompts.query or prompts.document:
        told = f"prompts {prompts.query!r} and {prompts.document!r}"
    milliseconds = round(seconds * 1000)
    line = (
        f"model     {path}: {numbers} numbers, pooling {said}, {_lengths(directory)}, {told}, {milliseconds} ms a query"
    )
    what = f"answers now; skills without vectors are found by text alone: {missing}"
    return CheckResult(
        problems=(Problem(path, what, "run skillhub index"),) if missing is not None else (),
        warnings=tuple(_slow(path, seconds)),
        details=(in_line(line),),
        facts={
            "embeddings": {
                **_fact("embeddings", path),
                "numbers": numbers,
                "pooling": pooling,
                "max_tokens": directory.max_tokens,
                "query_prompt": prompts.query,
                "document_prompt": prompts.document,
                "milliseconds": milliseconds,
            }
        },
    )


def _check_reranker(path: str) -> CheckResult:
    from skillhub_mcp.search.rerankers.local import SECONDS, LocalReranker

    reranker = LocalReranker(path, seconds=_SECONDS)
    try:
        reranker.rerank(_QUERY, _SKILLS[:1])
        seconds = _seconds_of(lambda: reranker.rerank(_QUERY, _SKILLS))
        directory = reranker.directory
    except RerankingError as error:
        return CheckResult(problems=(_problem(path, error),), facts={"rerank": _fact("rerank", path)})
    milliseconds = round(seconds * 1000)
    problems = (
        Problem(
            path,
            f"takes {seconds:.1f} s to order 20 skills, and is given up after {SECONDS:.0f}",
            "use a smaller cross-encoder, or one with 8-bit weights, or set SEARCH_RERANK=0",
        ),
    )
    line = f"reranker  {path}: {_lengths(directory)}, {milliseconds} ms for {len(_SKILLS)} skills"
    return CheckResult(
        problems=problems if seconds > SECONDS else (),
        details=(in_line(line),),
        facts={
            "rerank": {**_fact("rerank", path), "max_tokens": directory.max_tokens, "milliseconds": milliseconds},
        },
    )


def _lengths(directory: ModelDirectory) -> str:
    return f"up to {directory.max_tokens} tokens"


def _fact(use: str, path: str) -> dict[str, object]:
    return {"use": use, "path": path}


def _problem(path: str, error: EmbeddingError | RerankingError) -> Problem:
    return Problem(path, error.message, error.hint or "use another model")


def _slow(path: str, seconds: float) -> Iterator[Problem]:
    if seconds > _SLOW_SECONDS:
        what = f"takes {seconds:.1f} s for a query, which each search waits for"
        yield Problem(path, what, "use a smaller model, or one with 8-bit weights")


def _seconds_of(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


CHECK = Check("models", check_models)
