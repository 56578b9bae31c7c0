"""The report of `context_inspect`: what a session was shown, and its estimated tokens by layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from skillhub_mcp.disclosure.context.catalogue import Catalogues
from skillhub_mcp.disclosure.ledger import Layer, Shown
from skillhub_mcp.disclosure.token_estimate import estimate_tokens

_LAYERS: tuple[Layer, ...] = ("catalogue", "skill", "file", "agents")
_MAX_LISTED = 100


def inspect_context(catalogues: Catalogues | None, shown: Sequence[Shown], *, with_paths: bool) -> dict[str, Any]:
    """Return the report as JSON values: `cost` by layer and, with `catalogues`, `skills` with what was loaded."""
    report: dict[str, Any] = {"cost": _costs(shown)}
    if catalogues is None:
        return report
    listing = catalogues.listing()
    initial = catalogues.initial()
    loaded = [entry for entry in shown if entry.layer in ("skill", "file")]
    report["skills"] = {
        "catalogue": {
            "skills": len(listing.shown),
            "names": [skill.name for skill in listing.shown[:_MAX_LISTED]],
            "hidden": len(listing.skills) - len(listing.shown),
            "errors": [error.path if with_paths else error.message for error in listing.errors[:_MAX_LISTED]],
            "truncated": initial.catalogue.truncated,
            "tokens": estimate_tokens(initial.text),
        },
        "loaded": [_entry_json(entry, with_paths=with_paths) for entry in loaded[-_MAX_LISTED:]],
    }
    if with_paths:
        report["skills"]["catalogue"]["cwd"] = listing.cwd
    return report


def _costs(shown: Iterable[Shown]) -> dict[str, int]:
    costs: dict[str, int] = dict.fromkeys(_LAYERS, 0)
    for entry in shown:
        costs[entry.layer] += entry.tokens
    return {**costs, "total": sum(costs.values())}


def _entry_json(entry: Shown, *, with_paths: bool) -> dict[str, Any]:
    value: dict[str, Any] = {"layer": entry.layer, "name": entry.name, "times": entry.times, "tokens": entry.tokens}
    if entry.mtime_ms is not None:
        value["mtimeMs"] = entry.mtime_ms
    if not entry.is_complete:
        value["complete"] = False
    if with_paths:
        value["path"] = entry.key
    return value
