"""Skills that are on this machine and not served: what would serve them, and recording that."""

from __future__ import annotations

from collections.abc import Sequence

from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.library import surroundings_of
from skillhub_mcp.chosen_roots import project_of, roots_of, roots_path
from skillhub_mcp.policy.files import change_roots
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


def serve_found(found: Sequence[UnsearchedPlace], settings: Settings) -> None:
    """Record the places: a project's for that project, the others for all."""
    project = project_of(settings).root

    def change(record: RecordedRoots) -> RecordedRoots:
        for one in found:
            word = one.place.word if one.place.word in RECORDABLE_PLACES else ""
            of_project = one.place.source is Source.PROJECT and not word
            record = record.with_entry(word or one.place.path, project=project if of_project else None)
        return record

    change_roots(roots_path(), change)


def found_text(found: Sequence[UnsearchedPlace]) -> str:
    """Return how many skills were found, and where."""
    total = sum(one.skills for one in found)
    more = "at least " if any(one.at_least for one in found) else ""
    places = ", ".join(f"{one.shown} ({one.skills:,})" for one in sorted(found, key=lambda one: -one.skills))
    return f"{more}{plural(total, 'more skill')} {'is' if total == 1 else 'are'} here: {places}"
