"""The locks of installed skills: files that are not as they were locked, and locks that cannot be read."""

from __future__ import annotations

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.locks.states import LockState
from skillhub_mcp.skills.problems import Problem


def check_locks(installation: Installation) -> CheckResult:
    """Return the locks that cannot be read, the skills that were edited, and how many are locked."""
    standings = [
        (skill, standing)
        for skill in installation.library.view.snapshot.everything
        if (standing := installation.hub.lock_standing(skill)) is not None
    ]
    unreadable = {one.problem.path: one.problem for _, one in standings if one.problem is not None}
    edited = [(skill, one) for skill, one in standings if one.state is LockState.EDITED]
    withheld = ", and is withheld" if installation.settings.policy.frozen != "0" else ""
    unchanged = sum(one.state is LockState.UNCHANGED for _, one in standings)
    return CheckResult(
        problems=tuple(
            Problem(path, error.message, error.hint or "mend it") for path, error in sorted(unreadable.items())
        ),
        warnings=tuple(
            Problem(
                skill.directory,
                f"is not as it was locked{f' ({one.differs.first})' if one.differs.first else ''}{withheld}",
                "see `skillhub verify`; `skillhub lock NAME` locks it as it is now",
            )
            for skill, one in edited
        ),
        details=(f"locks     {unchanged:,} unchanged, {len(edited):,} edited",) if unchanged or edited else (),
        facts={"locks": {"unchanged": unchanged, "edited": len(edited), "unreadable": sorted(unreadable)}},
    )


CHECK = Check("locks", check_locks)
