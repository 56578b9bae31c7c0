"""The checks of this machine: settings, the command on PATH, files of the person, the sandbox and local models."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from skillhub_mcp.agents_md.schema import read_config
from skillhub_mcp.bootstrap.policy import exposed_files
from skillhub_mcp.cli.checks import CheckResult, Installation
from skillhub_mcp.cli.console import one_line
from skillhub_mcp.cli.installed_command import CommandOwner, InstalledCommand, command_on_path, own_command
from skillhub_mcp.errors import EmbeddingError, InvalidSetting, RerankingError, SandboxUnavailable
from skillhub_mcp.execution.hooks import read_hooks
from skillhub_mcp.execution.sandbox import OFF
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings, local_path, unknown_settings
from skillhub_mcp.skills.problems import Problem

if TYPE_CHECKING:
    from skillhub_mcp.embedders.model_directory import ModelDirectory

_SANDBOX = "SKILLHUB_SANDBOX"
# Loading a model of gigabytes from a slow disk takes its time.
_SECONDS = 20.0
_QUERY = "extract tables from a scanned document"
# As many as are reordered, each as long as descriptions are.
_DESCRIPTION = "Read documents, find their tables and write them to a sheet. Use when a person has a scan. " * 3
_SKILLS = [(f"skill-{number}", _DESCRIPTION) for number in range(20)]
_SLOW_SECONDS = 0.5


def check_settings(installation: Installation) -> CheckResult:
    """Return the settings whose value is invalid, and those that name a file which is; and misspelt names."""
    ignored = (
        Problem(
            one.setting.name, one.problem, f"correct it; using {one.shown}" if one.shown else "correct it, or unset it"
        )
        for one in installation.sources
        if one.problem
    )
    return CheckResult(
        problems=(*ignored, *_unreadable(installation.settings)),
        warnings=tuple(
            Problem(one.name, f"is no setting, and has no effect{one.guess}", "correct the name, or unset it")
            for one in unknown_settings(os.environ)
        ),
    )


def _unreadable(settings: Settings) -> Iterator[Problem]:
    """Yield what stops a server at its start, and no command that has no use for it."""
    # Of hooks that others may write the check of the files tells.
    exposed = {one.subject for one in exposed_files(settings)[0]}
    for value, read in ((settings.execution.hooks, read_hooks), (settings.disclosure.agents_config, read_config)):
        try:
            if value and value not in exposed:
                read(value)
        except InvalidSetting as error:
            fix = error.hint or "correct it; a server that needs it does not start"
            yield Problem(error.setting, error.message, fix)


def check_command(_: Installation) -> CheckResult:
    """Return whose command is on PATH, and a problem where it is another program's."""
    command = command_on_path()
    if command is None:
        return CheckResult(details=("command   skillhub-mcp is not on PATH",), facts={"command": None})
    owner = f"{command.distribution} {command.version}, " if command.distribution else ""
    return CheckResult(
        problems=_of_another_program(command),
        details=(f"command   {command.path}: {owner}{command.owner.value}",),
        facts={
            "command": {
                "path": command.path,
                "distribution": command.distribution or None,
                "version": command.version or None,
                "owner": command.owner.value,
            }
        },
    )


def _of_another_program(command: InstalledCommand) -> tuple[Problem, ...]:
    if command.owner is not CommandOwner.OTHER_PROGRAM:
        return ()
    own = own_command()
    return (
        Problem(
            command.path,
            f"belongs to another program: {command.distribution} {command.version}"
            + (f" ({one_line(command.summary, width=100)})" if command.summary else ""),
            "put this installation's directory of commands first on PATH, or "
            + (f"give clients the command {own}" if own else "install this program from a checkout"),
        ),
    )


def check_files(installation: Installation) -> CheckResult:
    """Return the files that others may write, which are not used, and as warnings those that others may read."""
    changeable, readable = exposed_files(installation.settings)
    return CheckResult(problems=changeable, warnings=readable)


def check_sandbox(installation: Installation) -> CheckResult:
    """Return whether commands can be confined: a problem if they are enabled and cannot."""
    enabled = installation.settings.execution.enable_run
    try:
        sandbox = installation.hub.commands().sandbox()
    except SandboxUnavailable as error:
        about = _SANDBOX if enabled else "commands of skills"
        found = Problem(about, error.message, error.hint or "run scripts of skills in your own terminal")
        facts: dict[str, object] = {"sandbox": {"name": None, "reason": error.reason}}
        details = ("sandbox   not available; commands are refused",)
        return CheckResult(
            problems=(found,) if enabled else (), notes=() if enabled else (found,), details=details, facts=facts
        )
    warnings: tuple[Problem, ...] = ()
    if sandbox is OFF and enabled:
        what = "commands of skills run unconfined: each may read, change and send all that you may"
        warnings = (Problem(f"{_SANDBOX}=off", what, f"unset {_SANDBOX}, unless every skill here is your own"),)
    return CheckResult(
        warnings=warnings,
        details=(f"sandbox   {sandbox.name}",),
        facts={"sandbox": {"name": sandbox.name, "reason": None}},
    )


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
    reported = "no prompts"
    if prompts.query or prompts.document:
        reported = f"prompts {prompts.query!r} and {prompts.document!r}"
    milliseconds = round(seconds * 1000)
    line = f"model     {path}: {numbers} numbers, pooling {said}, {_lengths(directory)}, {reported}, {milliseconds} ms"
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
