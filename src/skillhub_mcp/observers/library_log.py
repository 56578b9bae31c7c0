"""The library's log: what a server refuses, what lost its name, and directories that it cannot search, each once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence

from skillhub_mcp.skills.problems import Problem, refusal_problems, root_problems, shadowing
from skillhub_mcp.skills.snapshot import ShadowReason, Snapshot

log = logging.getLogger("skillhub_mcp.library")

_AT_ONCE = 20


class LibraryLog:
    """Logs the problems of each snapshot that the one before did not have. Safe to call from several threads.

    A problem that went away and comes back is told again. `name_problems` returns what settings and files name that
    the snapshot does not have, and `elsewhere` the skills that are not searched, which are told of once.
    """

    def __init__(
        self,
        name_problems: Callable[[Snapshot], Sequence[Problem]] = lambda _: (),
        elsewhere: Callable[[Snapshot], Sequence[Problem]] = lambda _: (),
    ) -> None:
        self._name_problems = name_problems
        self._elsewhere = elsewhere
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._told: frozenset[str] = frozenset()

    def report(self, snapshot: Snapshot) -> None:
        """Log what is new in `snapshot`: at most twenty problems, and how many there are besides."""
        with self._lock:
            if snapshot is self._snapshot:
                return
            if self._snapshot is None:
                for one in self._elsewhere(snapshot):
                    log.info("%s", one.sentence())
            self._snapshot = snapshot
            problems, copies = _problems_of(snapshot)
            # Directories, filters and rules concern many skills at once, so the end of a long list is not their place.
            new = self._new((*root_problems(snapshot.report), *self._name_problems(snapshot), *problems, *copies))
            harmless = {copy.sentence() for copy in copies}
            for number, line in enumerate(new):
                if number == _AT_ONCE:
                    log.warning("%d more problems; `skillhub doctor` lists them", len(new) - _AT_ONCE)
                    return
                log.log(logging.INFO if line in harmless else logging.WARNING, "%s", line)

    def _new(self, problems: Iterable[Problem]) -> list[str]:
        lines = dict.fromkeys(problem.sentence() for problem in problems)
        new = [line for line in lines if line not in self._told]
        self._told = frozenset(lines)
        return new


def _problems_of(snapshot: Snapshot) -> tuple[list[Problem], list[Problem]]:
    """Return the problems of skills, and which of two copies was left out, which changes nothing for anybody."""
    report = snapshot.report
    problems = list(refusal_problems(report))
    problems += [shadowing(lost) for lost in report.shadowed if lost.why is not ShadowReason.COPY]
    return problems, [shadowing(lost) for lost in report.shadowed if lost.why is ShadowReason.COPY]
