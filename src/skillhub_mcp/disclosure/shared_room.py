"""Two texts in one budget of bytes: a list of skills, and the card of those that it leaves out, or a second list. Pure.

1. A skill that the list has leaves the card; one that the list has no room for stays there.
2. The list may use half of the room, the card what the list leaves, and then the list what the card leaves.
"""

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
    """Return the list of `entries` and the card of those of `skills` that it leaves out, in at most `max_bytes` bytes.

    `entries` are by their skill's directory, and each has a path of its own. `write_list` keeps its budget.
    """
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
    """Return a list and what is written after it, in at most `max_bytes` bytes. Each function keeps its bytes.

    The list may use half of the room, the rest what the list leaves, and then the list what the rest leaves.
    """
    written = _of_skills(write_list(max_bytes // 2))
    while True:
        rest = write_rest(written, max(0, max_bytes - _size(written.text, "")))
        if not written.catalogue.truncated:
            break
        longer = _of_skills(write_list(max_bytes - _size("", rest)))
        if _size(longer.text, "") <= _size(written.text, ""):
            break
        written = longer
    return _joined(written.text, rest)


def _of_skills(written: Rendered) -> Rendered:
    """Return the list, which is empty where it would only say how many skills it leaves out."""
    only_a_note = written.catalogue.left_out and not written.catalogue.entries
    return replace(written, text="") if only_a_note else written


def _joined(first: str, second: str) -> str:
    return SEPARATOR.join(text for text in (first, second) if text)


def _size(first: str, second: str) -> int:
    """Return the bytes of one text and the separator from the other, which is empty, or of both."""
    return sum(len(text.encode("utf-8", "replace")) + len(SEPARATOR) for text in (first, second) if text)
