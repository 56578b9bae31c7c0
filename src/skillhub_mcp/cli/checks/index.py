"""The index: failed updates, embeddings that are missing, and roots that nobody here uses."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from skillhub_mcp.bootstrap.hub import index_writer
from skillhub_mcp.bootstrap.models import choose_embedder
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.forgetting import root_facts, root_json
from skillhub_mcp.index.failures import IndexDamaged
from skillhub_mcp.index.indexed_roots import IndexedRoot, indexed_roots
from skillhub_mcp.redaction import redacted
from skillhub_mcp.skills.problems import Problem

_REBUILD = "skillhub --reindex"


def check_index(installation: Installation) -> CheckResult:
    """Bring the index up to date, read all of it and return what is wrong with it."""
    view, settings = installation.view, installation.settings
    problems: list[Problem] = []
    try:
        if view.index is not None:
            view.index.table.check()
    except IndexDamaged as error:
        fix = f"run {_REBUILD}; it is derived from the skills"
        problems.append(Problem(redacted(settings.index.db_path), f"the index is damaged: {error}", fix))
    if view.problem is not None:
        problems.append(Problem("index", view.problem.message, view.problem.hint or f"run {_REBUILD}"))
    # What a model of the person's own lacks is told by the check of the models.
    failure = installation.embedding_failure
    if failure is not None and settings.embedding.provider != "onnx":
        what = f"skills without vectors are found by text alone: {failure}"
        problems.append(Problem("embeddings", what, "check the provider, its key and EMBEDDING_BASE_URL"))
    states = [] if settings.replica.read_only else index_writer(settings).states()
    roots = indexed_roots(states, {root.path for root in view.snapshot.report.roots})
    unused = tuple(one for one in roots if one.skills and not one.used)
    warnings, notes = _unused_roots(unused)
    embedder = choose_embedder(settings)
    embeddings = "none" if embedder is None else embedder.identity
    is_ready = view.index is not None and not problems
    return CheckResult(
        problems=tuple(problems),
        warnings=warnings,
        notes=notes,
        details=(f"index     {'ready' if is_ready else 'not ready'}, embeddings: {embeddings}",),
        facts={
            "index": "ready" if is_ready else "failed",
            "embeddings": embeddings,
            "unused_roots": [root_json(one) for one in unused],
        },
    )


def _unused_roots(roots: Sequence[IndexedRoot]) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return the warnings and notes about roots that the index has, and this configuration does not use.

    One that is there is perhaps another project's, or another server's, and no waste. One that is gone may be a disk
    that is not mounted.
    """
    warnings, notes = [], []
    for one in roots:
        if one.there:
            what = f"is not used by this configuration; the index has {root_facts(one)}"
            fix = "leave it for the project or the server that uses it; `skillhub index --forget` drops such rows"
            notes.append(Problem(one.path, what, fix))
        else:
            what = f"is gone or not mounted, and no root here; the index has {root_facts(one)}"
            warnings.append(
                Problem(one.path, what, f"if it is gone for good, skillhub index --forget {shlex.quote(one.path)}")
            )
    return tuple(warnings), tuple(notes)


CHECK = Check("index", check_index)
