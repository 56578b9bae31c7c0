"""The words that a shell completes and that change from day to day: skills and recorded roots.

Tab waits for this, so it imports neither the commands nor the hub, and reads no more of a SKILL.md than its beginning;
of a large library only of those that were written since they were indexed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence

from skillhub_mcp.chosen_roots import recorded_roots, roots_of
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import safe_alias

# What a shell's script calls; help does not list it.
COMMAND = "__complete"
SKILLS = "skills"
ROOTS = "roots"

_SETTINGS = {"--skills-dir": "SKILLS_DIR", "--roots": "SKILLHUB_ROOTS", "--cwd": "SKILLHUB_CWD"}
_BEGINNING = 4_096
# So many bytes an index has of some thousand skills: reading fewer SKILL.md takes less time than importing its reader.
_MANY_BYTES = 1 << 21
_NAME = re.compile(rb"^name:[ \t]*(\S.*?)[ \t\r]*$", re.MULTILINE)
_QUOTES = (b'"', b"'")


def run(argv: Sequence[str]) -> int:
    """Print the words of a kind, one a line: the argument after `COMMAND`. The rest is the command line so far."""
    try:
        kind, typed = argv[1], argv[2:]
        words = set(_skills(typed) if kind == SKILLS else _recorded() if kind == ROOTS else ())
    except (SkillHubError, LookupError):
        # Completion offers nothing; the command itself says what is wrong.
        return 1
    sys.stdout.buffer.write(b"".join(word + b"\n" for word in sorted(words) if _is_harmless(word)))
    return 0


def _is_harmless(word: bytes) -> bool:
    """Whether a shell can show the word as it is, and the person sees all of it before it is taken."""
    text = os.fsdecode(word)
    return in_line(text) == text


def _skills(typed: Sequence[str]) -> Iterable[bytes]:
    settings = settings_of(_options(typed))
    roots = roots_of(settings)
    for found in walk_roots(roots).found:
        name = _name_in(os.path.join(found.directory, SKILL_FILE)) or os.fsencode(found.name)
        yield name if _is_harmless(name) else os.fsencode(safe_alias(os.fsdecode(name)))


def _options(typed: Sequence[str]) -> dict[str, str]:
    """Return the settings that the command line so far has."""
    options = {}
    for place, word in enumerate(typed):
        option, equals, value = word.partition("=")
        if option in _SETTINGS:
            following = typed[place + 1] if place + 1 < len(typed) else ""
            options[_SETTINGS[option]] = value if equals else following
    return {name: expand_home(value) for name, value in options.items() if value}


def _name_in(path: str) -> bytes | None:
    """Return the name that a SKILL.md gives itself, None where it cannot be seen at a glance."""
    try:
        # Reading a pipe of that name would block completion.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            beginning = file.read(_BEGINNING) or b""
    except OSError:
        return None
    found = _NAME.search(beginning)
    if found is None:
        return None
    name = found[1]
    return name[1:-1] if name[:1] in _QUOTES and name[-1:] == name[:1] else name


def _recorded() -> Iterable[bytes]:
    record = recorded_roots()
    yield from (os.fsencode(entry) for entry in record.everywhere)
    yield from (os.fsencode(entry) for own in record.projects.values() for entry in own)
