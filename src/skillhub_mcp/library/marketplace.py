"""What a manifest of plugins says about where skills are: `.claude-plugin/marketplace.json` and `plugin.json`. Pure.

Of both, only paths inside the source are followed: a plugin of another repository, or of a package registry, is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.sanitize import shortened
from skillhub_mcp.skills.files.paths import MAX_PATH_BYTES

MARKETPLACE = ".claude-plugin/marketplace.json"
PLUGIN = ".claude-plugin/plugin.json"
_DEFAULT = "skills"
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class NotFollowed:
    """Something that a source names as skills, and that is not looked at; `reason` ends a sentence about `what`."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class ManifestPlaces:
    """Directories of a source, with `/`, that are skills or hold skills; those of `plugins` may have a plugin.json."""

    skills: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    left_out: tuple[NotFollowed, ...] = ()


def marketplace_places(text: str, top: str) -> ManifestPlaces:
    """Return what the marketplace.json of the directory `top` names (`""` is the source's own top).

    A marketplace that cannot be read names nothing, and is told.
    """
    values = _object(text)
    if isinstance(values, str):
        return ManifestPlaces(left_out=(NotFollowed(MARKETPLACE, values),))
    metadata = values.get("metadata")
    below = metadata.get("pluginRoot") if isinstance(metadata, Mapping) else None
    start = top if not isinstance(below, str) else inside(top, below)
    plugins = values.get("plugins")
    if start is None or not isinstance(plugins, list):
        reason = "has no list of plugins" if start is not None else _outside(below)
        return ManifestPlaces(left_out=(NotFollowed(MARKETPLACE, reason),))
    found = [_plugin(plugin, start) for plugin in plugins]
    return ManifestPlaces(
        tuple(path for one in found for path in one.skills),
        tuple(path for one in found for path in one.plugins),
        tuple(left for one in found for left in one.left_out),
    )


def plugin_places(text: str, top: str) -> ManifestPlaces:
    """Return what the plugin.json of the directory `top` names, besides the `skills` directory that each plugin has."""
    values = _object(text)
    if isinstance(values, str):
        return ManifestPlaces(left_out=(NotFollowed(f"{top}/{PLUGIN}".lstrip("/"), values),))
    name = values.get("name")
    return _skills(values, top, name if isinstance(name, str) else PLUGIN)


def inside(top: str, path: str) -> str | None:
    """Return the path that `path` is from `top`, from the source's own top and without `.` and `..`.

    None for one that leads out of the source, or is longer than that of any file that could be had.
    """
    if len(path) > MAX_PATH_BYTES or path.startswith(("/", "~")) or "\\" in path or ":" in path:
        return None
    names: list[str] = top.split("/") if top else []
    for name in path.split("/"):
        if name == "..":
            if not names:
                return None
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return "/".join(names)


def _plugin(plugin: object, start: str) -> ManifestPlaces:
    if not isinstance(plugin, Mapping):
        return ManifestPlaces(left_out=(NotFollowed(MARKETPLACE, "has a plugin that is not an object"),))
    name = plugin.get("name")
    shown = name if isinstance(name, str) else "a plugin without a name"
    source = plugin.get("source", "./")
    if not isinstance(source, str):
        return ManifestPlaces(left_out=(NotFollowed(shown, "is elsewhere; add that source by itself"),))
    top = inside(start, source)
    if top is None:
        return ManifestPlaces(left_out=(NotFollowed(shown, _outside(source)),))
    found = _skills(plugin, top, shown)
    return ManifestPlaces(found.skills, (top,), found.left_out)


def _skills(values: Mapping[object, object], top: str, shown: str) -> ManifestPlaces:
    skills: list[str] = []
    left_out: list[NotFollowed] = []
    for path in _texts(values.get("skills")):
        place = inside(top, path)
        if place is None:
            left_out.append(NotFollowed(shown, _outside(path)))
        else:
            skills.append(place)
    skills.append(f"{top}/{_DEFAULT}".lstrip("/"))
    return ManifestPlaces(tuple(skills), left_out=tuple(left_out))


def _outside(path: object) -> str:
    return f"names {shortened(repr(path), _SHOWN_CHARACTERS)}, outside of the source"


def _texts(value: object) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield item


def _object(text: str) -> Mapping[object, object] | str:
    try:
        values = read_json(text.removeprefix("\ufeff"))
    except BadJson as error:
        return f"cannot be read: {error}"
    return values if isinstance(values, Mapping) else "is not an object"
