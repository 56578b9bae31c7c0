"""Read the settings from options, variables and settings files, and write one to the user's file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from annotated_types import Ge, Le
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import changeable_by_others, make_private_directory
from skillhub_mcp._util.safe_toml import BadToml, read_toml
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.project import find_project
from skillhub_mcp.redaction import REDACTED, redacted
from skillhub_mcp.settings.types import is_bucket, listed, local_path
from skillhub_mcp.settings.values import BY_NAME, EVERY, SETTINGS, Setting, Settings

_OWN_FILE = "~/.config/skillhub/settings.toml"
_PREFIX = "SKILLHUB_"
_MOST_CHARACTERS = 64 * 1024
# What replaces a setting that earlier versions had.
_SUCCESSORS = {
    "SKILLHUB_ALLOW_ANONYMOUS": "skillhub serve --allow-anonymous",
    "SKILLHUB_ENABLE_RUN_OVER_HTTP": "skillhub serve --enable-run-over-http",
    "EMBEDDING_MODEL_DIR": "EMBEDDING_MODEL",
    "SEARCH_RERANK_MODEL_DIR": "SEARCH_RERANK_MODEL",
    "SKILLHUB_CHOICES": "~/.skillhub/choices.json",
    "SKILLHUB_PERMISSIONS": "~/.skillhub/permissions.json",
    "SKILLHUB_SNAPSHOT": "skillhub publish --rollback",
    "SKILLHUB_STATELESS": "skillhub serve --workers",
    "SKILLHUB_WORKERS": "skillhub serve --workers",
}


@dataclass(frozen=True, slots=True)
class SettingSource:
    """The text `raw` of a setting, from the variable `name` or the file `path`; `problem` is that of a refused one."""

    setting: Setting
    raw: str = field(repr=False)
    source: str = "default"
    problem: str | None = None
    name: str = ""
    path: str = ""
    of_project: bool = False

    @property
    def shown(self) -> str:
        """The text with secrets hidden."""
        if self.setting.secret:
            return REDACTED if self.raw else ""
        return redacted(self.raw)

    @property
    def note(self) -> str:
        """The problem, and what is used instead."""
        return f"{self.problem}; using {self.shown}" if self.shown else f"{self.problem}; it counts as unset"


def unknown_settings(names: Iterable[str]) -> dict[str, str]:
    """Return the variables of `names` that look like settings and are not, sorted, and what is wrong with each."""
    own = {name for name in names if name in _SUCCESSORS or name.upper().startswith(_PREFIX)}
    near = {name: near_setting(name) for name in sorted(own - BY_NAME.keys())}
    what = "is not a setting and has no effect"
    return {name: f"{what}: did you mean {meant}?" if meant else what for name, meant in near.items()}


def near_setting(name: str) -> str:
    """Return the setting that a name may mean, or an empty text."""
    name = name.upper()
    if name in _SUCCESSORS:
        return _SUCCESSORS[name]
    # Imported here, since few have such a name.
    from skillhub_mcp.skills.names import near_names

    by_rest = {setting.name.removeprefix(_PREFIX): setting.name for setting in SETTINGS}
    return next((by_rest[rest] for rest in near_names(name.removeprefix(_PREFIX), by_rest, limit=1)), "")


def read_settings(
    environment: Mapping[str, str], options: Mapping[str, str] | None = None
) -> tuple[Settings, tuple[SettingSource, ...]]:
    """Return the settings from options, then environment, then files, and their sources. Raises InvalidSetting."""
    problems: dict[Setting, str] = {}
    variables = _variables(environment, problems)
    # What sets each setting, first the one that wins.
    given = {
        setting: [
            SettingSource(setting, texts[name], place.format(name), name=name)
            for texts, place in ((options or {}, "option"), (variables, "environment ({})"))
            for name in setting.names
            if name in texts
        ]
        for setting in EVERY
    }
    own = _in_file(expand_home(_OWN_FILE), problems)

    def chosen(name: str) -> str:
        setting = BY_NAME[name]
        return next((one.raw for one in (*given[setting], own.get(setting)) if one), setting.default)

    path = _project_file(chosen("SKILLHUB_CWD"), chosen("SKILLHUB_PROJECT_ROOT"), listed(chosen("SKILLHUB_MARKERS")))
    of_project = _in_file(path, problems, project=True) if path else {}
    for setting, found in given.items():
        found += [file[setting] for file in (of_project, own) if setting in file]
    settings = _validated(given, problems)
    _check_requirements(settings)
    found_in = [given[one][0] if given[one] else SettingSource(one, one.default) for one in SETTINGS]
    return settings, tuple(replace(one, problem=problems.get(one.setting)) for one in found_in)


def settings_of(options: Mapping[str, str]) -> Settings:
    """Return the settings of this process's environment, which `options` override; raises what `read_settings` does."""
    return read_settings(os.environ, options)[0]


