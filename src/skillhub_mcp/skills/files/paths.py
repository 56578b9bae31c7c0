"""Checks of requested paths, made before the file system is accessed. No I/O."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from skillhub_mcp.errors import InvalidArgument, PathNotAllowed, SkillFileNotFound

MAX_PATH_BYTES = 1_024
MAX_NAME_BYTES = 255
MAX_DEPTH = 32
WITHHELD = "is withheld: dotfiles are served only with SKILLHUB_SERVE_DOTFILES=1"

_SHOWN_CHARACTERS = 200
_UNREADABLE = "another path does not help: the server's operator must make the file readable for it"
_SEPARATORS = re.compile(r"[/\\]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:")
# Windows opens devices and alternate streams under such names, and strips trailing dots and blanks.
_WINDOWS_MEANS_OTHERWISE = re.compile(r"(?i).*[:. ]$|.*:|(con|prn|aux|nul|com.|lpt.|conin\$|conout\$)\s*(\.|$)")


@dataclass(frozen=True, slots=True)
class WantedFile:
    """A checked request: `parts` are plain names below the skill's directory, `path` is the text for messages."""

    skill: str
    path: str
    parts: tuple[str, ...]
    serve_dotfiles: bool

    def refused(self, reason: str) -> PathNotAllowed:
        """Return the error for a path that is not allowed."""
        return PathNotAllowed(self.path, reason)

    def missing(self, reason: str = "does not exist") -> SkillFileNotFound:
        """Return the error for a file that cannot be read."""
        return SkillFileNotFound(self.skill, self.path, reason)

    def unreadable(self, error: OSError) -> SkillFileNotFound:
        """Return the error for a file that is there, and that the system does not let us read."""
        reason = f"cannot be read ({error.strerror or type(error).__name__})"
        return SkillFileNotFound(self.skill, self.path, reason, hint=_UNREADABLE)


def check_path(file_path: str, *, skill: str, serve_dotfiles: bool) -> WantedFile:
    """Check `file_path` and return the request. Raises PathNotAllowed, and InvalidArgument for an empty path."""
    if not file_path:
        raise InvalidArgument("file_path", "is empty", hint="pass a path such as 'references/guide.md'")
    # Messages are sent as JSON, which cannot represent lone surrogates, and must not grow with the request.
    shown = file_path[:_SHOWN_CHARACTERS].encode("utf-8", "backslashreplace").decode()
    shown += "…" if len(file_path) > _SHOWN_CHARACTERS else ""
    reason = path_problem(file_path, serve_dotfiles=serve_dotfiles)
    if reason is not None:
        raise PathNotAllowed(shown, reason)
    parts = tuple(part for part in _SEPARATORS.split(file_path) if part not in ("", "."))
    return WantedFile(skill=skill, path=shown, parts=parts, serve_dotfiles=serve_dotfiles)


def path_problem(file_path: str, *, serve_dotfiles: bool) -> str | None:
    """Return why the path is not allowed, or None if it is."""
    if len(file_path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return f"has more than {MAX_PATH_BYTES} bytes"
    names = _SEPARATORS.split(file_path)
    if not names[-1]:
        names.pop()  # `references/` is the directory `references`
    if not names or not names[0]:
        return "is an absolute path"
    if names[0].startswith("~"):
        return "starts at a home directory"
    if not all(names):
        return "has an empty name between two separators"
    if len(names) > MAX_DEPTH:
        return f"has more than {MAX_DEPTH} names"
    return next((reason for name in names if (reason := _unfit_name(name, serve_dotfiles))), None)


def _unfit_name(name: str, serve_dotfiles: bool) -> str | None:
    if name == ".":
        return None
    if name == "..":
        return "contains '..', which is never followed"
    if _CONTROLS.search(name):
        return "contains a control character"
    if _DRIVE.match(name):
        return "names a drive"
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        return "contains a lone surrogate"
    if length > MAX_NAME_BYTES:
        return f"has a name of more than {MAX_NAME_BYTES} bytes"
    if os.name == "nt" and _WINDOWS_MEANS_OTHERWISE.match(name):
        return "contains a name with a special meaning on Windows"
    if name.startswith(".") and not serve_dotfiles:
        return WITHHELD
    return None
