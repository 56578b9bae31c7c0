"""Which library a command keeps: the root that skills come into, and its lock."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.locks.lock_file import LOCK_NAME
from skillhub_mcp.skills.names import typed_command
from skillhub_mcp.skills.roots import AGENTS_SKILLS

if TYPE_CHECKING:
    from skillhub_mcp.settings import Settings


@dataclass(frozen=True, slots=True)
class LibraryPlace:
    """A root, the lock of its skills, and the option that chooses it, as it is typed; empty for the first hub root."""

    root: str
    lock_path: str
    option: str = ""

    def command(self, *words: str, names: Sequence[str] = ()) -> str:
        """Return what a person types for this library, with names of skills behind it, quoted for a shell."""
        return typed_command(shlex.join(["skillhub", *words]), *names, option=self.option)

    def attributes_hint(self) -> str:
        """Return what keeps git from changing the line ends of a project's skills; empty if that is not needed."""
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


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Add --project and --user, of which a command takes one or none."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--project", action="store_true", help="in .agents/skills of this project")
    place.add_argument("--user", action="store_true", help="in ~/.agents/skills")


def place_of(args: argparse.Namespace, options: Mapping[str, str]) -> LibraryPlace:
    """Return the library that the options choose. Raises InvalidArgument and InvalidSetting."""
    from skillhub_mcp.chosen_roots import project_of
    from skillhub_mcp.settings import settings_of

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
    root = expand_home(os.path.join("~", AGENTS_SKILLS) if args.user else settings.skills.dirs[0])
    root = os.path.abspath(root)
    return LibraryPlace(root, os.path.join(root, LOCK_NAME), option)


def place_of_root(root: str, settings: Settings) -> LibraryPlace:
    """Return the library of a root, with the option that has a command keep it."""
    from skillhub_mcp.chosen_roots import project_of

    project = project_of(settings).root
    lock = os.path.join(project if _is_same(root, os.path.join(project, AGENTS_SKILLS)) else root, LOCK_NAME)
    return place_of_lock(lock, settings)


def place_of_lock(lock_path: str, settings: Settings) -> LibraryPlace:
    """Return the library of a lock, with the option that has a command keep it."""
    from skillhub_mcp.chosen_roots import lock_option, project_of

    option, root = lock_option(lock_path, settings), os.path.dirname(lock_path)
    if option == "--project":
        root = os.path.join(project_of(settings).root, AGENTS_SKILLS)
    return LibraryPlace(root, lock_path, option)


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
