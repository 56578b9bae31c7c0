"""The plugins of clients, where each keeps its skills, and whether the client has it switched on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp._util.safe_toml import BadToml, read_toml
from skillhub_mcp.project import Project
from skillhub_mcp.skills.roots import is_at_or_below

_MOST_BYTES = 4 * 1024 * 1024
_CLAUDE_MANAGED = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin of a client: name, skill directories, and why it is off; `unknown` if the client has no record."""

    client: str
    name: str
    directories: tuple[str, ...]
    off: str = ""
    unknown: bool = False


def installed_plugins(project: Project, *, home: str, environment: Mapping[str, str]) -> tuple[Plugin, ...]:
    """Return the plugins that have a directory of skills, in the order of clients and names."""

    def base(variable: str, name: str) -> Path:
        moved = environment.get(variable, "").strip()
        return Path(moved) if os.path.isabs(moved) else Path(home, name)

    found = (
        *_of_claude(project, base("CLAUDE_CONFIG_DIR", ".claude"), environment),
        *_of_codex(base("CODEX_HOME", ".codex")),
        *_of_cursor(Path(home, ".cursor", "plugins")),
        *_of_copilot(base("COPILOT_HOME", ".copilot")),
        *_of_gemini(Path(home, ".gemini", "extensions"), project),
    )
    return tuple(plugin for plugin in found if plugin.directories)


def _of_claude(project: Project, config: Path, environment: Mapping[str, str]) -> Iterator[Plugin]:
    moved = environment.get("CLAUDE_CODE_PLUGIN_CACHE_DIR", "").strip()
    kept = Path(moved) if os.path.isabs(moved) else config / "plugins"
    own = _table(_json(config / "settings.json"), "enabledPlugins")
    enabled = dict(own)
    brought = [Path(project.root, ".claude", name) for name in ("settings.json", "settings.local.json")]
    # A later file decides: the organization's word stands above all.
    for file in brought if project.exists else ():
        enabled |= _table(_json(file), "enabledPlugins")
    # A cloned project must not switch on what the person has switched off.
    enabled |= {key: on for key, on in own.items() if not on}
    for file in map(Path, _CLAUDE_MANAGED):
        enabled |= _table(_json(file), "enabledPlugins")
    records = _table(_json(kept / "installed_plugins.json"), "plugins")
    seeds = [Path(one) for one in environment.get("CLAUDE_CODE_PLUGIN_SEED_DIR", "").split(os.pathsep) if one]
    for key in sorted({*records, *enabled}):
        name, _, market = key.partition("@")
        records_of = records.get(key)
        here = [one for one in records_of if isinstance(one, dict)] if isinstance(records_of, list) else []
        mine = [one for one in here if _is_for(one, project)]
        recorded = (Path(str(one.get("installPath"))) for one in mine or here)
        paths = [path for path in recorded if path.is_absolute()]
        paths = paths or [path for seed in seeds if (path := _newest(seed / "cache" / market / name)) is not None]
        if not paths:
            continue
        manifest = ".claude-plugin/plugin.json"
        by_default = _json(paths[0] / manifest).get("defaultEnabled", True)
        off = ""
        if here and not mine:
            off = f"Claude Code has the plugin {name} for {here[0].get('projectPath')} only"
        elif not enabled.get(key, by_default):
            off = f"Claude Code has the plugin {name} switched off"
        yield Plugin("Claude Code", name, _skill_directories(paths[0], manifest), off)


def _is_for(record: Mapping[str, Any], project: Project) -> bool:
    path = record.get("projectPath")
    return not isinstance(path, str) or (project.exists and os.path.realpath(path) in (*project.chain, project.root))


def _of_codex(config: Path) -> Iterator[Plugin]:
    switches = _table(_toml(config / "config.toml"), "plugins")
    for market, name, path in _cached(config / "plugins" / "cache"):
        switch = switches.get(f"{name}@{market}")
        on = isinstance(switch, dict) and switch.get("enabled", True)
        off = "" if on else f"Codex does not have the plugin {name} on"
        yield Plugin("Codex", name, _skill_directories(path, ".codex-plugin/plugin.json"), off)


