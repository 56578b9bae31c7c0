"""The registry's index as JSON values, with the specified names in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from skillhub_mcp.skills.registry import IgnoredPlace, IndexEntry, IndexReport, ScannedRoot


def entries_json(entries: Sequence[IndexEntry], *, with_paths: bool = True) -> list[dict[str, object]]:
    """Return the skills as their authors wrote them; the paths are only for a client on this machine."""
    return [_entry_json(entry, with_paths) for entry in entries]


def _entry_json(entry: IndexEntry, with_paths: bool) -> dict[str, object]:
    found = [{"rule": one.rule, "line": one.line, "message": one.message} for one in entry.diagnostics]
    shown = {"path": with_paths, "diagnostics": bool(found), "awaits_trust": entry.awaits_trust}
    value = asdict(entry) | {"source": entry.source.value, "diagnostics": found}
    return {key: one for key, one in value.items() if shown.get(key, True)}


def report_json(report: IndexReport, *, with_paths: bool = True, max_places: int | None = None) -> dict[str, object]:
    """Return the report on building the index, with at most `max_places` of the ignored paths and of the conflicts."""
    places = [place for place in report.ignored if with_paths or place.rule]
    return {
        "roots": [_place_json(root, with_paths) | {"source": root.source.value} for root in report.roots],
        "seconds": round(report.seconds, 4),
        "found": report.found,
        "valid": report.valid,
        "ignored": {
            "count": sum(report.ignored_counts.values()),
            "reasons": dict(report.ignored_counts),
            "places": [_place_json(place, with_paths) for place in places[:max_places]],
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


def _place_json(place: ScannedRoot | IgnoredPlace, with_paths: bool) -> dict[str, object]:
    return {key: value for key, value in asdict(place).items() if with_paths or key != "path"}


def _claim_json(entry: IndexEntry, *, with_paths: bool) -> dict[str, object]:
    place = {"path": entry.path} if with_paths else {}
    return {"source": entry.source.value, **place, "version": entry.meta.version}
