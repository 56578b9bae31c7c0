"""Share one budget of bytes between a list of skills and what follows it: the card of the others, or a second list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from skillhub_mcp.disclosure.card import CardContext, render_card
from skillhub_mcp.disclosure.catalogue import Budget, CatalogueEntry, Rendered
from skillhub_mcp.skills.model import Skill

SEPARATOR = "\n\n"

WriteList = Callable[[Sequence[CatalogueEntry], Budget], Rendered]


def list_and_card(
    entries: Mapping[str, CatalogueEntry],
    skills: Sequence[Skill],
    context: CardContext,
    write_list: WriteList,
    *,
    max_bytes: int,
) -> str:
    """Return the list of `entries` and the card of the other `skills`, in at most `max_bytes` bytes."""
    carded = {skill.directory for skill in skills}
    # The list has those first that the card cannot have.
    ranked = {directory: replace(entry, importance=(directory in carded,)) for directory, entry in entries.items()}
    directories = {entry.path: directory for directory, entry in ranked.items()}

    def card_of_the_rest(written: Rendered, room: int) -> str:
        placed = {directories[entry.path] for entry in written.catalogue.entries}
        return render_card([skill for skill in skills if skill.directory not in placed], context, max_bytes=room)

    return list_and_rest(
        lambda room: write_list(list(ranked.values()), Budget(max_bytes=room)), card_of_the_rest, max_bytes=max_bytes
    )


def list_and_rest(
    write_list: Callable[[int], Rendered], write_rest: Callable[[Rendered, int], str], *, max_bytes: int
) -> str:
    """Return a list and what follows it in `max_bytes` bytes: half for the list, and what the other leaves."""
    written = _with_skills(write_list(max_bytes // 2))
    while True:
        rest = write_rest(written, max(0, max_bytes - _size(written.text)))
        longer = _with_skills(write_list(max_bytes - _size(rest))) if written.catalogue.truncated else written
        if _size(longer.text) <= _size(written.text):
            return SEPARATOR.join(text for text in (written.text, rest) if text)
        written = longer


def _with_skills(written: Rendered) -> Rendered:
    """Return the list, empty if it would only say how many skills it leaves out."""
    return written if written.catalogue.entries or not written.catalogue.left_out else replace(written, text="")


def _size(text: str) -> int:
    """Return the bytes of a text and of the separator beside it."""
    return len(text.encode("utf-8", "replace")) + len(SEPARATOR) if text else 0
