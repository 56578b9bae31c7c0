"""Reading the settings from options, environment variables and files, and finding variables meant as settings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from annotated_types import Ge, Le
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import InitSettingsSource, PydanticBaseSettingsSource

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.redaction import REDACTED, redacted
from skillhub_mcp.settings.files import as_text, own_file, project_file, read_file
from skillhub_mcp.settings.parsing import is_bucket, listed, local_path
from skillhub_mcp.settings.table import BY_NAME, OPTIONS, SETTINGS, Setting
from skillhub_mcp.settings.values import Settings

_PREFIX = "SKILLHUB_"
# What does the same as a setting that earlier versions had.
_SUCCESSORS = {
    "SKILLHUB_ALLOW_ANONYMOUS": "skillhub serve --allow-anonymous",
    "SKILLHUB_ENABLE_RUN_OVER_HTTP": "skillhub serve --enable-run-over-http",
    "EMBEDDING_MODEL_DIR": "EMBEDDING_MODEL",
    "SEARCH_RERANK_MODEL_DIR": "SEARCH_RERANK_MODEL",
    "SKILLHUB_CHOICES": "~/.skillhub/choices.json",
    "SKILLHUB_PERMISSIONS": "~/.skillhub/permissions.json",
    "SKILLHUB_STATELESS": "skillhub serve --workers",
    "SKILLHUB_WORKERS": "skillhub serve --workers",
}
# The last is what a command of a skill gets, which may start a SkillHub of its own.
_KNOWN_NAMES = {*BY_NAME, "SKILLHUB_RUN_ID"}


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Where a setting's value came from: an option of the command line, a variable, a settings file or the default.

    `raw` is its text. `problem` says why another text that was given is not used. `name` is the name that was set,
    which may be an alias.
    """

    setting: Setting
    raw: str = field(repr=False)
    source: str
    problem: str | None = None
    alias: str = ""

    @property
    def name(self) -> str:
        return self.alias or self.setting.name

    @property
    def shown(self) -> str:
        """The text for people: a secret is hidden."""
        if self.setting.secret:
            return REDACTED if self.raw else ""
        return redacted(self.raw)

    @property
    def note(self) -> str:
        """The problem, and what is used instead."""
        return f"{self.problem}; using {self.shown}" if self.shown else f"{self.problem}; it counts as unset"


@dataclass(frozen=True, slots=True)
class UnknownSetting:
    """A variable that looks like a setting of SkillHub and is none; `near` is what it may mean, or empty."""

    name: str
    near: str

    def __str__(self) -> str:
        return f"{self.name} is no setting, and has no effect{self.guess}"

    @property
    def guess(self) -> str:
        """The question for a person, or an empty text."""
        return f": did you mean {self.near}?" if self.near else ""


def unknown_settings(names: Iterable[str]) -> tuple[UnknownSetting, ...]:
    """Return those of the `names` of variables that begin as SkillHub's own do and are no setting, sorted."""
    unknown = (
        name
        for name in set(names)
        if name in _SUCCESSORS or (name.upper().startswith(_PREFIX) and name not in _KNOWN_NAMES)
    )
    return tuple(UnknownSetting(name, near_setting(name)) for name in sorted(unknown))


def near_setting(name: str) -> str:
    """Return the setting that a name may mean, or an empty text."""
    name = name.upper()
    if name in _SUCCESSORS:
        return _SUCCESSORS[name]
    plain = name.removeprefix(_PREFIX)
    exact = next((known for known in (name, plain) if known in _KNOWN_NAMES), "")
    if exact:
        return exact
    # Imported here, since few have such a name.
    from skillhub_mcp.skills.suggestions import near_names

    # All begin alike, so that is no likeness.
    by_rest = {setting.name.removeprefix(_PREFIX): setting.name for setting in SETTINGS}
    return next((by_rest[rest] for rest in near_names(plain, by_rest, limit=1)), "")


class _Layer(PydanticBaseSettingsSource):
    """The settings of one place, such as the environment: the name that is set and its text, for each setting.

    Of a `project`, what it may not set and what is invalid is reported, and not used.
    """

    def __init__(self, place: str, texts: Mapping[str, str], *, path: str = "", project: bool = False) -> None:
        super().__init__(Settings)
        self.place = place
        self.path = path
        self.project = project
        self.texts: dict[Setting, tuple[str, str]] = {}
        for setting in (*SETTINGS, *OPTIONS):
            name = next((name for name in setting.names if name in texts), None)
            if name is not None:
                self.texts[setting] = name, texts[name]

    def get_field_value(self, _: FieldInfo, field_name: str) -> tuple[dict[str, str], str, bool]:
        found = {one.field: text for one, (_, text) in self.texts.items() if one.group == field_name}
        return found, field_name, True

    def __call__(self) -> dict[str, Any]:
        return {name: self.get_field_value(info, name)[0] for name, info in Settings.model_fields.items()}


