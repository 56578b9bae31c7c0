"""Reading the settings from environment variables and options, and finding variables that are meant to be settings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.redaction import REDACTED, redacted
from skillhub_mcp.settings.parsing import is_bucket
from skillhub_mcp.settings.table import DEFAULT_PLACES, FIELDS, GROUPS, SETTINGS, Setting
from skillhub_mcp.settings.values import Settings

_PREFIX = "SKILLHUB_"
# The last is what a command of a skill gets, which may start a SkillHub of its own.
_KNOWN_NAMES = {name for setting in SETTINGS for name in (setting.name, *setting.aliases)} | {"SKILLHUB_RUN_ID"}


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Where a setting's value came from: an option of the command line, a variable, or the default.

    `raw` is its text. `problem` says why the text that was given is not used, where the default is used instead.
    `name` is what was set: of a variable that is an alias, that.
    """

    setting: Setting
    raw: str = field(repr=False)
    source: str
    problem: str | None = None
    alias: str = ""

    @property
    def name(self) -> str:
        return self.alias or self.setting.name


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
    unknown = (name for name in set(names) if name.upper().startswith(_PREFIX) and name not in _KNOWN_NAMES)
    return tuple(UnknownSetting(name, _near_setting(name.upper())) for name in sorted(unknown))


def _near_setting(name: str) -> str:
    plain = name.removeprefix(_PREFIX)
    exact = next((known for known in (name, plain) if known in _KNOWN_NAMES), "")
    if exact:
        return exact
    # Imported here, since few have such a name.
    from skillhub_mcp.skills.suggestions import near_names

    # All begin alike, so that is no likeness.
    by_rest = {setting.name.removeprefix(_PREFIX): setting.name for setting in SETTINGS}
    return next((by_rest[rest] for rest in near_names(plain, by_rest, limit=1)), "")


def read_settings(
    environment: Mapping[str, str], options: Mapping[str, str] | None = None
) -> tuple[Settings, tuple[SettingSource, ...]]:
    """Return the settings and where each value came from; `options` (by setting name) override the environment.

    An empty variable counts as unset. Raises InvalidSetting, with the setting, the value and what is allowed, for the
    first value that is invalid or that lacks another setting that it requires. An invalid value of a forgiving setting
    is reported as its `SettingSource.problem`.
    """
    groups: dict[str, dict[str, object]] = {}
    sources: list[SettingSource] = []
    for group in GROUPS:
        values = groups[group.name] = {}
        for setting in group.settings:
            values[setting.field], source = _read(setting, _source(setting, environment, options or {}))
            sources.append(source)
    skills, disclosure, search = groups["skills"], groups["disclosure"], groups["search"]
    by_name = {source.setting.name: source for source in sources}
    skills["dirs_given"] = by_name["SKILLS_DIR"].source != "default"
    skills["project_root_given"] = by_name["SKILLHUB_PROJECT_ROOT"].name
    skills["roots_given"] = bool(skills["roots"])
    skills["roots"] = skills["roots"] or (("hub",) if skills["dirs_given"] else DEFAULT_PLACES)
    disclosure["tools"] = disclosure["tools"] or ("core",)
    search["fields"] = search["fields"] or FIELDS
    made = {group.name: group.make(**groups[group.name]) for group in GROUPS}
    settings = Settings(**made)  # type: ignore[arg-type]  # GROUPS has one group per field; a test checks that
    _check_requirements(settings)
    return settings, tuple(sources)


def settings_of(options: Mapping[str, str]) -> Settings:
    """Return the settings of this process's environment, which `options` override; raises what `read_settings` does."""
    return read_settings(os.environ, options)[0]


def _read(setting: Setting, source: SettingSource) -> tuple[object, SettingSource]:
    try:
        return setting.read(source.raw), source
    except ValueError as error:
        shown = REDACTED if setting.secret else redacted(source.raw)
        if not setting.forgiving:
            raise InvalidSetting(source.name, shown, str(error)) from error
        problem = f"{source.name}={shown!r} {error}"
        return setting.read(setting.default), SettingSource(setting, setting.default, "default", problem)


def _source(setting: Setting, environment: Mapping[str, str], options: Mapping[str, str]) -> SettingSource:
    if setting.name in options:
        return SettingSource(setting, options[setting.name], "option")
    for name in (setting.name, *setting.aliases):
        if environment.get(name):
            alias = "" if name == setting.name else name
            return SettingSource(setting, environment[name], f"environment ({name})", alias=alias)
    return SettingSource(setting, setting.default, "default")


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
            "DB_PATH",
            settings.index.db_path,
            "is a publication, which is served read-only, and SKILLHUB_READ_ONLY is not set",
            hint="set SKILLHUB_READ_ONLY=1 or pass --read-only to serve it; skillhub publish writes it",
        )
    if provider == "onnx" and not settings.embedding.model_dir:
        raise InvalidSetting(
            "EMBEDDING_PROVIDER",
            provider,
            "requires EMBEDDING_MODEL_DIR, which is not set",
            hint="set EMBEDDING_MODEL_DIR to the directory of a sentence encoder, with tokenizer.json and model.onnx",
        )
    rerank = settings.search.rerank
    if rerank == "provider" and provider not in ("openai", "gemini"):
        raise InvalidSetting(
            "SEARCH_RERANK",
            "1",
            f"requires the provider openai or gemini, but EMBEDDING_PROVIDER is {provider}",
            hint="set EMBEDDING_PROVIDER to openai or gemini, or SEARCH_RERANK to 0 or local",
        )
    if rerank == "local" and not settings.search.rerank_model_dir:
        raise InvalidSetting(
            "SEARCH_RERANK",
            rerank,
            "requires SEARCH_RERANK_MODEL_DIR, which is not set",
            hint="set SEARCH_RERANK_MODEL_DIR to the directory of a cross-encoder, with tokenizer.json and model.onnx",
        )
