"""Where `.claude-plugin/marketplace.json` and `plugin.json` say that skills are. Only paths inside the source count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.sanitize import shortened
from skillhub_mcp.skills.files.paths import MAX_PATH_BYTES

MARKETPLACE = ".claude-plugin/marketplace.json"
PLUGIN = ".claude-plugin/plugin.json"
_DEFAULT = "skills"
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class NotFollowed:
    """Something that a source names as skills and that is not followed; `reason` ends a sentence about `what`."""

    what: str
    reason: str


@dataclass(slots=True)
class ManifestPlaces:
    """Directories of a source that are skills or hold skills; those of `plugins` may have a plugin.json."""

    skills: list[str] = field(default_factory=list)
    plugins: list[str] = field(default_factory=list)
    left_out: list[NotFollowed] = field(default_factory=list)

    def add(self, top: str, paths: Iterable[object], shown: str) -> None:
        """Add the directories at `paths` below `top`, which the plugin `shown` names."""
        for path in paths:
            if isinstance(path, str) and (place := inside(top, path)) is not None:
                self.skills.append(place)
            elif isinstance(path, str):
                self.left_out.append(NotFollowed(shown, _outside(path)))


def marketplace_places(text: str, top: str) -> ManifestPlaces:
    """Return what the marketplace.json of the directory `top` names (`""` is the source's own top)."""
    found = ManifestPlaces()
    values = _object(text)
    if isinstance(values, str):
        found.left_out.append(NotFollowed(MARKETPLACE, values))
        return found
    metadata = values.get("metadata")
    below = metadata.get("pluginRoot") if isinstance(metadata, Mapping) else None
    start = inside(top, below) if isinstance(below, str) else top
    plugins = values.get("plugins")
    if start is None or not isinstance(plugins, list):
        reason = "has no list of plugins" if start is not None else _outside(below)
        found.left_out.append(NotFollowed(MARKETPLACE, reason))
        return found
    for plugin in plugins:
        if not isinstance(plugin, Mapping):
            found.left_out.append(NotFollowed(MARKETPLACE, "has a plugin that is not an object"))
            continue
        name, source = plugin.get("name"), plugin.get("source", "./")
        shown = name if isinstance(name, str) else "a plugin without a name"
        place = inside(start, source) if isinstance(source, str) else None
        if place is None:
            reason = _outside(source) if isinstance(source, str) else "is elsewhere; add that source by itself"
            found.left_out.append(NotFollowed(shown, reason))
            continue
        found.plugins.append(place)
        found.add(place, [*_listed(plugin.get("skills")), _DEFAULT], shown)
    return found


def plugin_places(text: str, top: str) -> ManifestPlaces:
    """Return what the plugin.json of the directory `top` names, and the `skills` directory that each plugin has."""
    found = ManifestPlaces()
    values = _object(text)
    if isinstance(values, str):
        found.left_out.append(NotFollowed(f"{top}/{PLUGIN}".lstrip("/"), values))
    else:
        name = values.get("name")
        found.add(top, [*_listed(values.get("skills")), _DEFAULT], name if isinstance(name, str) else PLUGIN)
    return found


def inside(top: str, path: str) -> str | None:
    """Return the path that `path` is from `top`, without `.` and `..`; None if it leads out of the source."""
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


def _outside(path: object) -> str:
    return f"names {shortened(repr(path), _SHOWN_CHARACTERS)}, outside of the source"


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _object(text: str) -> Mapping[object, object] | str:
    try:
        values = read_json(text.removeprefix("\ufeff"))
    except BadJson as error:
        return f"cannot be read: {error}"
    return values if isinstance(values, Mapping) else "is not an object"