def _derived(given: Mapping[str, str]) -> InitSettingsSource:
    """Return what follows from the settings that are given: which were, and where skills are with SKILLS_DIR alone."""
    skills: dict[str, object] = {
        "dirs_given": "SKILLS_DIR" in given,
        "roots_given": "SKILLHUB_ROOTS" in given,
        "project_root_given": given.get("SKILLHUB_PROJECT_ROOT", ""),
        **({"roots": "hub"} if "SKILLS_DIR" in given else {}),
    }
    return InitSettingsSource(Settings, init_kwargs={"skills": skills})


def read_settings(
    environment: Mapping[str, str], options: Mapping[str, str] | None = None
) -> tuple[Settings, tuple[SettingSource, ...]]:
    """Return the settings and where each value came from.

    `options` (by setting name) override the environment, which overrides the project's settings file and then the
    person's. An empty variable counts as unset. Raises InvalidSetting, with the setting, the value and what is allowed,
    for the first value that is invalid or that lacks another setting that it requires, and for an unusable file. An
    invalid value of a forgiving setting is reported as its `SettingSource.problem`.
    """
    problems: dict[Setting, str] = {}
    typed = _Layer("option", options or {})
    variables = _Layer("environment", {name: text for name, text in environment.items() if text and name[0] != "-"})
    _ignore_foreign(variables, problems)
    own = _file_layer(own_file(), problems)
    layers = (typed, variables, *_project_layer((typed, variables, own), problems), own)
    while True:
        given = {
            setting.name: name for layer in layers for setting, (name, text) in layer.texts.items() if text.strip()
        }
        try:
            settings = Settings.of_layers((*layers, _derived(given)))
            break
        except ValidationError as error:
            for details in error.errors():
                _refuse(details, layers, problems)
    _check_requirements(settings)
    return settings, tuple(_source(setting, layers, problems.get(setting)) for setting in SETTINGS)


def _ignore_foreign(variables: _Layer, problems: dict[Setting, str]) -> None:
    """Drop a DB_PATH that is a file: many programs have a variable of that name, and ours is a directory."""
    setting = BY_NAME["DB_PATH"]
    name, text = variables.texts.get(setting, ("", ""))
    if name != setting.name and name and os.path.isfile(expand_home(text.strip())):
        del variables.texts[setting]
        problems[setting] = f"{name}={redacted(text)!r} is a file of another program; {setting.name} sets the database"


def settings_of(options: Mapping[str, str]) -> Settings:
    """Return the settings of this process's environment, which `options` override; raises what `read_settings` does."""
    return read_settings(os.environ, options)[0]


def _project_layer(layers: tuple[_Layer, ...], problems: dict[Setting, str]) -> tuple[_Layer, ...]:
    """Return the layer of the project that the other `layers` choose, if it has a settings file."""

    def chosen(name: str) -> str:
        setting = BY_NAME[name]
        return next((layer.texts[setting][1] for layer in layers if setting in layer.texts), setting.default)

    path = project_file(chosen("SKILLHUB_CWD"), chosen("SKILLHUB_PROJECT_ROOT"), listed(chosen("SKILLHUB_MARKERS")))
    return (_file_layer(path, problems, project=True),) if path and os.path.lexists(path) else ()


def _file_layer(path: str, problems: dict[Setting, str], *, project: bool = False) -> _Layer:
    """Return the layer of a settings file. What a project may not set goes to `problems`. Raises InvalidSetting."""
    texts: dict[str, str] = {}
    within = os.path.dirname(os.path.dirname(path)) if project else ""
    for name, value in read_file(path, within=within).items():
        setting = BY_NAME.get(name)
        if setting is not None and project and not setting.project:
            problems[setting] = f"{name} cannot be set by a project: {path}"
        elif setting is not None:
            try:
                texts[name] = as_text(setting, value)
            except ValueError as error:
                raise InvalidSetting(name, "", str(error), hint=f"correct it in {path}") from error
        elif not project:
            near = near_setting(name)
            hint = f"did you mean {near}? " if near else ""
            raise InvalidSetting(name, "", "is not a setting", hint=f"{hint}correct or remove it in {path}")
    return _Layer("project" if project else "settings file", texts, path=path, project=project)


