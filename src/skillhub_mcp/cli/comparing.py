"""Installed skills beside their sources, as `outdated` and `update` list them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.library_place import LibraryPlace
from skillhub_mcp.cli.output import error_json, from_home, print_note, print_text
from skillhub_mcp.errors import SkillNotFound
from skillhub_mcp.library.places import is_plain_name
from skillhub_mcp.library.sources.locked_source import place_of
from skillhub_mcp.library.sources.upstream import Compared, SourceStanding, Upstreams
from skillhub_mcp.locks.lock_file import Lock
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.skills.suggestions import near_names

if TYPE_CHECKING:
    from skillhub_mcp.library.sources.opening import OpenOptions
    from skillhub_mcp.locks.lock_file import LockedSkill

_SHOWN_DIGITS = 8


@contextmanager
def compared(
    place: LibraryPlace, names: Sequence[str], opening: OpenOptions, *, unpin: bool = False
) -> Iterator[list[Compared]]:
    """Yield how the skills of the lock, or those of them that are named, stand against their sources.

    What is incoming can be read as long as this is entered. Raises SkillNotFound and LockUnreadable.
    """
    skills = locked_skills(place, names)
    with closing(Upstreams(opening, place.root, unpin=unpin)) as upstreams:
        yield list(upstreams.compare(skills))


def tell_compared(told: Iterable[Compared], found: Iterable[Compared], place: LibraryPlace) -> None:
    """Print a line about each skill that is `told`, then what there is to say besides, also about what is missing."""
    told = list(told)
    for one in told:
        print_text(comparison_line(one))
    for note in filter(None, [*(comparison_note(one, place) for one in told), missing_note(found, place)]):
        print_note(note)


def locked_skills(place: LibraryPlace, names: Sequence[str]) -> tuple[LockedSkill, ...]:
    """Return the skills of the lock, or those of them that are named. Raises SkillNotFound and LockUnreadable."""
    lock = read_lock(place.lock_path) or Lock(place.lock_path)
    known = {one.name: one for one in lock.skills}
    for name in names:
        if name not in known:
            near = near_names(name, sorted(known))
            hint = "did you mean " + " or ".join(map(repr, near)) + "?" if near else "`skillhub add` installs skills"
            raise SkillNotFound(name, near=near, hint=hint, reason=f"{place.lock_path} does not name it")
    return tuple(known[name] for name in dict.fromkeys(names)) if names else lock.skills


def comparison_line(one: Compared) -> str:
    """Return the line about one skill: its name, how it stands, and between which commits."""
    name = in_line(one.locked.name)
    return f"{name}  {one.standing.value}{_between(one)}  {in_line(from_home(one.source))}"


def comparison_note(one: Compared, place: LibraryPlace) -> str:
    """Return what there is to say besides: why it is not known, or what a person may do; empty for nothing."""
    name = in_line(one.locked.name)
    if one.error is not None:
        hint = f" ({one.error.hint})" if one.error.hint else ""
        return f"{name}: {in_line(one.error.message + hint)}"
    if one.went_back and one.locked.ours is not None:
        before = one.locked.ours.commit
        return f"{name}: its source went back to an older commit, {_short(one.commit)}: you have {_short(before)}"
    if one.incoming is not None and one.incoming.moved_from is not None:
        return f"{name}: it has moved to {in_line(one.incoming.path or '.')} in its source"
    if one.standing is SourceStanding.PINNED:
        unpin = in_line(place.command("update", "--unpin", names=[one.locked.name]))
        return f"{name}: at the tag or commit asked for: `{unpin}` follows its source"
    if one.standing is SourceStanding.GONE:
        remove = in_line(place.command("remove", names=[one.locked.name]))
        return f"{name}: its source has it no longer; it stays: `{remove}` removes it"
    return ""


def missing_note(found: Iterable[Compared], place: LibraryPlace) -> str:
    """Return which skills of the lock are not in the root at all, and what brings them back; empty for none."""
    missing = [
        in_line(one.locked.name)
        for one in found
        if is_plain_name(one.locked.name) and not os.path.lexists(os.path.join(place.root, one.locked.name))
    ]
    if not missing:
        return ""
    are = "is" if len(missing) == 1 else "are"
    root, fix = in_line(from_home(place.root)), in_line(place.command("add", "--frozen"))
    return f"{', '.join(missing)} {are} not in {root}: `{fix}` brings back what the lock says"


def comparison_json(one: Compared) -> dict[str, Any]:
    """Return one skill as JSON has it."""
    ours, error = one.locked.ours, one.error
    return {
        "name": one.locked.name,
        "standing": one.standing.value,
        "source": one.source,
        "path": place_of(one.locked),
        "path_now": one.incoming.path if one.incoming is not None else None,
        "commit": (ours.commit if ours is not None else "") or None,
        "commit_now": one.commit or None,
        "went_back": one.went_back,
        "digest": ours.digest if ours is not None else None,
        "error": None if error is None else error_json(error),
    }


def _between(one: Compared) -> str:
    before = one.locked.ours.commit if one.locked.ours is not None else ""
    if one.standing is SourceStanding.OUTDATED and before and one.commit:
        return f"  {_short(before)} → {_short(one.commit)}"
    return ""


def _short(commit: str) -> str:
    return commit[:_SHOWN_DIGITS]
