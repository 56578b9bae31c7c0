"""The checks in the order of their findings, and running them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from skillhub_mcp.diagnosis import library, machine
from skillhub_mcp.diagnosis.installation import CheckResult, Installation, with_publication
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.snapshot import Problem

# What concerns every skill comes before what concerns one.
CHECKS: Mapping[str, Callable[[Installation], CheckResult]] = {
    "settings": machine.check_settings,
    "command": machine.check_command,
    "clients": machine.check_clients,
    "roots": library.check_roots,
    "index": library.check_index,
    "files": machine.check_files,
    "rules": library.check_rules,
    "sandbox": machine.check_sandbox,
    "trust": library.check_trust,
    "skills": library.check_skills,
    "audit": library.check_audit,
    "locks": library.check_locks,
}


def examine(installation: Installation, *, on_start: Callable[[str], None]) -> Iterator[tuple[str, CheckResult]]:
    """Yield each check's name and result; an error that several checks meet is reported once."""
    failures = set()
    for name, check in CHECKS.items():
        on_start(f"checking {name}")
        try:
            yield name, check(installation)
            continue
        except SkillHubError as error:
            named = with_publication(error, installation.settings)
            message, fix = named.message, named.hint or "correct this first: the check needs it"
        except OSError as error:
            message, fix = str(error), "make this readable to you"
        if message not in failures:
            yield name, CheckResult(problems=(Problem(f"the check of the {name}", f"failed: {message}", fix),))
        failures.add(message)
