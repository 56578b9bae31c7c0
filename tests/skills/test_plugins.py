"""Client plugins: which are served, and why others are not."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from skillhub_mcp.project import Project
from skillhub_mcp.skills.plugins import Plugin, installed_plugins


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "work"
    root.mkdir()
    return Project(str(root), str(root), (str(root),))


def skill(plugin: Path, name: str = "greet", below: str = "skills") -> Path:
    directory = plugin / below / name
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Greets people.\n---\nSay hello.\n")
    return plugin


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def plugins(home: Path, project: Project, environment: Mapping[str, str] | None = None) -> dict[str, Plugin]:
    return {one.name: one for one in installed_plugins(project, home=str(home), environment=environment or {})}


def claude(home: Path, *, enabled: object = None, **records: list[dict[str, str]]) -> None:
    write(home / ".claude/plugins/installed_plugins.json", {"version": 2, "plugins": records})
    write(home / ".claude/settings.json", {"enabledPlugins": enabled or {}})


def record(path: Path, project: str = "") -> list[dict[str, str]]:
    scope = {"scope": "project", "projectPath": project} if project else {"scope": "user"}
    return [{"installPath": str(path), **scope}]


class TestClaudeCode:
    def test_only_the_installed_version_of_a_plugin_is_served(self, home: Path, project: Project) -> None:
        cache = home / ".claude/plugins/cache/market/demo"
        skill(cache / "1.0.0")
        new = skill(cache / "2.0.0")
        claude(home, **{"demo@market": record(new)})
        assert plugins(home, project) == {"demo": Plugin("Claude Code", "demo", (str(new / "skills"),))}

    def test_a_disabled_plugin_is_named_with_the_reason(self, home: Path, project: Project) -> None:
        path = skill(home / ".claude/plugins/cache/market/demo/1")
        claude(home, enabled={"demo@market": False}, **{"demo@market": record(path)})
        assert plugins(home, project)["demo"].off == "Claude Code has the plugin demo switched off"

    def test_project_settings_override_user_settings(self, home: Path, project: Project) -> None:
        path = skill(home / ".claude/plugins/cache/market/demo/1")
        claude(home, enabled={"demo@market": True}, **{"demo@market": record(path)})
        write(Path(project.root, ".claude/settings.json"), {"enabledPlugins": {"demo@market": False}})
        assert plugins(home, project)["demo"].off
        write(Path(project.root, ".claude/settings.local.json"), {"enabledPlugins": {"demo@market": True}})
        assert not plugins(home, project)["demo"].off

    def test_a_project_cannot_switch_on_what_the_user_switched_off(self, home: Path, project: Project) -> None:
        path = skill(home / ".claude/plugins/cache/market/demo/1")
        claude(home, enabled={"demo@market": False}, **{"demo@market": record(path)})
        for name in ("settings.json", "settings.local.json"):
            write(Path(project.root, ".claude", name), {"enabledPlugins": {"demo@market": True}})
        assert plugins(home, project)["demo"].off == "Claude Code has the plugin demo switched off"

    def test_a_manifest_can_keep_a_plugin_off_until_enabled(self, home: Path, project: Project) -> None:
        path = skill(home / ".claude/plugins/cache/market/demo/1")
        write(path / ".claude-plugin/plugin.json", {"name": "demo", "defaultEnabled": False})
        claude(home, **{"demo@market": record(path)})
        assert plugins(home, project)["demo"].off
        claude(home, enabled={"demo@market": True}, **{"demo@market": record(path)})
        assert not plugins(home, project)["demo"].off

    def test_a_plugin_of_another_project_is_not_served_here(self, home: Path, project: Project, tmp_path: Path) -> None:
        path = skill(home / ".claude/plugins/cache/market/demo/1")
        claude(home, **{"demo@market": record(path, str(tmp_path / "other"))})
        assert plugins(home, project)["demo"].off == f"Claude Code has the plugin demo for {tmp_path}/other only"
        claude(home, **{"demo@market": [*record(path, str(tmp_path / "other")), *record(path, project.root)]})
        assert not plugins(home, project)["demo"].off

    def test_extra_directories_and_a_top_level_skill_count(self, home: Path, project: Project) -> None:
        path = skill(skill(home / ".claude/plugins/cache/market/demo/1"), "extra", below="more")
        (path / "SKILL.md").write_text("---\nname: demo\ndescription: A demo.\n---\n")
        write(path / ".claude-plugin/plugin.json", {"skills": ["./more", "../../../../outside", 7]})
        (home / ".claude/plugins/outside").mkdir()
        claude(home, **{"demo@market": record(path)})
        assert plugins(home, project)["demo"].directories == (str(path / "skills"), str(path / "more"), str(path))

    def test_variables_move_the_settings_and_the_plugins(self, home: Path, project: Project, tmp_path: Path) -> None:
        path = skill(tmp_path / "kept/cache/market/demo/1")
        seeded = skill(tmp_path / "seed/cache/market/given/3")
        write(tmp_path / "kept/installed_plugins.json", {"version": 2, "plugins": {"demo@market": record(path)}})
        write(tmp_path / "config/settings.json", {"enabledPlugins": {"given@market": True}})
        moved = {
            "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
            "CLAUDE_CODE_PLUGIN_CACHE_DIR": str(tmp_path / "kept"),
            "CLAUDE_CODE_PLUGIN_SEED_DIR": os.pathsep.join([str(tmp_path / "none"), str(tmp_path / "seed")]),
        }
        found = plugins(home, project, moved)
        assert {name: one.directories for name, one in found.items()} == {
            "demo": (str(path / "skills"),),
            "given": (str(seeded / "skills"),),
        }

    def test_a_project_leads_no_further_than_a_seed(self, home: Path, project: Project, tmp_path: Path) -> None:
        skill(Path(project.root, "brought", "1"))
        (tmp_path / "seed" / "cache").mkdir(parents=True)
        key = f"brought@../../{Path(project.root).name}"
        write(Path(project.root, ".claude/settings.json"), {"enabledPlugins": {key: True}})
        assert plugins(home, project, {"CLAUDE_CODE_PLUGIN_SEED_DIR": str(tmp_path / "seed")}) == {}

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"plugins": []}', '{"plugins": {"a@b": 7, "c@d": [7]}}'])
    def test_an_unreadable_record_counts_as_missing(self, home: Path, project: Project, text: str) -> None:
        write(home / ".claude/plugins/installed_plugins.json", text)
        assert plugins(home, project) == {}


def test_codex_serves_the_plugins_enabled_in_its_settings(home: Path, project: Project) -> None:
    for name in ("on", "off", "unnamed"):
        skill(home / f".codex/plugins/cache/market/{name}/1")
    write(
        home / ".codex/config.toml",
        '[plugins."on@market"]\nenabled = true\n[plugins."off@market"]\nenabled = false\n',
    )
    assert {name: one.off for name, one in plugins(home, project).items()} == {
        "on": "",
        "off": "Codex does not have the plugin off on",
        "unnamed": "Codex does not have the plugin unnamed on",
    }


def test_cursor_serves_only_local_plugins(home: Path, project: Project) -> None:
    skill(home / ".cursor/plugins/local/mine")
    skill(home / ".cursor/plugins/cache/market/theirs/0a1b2c")
    found = plugins(home, project)
    assert not found["mine"].off
    assert found["theirs"].unknown
    assert found["theirs"].off == "Cursor does not record whether it has the plugin theirs on"


def test_copilot_serves_the_plugins_enabled_in_its_record(home: Path, project: Project) -> None:
    installed = home / ".copilot/installed-plugins"
    paths = {name: skill(installed / f"market/{name}") for name in ("on", "off", "switched", "unrecorded")}
    entries = [
        {"name": name, "marketplace": "market", "enabled": name != "off", "cache_path": str(paths[name])}
        for name in ("on", "off", "switched")
    ]
    write(home / ".copilot/config.json", "// Managed automatically.\n" + json.dumps({"installedPlugins": entries}))
    write(home / ".copilot/settings.json", {"enabledPlugins": {"switched@market": False}})
    assert {name: (one.off, one.unknown) for name, one in plugins(home, project).items()} == {
        "on": ("", False),
        "off": ("Copilot has the plugin off switched off", False),
        "switched": ("Copilot has the plugin switched switched off", False),
        "unrecorded": ("Copilot does not record whether it has the plugin unrecorded on", True),
    }


def test_gemini_follows_the_last_rule_that_matches_the_project(home: Path, project: Project) -> None:
    extensions = home / ".gemini/extensions"
    for name in ("plain", "off", "here"):
        skill(extensions / name)
    rules = {
        "off": {"overrides": [f"{project.root}/*", "!/*"]},
        "here": {"overrides": ["!/*", f"{project.root}/*"]},
    }
    write(extensions / "extension-enablement.json", rules)
    assert {name: one.off for name, one in plugins(home, project).items()} == {
        "plain": "",
        "off": "Gemini CLI has the extension off switched off",
        "here": "",
    }
