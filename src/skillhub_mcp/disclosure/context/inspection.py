"""What is in a session's context, and what does it cost? Seed 000 §10.2's view, with the price of every layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from skillhub_mcp.disclosure.context.catalogue import Catalogues
from skillhub_mcp.disclosure.ledger import Layer, Shown
from skillhub_mcp.disclosure.token_estimate import estimate_tokens

_LAYERS: tuple[Layer, ...] = ("catalogue", "skill", "file", "agents")
_MOST_LISTED = 100


def inspection(catalogues: Catalogues | None, shown: Sequence[Shown], *, with_paths: bool) -> dict[str, Any]:
    """Return what `context_inspect` answers, as JSON values; without `catalogues` nothing is said of skills.

    `cost` is in estimated tokens, by layer, of all that this session was shown. `skills` has the state of the
    catalogue, its price as a session's first text, and `loaded`: which version of what was loaded last.
    """
    answer: dict[str, Any] = {"cost": _costs(shown)}
    if catalogues is None:
        return answer
    listing = catalogues.listing()
    initial = catalogues.initial()
    loaded = [one for one in shown if one.layer in ("skill", "file")]
    answer["skills"] = {
        "catalogue": {
            "skills": len(listing.shown),
            "names": [skill.name for skill in listing.shown[:_MOST_LISTED]],
            "hidden": len(listing.skills) - len(listing.shown),
            "errors": [error.path if with_paths else error.message for error in listing.errors[:_MOST_LISTED]],
            "truncated": initial.catalogue.truncated,
            "tokens": estimate_tokens(initial.text),
        },
        "loaded": [_told(one, with_paths=with_paths) for one in loaded[-_MOST_LISTED:]],
    }
    if with_paths:
        answer["skills"]["catalogue"]["cwd"] = listing.cwd
    return answer


def _costs(shown: Iterable[Shown]) -> dict[str, int]:
    costs: dict[str, int] = dict.fromkeys(_LAYERS, 0)
    for one in shown:
        costs[one.layer] += one.tokens
    return {**costs, "total": sum(costs.values())}


def _told(one: Shown, *, with_paths: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"layer": one.layer, "name": one.name, "times": one.times, "tokens": one.tokens}
    if one.mtime_ms is not None:
        told["mtimeMs"] = one.mtime_ms
    if with_paths:
        told["path"] = one.key
    return told
