"""The findings about a connection, from its client's file and its server's answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from skillhub_mcp.clients.connection_problems import (
    Finding,
    Level,
    Tried,
    connection_findings,
    misplaced,
    repeated,
    unreadable,
)
from skillhub_mcp.clients.connections import Connection
from skillhub_mcp.clients.model import ClientScope, HttpServer, Server, StdioServer
from skillhub_mcp.clients.probe import Probed
from skillhub_mcp.clients.registered import RegisteredFile
from skillhub_mcp.clients.table import client_named
from skillhub_mcp.skills.model import Problem

VERSION = "1.2.3"
ANSWERED = Probed("SkillHub", VERSION, ("search_skills",))
OURS = StdioServer("/opt/skillhub-mcp")
FILE = "/home/ada/mcp.json"


def connection(
    server: Server | None = OURS,
    *,
    client: str = "cursor",
    scope: ClientScope = ClientScope.USER,
    name: str = "skillhub",
    path: str = FILE,
    is_ours: bool = True,
) -> Connection:
    return Connection(client_named(client), scope, path, name, server, is_ours)


def found(tried: Tried, roots: dict[str, int] | None = None) -> list[Finding]:
    def unknown(names: Iterable[str]) -> dict[str, str]:
        return {name: "is not a setting" for name in names if name == "SKILLHUB_ENABLED_SKILL"}

    return list(connection_findings(tried, VERSION, roots or {}, unknown))


def the_only(findings: Iterable[Finding], expected: Level = Level.PROBLEM) -> Problem:
    ((level, problem),) = findings
    assert (level, problem.subject) == (expected, FILE)
    return problem


def test_a_connection_that_answers_with_this_version_has_no_finding() -> None:
    assert found(Tried(connection(), ANSWERED)) == []
    assert found(Tried(connection(), Probed("SkillHub", f"{VERSION}+bundle.x1f", ()))) == []


def test_a_server_that_does_not_answer_is_a_problem() -> None:
    silent = Probed(failure="/opt/skillhub-mcp does not exist")
    problem = the_only(found(Tried(connection(client="vscode", name="hub"), silent)))
    assert problem.message == "VS Code's entry 'hub' does not answer: /opt/skillhub-mcp does not exist"
    assert problem.fix == "skillhub connect vscode --name hub"


def test_a_project_command_that_is_not_on_path_has_another_fix() -> None:
    silent = Probed(failure="skillhub-mcp is not on its PATH")
    problem = the_only(found(Tried(connection(StdioServer("skillhub-mcp"), scope=ClientScope.PROJECT), silent)))
    assert problem.fix == "put skillhub-mcp on PATH, or `skillhub disconnect cursor --scope project`"


def test_an_address_that_does_not_answer_names_its_token() -> None:
    server = HttpServer("http://127.0.0.1:8000/mcp", "HUB_TOKEN")
    problem = the_only(found(Tried(connection(server), Probed(failure="401"))))
    assert problem.fix.startswith("start the server at that address")
    assert "HUB_TOKEN" in problem.fix


def test_another_program_that_answers_is_a_problem() -> None:
    problem = the_only(found(Tried(connection(), Probed("skill-library", "0.9", ("x",)))))
    assert problem.message == "Cursor's entry 'skillhub' starts another program: skill-library 0.9"


@pytest.mark.parametrize("command", ["uvx", "/usr/bin/pipx", "uv.exe"])
def test_fetching_the_other_program_of_our_name_is_a_problem(command: str) -> None:
    server = StdioServer(command, ("run", "skillhub-mcp"))
    problem = the_only(found(Tried(connection(server, is_ours=False), untried="not ours")))
    assert "installs another program" in problem.message


def test_an_entry_for_another_program_is_a_note() -> None:
    docker = connection(StdioServer("docker", ("run",)), is_ours=False)
    note = the_only(found(Tried(docker, untried="it starts docker")), Level.NOTE)
    assert note.message == "Cursor's entry 'skillhub' was not started: it starts docker"
    assert note.fix == "`skillhub connect cursor --name skills` adds SkillHub beside it"


def test_an_entry_with_another_clients_keys_is_a_problem() -> None:
    problem = the_only(found(Tried(connection(None, client="windsurf"))))
    assert problem.message == "Windsurf's entry 'skillhub' has no 'command' or 'serverUrl' that Windsurf can use"
    assert problem.fix == "skillhub connect windsurf"
    unknown = the_only(found(Tried(connection(None, is_ours=False))))
    assert unknown.fix == "remove the entry, then `skillhub connect cursor`"


def test_another_version_is_a_warning() -> None:
    warning = the_only(found(Tried(connection(), Probed("SkillHub", "1.0.0", ()))), Level.WARNING)
    assert warning.message == "Cursor's entry 'skillhub' runs SkillHub 1.0.0; this is 1.2.3"


def test_a_command_on_the_shells_path_only_is_reported() -> None:
    bare = StdioServer("skillhub-mcp")
    users = found(Tried(connection(bare), ANSWERED, by_shell_only=True))
    assert the_only(users).fix == "`skillhub connect cursor` writes the absolute path"
    projects = found(Tried(connection(bare, scope=ClientScope.PROJECT), ANSWERED, by_shell_only=True))
    assert the_only(projects, Level.WARNING).fix == "start Cursor from a shell"


def test_an_entry_with_skills_dir_names_the_hidden_skills(tmp_path: Path) -> None:
    server = StdioServer("/opt/skillhub-mcp", environment={"SKILLS_DIR": str(tmp_path)})
    roots = {str(tmp_path): 2, "/home/ada/.agents/skills": 3, "/srv/empty": 0}
    warning = the_only(found(Tried(connection(server), ANSWERED), roots), Level.WARNING)
    assert warning.message.endswith("sets SKILLS_DIR, which hides 3 skills in /home/ada/.agents/skills from Cursor")
    assert warning.fix == "remove SKILLS_DIR from the entry"
    warning = the_only(found(Tried(connection(server), ANSWERED), {"/home/ada/.agents/skills": 3}), Level.WARNING)
    assert f"`skillhub roots add {tmp_path}` serves that too" in warning.fix


def test_an_entry_with_skills_dir_that_hides_nothing_has_no_finding(tmp_path: Path) -> None:
    server = StdioServer("/opt/skillhub-mcp", environment={"SKILLS_DIR": str(tmp_path)})
    assert found(Tried(connection(server), ANSWERED), {str(tmp_path): 2, "/srv/empty": 0}) == []


def test_a_missing_skills_dir_in_an_entry_is_a_problem(tmp_path: Path) -> None:
    server = StdioServer("/opt/skillhub-mcp", environment={"SKILLS_DIR": str(tmp_path / "gone")})
    assert "which is not a directory" in the_only(found(Tried(connection(server), ANSWERED))).message


def test_an_entry_under_another_clients_key_is_a_problem() -> None:
    file = RegisteredFile(client_named("vscode"), ClientScope.USER, FILE, misplaced=("mcpServers",))
    what = "has SkillHub under 'mcpServers', which VS Code does not read: it reads 'servers'"
    assert misplaced(file) == [Problem(FILE, what, "remove it there, then `skillhub connect vscode`")]
    (problem,) = misplaced(replace(file, connections=(connection(client="vscode"),)))
    assert problem.fix == "remove it there"


def test_an_unreadable_file_is_reported_with_its_client() -> None:
    broken = RegisteredFile(client_named("zed"), ClientScope.PROJECT, FILE, refusal="a comma is missing")
    assert unreadable(broken) == Problem(
        FILE,
        "cannot be read as Zed's file: a comma is missing",
        "correct it, then `skillhub connect zed --scope project`",
    )


def test_two_entries_of_a_client_for_one_server_are_reported_once() -> None:
    second = connection(StdioServer("/usr/bin/skillhub"), name="our hub")
    (problem,) = repeated([Tried(connection(), ANSWERED), Tried(second, ANSWERED)])
    assert problem.message == "has SkillHub as 'our hub', and also as 'skillhub': Cursor has it twice"
    assert problem.fix == "skillhub disconnect cursor --name 'our hub'"


def test_entries_of_the_user_and_the_project_for_one_server_are_reported() -> None:
    project = connection(StdioServer("skillhub-mcp"), scope=ClientScope.PROJECT, path="/work/.cursor/mcp.json")
    (problem,) = repeated([Tried(connection(), ANSWERED), Tried(project, ANSWERED)])
    assert problem.subject == "/work/.cursor/mcp.json"
    assert f"and {FILE} as 'skillhub'" in problem.message
    assert problem.fix == "skillhub disconnect cursor --scope project"


def test_entries_of_two_clients_or_for_two_libraries_are_not_duplicates() -> None:
    work = StdioServer("/opt/skillhub-mcp", environment={"SKILLS_DIR": "/work"})
    tried = [
        Tried(connection(), ANSWERED),
        Tried(connection(client="zed"), ANSWERED),
        Tried(connection(work, name="work"), ANSWERED),
        Tried(connection(HttpServer("https://skills.example.com/mcp"), name="team"), ANSWERED),
        Tried(connection(HttpServer("https://other.example.com/mcp"), name="x"), Probed("Other", "1", ())),
    ]
    assert repeated(tried) == ()


def test_unknown_settings_in_an_entry_of_ours_are_reported() -> None:
    misspelt = connection(StdioServer("/opt/skillhub-mcp", variables=("SKILLHUB_ROOTS", "SKILLHUB_ENABLED_SKILL")))
    warning = the_only(found(Tried(misspelt, ANSWERED)), Level.WARNING)
    assert warning.message == "Cursor's entry 'skillhub' sets SKILLHUB_ENABLED_SKILL, which is not a setting"
    unstarted, note = found(Tried(misspelt, untried="it says more"))
    assert (unstarted, note[0]) == ((Level.WARNING, warning), Level.NOTE)
    the_only(found(Tried(misspelt, Probed("Other", "1", ()))))