def _variables(environment: Mapping[str, str], problems: dict[Setting, str]) -> dict[str, str]:
    """Return the variables that are set, without a DB_PATH of another program, which is a file."""
    variables = {name: text for name, text in environment.items() if text and not name.startswith("--")}
    if os.path.isfile(expand_home(variables.get("DB_PATH", "").strip())):
        setting, shown = BY_NAME["DB_PATH"], redacted(variables.pop("DB_PATH"))
        problems[setting] = f"DB_PATH={shown!r} is a file of another program; {setting.name} sets the database"
    return variables


def _validated(given: Mapping[Setting, list[SettingSource]], problems: dict[Setting, str]) -> Settings:
    """Return the settings. Drops invalid values that are forgiven from `given`. Raises InvalidSetting for others."""
    while True:
        values: dict[str, dict[str, Any]] = {one.group: {} for one in EVERY}
        for setting, found in given.items():
            if found:
                values[setting.group][setting.field] = found[0].raw
        # With SKILLS_DIR and without SKILLHUB_ROOTS, only the hub is searched.
        skills = values["skills"]
        skills["roots_given"] = "roots" in skills
        if "dirs" in skills:
            skills.setdefault("roots", "hub")
        try:
            return Settings.model_validate(values)
        except ValidationError as error:
            for details in error.errors():
                setting = next(one for one in EVERY if (one.group, one.field) == details["loc"][:2])
                problems[setting] = _forgiven(given[setting].pop(0), details)


def _forgiven(refused: SettingSource, details: ErrorDetails) -> str:
    """Return why pydantic refused a value. Raises InvalidSetting unless it is forgiven."""
    cause = details.get("ctx", {}).get("error")
    reason = str(cause) if isinstance(cause, ValueError) else _reason(refused.setting)
    if not (refused.setting.forgiving or refused.of_project):
        hint = f"correct it in {refused.path}" if refused.path else None
        raise InvalidSetting(refused.name, refused.shown, reason, hint=hint)
    return f"{refused.name}={refused.shown!r} {reason}"


def _in_file(path: str, problems: dict[Setting, str], *, project: bool = False) -> dict[Setting, SettingSource]:
    """Return the settings in a file. Those that a project may not set go to `problems`. Raises InvalidSetting."""
    found: dict[Setting, SettingSource] = {}
    place = f"{'project' if project else 'settings file'} ({path})"
    for name, value in _read_file(path, within=os.path.dirname(os.path.dirname(path)) if project else "").items():
        setting = BY_NAME.get(name)
        if setting is not None and project and not setting.project:
            problems[setting] = f"{name} cannot be set by a project: {path}"
        elif setting is not None:
            text = _as_text(setting, value, path)
            found[setting] = SettingSource(setting, text, place, name=name, path=path, of_project=project)
        elif not project:
            near = near_setting(name)
            hint = f"did you mean {near}? " if near else ""
            raise InvalidSetting(name, "", "is not a setting", hint=f"{hint}correct or remove it in {path}")
    return found


