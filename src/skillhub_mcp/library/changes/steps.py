"""The steps of a change: doing each, and taking it back from wherever it was killed.

Where a step stands is read from the disk. What is staged tells a swap that was done from one that was not, by its
fingerprint; without an exchange in one step, the directory before waits in `aside` between two renames.
"""

from __future__ import annotations

import os

from skillhub_mcp.library.changes.disk import Disk
from skillhub_mcp.library.changes.fingerprint import see
from skillhub_mcp.library.changes.journal import Journal, Move, Step
from skillhub_mcp.library.changes.own_places import OwnPlaces

# Below what a change has staged: skills that come in, and, once it is done, those that went out.
SKILLS = "skills"
ASIDE = "aside"
RECEIPTS = "receipts"
# The lock and the receipts as they were.
BEFORE = "before"
LOCK = "lock.json"
ENTRY = "entry.json"


def do(step: Step, change: str, places: OwnPlaces, disk: Disk) -> None:
    """Do a step. Raises OSError."""
    here, staged = places.skill(step.name), places.staged(change, SKILLS, step.name)
    if step.move is Move.SWAP:
        aside = places.staged(change, ASIDE, step.name)
        if not disk.exchange(staged, here):
            disk.move(here, aside)
            disk.move(staged, here)
            disk.move(aside, staged)
    elif step.move is Move.PUT:
        disk.move(staged, here)
    elif step.move is Move.REMOVE:
        disk.move(here, staged)
    else:
        disk.move(places.trashed(step.source, SKILLS, step.name), here)


def take_back(journal: Journal, places: OwnPlaces, disk: Disk) -> None:
    """Undo every step that was done, the last first. Raises OSError."""
    for step in reversed(journal.steps):
        _take_back(step, journal.change, places, disk)


def _take_back(step: Step, change: str, places: OwnPlaces, disk: Disk) -> None:
    here, staged = places.skill(step.name), places.staged(change, SKILLS, step.name)
    if step.move is Move.SWAP:
        _swap_back(step, change, places, disk)
    elif step.move is Move.PUT:
        _move_back(here, staged, disk)
    elif step.move is Move.REMOVE:
        _move_back(staged, here, disk)
    else:
        _move_back(here, places.trashed(step.source, SKILLS, step.name), disk)


def _move_back(now: str, before: str, disk: Disk) -> None:
    """Move back what was moved. What is at both places was not, or somebody has made it anew: both stay."""
    if os.path.lexists(now) and not os.path.lexists(before):
        disk.move(now, before)


def _swap_back(step: Step, change: str, places: OwnPlaces, disk: Disk) -> None:
    here, staged = places.skill(step.name), places.staged(change, SKILLS, step.name)
    aside = places.staged(change, ASIDE, step.name)
    if os.path.lexists(aside):
        _move_back(here, staged, disk)
        _move_back(aside, here, disk)
    elif os.path.lexists(staged) and see(staged).fingerprint != step.fingerprint and not disk.exchange(staged, here):
        disk.move(staged, aside)
        _move_back(here, staged, disk)
        disk.move(aside, here)
