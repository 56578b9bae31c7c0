"""Repair the variables, the home and the working directory of a process before anything reads them."""

from __future__ import annotations

import os
import re
import sys
from shlex import quote

# The home of a user that has none. It is no directory, so nothing can be created in it, even by root.
NO_HOME = "/dev/null"
_PLAIN = re.compile(r"~?[\w@%+=:,./-]*")
_PR_SET_DUMPABLE = 4


def prepare_environment() -> tuple[str, ...]:
    """Make the environment safe to read, and return what had to be changed, a sentence each."""
    forget_fastmcp_settings()
    return tuple(filter(None, (_name_a_home(), _leave_deleted_directory())))


def forget_fastmcp_settings() -> None:
    """Remove variables meant for other FastMCP servers, and switch off what FastMCP reads or sends by itself."""
    for name in [name for name in os.environ if name.upper().startswith("FASTMCP_")]:
        del os.environ[name]
    os.environ["FASTMCP_ENV_FILE"] = os.devnull
    os.environ["FASTMCP_CHECK_FOR_UPDATES"] = "off"
    os.environ["FASTMCP_LOG_ENABLED"] = "false"
    os.environ["FASTMCP_TELEMETRY_MODE"] = "propagation_only"


def expand_home(path: str) -> str:
    """Return a path with its `~` expanded, or one below NO_HOME if that home is unknown."""
    expanded = os.path.expanduser(path)
    if path.startswith("~") and not os.path.isabs(expanded):
        return os.path.join(NO_HOME, expanded)
    return expanded


def shown_path(path: str) -> str:
    """Return a path as people write it: `~` for the home directory."""
    home = os.path.join(expand_home("~"), "")
    return f"~{os.sep}{path.removeprefix(home)}" if len(home) > 1 and path.startswith(home) else path


def shell_path(path: str, *, cwd: str = "") -> str:
    """Return a path as typed in a shell: with `./` below `cwd`, with `~` in the home directory, quoted where needed."""
    # In the home directory, `~` is clearer.
    is_here = bool(cwd) and cwd != expand_home("~") and path.startswith(os.path.join(cwd, ""))
    shown = os.path.join(os.curdir, os.path.relpath(path, cwd)) if is_here else shown_path(path)
    if _PLAIN.fullmatch(shown.replace(os.sep, "/")):
        return shown
    # In quotes, a `~` would be a name.
    named = shown if is_here else path
    return f'"{named}"' if os.name == "nt" else quote(named)


def _name_a_home() -> str:
    """Ensure that child processes and libraries expand `~` to an absolute path, too."""
    if "HOME" in os.environ and not os.path.isabs(os.environ["HOME"]):
        del os.environ["HOME"]
    if os.path.isabs(os.path.expanduser("~")):
        return ""
    os.environ["HOME"] = NO_HOME
    hint = "set HOME, or SKILLS_DIR and SKILLHUB_DB_PATH"
    return f"no home directory: HOME is not set and this user has no password entry; {hint}"


def _leave_deleted_directory() -> str:
    try:
        os.getcwd()
    except FileNotFoundError:
        home = os.path.expanduser("~")
        os.chdir(home if os.access(home, os.X_OK) and os.path.isdir(home) else os.sep)
        return f"the working directory no longer exists: working in {os.getcwd()}"
    return ""


def hide_memory() -> None:
    """Hide this process's memory and environment (`/proc/PID/environ`) from its user's others, on Linux."""
    if sys.platform == "linux":
        # Imported only if memory is to be hidden.
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
