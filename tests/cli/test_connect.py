"""`skillhub connect` and `skillhub disconnect`."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.cli.conftest import Skillhub, Terminal
from tests.clients.files import PLAIN

from skillhub_mcp.cli.commands import connect
from skillhub_mcp.clients.probe import Probed
from skillhub_mcp.clients.secrets import looks_secret
from skillhub_mcp.diagnosis.installed_command import is_passing, own_command


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home with nothing in it, no client's program on PATH, and no variable that names another place."""
    directory = tmp_path / "home"
    directory.mkdir()
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("PATH", os.defpath)
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME", "CRUSH_GLOBAL_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return directory


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The servers that were started to see whether they answer: here they all do, and none is."""
    servers: list[Any] = []

    def answer(server: object, **_: object) -> Probed:
        servers.append(server)
        return Probed("skillhub", "1.2.3", ("search_skills", "load_skill"))

    monkeypatch.setattr(connect, "probe", answer)
    return servers


def put(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return text


def servers_of(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))["mcpServers"]


def test_a_client_is_connected_once_and_its_file_restored(skillhub: Skillhub, home: Path, started: list[Any]) -> None:
    path = home / ".cursor" / "mcp.json"
    before = put(path, PLAIN)
    skill = put(home / ".claude" / "skills" / "a" / "SKILL.md", "---\nname: a\ndescription: d\n---\n")
    done = skillhub("connect", "cursor", "--yes")
    assert done.code == 0, done.err
    # --yes is about the clients' files: what is found is listed.
    assert done.err.endswith(
        "\n1 more skill is here: ~/.claude/skills (1)\n  → `skillhub roots add --all` serves them\n"
    )
    (home / ".claude" / "skills" / "a" / "SKILL.md").unlink()
    put(home / ".agents" / "skills" / "a" / "SKILL.md", skill)
    assert done.out.splitlines() == [
        "Cursor: connected (~/.cursor/mcp.json). Next: enable it in Settings, MCP",
        "  It starts: SkillHub 1.2.3 answers with 2 tools.",
    ]
    assert '+    "skillhub": {' in done.err
    assert servers_of(path)["skillhub"] == {"command": own_command(), "args": []}
    assert os.path.isabs(servers_of(path)["skillhub"]["command"])
    written = path.read_bytes()
    again = skillhub("connect", "cursor")
    assert (again.code, again.err) == (0, "")
    assert "Cursor: connected already (~/.cursor/mcp.json)" in again.out
    assert path.read_bytes() == written
    gone = skillhub("disconnect", "cursor", "--yes")
    assert (gone.code, gone.out) == (0, "Cursor: disconnected (~/.cursor/mcp.json)\n")
    assert path.read_text() == before
    last = skillhub("disconnect", "cursor")
    assert (last.code, last.out) == (0, "Cursor: not connected (~/.cursor/mcp.json)\n")


def test_a_connection_of_another_name_is_reported_with_its_command(
    skillhub: Skillhub, home: Path, started: list[Any]
) -> None:
    skillhub("connect", "cursor", "--yes", "--name", "hub")
    ending = "`skillhub disconnect cursor --name hub`"
    expected = ["Cursor: not connected (~/.cursor/mcp.json)", f"  hint: {ending} disconnects it"]
    for which in ("cursor", "--all"):
        assert skillhub("disconnect", which, "--yes").out.splitlines() == expected


def test_nothing_is_changed_without_a_terminal(skillhub: Skillhub, home: Path, started: list[Any]) -> None:
    done = skillhub("connect", "cursor")
    assert done.code == 2
    assert "--yes is required without a terminal; nothing was changed" in done.err
    assert list(home.iterdir()) == []
    assert started == []


@pytest.mark.parametrize(("typed", "code"), [("\n", 0), ("yes\n", 0), ("n\n", 1), ("", 1)])
def test_the_answer_decides_about_the_changes(
    typed: str, code: int, skillhub: Skillhub, home: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = skillhub("connect", "cursor", "windsurf")
    assert done.code == code
    assert "Change these 2? [Y/n]" in done.err
    assert (home / ".cursor" / "mcp.json").exists() is (code == 0)
    assert bool(started) is (code == 0)


@pytest.mark.parametrize(("typed", "serves"), [("y\n\n", True), ("y\nn\n", False)])
def test_found_skills_are_served_after_a_yes(
    typed: str, serves: bool, skillhub: Skillhub, home: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home / ".codex" / "skills" / "a" / "SKILL.md", "---\nname: a\ndescription: d\n---\n")
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = skillhub("connect", "cursor")
    assert done.code == 0
    assert "1 more skill is here: ~/.codex/skills (1)\nServe them? [Y/n]" in done.err
    assert ("They are served from now on" in done.out) is serves
    assert (home / ".skillhub" / "roots.json").exists() is serves


def test_an_option_serves_found_skills_without_a_question(skillhub: Skillhub, home: Path, started: list[Any]) -> None:
    put(home / ".codex" / "skills" / "a" / "SKILL.md", "---\nname: a\ndescription: d\n---\n")
    declined = skillhub("connect", "cursor", "--yes", "--no-serve-found")
    assert (declined.code, "roots add" in declined.err) == (0, False)
    done = skillhub("connect", "cursor", "--yes", "--serve-found", "--json").json
    assert [one["skills"] for one in done["found"]] == [1]
    assert done["serving_found"] is True
    assert skillhub("connect", "cursor", "--yes", "--json").json["found"] == []


def test_a_dry_run_shows_the_difference_and_changes_nothing(skillhub: Skillhub, home: Path, started: list[Any]) -> None:
    path = home / ".cursor" / "mcp.json"
    put(path, PLAIN.replace("\n", "\r\n"))
    before = path.read_bytes()
    done = skillhub("connect", "cursor", "--dry-run")
    assert done.code == 0
    assert "--- ~/.cursor/mcp.json\n+++ ~/.cursor/mcp.json\n" in done.out
    assert '\n+    "skillhub": {\n' in done.out
    assert path.read_bytes() == before
    assert started == []
    assert not (home / ".skillhub").exists()


def test_a_difference_shows_no_secret_of_another_server(skillhub: Skillhub, home: Path) -> None:
    entry = {"env": {"GITHUB_TOKEN": "abc-def", "X": "sk-proj-0123456789abcdef", "MODE": "fast"}}
    put(home / ".cursor" / "mcp.json", json.dumps({"mcpServers": {"github": entry}}))
    done = skillhub("connect", "cursor", "--dry-run")
    assert '"GITHUB_TOKEN": "***", "X": "***", "MODE": "fast"' in done.out
    assert "abc-def" not in done.out + done.err
    put(home / ".codex" / "config.toml", '[mcp_servers.github.env]\nGITHUB_TOKEN = "abc-def"\n')
    assert "abc-def" not in skillhub("connect", "codex", "--dry-run").out
    arguments = ("--http", "http://127.0.0.1:8000/mcp", "--token-variable", "HUB_TOKEN")
    assert '"Authorization": "Bearer ${env:HUB_TOKEN}"' in skillhub("connect", "cursor", "--dry-run", *arguments).out


def test_entries_are_printed_without_a_choice_of_skills(skillhub: Skillhub, home: Path) -> None:
    names = ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "zed", "goose", "continue", "other"]
    done = skillhub("connect", *names, "--print")
    assert done.code == 0, done.err
    assert "SKILLS_DIR" not in done.out
    assert done.out.count(str(own_command())) == len(names)
    assert "Zed: ~/.config/zed/settings.json" in done.err
    assert "Goose: ~/.config/goose/config.yaml" in done.err
    alone = skillhub("connect", "cursor", "--print")
    assert list(json.loads(alone.out)["mcpServers"]) == ["skillhub"]
    (entry,) = skillhub("connect", "cursor", "--print", "--json").json["clients"]
    assert entry == {"client": "cursor", "where": "~/.cursor/mcp.json", "text": alone.out}
    # An entry that was pasted by hand is removed by hand.
    by_hand = skillhub("disconnect", "goose", "--yes")
    assert (by_hand.code, "config.yaml" in by_hand.out, "by hand" in by_hand.out) == (1, True, True)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("given", ["OPENAI_API_KEY=abc", "PROXY=https://ada:secret@proxy.example/"])
def test_a_secret_is_never_written(given: str, skillhub: Skillhub, home: Path) -> None:
    done = skillhub("connect", "cursor", "--yes", "--env", given)
    assert done.code == 2
    assert "no secret is written to a file" in done.err
    assert f"--env {given.partition('=')[0]}`" in done.err
    assert list(home.iterdir()) == []


def test_what_looks_like_a_secret() -> None:
    harmless = "LOG_LEVEL=ERROR SKILLHUB_CWD=/home/ada/keys OPENAI_API_KEY= MAX_TOKENS_PER_REPLY=5 KEYBOARD=de"
    secret = (
        "EMBEDDING_BASE_URL=https://api.example/v1?api_key=abc EMBEDDING_BASE_URL=https://abc@api.example/v1 "
        "OPENAI_API_KEY=x X-API-Key=x MY_SECRET=x X=sk-proj-0123456789abcdef X=eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.sig"
    )
    given = [one.partition("=") for one in f"{harmless} {secret}".split()]
    assert " ".join(f"{name}={value}" for name, _, value in given if looks_secret(name, value)) == secret


def test_a_secret_in_the_address_of_a_server_is_not_shown(skillhub: Skillhub, home: Path) -> None:
    connected = skillhub("connect", "cursor", "--http", "http://127.0.0.1:9/mcp?sig=s3cret", "--yes")
    assert "?sig=s3cret" in (home / ".cursor" / "mcp.json").read_text()
    kept, doctor = skillhub("connect", "cursor", "--dry-run"), skillhub("doctor")
    assert "it uses the server at http://127.0.0.1:9/mcp?***" in kept.out + kept.err
    assert "nothing answers at http://127.0.0.1:9/mcp?***" in doctor.out + doctor.err
    outputs = [
        connected,
        kept,
        doctor,
        skillhub("connect", "cursor", "--stdio", "--dry-run"),
        skillhub("doctor", "--json"),
    ]
    assert all("s3cret" not in done.out + done.err for done in outputs)


def test_settings_and_named_variables_reach_the_entry(skillhub: Skillhub, home: Path, started: list[Any]) -> None:
    done = skillhub("connect", "cursor", "--yes", "--env", "LOG_LEVEL=ERROR", "--env", "OPENAI_API_KEY")
    assert done.code == 0, done.err
    entry = servers_of(home / ".cursor" / "mcp.json")["skillhub"]
    assert entry["env"] == {"LOG_LEVEL": "ERROR", "OPENAI_API_KEY": "${env:OPENAI_API_KEY}"}
    # Without --env what was chosen stays.
    again = skillhub("connect", "cursor", "--yes")
    assert "connected already" in again.out
    refused = skillhub("connect", "claude-desktop", "--yes", "--env", "OPENAI_API_KEY")
    assert refused.code == 2
    assert "OPENAI_API_KEY cannot be named in a file of Claude Desktop" in refused.err


@pytest.mark.parametrize("option", ["--skills-dir=/x", "--roots=hub", "--env=SKILLS_DIR=/x"])
def test_skills_are_not_chosen_in_a_clients_file(option: str, skillhub: Skillhub, home: Path) -> None:
    done = skillhub("connect", "cursor", "--yes", option)
    assert done.code == 2
    assert "`skillhub roots add DIR`" in done.err


@pytest.mark.parametrize("which", ["cursor", "--all"])
def test_a_connection_to_a_running_server_stays_without_stdio(
    skillhub: Skillhub, home: Path, started: list[Any], which: str
) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    assert skillhub("connect", "cursor", "--yes", "--http", "https://hub.example/mcp").code == 0
    before = path.read_bytes()
    done = skillhub("connect", which, "--yes")
    assert (done.code, path.read_bytes()) == (0, before), done.err
    assert "Cursor: connected already" in done.out
    assert "hint: it uses the server at https://hub.example/mcp; `--stdio` makes it start its own" in done.out
    (change,) = skillhub("connect", which, "--yes", "--json").json["clients"]
    assert (change["outcome"], "--stdio" in change["hint"]) == ("unchanged", True)
    assert skillhub("connect", which, "--yes", "--stdio").code == 0
    assert "command" in servers_of(path)["skillhub"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cursor", "--http", "hub.example"], "--http 'hub.example' is not an address"),
        (["cursor", "--http", "https://ada:pw@hub.example/mcp"], "--token-variable NAME"),
        (["cursor", "--http", "https://hub.example/mcp?token=abc"], "--token-variable NAME"),
        (["cursor", "--token-variable", "X"], "only with --http"),
        (["cursor", "--http", "http://x/mcp", "--token-variable", "a-secret"], "takes the name of a variable"),
        (["cursor", "--http", "http://x/mcp", "--env", "A=1"], "--env is for a server that the client starts"),
        (["claude-desktop", "--http", "http://x/mcp"], "it starts its servers itself"),
        (["cursor", "--env", "1=2"], "is not the name of a variable"),
        (["cursor", "--name", "my hub"], "--name 'my hub' may have letters"),
        (["cursor", "--all"], "--all cannot be used with names"),
        (["curser"], "did you mean 'cursor'?"),
        (["windsurf", "--scope", "project"], "project cannot be used with Windsurf: it has no file of a project"),
        (["windsurf", "--scope", "project", "--print"], "project cannot be used with Windsurf"),
        (["code"], "did you mean 'vscode' or 'codex'?"),
        ([], "CLIENT is required"),
        (["--all"], "--all finds no client here"),
    ],
)
def test_wrong_usage_is_reported_and_changes_nothing(
    arguments: list[str], said: str, skillhub: Skillhub, home: Path
) -> None:
    done = skillhub("connect", "--yes", *arguments)
    assert done.code == 2
    assert said in done.err
    assert list(home.iterdir()) == []


def test_all_connects_every_installed_client_despite_failures(
    skillhub: Skillhub, home: Path, started: list[Any]
) -> None:
    broken = put(home / ".cursor" / "mcp.json", '{"mcpServers": {')
    other = put(home / ".kiro" / "settings" / "mcp.json", '{"mcpServers": {"skillhub": {"command": "other"}}}')
    (home / ".codex").mkdir()
    (home / ".config" / "goose").mkdir(parents=True)
    hint = skillhub("connect").err
    assert "`skillhub connect cursor codex kiro goose` connects those that are installed here" in hint
    done = skillhub("connect", "--all", "--yes")
    assert done.code == 1
    assert "Codex is installed: ~/.codex" in done.err
    assert "Codex: connected (~/.codex/config.toml)" in done.out
    assert "Goose: put this into ~/.config/goose/config.yaml" in done.out
    assert (
        "Cursor: nothing was changed (~/.cursor/mcp.json): Expecting property name enclosed in double quotes: "
        "line 1 column 17 (char 16)\n"
        "  hint: correct it, and run the command again\n"
    ) in done.out
    assert (
        "Kiro: nothing was changed (~/.kiro/settings/mcp.json): its entry 'skillhub' belongs to another program"
        in done.out
    )
    # Pasted under a name that is taken, the text would replace what has it.
    kiro = done.out.index("Kiro: nothing was changed")
    assert "To connect it yourself, put this there:" in done.out[:kiro]
    assert done.out[kiro:].splitlines()[1:] == ["  hint: `--name skills` connects SkillHub beside it"]
    assert (home / ".cursor" / "mcp.json").read_text() == broken
    assert (home / ".kiro" / "settings" / "mcp.json").read_text() == other
    renamed = skillhub("connect", "kiro", "--yes", "--name", "hub")
    assert renamed.code == 0
    assert list(servers_of(home / ".kiro" / "settings" / "mcp.json")) == ["hub", "skillhub"]


def test_a_project_needs_the_command_on_path(skillhub: Skillhub, home: Path, tmp_path: Path) -> None:
    done = skillhub("connect", "cursor", "--scope", "project", "--yes", "--cwd", tmp_path)
    assert done.code == 1
    assert "It does not start: skillhub-mcp is not on its PATH" in done.out


def test_the_list_says_what_is_installed_and_connected(skillhub: Skillhub, home: Path, started: list[Any]) -> None:
    empty = skillhub("connect", "--list")
    assert empty.out.startswith("not found here: claude-code, claude-desktop, cursor,")
    assert "`skillhub connect CLIENT` connects one anyway" in empty.err
    put(home / ".cursor" / "mcp.json", PLAIN)
    put(home / ".kiro" / "settings" / "mcp.json", "{")
    put(home / ".factory" / "mcp.json", '{"mcpServers": {"skillhub": {"url": "https://elsewhere.example/mcp"}}}')
    skillhub("connect", "cursor", "--yes")
    skillhub("connect", "cursor", "--yes", "--name", "second")
    (home / ".codex").mkdir()
    done = skillhub("connect", "--list")
    lines = [line.split(maxsplit=2) for line in done.out.splitlines()]
    assert lines[:3] == [
        ["cursor", "connected", "~/.cursor/mcp.json as second"],
        ["cursor", "connected", "~/.cursor/mcp.json"],
        ["codex", "installed", "~/.codex/config.toml"],
    ]
    assert lines[3][:2] == ["kiro", "unreadable"]
    assert lines[3][2].startswith("~/.kiro/settings/mcp.json: Expecting property name")
    assert lines[4] == ["droid", "taken", "~/.factory/mcp.json (by something else)"]
    assert "`skillhub connect --all` connects those that are installed" in done.err
    rows = {row["client"]: row for row in skillhub("connect", "--list", "--json").json["clients"]}
    cursor = {"scope": "user", "path": str(home / ".cursor" / "mcp.json"), "is_skillhub": True, "is_off": False}
    expected = [{**cursor, "name": name} for name in ("second", "skillhub")]
    assert rows["cursor"]["connections"] == expected
    # In the home directory, `.cursor/mcp.json` is the user's file and no project's.
    at_home = skillhub("connect", "--list", "--json", "--cwd", home).json["clients"]
    assert {row["client"]: row for row in at_home}["cursor"]["connections"] == expected
    of_project = skillhub("connect", "cursor", "--scope", "project", "--yes", "--cwd", home)
    assert (of_project.code, "has no file of a project here" in of_project.err) == (2, True)
    assert rows["codex"]["installed"] == [str(home / ".codex")]
    assert rows["zed"]["installed"] == []


def test_a_projects_file_gets_the_bare_command_and_those_of_its_clients(
    skillhub: Skillhub, home: Path, started: list[Any], tmp_path: Path
) -> None:
    project = tmp_path / "engine"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    path = os.pathsep.join((os.path.dirname(str(own_command())), os.defpath))
    arguments = ("--scope", "project", "--yes", "--cwd", project / "src")
    done = skillhub("connect", "claude-code", "vscode", "cursor", *arguments, PATH=path)
    assert done.code == 0, done.err
    in_workspace = {"command": "skillhub-mcp", "args": [], "env": {"SKILLHUB_CWD": "${workspaceFolder}"}}
    assert servers_of(project / ".cursor" / "mcp.json")["skillhub"] == in_workspace
    assert servers_of(project / ".mcp.json")["skillhub"] == {"type": "stdio", "command": "skillhub-mcp", "args": []}
    assert "skillhub" in (project / ".vscode" / "mcp.json").read_text()
    gone = skillhub("disconnect", "--all", "--scope", "project", "--yes", "--cwd", project)
    assert gone.code == 0
    assert list(project.rglob("mcp.json")) == []


CLAUDE = """\
#!/bin/sh
printf '%s\\n' "$@" >> "$HOME/calls"
[ "$2" = add-json ] && printf '{"mcpServers": {"%s": %s}}' "$5" "$6" > "$HOME/.claude.json"
[ "$2" = remove ] && printf '{"mcpServers": {}}' > "$HOME/.claude.json"
exit 0
"""


def test_claude_code_is_connected_by_its_own_program(
    skillhub: Skillhub, home: Path, started: list[Any], tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "claude"
    put(program, CLAUDE)
    program.chmod(0o755)
    path = os.pathsep.join((str(program.parent), os.defpath))
    done = skillhub("connect", "--all", "--yes", PATH=path)
    assert done.code == 0, done.err
    assert "runs: " in done.err
    assert "Claude Code: connected (~/.claude.json). Next: start a new session" in done.out
    assert (home / "calls").read_text().splitlines()[:5] == ["mcp", "add-json", "--scope", "user", "skillhub"]
    assert "connected already" in skillhub("connect", "claude-code", PATH=path).out
    gone = skillhub("disconnect", "claude-code", "--yes", PATH=path)
    assert "Claude Code: disconnected" in gone.out
    assert "not connected" in skillhub("disconnect", "claude-code", PATH=path).out
    printed = skillhub("connect", "claude-code", "--yes")
    assert "claude mcp add-json --scope user skillhub '{" in printed.out
    failing = tmp_path / "failing" / "claude"
    put(failing, "#!/bin/sh\necho 'no such scope' >&2\nexit 1\n")
    failing.chmod(0o755)
    failed = skillhub("connect", "claude-code", "--yes", PATH=os.pathsep.join((str(failing.parent), os.defpath)))
    assert failed.code == 1
    assert "failed: no such scope" in failed.out


def test_a_command_in_a_cache_does_not_last() -> None:
    for cache in (".cache/uv/archive-v0/a1b2", ".cache/uv/environments-v2/a1b2", ".local/share/pipx/.cache/a1b2"):
        assert is_passing(f"/home/ada/{cache}/bin/skillhub-mcp")
    for lasting in (".local/share/uv/tools/skillhub-mcp", ".local"):
        assert not is_passing(f"/home/ada/{lasting}/bin/skillhub-mcp")


OFF: dict[str, tuple[str, Callable[[str], str]]] = {
    "codex": (".codex/config.toml", lambda text: text + "enabled = false\n"),
    "kiro": (".kiro/settings/mcp.json", lambda text: text.replace('"args"', '"disabled": true, "args"')),
    "qwen-code": (".qwen/settings.json", lambda text: text.replace("{", '{"allowMCPServers": ["other"],', 1)),
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere some of the files lie in other places")
@pytest.mark.parametrize("name", OFF)
def test_an_entry_switched_off_in_the_client_stays_off(
    skillhub: Skillhub, home: Path, started: list[Any], name: str
) -> None:
    place, switch_off = OFF[name]
    path = home / place
    assert skillhub("connect", name, "--yes").code == 0
    on = path.read_text(encoding="utf-8")
    off = put(path, switch_off(on))
    assert off != on
    started.clear()
    again = skillhub("connect", name, "--yes")
    assert (again.code, started) == (0, [])
    assert ": connected already, but switched off there" in again.out
    assert "  hint: switch it on in " in again.out
    assert path.read_text(encoding="utf-8") == off
    changed = skillhub("connect", name, "--yes", "--env", "LOG_LEVEL=ERROR", "--json").json["clients"][0]
    assert (changed["outcome"], changed["is_off"], started) == ("updated", True, [])
    assert [name, "off"] in [line.split()[:2] for line in skillhub("connect", "--list").out.splitlines()]
    (warning,) = [one for one in skillhub("doctor", "--json").json["warnings"] if one["check"] == "clients"]
    assert "'skillhub' is switched off in " in warning["message"]
    assert skillhub("disconnect", name, "--yes").code == 0


def test_an_entry_of_a_list_of_allowed_servers_is_on(skillhub: Skillhub, home: Path, started: list[Any]) -> None:
    put(home / ".gemini" / "settings.json", '{"mcp": {"allowed": ["skillhub"], "excluded": ["other"]}}')
    assert "Gemini CLI: connected (~/.gemini/settings.json)" in skillhub("connect", "gemini-cli", "--yes").out
    assert len(started) == 1


def test_a_link_is_printed_alone_and_nothing_is_written(skillhub: Skillhub, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = skillhub("connect", "--link", "cursor", "--env", "LOG_LEVEL=ERROR", HOME=str(home))
    assert (done.code, done.out.count("\n")) == (0, 1)
    config = parse_qs(urlsplit(done.out.strip()).query)["config"][0]
    entry = json.loads(base64.b64decode(config))
    assert os.path.isabs(entry["command"])
    assert entry["env"] == {"LOG_LEVEL": "ERROR"}
    assert "Cursor shows what it will add" in done.err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["cursor"], "--link takes no CLIENT, --all and --scope"),
        (["--all"], "--link takes no CLIENT, --all and --scope"),
        (["--list"], "--list"),
        (["--env", "OPENAI_API_KEY=sk-1234567890abcdef"], "looks like a secret"),
        (["--link", "zed"], "cursor, lm-studio, vscode, vscode-insiders"),
    ],
)
def test_options_secrets_and_clients_without_links_are_refused(skillhub: Skillhub, typed: list[str], said: str) -> None:
    done = skillhub("connect", "--link", "cursor", *typed)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
