"""The settings files: the person's own, and the project's, which may set little. Read, and one of them written."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import changeable_by_others, make_private_directory
from skillhub_mcp._util.safe_toml import BadToml, read_toml
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.project import find_project

_MOST_CHARACTERS = 64 * 1024


def own_file() -> str:
    """Return the path of the person's settings file, which need not exist."""
    return expand_home("~/.config/skillhub/settings.toml")


def project_file(cwd: str, root: str, markers: tuple[str, ...]) -> str:
    """Return the path of the settings file of the project of a working directory, or an empty text."""
    home = expand_home("~")
    try:
        project = find_project(expand_home(cwd) or os.getcwd(), root=root, markers=markers, home=home)
    except OSError:
        # The working directory was deleted.
        return ""
    path = os.path.join(project.root, ".skillhub", "settings.toml")
    # In the home directory, .skillhub is SkillHub's own.
    return path if project.root != os.path.realpath(home) and os.path.lexists(path) else ""


def read_file(path: str, *, within: str = "") -> Mapping[str, object]:
    """Return what a settings file says by name; nothing if it does not exist. Raises InvalidSetting if it is unusable.

    A file that has to be `within` a directory is not read through a link out of it. Any other is the person's own, and
    not used if others may write it.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _unusable(path, "it is not a file")
        if within and not os.path.realpath(path).startswith(os.path.join(os.path.realpath(within), "")):
            raise _unusable(path, "it is a link out of the project")
        exposure = None if within else changeable_by_others(path)
        if exposure is not None:
            raise _unusable(path, exposure.reason, hint=exposure.fix)
        with open(path, encoding="utf-8-sig") as file:
            return read_toml(file.read(_MOST_CHARACTERS + 1), most_characters=_MOST_CHARACTERS)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise _unusable(path, "it is not UTF-8") from error
    except BadToml as error:
        raise _unusable(path, str(error)) from error
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error


def write_setting(name: str, value: str | None) -> str:
    """Set one setting in the person's file, or remove it, and return the file's path; what else it holds stays.

    Raises InvalidSetting if the file is unusable, and OSError.
    """
    import tomlkit

    path = own_file()
    read_file(path)
    make_private_directory(os.path.dirname(path))
    document = tomlkit.document()
    if os.path.exists(path):
        with open(path, encoding="utf-8-sig") as file:
            document = tomlkit.parse(file.read())
    if value is not None:
        document[name] = value
    else:
        document.pop(name, None)
    atomic_write(path, tomlkit.dumps(document).encode(), mode=0o600)
    return path


def _unusable(path: str, reason: str, *, hint: str = "correct or remove it") -> InvalidSetting:
    return InvalidSetting("settings file", path, f"cannot be used: {reason}", hint=hint)
