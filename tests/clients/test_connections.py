"""Connecting and disconnecting: the changes of the client's file, and the files that are refused."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.clients.files import CHANGED, CODEX, PLAIN, ClientFile

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


@pytest.mark.parametrize("file", CHANGED[::4], ids=lambda file: file.kind)
def test_disconnecting_restores_an_unchanged_file(file: ClientFile, machine: Machine, connections: Connections) -> None:
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


def test_disconnecting_removes_a_created_file(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    connect(connections)
    assert json.loads(path.read_text()) == {"mcpServers": {"skillhub": {"command": SERVER.command, "args": []}}}
    disconnect(connections)
    assert not path.exists()


def test_only_the_entry_is_removed_from_a_file_that_changed(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    put(path, PLAIN)
    connect(connections)
    put(path, path.read_text().replace("uvx", "npx"))
    disconnect(connections)
    assert path.read_text() == PLAIN.replace("uvx", "npx")


def test_two_connections_in_one_file_are_removed_in_any_order(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    before = put(path, PLAIN)
    connect(connections)
    connect(connections, name="second")
    disconnect(connections)
    assert list(entries_in(CURSOR, path.read_text())) == ["second", "fetch"]
    disconnect(connections, name="second")
    assert json.loads(path.read_text()) == json.loads(before)


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
    # Restoring the file would not disconnect, since it had the entry before.
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
def test_another_program_with_our_name_is_not_replaced_or_removed(
    entry: object, machine: Machine, connections: Connections
) -> None:
    path = path_of(CURSOR, machine)
    before = put(path, json.dumps({"mcpServers": {"skillhub": entry}}))
    with pytest.raises(ClientFileRefused, match="belongs to another program") as raised:
        connections.plan(CURSOR, USER, SERVER, registrar=None)
    assert "--name" in (raised.value.hint or "")
    with pytest.raises(ClientFileRefused, match="belongs to another program"):
        connections.plan_removal(CURSOR, USER, registrar=None)
    assert path.read_bytes() == before


def test_an_address_that_connect_wrote_can_be_replaced_and_removed(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    before = put(path, PLAIN)
    connect(connections, server=HttpServer("http://127.0.0.1:8000/mcp"))
    connect(connections, server=HttpServer("http://127.0.0.1:9000/mcp", "HUB_TOKEN"))
    connect(connections)
    assert entries_in(CURSOR, path.read_text())["skillhub"] == {"command": SERVER.command, "args": []}
    disconnect(connections)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["mcp.json", "linked.json"])
def test_a_symlink_is_kept_and_its_target_keeps_its_mode(
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


def test_the_target_of_a_dangling_link_is_created(tmp_path: Path, machine: Machine, connections: Connections) -> None:
    path, target = path_of(CURSOR, machine), tmp_path / "dotfiles" / "mcp.json"
    path.parent.mkdir()
    path.symlink_to(target)
    connect(connections)
    assert path.is_symlink()
    assert target.is_file()


def read_only(path: Path) -> None:
    put(path, PLAIN)
    path.chmod(0o444)


def link_to_itself(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path)


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "read-only": (read_only, "read-only"),
    "a directory": (lambda path: path.mkdir(parents=True), "is a directory"),
    "a link to itself": (link_to_itself, "loop"),
    "below a file": (lambda path: put(path.parent, "a file"), "Not a directory"),
    "broken": (lambda path: put(path, '{"a": 1 "b": 2}'), "delimiter"),
    "Latin-1": (lambda path: put(path, b'{"a": "caf\xe9"}'), "UTF-8"),
    "UTF-16": (lambda path: put(path, PLAIN.encode("utf-16")), "UTF-8"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_file_is_refused_while_planning(case: str, machine: Machine, connections: Connections) -> None:
    make, reason = UNUSABLE[case]
    make(path_of(CURSOR, machine))
    with pytest.raises(ClientFileRefused, match=reason):
        connections.plan(CURSOR, USER, SERVER, registrar=None)


@pytest.mark.skipif(not IS_ROOT, reason="only root may change owners")
def test_a_changed_file_keeps_its_owner(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    put(path, PLAIN)
    os.chown(path, 1234, 2345)
    connect(connections)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_file_that_changed_after_planning_is_not_written(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine)
    put(path, PLAIN)
    plan = connections.plan(CURSOR, USER, SERVER, registrar=None)
    theirs = put(path, PLAIN.replace("uvx", "npx"))
    assert isinstance(plan, FileChange)
    with pytest.raises(ClientFileRefused, match="changed since it was read"):
        connections.carry_out(plan)
    assert path.read_bytes() == theirs


def test_the_last_hundred_backups_are_kept_private(machine: Machine, connections: Connections) -> None:
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


def test_nothing_is_changed_without_a_backup(machine: Machine, connections: Connections) -> None:
    put(Path(machine.home, ".skillhub"), "a file")
    path = path_of(CURSOR, machine)
    for before in (None, PLAIN):
        if before is not None:
            put(path, before)
        plan = connections.plan(CURSOR, USER, SERVER, registrar=None)
        assert isinstance(plan, FileChange)
        with pytest.raises(ClientFileRefused, match="cannot be backed up"):
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


def test_the_existing_one_of_two_files_is_changed(machine: Machine, connections: Connections) -> None:
    opencode = client_named("opencode")
    second = Path(opencode.files(USER, machine)[1])
    put(second, '// mine\n{\n  "theme": "x"\n}\n')
    connect(connections, opencode)
    assert second.read_text().startswith('// mine\n{\n  "mcp": {')
    assert not path_of(opencode, machine).exists()


def test_the_file_of_later_versions_is_preferred(machine: Machine, connections: Connections) -> None:
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


def test_a_project_file_linked_outside_the_project_is_refused(
    tmp_path: Path, machine: Machine, connections: Connections
) -> None:
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


def test_claude_code_registers_through_its_own_command(machine: Machine, connections: Connections) -> None:
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
    # Claude Code may write further members.
    put(state, json.dumps({"mcpServers": {"skillhub": {**json.loads(entry), "env": {}}}}))
    assert type(connections.plan(claude, USER, SERVER, registrar="/usr/bin/claude")) is Plan
    gone = connections.plan_removal(claude, USER, registrar="/usr/bin/claude")
    assert isinstance(gone, Registration)
    assert gone.commands == (("/usr/bin/claude", "mcp", "remove", "--scope", "user", "skillhub"),)


def test_an_address_registered_with_claude_code_can_be_removed(machine: Machine, connections: Connections) -> None:
    claude = client_named("claude-code")
    state = Path(machine.home, ".claude.json")
    address = HttpServer("https://hub.example/mcp")
    plan = connections.plan(claude, USER, address, registrar="/usr/bin/claude")
    assert isinstance(plan, Registration)
    put(state, json.dumps({"mcpServers": {"skillhub": plan.entry}}))
    with pytest.raises(ClientFileRefused, match="another program"):
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_as_a_project_file_is_refused(machine: Machine, connections: Connections) -> None:
    path = path_of(CURSOR, machine, PROJECT)
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(ClientFileRefused, match="not a regular file"):
        connections.found(CURSOR, PROJECT)
    with pytest.raises(ClientFileRefused, match="not a regular file"):
        connections.plan(CURSOR, PROJECT, SERVER, registrar=None)
