"""The roots that the settings choose, and how a server follows their changes."""

from __future__ import annotations

import json
import os
from pathlib import Path

from skillhub_mcp.chosen_roots import RootsFollower, project_trust, roots_of
from skillhub_mcp.settings import settings_of


def test_a_server_follows_a_plugin_that_its_client_updates_and_switches_off() -> None:
    plugins = Path(os.environ["HOME"], ".claude", "plugins")

    def install(version: str) -> str:
        path = plugins / "cache" / "market" / "demo" / version
        (path / "skills").mkdir(parents=True)
        record = {"version": 2, "plugins": {"demo@market": [{"scope": "user", "installPath": str(path)}]}}
        (plugins / "installed_plugins.json").write_text(json.dumps(record))
        return str(path / "skills")

    first = install("1.0")
    settings = settings_of({"SKILLHUB_ROOTS": "plugins"})
    roots = roots_of(settings)
    assert [root.path for root in roots] == [first]
    follower = RootsFollower(settings, roots, project_trust(settings))
    assert follower() is None
    second = install("2.0")
    assert [root.path for root in follower() or ()] == [second]
    assert follower() is None
    (plugins.parent / "settings.json").write_text(json.dumps({"enabledPlugins": {"demo@market": False}}))
    assert follower() == ()
