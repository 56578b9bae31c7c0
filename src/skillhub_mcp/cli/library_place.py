"""The library that a command changes: its root, its lock file, the named skills, and its index."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skillhub_mcp.chosen_roots import lock_option, project_of, roots_of
from skillhub_mcp.cli.arguments import decode_argument, path_argument
from skillhub_mcp.cli.console import print_note
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument, SkillHubError, SkillNotFound
from skillhub_mcp.library.places import is_plain_name
from skillhub_mcp.library.sources.opening import OpenOptions
from skillhub_mcp.library.verifying import present
from skillhub_mcp.locks.lock_file import LOCK_NAME, read_lock
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.model import skill_directory
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import typed_command
from skillhub_mcp.skills.roots import AGENTS_SKILLS, make_roots
from skillhub_mcp.skills.scanner import read_snapshot


@dataclass(frozen=True, slots=True)
class LibraryPlace:
    """A root, the lock of its skills, and the option that chooses it, as it is typed; empty for the first hub root."""

    root: str
    lock_path: str
    option: str = ""

    def command(self, *words: str, names: Sequence[str] = ()) -> str:
        """Return the shell command for this library and these skills."""
        return typed_command(shlex.join(["skillhub", *words]), *names, option=self.option)

    def json(self, **more: object) -> dict[str, object]:
        """Return the keys that begin every report of a library command."""
        return {"root": self.root, "lock": self.lock_path, **more}

    def attributes_hint(self) -> str:
        """Return how to keep git from changing line ends of project skills; empty if not needed."""
        project = os.path.dirname(self.lock_path)
        if self.option != "--project" or not os.path.lexists(os.path.join(project, ".git")):
            return ""
        line = f"{AGENTS_SKILLS.replace(os.sep, '/')}/** -text"
        path = os.path.join(project, ".gitattributes")
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                if line in file.read().splitlines():
                    return ""
        return f"`echo {shlex.quote(line)} >> .gitattributes` keeps git from changing their line ends"

    def note_line_ends(self, names: Sequence[str]) -> None:
        """Note the skills of which only line ends differ from what was locked, and how to prevent that."""
        if names:
            said = f"Only line ends differ from what was locked: {', '.join(names)}"
            print_note(*filter(None, [said, self.attributes_hint()]))


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Add --project and --user, of which a command takes one or none."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--project", action="store_true", help="in .agents/skills of this project")
    place.add_argument("--user", action="store_true", help="in ~/.agents/skills")


def place_of(args: argparse.Namespace, options: Mapping[str, str]) -> LibraryPlace:
    """Return the library that the options choose. Raises InvalidArgument and InvalidSetting."""
    option = "--project" if args.project else "--user" if args.user else ""
    if option and "SKILLS_DIR" in options:
        raise InvalidArgument(option, "cannot be combined with --skills-dir", hint="remove one of the two")
    settings = settings_of(options)
    if "SKILLS_DIR" in options:
        option = f"--skills-dir {shlex.quote(options['SKILLS_DIR'])}"
    if args.project:
        project = project_of(settings).root
        # Beside the project, where npx skills has it too.
        return LibraryPlace(os.path.join(project, AGENTS_SKILLS), os.path.join(project, LOCK_NAME), option)
    chosen = os.path.join("~", AGENTS_SKILLS) if args.user else settings.skills.dirs[0]
    root = os.path.abspath(expand_home(chosen))
    return LibraryPlace(root, os.path.join(root, LOCK_NAME), option)


def open_options(settings: Settings, *, insecure: bool, place: LibraryPlace | None = None) -> OpenOptions:
    """Return how a source is opened; `insecure` allows http: and git: to other machines.

    A relative path in the lock of a `place` is from that lock's directory; a typed one is from the working directory.
    """
    here = os.getcwd() if place is None else os.path.dirname(place.lock_path)
    return OpenOptions(here, insecure=insecure, tokens=settings.library.source_tokens)


def named_directories(
    typed: Sequence[str], place: LibraryPlace, options: Mapping[str, str], *, command: str
) -> list[str]:
    """Return the directory names of `place` for names, directories or paths; unknown names stay as typed.

    Raises LockUnreadable, and SkillNotFound for an ambiguous name or a skill of another root.
    """
    lock = read_lock(place.lock_path) if typed else None
    locked = set() if lock is None else {one.name for one in lock.skills}
    return [_directory(one, place, locked, settings_of(options), command=command) for one in typed]


def _directory(typed: str, place: LibraryPlace, locked: set[str], settings: Settings, *, command: str) -> str:
    name, path, root = decode_argument(typed), path_argument(typed), ""
    if path is not None and name not in locked:
        parent, name = os.path.split(skill_directory(path))
        root = os.path.realpath(parent)
        if root == os.path.realpath(place.root):
            return name
    elif name in locked or not is_plain_name(name) or os.path.lexists(os.path.join(place.root, name)):
        return name
    elif found := _holding(place.root, name):
        if len(found) > 1:
            hint = f"give the directory: {' or '.join(map(repr, found))}"
            raise SkillNotFound(name, near=found, hint=hint, reason=f"several directories of {place.root} hold one")
        return found[0]
    for other in roots_of(settings) if is_plain_name(name) else ():
        if root in ("", other.real) and os.path.isdir(os.path.join(other.path, name)):
            project = project_of(settings).root
            # The lock of a project's root is beside the project.
            is_project = other.real == os.path.realpath(os.path.join(project, AGENTS_SKILLS))
            option = lock_option(os.path.join(project if is_project else other.path, LOCK_NAME), settings)
            hint = f"{other.path} has one: {typed_command(f'skillhub {command}', name, option=option)}"
            raise SkillNotFound(decode_argument(typed), hint=hint, reason=f"{place.root} does not have it")
    return decode_argument(typed)


def _holding(root: str, name: str) -> list[str]:
    """Return the directories right below a root whose skill has that name, or that safe alias."""
    there, real = set(present(root)), os.path.realpath(root)
    below = (os.path.split(skill.directory) for skill in read_snapshot(make_roots([root])).named(name))
    return sorted(last for parent, last in below if os.path.realpath(parent) == real and last in there)


class RefreshedIndex(NamedTuple):
    """Why the refresh failed, the directory and source that serve each name, and the names that await trust."""

    problem: str = ""
    answering: Mapping[str, tuple[str, str]] = {}
    awaiting: frozenset[str] = frozenset()

    def serves(self, name: str, directory: str) -> bool:
        """Whether the skill in that directory answers to the name."""
        return os.path.realpath(self.answering.get(name, ("", ""))[0]) == os.path.realpath(directory)

    def note_problem(self) -> None:
        """Warn that the index was not refreshed, if there is a problem."""
        if self.problem:
            print_note(f"warning: the index is not refreshed: {self.problem}")


def refresh_index(options: Mapping[str, str], names: Sequence[str] = ()) -> RefreshedIndex:
    """Sync the index and look up `names`. Return a failure instead of raising: the next search syncs again."""
    try:
        if settings_of(options).replica.read_only:
            return RefreshedIndex()
        with open_hub({**options, "SKILLHUB_USAGE_LOG": "", "SKILLHUB_SKIP_AUTO_REINDEX": "0"}) as hub:
            view = hub.refresh(waiting=True)
            snapshot, policy = hub.snapshot_and_policy()
            known = Names(snapshot, policy)
            found = {name: skill for name in names if (skill := known.find(name)) is not None}
            return RefreshedIndex(
                "" if view.problem is None else view.problem.message,
                {name: (skill.directory, snapshot.source(skill).value) for name, skill in found.items()},
                frozenset(name for name, skill in found.items() if skill.awaits_trust),
            )
    except SkillHubError as error:
        return RefreshedIndex(error.message)
