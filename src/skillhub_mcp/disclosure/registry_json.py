"""The registry's index as JSON values, with the specified names in a fixed order."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from skillhub_mcp.skills.registry import IndexEntry, IndexReport


def entries_json(
    entries: Sequence[IndexEntry], *, awaiting_trust: Collection[str] = (), with_paths: bool = True
) -> list[dict[str, object]]:
    """Return the skills as their authors wrote them; those whose paths are in `awaiting_trust` are marked.

    Their paths are only for a client on this machine.
    """
    return [
        {
            "name": entry.name,
            "description": entry.description,
            "source": entry.source.value,
            **({"path": entry.path} if with_paths else {}),
            "controls": {
                "disable_model_invocation": entry.controls.disable_model_invocation,
                "user_invocable": entry.controls.user_invocable,
                "allowed_tools": list(entry.controls.allowed_tools),
            },
            "meta": {"version": entry.meta.version, "author": entry.meta.author},
            **({"diagnostics": _diagnostics_json(entry)} if entry.diagnostics else {}),
            **({"awaits_trust": True} if entry.path in awaiting_trust else {}),
        }
        for entry in entries
    ]


def _diagnostics_json(entry: IndexEntry) -> list[dict[str, object]]:
    return [{"rule": found.rule, "line": found.line, "message": found.message} for found in entry.diagnostics]


def report_json(report: IndexReport, *, with_paths: bool = True, max_places: int | None = None) -> dict[str, object]:
    """Return the report on building the index, with at most `max_places` of the ignored paths and of the conflicts."""
    places = [place for place in report.ignored if with_paths or place.rule]
    return {
        "roots": [
            {
                "source": root.source.value,
                **({"path": root.path} if with_paths else {}),
                "priority": root.priority,
                "exists": root.exists,
                "found": root.found,
            }
            for root in report.roots
        ],
        "seconds": round(report.seconds, 4),
        "found": report.found,
        "valid": report.valid,
        "ignored": {
            "count": sum(report.ignored_counts.values()),
            "reasons": dict(report.ignored_counts),
            "places": [
                {**({"path": place.path} if with_paths else {}), "reason": place.reason, "rule": place.rule}
                for place in places[:max_places]
            ],
        },
        "conflicts": {
            "count": len(report.conflicts),
            "details": [
                {
                    "name": conflict.name,
                    "winner": _claim_json(conflict.winner, with_paths=with_paths),
                    "overridden": _claim_json(conflict.overridden, with_paths=with_paths),
                    "reason": conflict.reason,
                }
                for conflict in report.conflicts[:max_places]
            ],
        },
        "digest": report.digest,
    }


def _claim_json(entry: IndexEntry, *, with_paths: bool) -> dict[str, object]:
    place = {"path": entry.path} if with_paths else {}
    return {"source": entry.source.value, **place, "version": entry.meta.version}
