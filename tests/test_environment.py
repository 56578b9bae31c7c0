"""What a process is started with never ends it with a traceback, and never gives a stranger a say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.test_transports import INITIALIZE, RawClient

from skillhub_mcp.environment import NO_HOME, expand_home, prepare_environment, shown_path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="other systems keep their users elsewhere")

# As for a user id without an entry, such as a container platform assigns.
WITHOUT_ENTRY = """
import pwd, sys
def missing(*_):
    raise KeyError
pwd.getpwuid = pwd.getpwnam = missing
sys.argv[0] = "skillhub"
from skillhub_mcp.__main__ import main
main()
"""


def run(*arguments: str, environment: dict[str, str], cwd: Path, program: str = "") -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", program] if program else [sys.executable, "-m", "skillhub_mcp"]
    return subprocess.run(
        [*argv, *arguments],
        env=environment,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def test_a_home_that_is_not_absolute_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("~", ".", ""):
        monkeypatch.setenv("HOME", name)
        prepare_environment()
        assert os.path.isabs(os.path.expanduser("~"))


def test_a_tilde_without_a_home_names_no_directory_of_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert expand_home("~/skills") == os.path.expanduser("~/skills")
    assert expand_home("a~/~b") == "a~/~b"
    (tmp_path / "~nobody-here" / "skills").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for home, path in ((os.environ["HOME"], "~nobody-here/skills"), (".", "~/skills"), ("~", "~")):
        monkeypatch.setenv("HOME", home)
        assert expand_home(path).startswith(f"{NO_HOME}/")
        assert not os.path.exists(expand_home(path))


def test_a_directory_of_an_unknown_user_is_not_searched(
    hub_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = tmp_path / "~nobody-here" / "evil"
    evil.mkdir(parents=True)
    (evil / "SKILL.md").write_text("---\nname: evil\ndescription: Evil.\n---\n", encoding="utf-8")
    environment = hub_environment | {"SKILLS_DIR": "~nobody-here"}
    assert "Evil." not in run("list", environment=environment, cwd=tmp_path).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "variable",
    [("FASTMCP_PORT", ""), ("fastmcp_stateless_http", "perhaps")],
)
def test_variables_of_other_fastmcp_servers_decide_nothing(
    hub_environment: dict[str, str], write_skill: SkillWriter, variable: tuple[str, str]
) -> None:
    write_skill("one")
    client = RawClient({**hub_environment, variable[0]: variable[1]})
    assert client.answer(INITIALIZE)["result"]["serverInfo"]["name"] == "SkillHub"
    client.close()


@pytest.mark.slow
def test_without_a_home_a_directory_named_tilde_is_not_the_users_hub(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("mine")
    clone = tmp_path / "clone"
    for place in ("~/.skillhub/skills/evil", "~/.agents/skills/evil"):
        (clone / place).mkdir(parents=True)
        (clone / place / "SKILL.md").write_text("---\nname: evil\ndescription: Evil.\n---\n", encoding="utf-8")
    environment = {name: value for name, value in hub_environment.items() if name != "HOME"}
    listed = run("list", "--json", environment=environment, cwd=clone, program=WITHOUT_ENTRY)
    assert (listed.returncode, [one["name"] for one in json.loads(listed.stdout)["skills"]]) == (0, ["mine"])
    assert listed.stderr.startswith("note: no home directory: HOME is not set")
    del environment["SKILLS_DIR"], environment["DB_PATH"]
    for command in (("search", "evil"), ("list",), ("doctor",), ("connect", "--list"), ("why", "evil")):
        done = run(*command, environment=environment, cwd=clone, program=WITHOUT_ENTRY)
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr
        assert "Evil." not in done.stdout
    assert sorted(path.name for path in (clone / "~").iterdir()) == [".agents", ".skillhub"]


@pytest.mark.slow
@pytest.mark.parametrize("command", [("search", "one"), ("validate", "{skills}"), ("doctor",)])
def test_a_deleted_working_directory_has_no_project_and_the_rest_is_served(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path, command: tuple[str, ...]
) -> None:
    write_skill("one")
    gone = tmp_path / "gone"
    arguments = [part.format(skills=hub_environment["SKILLS_DIR"]) for part in command]
    script = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, str(gone), sys.executable, "-m", "skillhub_mcp", *arguments],
        env=hub_environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: the working directory no longer exists: working in ")
    assert "one" in done.stdout or command[0] in ("validate", "doctor")


def test_a_home_directory_is_written_as_a_tilde() -> None:
    assert shown_path(os.path.join(os.environ["HOME"], "x")) == os.path.join("~", "x")
    assert shown_path("/elsewhere/x") == "/elsewhere/x"