def _refuse(details: ErrorDetails, layers: Sequence[_Layer], problems: dict[Setting, str]) -> None:
    """Take a value that pydantic refused from its layer, and note why. Raises InvalidSetting unless it is forgiven."""
    group, field = details["loc"][:2]
    setting = next(one for one in (*SETTINGS, *OPTIONS) if (one.group, one.field) == (group, field))
    layer = next(layer for layer in layers if setting in layer.texts)
    name, text = layer.texts.pop(setting)
    shown = REDACTED if setting.secret else redacted(text)
    cause = details.get("ctx", {}).get("error")
    reason = _reason(details, setting)
    if not (setting.forgiving or layer.project):
        hint = getattr(cause, "hint", None)
        where = f"correct it in {layer.path}" if layer.path else None
        raise InvalidSetting(name, shown, reason, hint=hint or where)
    problems[setting] = f"{name}={shown!r} {reason}"


def _reason(details: ErrorDetails, setting: Setting) -> str:
    """Return what is allowed: as the setting's own reader says it, or from the type and bounds of the field."""
    own = details.get("ctx", {}).get("error")
    if isinstance(own, ValueError):
        return str(own)
    kind: Any = setting.info.annotation
    if kind is bool:
        return "must be 1 or 0 (or true/false, yes/no, on/off)"
    if kind in (int, float):
        low = next(one.ge for one in setting.info.metadata if isinstance(one, Ge))
        high = next(one.le for one in setting.info.metadata if isinstance(one, Le))
        return f"must be a {'whole ' if kind is int else ''}number from {low} to {high}"
    return "must be one of " + ", ".join(get_args(kind))


def _source(setting: Setting, layers: Sequence[_Layer], problem: str | None) -> SettingSource:
    for layer in layers:
        if setting in layer.texts:
            name, text = layer.texts[setting]
            detail = layer.path or (name if layer.place == "environment" else "")
            place = f"{layer.place} ({detail})" if detail else layer.place
            return SettingSource(setting, text, place, problem, "" if name == setting.name else name)
    return SettingSource(setting, setting.default, "default", problem)


def _check_requirements(settings: Settings) -> None:
    provider = settings.embedding.provider
    if provider in ("openai", "gemini") and not settings.embedding.api_key:
        name = f"{provider.upper()}_API_KEY"
        own = " (a server of yours that has no keys takes any text)" if settings.embedding.base_url else ""
        raise InvalidSetting(
            "EMBEDDING_PROVIDER",
            provider,
            f"requires {name}, which is not set",
            hint=f"set {name}{own}, or EMBEDDING_PROVIDER=none to search without embeddings",
        )
    if is_bucket(settings.index.db_path) and not settings.replica.read_only:
        raise InvalidSetting(
            "SKILLHUB_DB_PATH",
            settings.index.db_path,
            "is a publication, which is served read-only, and SKILLHUB_READ_ONLY is not set",
            hint="set SKILLHUB_READ_ONLY=1 or pass --read-only to serve it; skillhub publish writes it",
        )
    if provider == "onnx":
        _check_model("EMBEDDING_PROVIDER", provider, "EMBEDDING_MODEL", settings.embedding.model, "sentence encoder")
    rerank = settings.search.rerank
    if rerank == "provider" and provider not in ("openai", "gemini"):
        raise InvalidSetting(
            "SEARCH_RERANK",
            "1",
            f"requires the provider openai or gemini, but EMBEDDING_PROVIDER is {provider}",
            hint="set EMBEDDING_PROVIDER to openai or gemini, or SEARCH_RERANK to 0 or local",
        )
    if rerank == "local":
        _check_model("SEARCH_RERANK", rerank, "SEARCH_RERANK_MODEL", settings.search.rerank_model, "cross-encoder")


def _check_model(setting: str, value: str, name: str, directory: str, kind: str) -> None:
    """Raise InvalidSetting unless the setting `name` holds the directory of a model, which `setting` requires."""
    if not directory:
        hint = f"set {name} to the directory of a {kind}, with tokenizer.json and model.onnx"
        raise InvalidSetting(setting, value, f"requires {name}, which is not set", hint=hint)
    try:
        local_path(directory)
    except ValueError as error:
        raise InvalidSetting(name, directory, str(error)) from error
