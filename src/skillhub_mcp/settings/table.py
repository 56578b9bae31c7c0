"""The table of settings, for the documentation, the command line and reading: what `values` declares, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from pydantic.fields import FieldInfo

from skillhub_mcp.settings.values import Group, Settings


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: the variable `name`, and the `field` of the group `group` that holds the value.

    For the rest see `values.setting`.
    """

    name: str
    group: str
    field: str
    default: str
    meaning: str
    aliases: tuple[str, ...]
    secret: bool
    forgiving: bool
    project: bool
    info: FieldInfo = dataclass_field(compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that sets it, the first of which wins."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """The field `name` of `Settings`, a title for people, and the settings."""

    name: str
    title: str
    settings: tuple[Setting, ...]


def _settings(group: str, model: type[Group]) -> Iterator[Setting]:
    for field, info in model.model_fields.items():
        if info.title is not None:
            rest: Any = info.json_schema_extra
            yield Setting(info.title, group, field, info.default, info.description or "", **rest, info=info)


def _models() -> Iterator[tuple[str, Any]]:
    return ((name, info.annotation) for name, info in Settings.model_fields.items())


def _groups() -> Iterator[SettingGroup]:
    for name, model in _models():
        variables = tuple(one for one in _settings(name, model) if not one.name.startswith("--"))
        yield SettingGroup(name, model.title, variables)


GROUPS = tuple(_groups())
SETTINGS = tuple(setting for group in GROUPS for setting in group.settings)
OPTIONS = tuple(one for name, model in _models() for one in _settings(name, model) if one.name.startswith("--"))
BY_NAME = {name: setting for setting in SETTINGS for name in setting.names}
