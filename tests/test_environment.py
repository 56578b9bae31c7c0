"""Unusual variables, home and working directories neither end a process nor give strangers control."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.bearers import INITIALIZE
from tests.server.test_transports import RawClient

from skillhub_mcp.environment import NO_HOME, expand_home, prepare_environment, shell_path, shown_path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="other systems keep their users elsewhere")

# Run several commands one after another, each as `skillhub` does, and print how each ended.
SEVERAL = """
import json, sys
from skillhub_mcp.__main__ import main
commands = json.loads(sys.argv[1])
for command in commands:
    sys.argv = ["skillhub", *command]
    try:
        main()
    except SystemExit as ended:
        print("exit code", ended.code, flush=True)
"""
# As for a user id without an entry, such as a container platform assigns.
WITHOUT_ENTRY = """
import pwd
def missing(*_):
    raise KeyError
pwd.getpwuid = pwd.getpwnam = missing
"""


def run(
    *commands: Sequence[str], environment: dict[str, str], cwd: Path, before: str = "", shell: str = 'exec "$@"'
) -> subprocess.CompletedProcess[str]:
    """Run the commands in one process, after the Python code `before`; it is started by the `shell` script."""
    program = (sys.executable, "-c", before + SEVERAL, json.dumps(commands))
    return subprocess.run(
        ["/bin/sh", "-c", shell, str(cwd / "gone"), *program],
        env=environment,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def test_a_relative_home_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("~", ".", ""):
        monkeypatch.setenv("HOME", name)
        prepare_environment()
        assert os.path.isabs(os.path.expanduser("~"))


def test_an_unknown_home_never_expands_into_the_working_directory(
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


@pytest.mark.slow
def test_variables_for_other_fastmcp_servers_have_no_effect(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one")
    client = RawClient({**hub_environment, "FASTMCP_PORT": "", "fastmcp_stateless_http": "perhaps"})
    assert client.answer(INITIALIZE)["result"]["serverInfo"]["name"] == "SkillHub"
    client.close()


@pytest.mark.slow
def test_without_a_home_a_directory_named_tilde_is_not_the_user_s_hub(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("mine")
    clone = tmp_path / "clone"
    for place in ("~/.skillhub/skills/evil", "~/.agents/skills/evil"):
        (clone / place).mkdir(parents=True)
        (clone / place / "SKILL.md").write_text("---\nname: evil\ndescription: Evil.\n---\n", encoding="utf-8")
    environment = {name: value for name, value in hub_environment.items() if name != "HOME"}
    listed = run(["list"], environment=environment, cwd=clone, before=WITHOUT_ENTRY)
    assert listed.stderr.startswith("note: no home directory: HOME is not set")
    assert ("mine" in listed.stdout, "evil" in listed.stdout, "exit code 0" in listed.stdout) == (True, False, True)
    del environment["SKILLS_DIR"], environment["DB_PATH"]
    commands = (["search", "evil"], ["list"], ["doctor"], ["connect", "--list"], ["why", "evil"])
    done = run(*commands, environment=environment, cwd=clone, before=WITHOUT_ENTRY)
    assert len(re.findall(r"^exit code [01]$", done.stdout, re.MULTILINE)) == len(commands), done
    assert "Evil." not in done.stdout
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in (clone / "~").iterdir()) == [".agents", ".skillhub"]


@pytest.mark.slow
def test_in_a_deleted_working_directory_everything_but_the_project_is_served(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("one")
    commands = (["search", "one"], ["validate", hub_environment["SKILLS_DIR"]], ["doctor"])
    leave = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"'
    done = run(*commands, environment=hub_environment, cwd=tmp_path, shell=leave)
    assert done.stderr.startswith("note: the working directory no longer exists: working in ")
    assert done.stdout.count("exit code 0") == len(commands), done
    assert "one" in done.stdout


def test_the_home_directory_is_shown_as_a_tilde() -> None:
    assert shown_path(os.path.join(os.environ["HOME"], "x")) == os.path.join("~", "x")
    assert shown_path("/elsewhere/x") == "/elsewhere/x"


def test_a_path_is_quoted_for_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    cwd = "/home/me/code"
    assert shell_path("/home/me/code/.cursor/skills", cwd=cwd) == "./.cursor/skills"
    assert shell_path("/home/me/code/my skills", cwd=cwd) == "'./my skills'"
    assert shell_path("/home/me/.claude/skills", cwd=cwd) == "~/.claude/skills"
    # In the home directory, ~ is clearer.
    assert shell_path("/home/me/.claude/skills", cwd="/home/me") == "~/.claude/skills"
    assert shell_path("/home/me/my skills", cwd=cwd) == "'/home/me/my skills'"
    assert shell_path("/srv/$(touch x)") == "'/srv/$(touch x)'"
    assert shell_path("/srv/skills") == "/srv/skills"
