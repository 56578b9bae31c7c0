"""Skills that are on this machine and not served: what would serve them, and recording that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.library import surroundings_of
from skillhub_mcp.chosen_roots import project_of, roots_of
from skillhub_mcp.policy.files import ROOTS
from skillhub_mcp.policy.recorded_roots import RECORDABLE_PLACES, RecordedRoots
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.places import UnsearchedPlace
from skillhub_mcp.skills.roots import Source


def found_skills(settings: Settings) -> tuple[int, list[UnsearchedPlace]]:
    """Return the number of skills in the roots, and the places that `skillhub roots add --all` records.

    These are without the examples and what a client has switched off.
    """
    counts, places = surroundings_of(settings).survey(roots_of(settings))
    usable = (one for one in places if one.skills and one.reason.command and not one.place.off)
    return sum(counts.values()), [one for one in usable if one.place.source is not Source.BUILTIN]


def entries_of(found: Sequence[UnsearchedPlace], settings: Settings) -> dict[str, str | None]:
    """Return the words and paths that record the places, each with its project; None is every project."""
    entries: dict[str, str | None] = {}
    for place in (one.place for one in found):
        is_word = place.word in RECORDABLE_PLACES
        of_project = place.source is Source.PROJECT and not is_word
        entries[place.word if is_word else place.path] = project_of(settings).root if of_project else None
    return entries


def record_roots(entries: Mapping[str, str | None]) -> None:
    """Let the words and paths be searched from now on, each in its project. Raises PolicyUnwritable."""

    def change(record: RecordedRoots) -> RecordedRoots:
        for entry, project in entries.items():
            record = record.with_entry(entry, project=project)
        return record

    ROOTS.change(ROOTS.path, change)


def found_text(found: Sequence[UnsearchedPlace]) -> str:
    """Return how many skills were found, and where."""
    total = sum(one.skills for one in found)
    more = "at least " if any(one.at_least for one in found) else ""
    places = ", ".join(f"{one.shown} ({one.skills:,})" for one in sorted(found, key=lambda one: -one.skills))
    return f"{more}{plural(total, 'more skill')} {'is' if total == 1 else 'are'} here: {places}"
