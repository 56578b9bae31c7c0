"""The index: damage, failed updates, embeddings that are missing."""

from __future__ import annotations

from skillhub_mcp.bootstrap import choose_embedder
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.skills.problems import Problem

_REPAIR = "skillhub index --repair"
_REBUILD = "skillhub --reindex"


def check_index(installation: Installation) -> CheckResult:
    """Read the whole index and return what is wrong with it. Repairs nothing."""
    library = installation.library
    view, damaged = library.view, library.damages
    problems: list[Problem] = []
    if damaged:
        what = f"the index is damaged: {'; '.join(damage.what for damage in damaged)}"
        mend = f"run {_REPAIR}; it is derived from the skills, and what can be kept is"
        problems.append(Problem(installation.settings.index.db_path, what, mend))
    if view.problem is not None:
        problems.append(Problem("index", view.problem.message, view.problem.hint or f"run {_REBUILD}"))
    # What a model of the person's own lacks is told by the check of the models.
    if library.embedding_failure is not None and installation.settings.embedding.provider != "onnx":
        what = f"skills without vectors are found by text alone: {library.embedding_failure}"
        problems.append(Problem("embeddings", what, "check the provider, its key and EMBEDDING_BASE_URL"))
    embedder = choose_embedder(installation.settings)
    embeddings = "none" if embedder is None else embedder.identity
    ready = "damaged" if damaged else "ready"
    return CheckResult(
        problems=tuple(problems),
        details=(f"index     {ready if view.problem is None else 'not written'}, embeddings: {embeddings}",),
        facts={"index": ready if view.problem is None else "failed", "embeddings": embeddings},
    )


CHECK = Check("index", check_index)