def _of_cursor(plugins: Path) -> Iterator[Plugin]:
    manifest = ".cursor-plugin/plugin.json"
    for path in _below(plugins / "local"):
        yield Plugin("Cursor", path.name, _skill_directories(path, manifest))
    for _, name, path in _cached(plugins / "cache"):
        off = _unrecorded("Cursor", name)
        yield Plugin("Cursor", name, _skill_directories(path, manifest), off, unknown=True)


def _of_copilot(config: Path) -> Iterator[Plugin]:
    installed = _json(config / "config.json").get("installedPlugins")
    switches = _table(_json(config / "settings.json"), "enabledPlugins")
    recorded = {}
    for one in installed if isinstance(installed, list) else ():
        if isinstance(one, dict) and isinstance(path := one.get("cache_path"), str):
            key = f"{one.get('name')}@{one.get('marketplace')}"
            recorded[os.path.realpath(path)] = bool(switches.get(key, one.get("enabled", True)))
    for market in _below(config / "installed-plugins"):
        for path in _below(market):
            on = recorded.get(os.path.realpath(path))
            name = path.name
            off = _unrecorded("Copilot", name) if on is None else f"Copilot has the plugin {name} switched off"
            directories = _skill_directories(path, "plugin.json")
            yield Plugin("GitHub Copilot", name, directories, "" if on else off, unknown=on is None)


def _of_gemini(extensions: Path, project: Project) -> Iterator[Plugin]:
    rules = _json(extensions / "extension-enablement.json")
    here = os.path.join(project.cwd, "")
    for path in _below(extensions):
        on = True
        overrides = _table(rules, path.name).get("overrides")
        # The last rule that fits decides: `!` switches off, and a final `*` includes what lies below.
        for rule in overrides if isinstance(overrides, list) else ():
            wanted = str(rule).removeprefix("!")
            if fnmatch(here, wanted) or fnmatch(here, os.path.join(wanted, "")):
                on = not str(rule).startswith("!")
        off = "" if on else f"Gemini CLI has the extension {path.name} switched off"
        yield Plugin("Gemini CLI", path.name, _skill_directories(path), off)


def _unrecorded(client: str, plugin: str) -> str:
    return f"{client} does not record whether it has the plugin {plugin} on"


def _skill_directories(plugin: Path, manifest: str = "") -> tuple[str, ...]:
    """Return the directories of skills: `skills`, what the manifest adds, and the plugin's own if it is a skill."""
    added = _json(plugin / manifest).get("skills")
    names = [added] if isinstance(added, str) else added if isinstance(added, list) else []
    places = [os.path.join(plugin, "skills"), *(os.path.join(plugin, name) for name in names if isinstance(name, str))]
    if os.path.isfile(plugin / "SKILL.md"):
        places.append(str(plugin))
    inside = [path for one in places if is_at_or_below(path := os.path.normpath(one), str(plugin))]
    return tuple(path for path in dict.fromkeys(inside) if os.path.isdir(path))


def _cached(cache: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield the marketplace, the name and the newest version of each plugin below `cache`."""
    for market in _below(cache):
        for plugin in _below(market):
            newest = _newest(plugin)
            if newest is not None:
                yield market.name, plugin.name, newest


def _newest(plugin: Path) -> Path | None:
    return max(_below(plugin), key=lambda version: version.stat().st_mtime_ns, default=None)


def _below(directory: Path) -> Sequence[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError:
        return ()


def _table(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def _json(path: Path) -> dict[str, Any]:
    # Copilot writes lines of comment above the object.
    lines = (line for line in _text(path).splitlines() if not line.lstrip().startswith("//"))
    try:
        value = read_json("\n".join(lines) or "{}")
    except BadJson:
        return {}
    return value if isinstance(value, dict) else {}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return read_toml(_text(path), most_characters=_MOST_BYTES)
    except BadToml:
        return {}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig") if path.stat().st_size <= _MOST_BYTES else ""
    except (OSError, UnicodeDecodeError):
        return ""
