"""The locks of installed skills: files that are not as they were locked, and locks that cannot be read."""

from __future__ import annotations

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.library_place import LibraryPlace, place_of_lock
from skillhub_mcp.locks.lock_verifier import LockStanding
from skillhub_mcp.locks.states import LockState
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.problems import Problem


def check_locks(installation: Installation) -> CheckResult:
    """Return the locks that cannot be read, the skills that were edited, and how all of them stand."""
    skills = installation.view.snapshot.everything
    found = installation.hub.lock_standings(skills, provenance=False)
    standings = [(skill, one) for skill, one in zip(skills, found, strict=True) if one is not None]
    unreadable = {one.problem.path: one.problem for _, one in standings if one.problem is not None}
    edited = [(skill, one) for skill, one in standings if one.state is LockState.EDITED]
    withheld = ", and is withheld" if installation.settings.policy.frozen != "0" else ""
    unchanged = sum(one.state is LockState.UNCHANGED for _, one in standings)
    return CheckResult(
        problems=tuple(
            Problem(path, error.message, error.hint or "correct it") for path, error in sorted(unreadable.items())
        ),
        warnings=tuple(
            Problem(
                skill.directory,
                f"is not as it was locked{_first(one)}{withheld}",
                _mend(one, installation.settings),
            )
            for skill, one in edited
        ),
        details=(f"locks     {unchanged:,} unchanged, {len(edited):,} edited",) if unchanged or edited else (),
        facts={
            "locks": {
                "unchanged": unchanged,
                "edited": len(edited),
                "unreadable": sorted(unreadable),
                "skills": [
                    {"name": skill.name, "path": skill.directory} | one.told()
                    for skill, one in standings
                    if one.state is not LockState.UNLOCKED
                ],
            }
        },
    )


def _first(standing: LockStanding) -> str:
    first = standing.differs.first
    return f" ({standing.differs.shown(first)})" if first else ""


def _mend(standing: LockStanding, settings: Settings) -> str:
    """Return what shows the difference of a skill that was edited, and what locks it."""
    place = _place(standing, settings)
    name = standing.locked.name if standing.locked is not None else "NAME"
    return f"see `{place.command('verify')}`; `{place.command('lock', names=[name])}` locks it as it is now"


def _place(standing: LockStanding, settings: Settings) -> LibraryPlace:
    return place_of_lock(standing.lock_path, settings)


CHECK = Check("locks", check_locks)
