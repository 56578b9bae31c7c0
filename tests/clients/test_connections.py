"""Connecting and disconnecting: what becomes of the file on the disk, and what is left alone."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.clients.files import CHANGED, CODEX, PLAIN, REFUSED, ClientFile

from skillhub_mcp.clients import files
from skillhub_mcp.clients.connections import Connections, FileChange, Plan, Registration, ToPaste
from skillhub_mcp.clients.editing import entries_in
from skillhub_mcp.clients.machine import Machine, System
from skillhub_mcp.clients.model import Client, ClientScope, HttpServer, Server, StdioServer
from skillhub_mcp.clients.ownership import COMMANDS
from skillhub_mcp.clients.table import client_named
from skillhub_mcp.errors import ClientFileRefused, InvalidArgument

SERVER = StdioServer("/opt/bin/skillhub-mcp")
CURSOR = client_named("cursor")
USER, PROJECT = ClientScope.USER, ClientScope.PROJECT
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    return Machine(System.LINUX, {}, str(home), str(project))


@pytest.fixture
def connections(machine: Machine) -> Connections:
    return Connections(machine)


def path_of(client: Client, machine: Machine, scope: ClientScope = USER) -> Path:
    return Path(client.files(scope, machine)[0])


def put(path: Path, content: str | bytes) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(data)
    return data


def connect(
    connections: Connections,
    client: Client = CURSOR,
    server: Server = SERVER,
    *,
    scope: ClientScope = USER,
    name: str = "skillhub",
) -> None:
    plan = connections.plan(client, scope, server, name=name, registrar=None)
    assert isinstance(plan, FileChange)
    connections.carry_out(plan)


def disconnect(
    connections: Connections, client: Client = CURSOR, *, scope: ClientScope = USER, name: str = "skillhub"
) -> None:
    plan = connections.plan_removal(client, scope, name=name, registrar=None)
    assert isinstance(plan, FileChange)
    connections.carry_out(plan)


@pytest.mark.parametrize("file", CHANGED, ids=lambda file: file.kind)
def test_an_untouched_file_gets_its_very_bytes_back(
    file: ClientFile, machine: Machine, connections: Connections
) -> None:
    client = client_named(file.client)
    path = path_of(client, machine)
    before = put(path, file.text)
    connect(connections, client)
    assert b"skillhub" in path.read_bytes()
    settled = connections.plan(client, USER, SERVER, registrar=None)
    assert type(settled) is Plan
    disconnect(connections, client)
    assert path.read_bytes() == before
    assert type(connections.plan_removal(client, USER, registrar=None)) is Plan


@pytest.mark.parametrize(("file", "reason"), REFUSED, ids=lambda value: getattr(value, "kind", ""))
def test_a_file_that_is_not_understood_is_left_alone(
    file: ClientFile, reason: str, machine: Machine, connections: Connections
) -> None:
    client = client_named(file.client)
    path = path_of(client, machine)
    before = put(path, file.text)
    with pytest.raises(ClientFileRefused, match=reason):
        connections.plan(client, USER, SERVER, registrar=None)
    assert path.read_bytes() == before


def test_disconnecting_removes_a_created_file(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    connect(connections)
    assert json.loads(path.read_text()) == {"mcpServers": {"skillhub": {"command": SERVER.command, "args": []}}}
    disconnect(connections)
    assert not path.exists()


def test_of_a_file_that_was_changed_since_the_entry_alone_goes(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    put(path, PLAIN)
    connect(connections)
    put(path, path.read_text().replace("uvx", "npx"))
    disconnect(connections)
    assert path.read_text() == PLAIN.replace("uvx", "npx")


def test_two_connections_of_one_file_go_in_any_order(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    before = put(path, PLAIN)
    connect(connections)
    connect(connections, name="second")
    disconnect(connections)
    assert list(entries_in(CURSOR, path.read_text())) == ["second", "fetch"]
    disconnect(connections, name="second")
    assert json.loads(path.read_text()) == json.loads(before)


def test_disconnecting_after_an_update_restores_the_first_content(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    before = put(path, PLAIN)
    connect(connections)
    connect(connections, server=StdioServer("/other/bin/skillhub-mcp", environment={"LOG_LEVEL": "ERROR"}))
    disconnect(connections)
    assert path.read_bytes() == before


def test_an_update_keeps_what_the_user_added(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    old = {"command": "skillhub-mcp", "args": ["--x"], "env": {"LOG_LEVEL": "INFO"}, "disabled": True, "timeout": 9}
    put(path, json.dumps({"mcpServers": {"skillhub": old}}))
    connect(connections, server=StdioServer(SERVER.command, environment={"A": "1"}))
    assert entries_in(CURSOR, path.read_text())["skillhub"] == {
        "command": SERVER.command,
        "args": [],
        "env": {"LOG_LEVEL": "INFO", "A": "1"},
        "disabled": True,
        "timeout": 9,
    }
    # The file had the entry before: giving its bytes back would not disconnect.
    disconnect(connections)
    assert json.loads(path.read_text()) == {"mcpServers": {}}


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "something-else"},
        {"command": "uvx", "args": [COMMANDS[0]]},
        {"url": "https://elsewhere.example/mcp"},
        "text",
        None,
    ],
)
def test_an_entry_of_our_name_for_another_program_is_left_alone(
    entry: object, machine: Machine, connections: Connections
) -> None:
    path = path_of(CURSOR, machine)
    before = put(path, json.dumps({"mcpServers": {"skillhub": entry}}))
    with pytest.raises(ClientFileRefused, match="something else than SkillHub") as raised:
        connections.plan(CURSOR, USER, SERVER, registrar=None)
    assert "--name" in (raised.value.hint or "")
    with pytest.raises(ClientFileRefused, match="something else than SkillHub"):
        connections.plan_removal(CURSOR, USER, registrar=None)
    assert path.read_bytes() == before


def test_an_address_that_we_wrote_is_ours(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    before = put(path, PLAIN)
    connect(connections, server=HttpServer("http://127.0.0.1:8000/mcp"))
    connect(connections, server=HttpServer("http://127.0.0.1:9000/mcp", "HUB_TOKEN"))
    connect(connections)
    assert entries_in(CURSOR, path.read_text())["skillhub"] == {"command": SERVER.command, "args": []}
    disconnect(connections)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["mcp.json", "linked.json"])
def test_a_link_stays_and_its_target_changes_with_mode_kept(
    name: str, tmp_path: Path, machine: Machine, connections: Connections
) -> None:
    path, target = path_of(CURSOR, machine), tmp_path / "dotfiles" / name
    before = put(target, PLAIN)
    target.chmod(0o640)
    path.parent.mkdir()
    path.symlink_to(target)
    connect(connections)
    assert path.is_symlink()
    assert b"skillhub" in target.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    disconnect(connections)
    assert path.is_symlink()
    assert target.read_bytes() == before


def test_a_link_to_nothing_yet_gets_its_target(tmp_path: Path, machine: Machine, connections: Connections) -> None:
    path, target = path_of(CURSOR, machine), tmp_path / "mcp.json"
    path.parent.mkdir()
    path.symlink_to(target)
    connect(connections)
    assert path.is_symlink()
    assert target.is_file()


Trouble = Callable[[Path], None]


def _read_only(path: Path) -> None:
    put(path, PLAIN)
    path.chmod(0o444)


def _directory(path: Path) -> None:
    path.mkdir(parents=True)


def _circle(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path)


def _link_to_nowhere(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path.parent / "gone" / "mcp.json")


def _file_for_directory(path: Path) -> None:
    put(path.parent, "I am a file")


def _latin(path: Path) -> None:
    put(path, b'{"a": "caf\xe9"}')


def _utf_16(path: Path) -> None:
    put(path, PLAIN.encode("utf-16"))


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (_read_only, "read-only"),
        (_directory, "is a directory"),
        (_circle, "circle"),
        (_link_to_nowhere, "no such directory"),
        (_file_for_directory, "irectory"),
        (_latin, "UTF-8"),
        (_utf_16, "UTF-8"),
    ],
)
def test_an_unwritable_file_is_refused_while_planning(
    trouble: Trouble, reason: str, machine: Machine, connections: Connections
) -> None:
    trouble(path_of(CURSOR, machine))
    with pytest.raises(ClientFileRefused, match=reason):
        connections.plan(CURSOR, USER, SERVER, registrar=None)


def test_a_read_only_directory_is_refused_while_planning(
    machine: Machine, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of(CURSOR, machine)
    put(path, PLAIN)
    # As it is for everybody but root, who may write everywhere.
    monkeypatch.setattr(os, "access", lambda place, _: place != str(path.parent))
    with pytest.raises(ClientFileRefused, match="cannot be written to"):
        connections.plan(CURSOR, USER, SERVER, registrar=None)


@pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")
def test_the_file_stays_its_owners(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    put(path, PLAIN)
    os.chown(path, 1234, 2345)
    connect(connections)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_file_that_changed_since_it_was_read_is_left_alone(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    put(path, PLAIN)
    plan = connections.plan(CURSOR, USER, SERVER, registrar=None)
    theirs = put(path, PLAIN.replace("uvx", "npx"))
    assert isinstance(plan, FileChange)
    with pytest.raises(ClientFileRefused, match="changed since it was read"):
        connections.carry_out(plan)
    assert path.read_bytes() == theirs


def test_the_last_hundred_copies_are_kept_for_the_owner_only(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    put(path, PLAIN)
    own = Path(machine.home, ".skillhub")
    for number in range(100):
        (own / "backups" / f"2001-{number:03}").mkdir(parents=True)
    before = os.umask(0)
    try:
        connect(connections)
    finally:
        os.umask(before)
    assert len(list(own.glob("backups/*"))) == 100
    (copy,) = own.glob("backups/*/mcp.json")
    assert copy.read_text() == PLAIN
    for kept in (copy.parent, *copy.parent.iterdir()):
        assert stat.S_IMODE(kept.stat().st_mode) & 0o077 == 0, kept


def test_without_a_place_for_copies_nothing_is_changed(machine: Machine, connections: Connections) -> None:
    put(Path(machine.home, ".skillhub"), "a file")
    path = path_of(CURSOR, machine)
    for before in (None, PLAIN):
        if before is not None:
            put(path, before)
        plan = connections.plan(CURSOR, USER, SERVER, registrar=None)
        assert isinstance(plan, FileChange)
        with pytest.raises(ClientFileRefused, match="no copy of it can be kept"):
            connections.carry_out(plan)
        assert (path.read_text() if path.exists() else None) == before


def test_a_failed_write_leaves_the_file_and_its_backup(
    machine: Machine, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of(CURSOR, machine)
    before = put(path, PLAIN)
    connect(connections)
    connected = path.read_bytes()
    plan = connections.plan(CURSOR, USER, StdioServer("/new/skillhub-mcp"), registrar=None)
    assert isinstance(plan, FileChange)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "atomic_write", full)
        with pytest.raises(ClientFileRefused, match="No space left"):
            connections.carry_out(plan)
    assert path.read_bytes() == connected
    disconnect(connections)
    assert path.read_bytes() == before


def test_of_two_files_that_a_client_reads_the_one_that_is_there_is_changed(
    machine: Machine, connections: Connections
) -> None:
    opencode = client_named("opencode")
    second = Path(opencode.files(USER, machine)[1])
    put(second, '// mine\n{\n  "theme": "x"\n}\n')
    connect(connections, opencode)
    assert second.read_text().startswith('// mine\n{\n  "mcp": {')
    assert not path_of(opencode, machine).exists()


def test_of_both_the_one_of_later_versions_is_changed(machine: Machine, connections: Connections) -> None:
    antigravity = client_named("antigravity")
    older, later = map(Path, antigravity.files(USER, machine))
    put(older, "{}")
    assert connections.path_of(antigravity, USER) == str(older)
    put(later, "{}")
    connect(connections, antigravity)
    assert (older.read_text(), b"skillhub" in later.read_bytes()) == ("{}", True)


def test_a_projects_file_is_below_its_root(machine: Machine, connections: Connections) -> None:
    connect(connections, client_named("codex"), StdioServer("skillhub-mcp"), scope=PROJECT)
    assert Path(machine.project, ".codex", "config.toml").read_text() == (
        '[mcp_servers.skillhub]\ncommand = "skillhub-mcp"\nargs = []\n'
    )
    with pytest.raises(InvalidArgument, match="project cannot be used with Windsurf: it has no file of a project"):
        connections.plan(client_named("windsurf"), PROJECT, SERVER, registrar=None)


def test_a_projects_link_leads_nowhere_else(tmp_path: Path, machine: Machine, connections: Connections) -> None:
    elsewhere, inside = tmp_path / "mine.json", Path(machine.project, "shared.json")
    path = path_of(CURSOR, machine, PROJECT)
    before = put(elsewhere, "{}")
    path.parent.mkdir()
    path.symlink_to(elsewhere)
    with pytest.raises(ClientFileRefused, match="outside the project"):
        connections.plan(CURSOR, PROJECT, SERVER, registrar=None)
    assert elsewhere.read_bytes() == before
    path.unlink()
    path.symlink_to(inside)
    connect(connections, scope=PROJECT)
    assert b"skillhub" in inside.read_bytes()


def test_claude_code_registers_by_its_own_program(machine: Machine, connections: Connections) -> None:
    claude = client_named("claude-code")
    state = Path(machine.home, ".claude.json")
    before = put(state, '{"numStartups": 3}')
    plan = connections.plan(claude, USER, SERVER, registrar="/usr/bin/claude")
    entry = '{"type": "stdio", "command": "/opt/bin/skillhub-mcp", "args": []}'
    assert isinstance(plan, Registration)
    assert plan.commands == (("/usr/bin/claude", "mcp", "add-json", "--scope", "user", "skillhub", entry),)
    printed = connections.plan(claude, USER, SERVER, registrar=None)
    assert isinstance(printed, ToPaste)
    assert printed.text == f"claude mcp add-json --scope user skillhub '{entry}'\n"
    assert state.read_bytes() == before
    put(state, json.dumps({"mcpServers": {"skillhub": json.loads(entry)}}))
    assert type(connections.plan(claude, USER, SERVER, registrar="/usr/bin/claude")) is Plan
    moved = connections.plan(claude, USER, StdioServer("/new/skillhub-mcp"), registrar="/usr/bin/claude")
    assert isinstance(moved, Registration)
    assert [command[2] for command in moved.commands] == ["remove", "add-json"]
    # The program may write more of it than we said.
    put(state, json.dumps({"mcpServers": {"skillhub": {**json.loads(entry), "env": {}}}}))
    assert type(connections.plan(claude, USER, SERVER, registrar="/usr/bin/claude")) is Plan
    gone = connections.plan_removal(claude, USER, registrar="/usr/bin/claude")
    assert isinstance(gone, Registration)
    assert gone.commands == (("/usr/bin/claude", "mcp", "remove", "--scope", "user", "skillhub"),)


def test_an_address_that_claude_code_registered_for_us_is_ours(machine: Machine, connections: Connections) -> None:
    claude = client_named("claude-code")
    state = Path(machine.home, ".claude.json")
    address = HttpServer("https://hub.example/mcp")
    plan = connections.plan(claude, USER, address, registrar="/usr/bin/claude")
    assert isinstance(plan, Registration)
    put(state, json.dumps({"mcpServers": {"skillhub": plan.entry}}))
    with pytest.raises(ClientFileRefused, match="something else"):
        connections.plan_removal(claude, USER, registrar="/usr/bin/claude")
    connections.note_registration(plan)
    gone = connections.plan_removal(claude, USER, registrar="/usr/bin/claude")
    assert isinstance(gone, Registration)


def test_a_printed_entry_names_its_place(connections: Connections) -> None:
    plan = connections.plan(client_named("goose"), USER, SERVER, registrar=None)
    assert isinstance(plan, ToPaste)
    assert "~/.config/goose/config.yaml" in plan.where
    assert "cmd: /opt/bin/skillhub-mcp" in plan.text


def test_every_connection_of_a_file_is_found(machine: Machine, connections: Connections) -> None:
    put(
        path_of(CURSOR, machine),
        json.dumps(
            {
                "mcpServers": {
                    "skillhub": {"url": "https://elsewhere.example/mcp"},
                    "hub": {"command": "uvx", "args": ["--from", "/src", "skillhub-mcp"]},
                    "py": {"command": "python3", "args": ["-m", "skillhub_mcp"]},
                    "fetch": {"command": "uvx", "args": ["fetch"]},
                }
            }
        ),
    )
    found = connections.found(CURSOR, USER)
    assert [(one.name, one.is_ours) for one in found] == [("skillhub", False), ("hub", True), ("py", True)]
    put(path_of(client_named("codex"), machine), CODEX)
    assert connections.found(client_named("codex"), USER) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_the_place_of_a_projects_file_is_refused_and_not_waited_for(
    machine: Machine, connections: Connections
) -> None:
    path = path_of(CURSOR, machine, PROJECT)
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(ClientFileRefused, match="not a regular file"):
        connections.found(CURSOR, PROJECT)
    with pytest.raises(ClientFileRefused, match="not a regular file"):
        connections.plan(CURSOR, PROJECT, SERVER, registrar=None)
