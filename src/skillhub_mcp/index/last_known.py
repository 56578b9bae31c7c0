"""The skills as the published state has them: what a server answers from until it has looked at all files.

Looking at the files of a large library takes a second, with a cold file cache a minute. Until that is done, whoever is
about to use a skill looks at that skill (`is_outdated`), and whoever finds none looks where it would be (`places`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence

from skillhub_mcp.index.state import IndexState
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.roots import SkillRoot, located
from skillhub_mcp.skills.scanner import Scan, ScanCache, scan_from_cache

# Fewer are looked at in less than 50 ms, where the system has their directories in memory.
LARGE = 2_000
_MOST_FOLDERS = 2_000


def last_known(
    roots: tuple[SkillRoot, ...],
    state: IndexState,
    *,
    look: Callable[[tuple[SkillRoot, ...]], Scan],
    known_large: Collection[str] = (),
) -> Scan | None:
    """Return the skills below `roots`: of those with many as `state` has them, of the others as `look` finds them.

    None where there is no large root, or one that is not there now: then looking at everything takes no time. What a
    project brings is always looked at: the person has agreed to what is there now. Of the roots at the paths in
    `known_large` the state has only the skills that are asked for.
    """
    roots = tuple(map(located, roots))
    if any(root.within and root.path in known_large for root in roots):
        return None
    large = [root for root in roots if root.path in known_large or (not root.within and _count(state, root) >= LARGE)]
    if not large or not all(map(_holds_something, large)):
        return None
    memory = state.memory_of(root.path for root in large)
    small = tuple(root for root in roots if root not in large)
    if not small:
        return Scan(scan_from_cache(roots, memory=memory), memory, 0, changed=False)
    seen = look(small)
    report = seen.snapshot.report
    memory = {**seen.memory, **memory}
    snapshot = scan_from_cache(
        roots, memory=memory, problems=report.problems, ignored=report.ignored, unavailable=report.unavailable
    )
    return Scan(snapshot, memory, seen.opened, seen.changed)


def is_outdated(skill: Skill) -> bool:
    """Whether the skill's SKILL.md is not as it was read, or is gone."""
    try:
        status = os.stat(os.path.join(skill.directory, SKILL_FILE))
    except OSError:
        return True
    stamp = skill.stamp
    return (status.st_mtime_ns, status.st_size, status.st_ctime_ns) != (stamp.mtime_ns, stamp.size, stamp.ctime_ns)


def places(named: Sequence[str], roots: Sequence[SkillRoot], known: ScanCache) -> list[str]:
    """Return the directories that may have the skills that are `named`, by a name or a path.

    A name's are the folders of that name beside known skills and at the top of the roots; only those with a SKILL.md
    are returned. A path is returned wherever it leads, since what is no more there is to be noticed.
    """
    found = [os.path.dirname(name) if os.path.basename(name) == SKILL_FILE else name for name in named]
    found = [path for path in found if os.path.isabs(path)]
    names = [name for name in named if name and os.path.basename(name) == name and name not in (os.curdir, os.pardir)]
    if names:
        folders = dict.fromkeys([root.path for root in roots])
        folders.update(dict.fromkeys(map(os.path.dirname, known)))
        candidates = (os.path.join(folder, name) for folder in list(folders)[:_MOST_FOLDERS] for name in names)
        found += [path for path in candidates if os.path.lexists(os.path.join(path, SKILL_FILE))]
    return list(dict.fromkeys(found))


def _count(state: IndexState, root: SkillRoot) -> int:
    own = state.roots.get(root.path)
    return 0 if own is None else len(own.memory)


def _holds_something(root: SkillRoot) -> bool:
    try:
        with os.scandir(root.real) as entries:
            return any(not entry.name.startswith(".") for entry in entries)
    except OSError:
        return False
