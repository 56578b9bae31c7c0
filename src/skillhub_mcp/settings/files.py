"""The settings files: the person's own, and the project's, which may set little. Read, and one of them written."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import changeable_by_others, make_private_directory
from skillhub_mcp._util.safe_toml import BadToml, read_toml
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.project import find_project

if TYPE_CHECKING:
    from skillhub_mcp.settings.table import Setting

_IN_PROJECT = os.path.join(".skillhub", "settings.toml")
_MOST_CHARACTERS = 64 * 1024
# Of a file that is not a regular one, such as a pipe, nothing is read.
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_SEPARATED_AS_PATH = ("dirs", "output_dirs")


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
    # There, it is the directory of SkillHub itself.
    return "" if project.root == os.path.realpath(home) else os.path.join(project.root, _IN_PROJECT)


def read_file(path: str, *, within: str = "") -> Mapping[str, object]:
    """Return what a settings file says by name; nothing if it does not exist. Raises InvalidSetting if it is unusable.

    A file that has to be `within` a directory is not read through a link out of it. Any other is the person's own, and
    not used if others may write it.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise _unusable(path, "it is not a file")
        if within and not os.path.realpath(path).startswith(os.path.join(os.path.realpath(within), "")):
            raise _unusable(path, "it is a link out of the project")
        exposure = None if within else changeable_by_others(path)
        if exposure is not None:
            raise _unusable(path, exposure.reason, hint=exposure.fix)
        with open(os.open(path, os.O_RDONLY | _NO_WAITING), "rb") as file:
            text = file.read(4 * _MOST_CHARACTERS + 1).decode("utf-8-sig")
        return read_toml(text, most_characters=_MOST_CHARACTERS)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise _unusable(path, "it is not UTF-8") from error
    except BadToml as error:
        raise _unusable(path, str(error)) from error
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error


def as_text(setting: Setting, value: object) -> str:
    """Return a value of a settings file as it is written in a variable. Raises ValueError for a table or a date."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return (os.pathsep if setting.field in _SEPARATED_AS_PATH else ",").join(value)
    raise ValueError("must be a text, a number, true, false or a list of texts")


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
    elif name in document:
        del document[name]
    atomic_write(path, tomlkit.dumps(document).encode(), mode=0o600)
    return path


def _unusable(path: str, reason: str, *, hint: str = "correct or remove it") -> InvalidSetting:
    return InvalidSetting("settings file", path, f"cannot be used: {reason}", hint=hint)