def _as_text(setting: Setting, value: object, path: str) -> str:
    """Return a value of a settings file as it is written in a variable. Raises InvalidSetting for a table or a date."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return (os.pathsep if setting.field in ("dirs", "output_dirs") else ",").join(value)
    reason = "must be a text, a number, true, false or a list of texts"
    raise InvalidSetting(setting.name, "", reason, hint=f"correct it in {path}")


def _reason(setting: Setting) -> str:
    """Return what is allowed, from the type and bounds of the field."""
    info: Any = setting.info
    kind = info.annotation
    if kind is bool:
        return "must be 1 or 0 (or true/false, yes/no, on/off)"
    if kind in (int, float):
        low = next(one.ge for one in info.metadata if isinstance(one, Ge))
        high = next(one.le for one in info.metadata if isinstance(one, Le))
        return f"must be a {'whole ' if kind is int else ''}number from {low} to {high}"
    return "must be one of " + ", ".join(get_args(kind))


def _check_requirements(settings: Settings) -> None:
    """Raise InvalidSetting for a value that needs another setting."""
    embedding, search = settings.embedding, settings.search
    provider = embedding.provider
    if provider in ("openai", "gemini") and not embedding.api_key:
        name = f"{provider.upper()}_API_KEY"
        own = " (your own server without keys accepts any text)" if embedding.base_url else ""
        hint = f"set {name}{own}, or EMBEDDING_PROVIDER=none to search without embeddings"
        raise InvalidSetting("EMBEDDING_PROVIDER", provider, f"requires {name}, which is not set", hint=hint)
    if is_bucket(settings.index.db_path) and not settings.replica.read_only:
        raise InvalidSetting(
            "SKILLHUB_DB_PATH",
            settings.index.db_path,
            "is a publication, which is served read-only, and SKILLHUB_READ_ONLY is not set",
            hint="set SKILLHUB_READ_ONLY=1 or pass --read-only to serve it; skillhub publish writes it",
        )
    if search.rerank == "1" and provider not in ("openai", "gemini"):
        reason = f"requires the provider openai or gemini, but EMBEDDING_PROVIDER is {provider}"
        hint = "set EMBEDDING_PROVIDER to openai or gemini, or SEARCH_RERANK to 0 or local"
        raise InvalidSetting("SEARCH_RERANK", "1", reason, hint=hint)
    if provider == "onnx":
        _check_model("EMBEDDING_PROVIDER", provider, "EMBEDDING_MODEL", embedding.model)
    if search.rerank == "local":
        _check_model("SEARCH_RERANK", search.rerank, "SEARCH_RERANK_MODEL", search.rerank_model)


def _check_model(setting: str, value: str, name: str, directory: str) -> None:
    """Raise InvalidSetting unless the setting `name`, which `setting` requires, names a local directory."""
    if not directory:
        hint = f"set {name} to the directory of a model, with tokenizer.json and model.onnx"
        raise InvalidSetting(setting, value, f"requires {name}, which is not set", hint=hint)
    try:
        local_path(directory)
    except ValueError as error:
        raise InvalidSetting(name, directory, str(error)) from error


def _project_file(cwd: str, root: str, markers: tuple[str, ...]) -> str:
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


def _read_file(path: str, *, within: str = "") -> Mapping[str, object]:
    """Return a settings file's values. Raises InvalidSetting if it is unusable, exposed, or a link out of `within`."""
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
    """Set or remove one setting in the user's file and return its path. Raises InvalidSetting and OSError."""
    import tomlkit

    path = expand_home(_OWN_FILE)
    _read_file(path)
    make_private_directory(os.path.dirname(path))
    text = Path(path).read_text("utf-8-sig") if os.path.exists(path) else ""
    document = tomlkit.parse(text)
    if value is not None:
        document[name] = value
    else:
        document.pop(name, None)
    atomic_write(path, tomlkit.dumps(document).encode(), mode=0o600)
    return path


def _unusable(path: str, reason: str, *, hint: str = "correct or remove it") -> InvalidSetting:
    return InvalidSetting("settings file", path, f"cannot be used: {reason}", hint=hint)
