"""The checks of this machine: settings, the command on PATH, files of the user, the sandbox and local models."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from skillhub_mcp.agents_md.schema import read_config
from skillhub_mcp.bootstrap.policy import exposed_files
from skillhub_mcp.cli.checks import CheckResult, Installation
from skillhub_mcp.cli.console import one_line
from skillhub_mcp.cli.installed_command import CommandOwner, command_on_path, own_command
from skillhub_mcp.errors import EmbeddingError, InvalidSetting, RerankingError, SandboxUnavailable
from skillhub_mcp.execution.hooks import read_hooks
from skillhub_mcp.execution.sandbox import OFF
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings, local_path, unknown_settings
from skillhub_mcp.skills.snapshot import Problem

_Answer = TypeVar("_Answer")
_SANDBOX = "SKILLHUB_SANDBOX"
_SECONDS = 20.0
_QUERY = "extract tables from a scanned document"
# As many as are reordered, each as long as descriptions are.
_DESCRIPTION = "Read documents, find their tables and write them to a sheet. Use when a person has a scan. " * 3
_SKILLS = [(f"skill-{number}", _DESCRIPTION) for number in range(20)]
_SLOW_SECONDS = 0.5


def check_settings(installation: Installation) -> CheckResult:
    """Return invalid settings, invalid files that they name, and misspelt names."""
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
    """Yield the files that a server cannot start with."""
    # Hooks that others may write are reported by the check of the files.
    exposed = {one.subject for one in exposed_files(settings)[0]}
    for value, read in ((settings.execution.hooks, read_hooks), (settings.disclosure.agents_config, read_config)):
        try:
            if value and value not in exposed:
                read(value)
        except InvalidSetting as error:
            fix = error.hint or "correct it; a server that needs it does not start"
            yield Problem(error.setting, error.message, fix)


def check_command(_: Installation) -> CheckResult:
    """Return whose command is on PATH: a problem if it is another program's."""
    command = command_on_path()
    if command is None:
        return CheckResult(details=("command   skillhub-mcp is not on PATH",), facts={"command": None})
    owner = f"{command.distribution} {command.version}, " if command.distribution else ""
    summary = f" ({one_line(command.summary, width=100)})" if command.summary else ""
    own = own_command()
    other = Problem(
        command.path,
        f"belongs to another program: {command.distribution} {command.version}{summary}",
        "put this installation's directory of commands first on PATH, or "
        + (f"give clients the command {own}" if own else "install this program from a checkout"),
    )
    return CheckResult(
        problems=(other,) if command.owner is CommandOwner.OTHER_PROGRAM else (),
        details=(f"command   {command.path}: {owner}{command.owner.value}",),
        facts={"command": {"path": command.path, "owner": command.owner.value}},
    )


def check_files(installation: Installation) -> CheckResult:
    """Return the files that others may write, and as warnings those that others may read."""
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
        return CheckResult(
            problems=(found,) if enabled else (),
            notes=() if enabled else (found,),
            details=("sandbox   not available; commands are refused",),
            facts={"sandbox": {"name": None, "reason": error.reason}},
        )
    what = "commands of skills run unconfined: each may read, change and send all that you may"
    off = Problem(f"{_SANDBOX}=off", what, f"unset {_SANDBOX}, unless every skill here is your own")
    return CheckResult(
        warnings=(off,) if sandbox is OFF and enabled else (),
        details=(f"sandbox   {sandbox.name}",),
        facts={"sandbox": {"name": sandbox.name, "reason": None}},
    )


def check_models(installation: Installation) -> CheckResult:
    """Load each model that the settings name, and have it answer."""
    settings = installation.settings
    problems: list[Problem] = []
    warnings: list[Problem] = []
    details: list[str] = []
    if settings.embedding.provider == "onnx":
        from skillhub_mcp.embedders.onnx import OnnxEmbedder

        path = local_path(settings.embedding.model)
        embedder = OnnxEmbedder(path, waiting=_SECONDS)
        try:
            numbers, seconds = _seconds_of(lambda: embedder.embed_query(_QUERY))
            read, prompts = embedder.directory, embedder.directory.prompts
            details.append(
                f"model     {path}: {len(numbers)} numbers, pooling {read.pooling or 'mean'}, up to {read.max_tokens} "
                f"tokens, prompts {prompts.query!r} and {prompts.document!r}, {seconds:.2f} s"
            )
            if installation.embedding_failure is not None:
                what = f"answers now; skills without vectors are found by text alone: {installation.embedding_failure}"
                problems.append(Problem(path, what, "run skillhub index"))
            if seconds > _SLOW_SECONDS:
                what = f"takes {seconds:.1f} s for a query, which each search waits for"
                warnings.append(Problem(path, what, "use a smaller model, or one with 8-bit weights"))
        except EmbeddingError as error:
            problems.append(Problem(path, error.message, error.hint or "use another model"))
    if settings.search.rerank == "local":
        from skillhub_mcp.search.rerankers.local import SECONDS, LocalReranker

        path = local_path(settings.search.rerank_model)
        reranker = LocalReranker(path, seconds=_SECONDS)
        try:
            _, seconds = _seconds_of(lambda: reranker.rerank(_QUERY, _SKILLS))
            details.append(f"reranker  {path}: {seconds:.2f} s for {len(_SKILLS)} skills")
            if seconds > SECONDS:
                what = f"takes {seconds:.1f} s to order {len(_SKILLS)} skills; a search waits {SECONDS:.0f} s"
                fix = "use a smaller cross-encoder, or one with 8-bit weights, or set SEARCH_RERANK=0"
                problems.append(Problem(path, what, fix))
        except RerankingError as error:
            problems.append(Problem(path, error.message, error.hint or "use another model"))
    return CheckResult(problems=tuple(problems), warnings=tuple(warnings), details=tuple(map(in_line, details)))


def _seconds_of(call: Callable[[], _Answer]) -> tuple[_Answer, float]:
    """Return the answer to a second call, after the model is loaded, and how long it took."""
    call()
    began = time.monotonic()
    return call(), time.monotonic() - began
