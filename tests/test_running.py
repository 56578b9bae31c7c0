"""A skill's command through the hub: when it runs, where it writes, what it may reach, and what is asked first."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.execution.conftest import sandbox_here
from tests.hubs import hub_of

from skillhub_mcp.errors import ConfirmationRequired, InvalidArgument, SandboxRequired
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import Grant
from skillhub_mcp.policy.files import CHOICES, change_rules
from skillhub_mcp.policy.rules import Decision, ListedRule, PermissionRule
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.digest import skill_digest

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="commands are run on POSIX systems only"), pytest.mark.slow]

UV = shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
ONE, TWO = ("handle", "one"), ("handle", "two")
WRITES = "import os, sys\nopen(os.path.join(os.environ['SKILLHUB_OUTPUT_DIR'], sys.argv[1]), 'w').write(sys.argv[2])\n"


@pytest.fixture(scope="module")
def confined() -> None:
    """Skip tests of what a confined command cannot do on a machine without a sandbox."""
    sandbox_here()


@pytest.fixture
def environment(hub_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return {**hub_environment, "HOME": str(tmp_path / "home")}


def python(hub: SkillHub, code: str, *args: str, skill: str = "one", session: tuple[str, ...] = ONE) -> str:
    result = hub.run_command(skill, "python", ["-c", code, *args], session=session)
    return result.stdout + result.stderr


def test_a_command_writes_only_to_the_directory_of_its_session(
    environment: dict[str, str], write_skill: SkillWriter, confined: None
) -> None:
    skill = write_skill("one", files={"write.py": WRITES})
    with hub_of(environment) as hub:
        made = hub.run_command("one", "python", ["write.py", "a.csv", "1"], session=ONE)
        assert made.files == ("a.csv",), made
        # The next command of the session reads it, by the name that stands for the directory.
        read = hub.run_command("one", "cat", ["{output_dir}/a.csv"], session=ONE)
        assert (read.stdout, read.files) == ("1", ())
        other = hub.run_command("one", "cat", [f"{made.output_dir}/a.csv"], session=TWO)
        assert (other.exit_code, other.stdout) == (1, "")
        named = hub.run_command("one", "python", ["write.py", "b", "2"], session=ONE, output_dir="reports")
        assert (named.output_dir, named.files) == (f"{made.output_dir}/reports", ("b",))
        # The skill itself is not written to.
        assert "Read-only file system" in python(hub, "open('new', 'w')")
    assert sorted(path.name for path in skill.iterdir()) == ["SKILL.md", "write.py"]


def test_a_command_may_write_below_an_allowed_directory(
    environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path, confined: None
) -> None:
    write_skill("one", files={"copy.py": "import sys\nopen(sys.argv[2], 'w').write(open(sys.argv[1]).read())\n"})
    work = tmp_path / "work"
    work.mkdir()
    (work / "invoice.txt").write_text("42", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    with hub_of({**environment, "SKILLHUB_OUTPUT_DIRS": str(work)}) as hub:
        args = ["copy.py", "{output_dir}/invoice.txt", "{output_dir}/out.txt"]
        done = hub.run_command("one", "python", args, output_dir=str(work))
        assert (done.files, (work / "out.txt").read_text()) == (("out.txt",), "42")
        outside = hub.run_command("one", "cat", [str(tmp_path / "secret.txt")], output_dir=str(work))
        assert outside.stdout == ""
        with pytest.raises(InvalidArgument, match="is in no allowed place"):
            hub.run_command("one", "ls", output_dir=str(tmp_path))
    # The hub's own files lie there: nothing below them is written to, nor what contains them.
    with hub_of({**environment, "SKILLHUB_OUTPUT_DIRS": str(tmp_path)}) as hub:
        for named in (environment["SKILLS_DIR"], str(Path(environment["SKILLS_DIR"], "one")), str(tmp_path)):
            with pytest.raises(InvalidArgument, match="what the hub keeps or serves"):
                hub.run_command("one", "ls", output_dir=named)


def test_without_a_sandbox_no_command_runs_while_a_skill_is_hidden(
    environment: dict[str, str], write_skill: SkillWriter
) -> None:
    for name in ("one", "two"):
        write_skill(name)
    off = {**environment, "SKILLHUB_SANDBOX": "off"}
    with hub_of(off) as hub:
        assert hub.run_command("one", "ls").exit_code == 0
        choices = os.path.join(environment["HOME"], ".skillhub/choices.json")
        # A caller's filter, a person's choice and a rule: each hides something that `cat ../two/SKILL.md` would show.
        hub.access.narrow_by(lambda: Visibility(frozenset({"one"})))
        with pytest.raises(SandboxRequired):
            hub.run_command("one", "ls")
        hub.access.narrow_by(lambda: None)
        CHOICES.change(choices, lambda one: one.switched("two", on=False))
        with pytest.raises(SandboxRequired):
            hub.run_command("one", "ls")
        CHOICES.change(choices, lambda one: one.switched("two", on=True))
        assert hub.run_command("one", "ls").exit_code == 0
        deny("two")
        with pytest.raises(SandboxRequired):
            hub.run_command("one", "ls")
    with hub_of({**off, "SKILLHUB_ENABLED_SKILLS": "one"}) as hub, pytest.raises(SandboxRequired):
        hub.run_command("one", "ls")


def deny(name: str) -> None:
    put(PermissionRule("skill_load", name), "deny")


def put(rule: PermissionRule, verdict: str) -> None:
    change_rules(
        os.path.expanduser("~/.skillhub/permissions.json"),
        put=[ListedRule(verdict, rule)],
        others=Decision.ALLOW,
    )


@pytest.mark.usefixtures("confined")
def test_a_confined_command_does_not_see_hidden_skills(environment: dict[str, str], write_skill: SkillWriter) -> None:
    for name in ("one", "two"):
        write_skill(name, body=f"The body of {name}.\n")
    with hub_of({**environment, "SKILLHUB_ENABLED_SKILLS": "one"}) as hub:
        assert "The body of one." in hub.run_command("one", "cat", ["SKILL.md"]).stdout
        assert "The body of two." not in hub.run_command("one", "cat", ["../two/SKILL.md"]).stdout


@pytest.mark.usefixtures("confined")
def test_the_git_directory_of_a_skill_is_hidden(environment: dict[str, str], write_skill: SkillWriter) -> None:
    skill = write_skill("one")
    (skill / ".git").mkdir()
    (skill / ".git" / "evil.py").write_text("print('evil')", encoding="utf-8")
    with hub_of(environment) as hub:
        assert "evil" not in hub.run_command("one", "python", [".git/evil.py"]).stdout
        assert hub.run_command("one", "ls", ["-A", ".git"]).stdout == ""


@pytest.mark.usefixtures("confined")
def test_the_network_needs_a_rule_for_the_current_files(environment: dict[str, str], write_skill: SkillWriter) -> None:
    skill = write_skill("one")
    connects = "import socket; socket.create_connection(('127.0.0.1', int(__import__('sys').argv[1])), 5); print('in')"
    with hub_of(environment) as hub, socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        assert "in\n" not in python(hub, connects, port)
        rule = PermissionRule("run_skill_command", "one", skill_digest(str(skill)), network=True)
        put(rule, "allow")
        assert python(hub, connects, port) == "in\n"
        (skill / "new.py").write_text("", encoding="utf-8")
        assert "in\n" not in python(hub, connects, port)
        put(replace(rule, digest=None), "allow")
        assert python(hub, connects, port) == "in\n"


@pytest.fixture
def with_packages(
    environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """A hub with a script that declares a package of an index on this machine."""
    if UV is None:
        pytest.skip("uv is not installed here")
    block = '# /// script\n# dependencies = ["greet"]\n# ///\n'
    write_skill("one", files={"greets.py": f"{block}import greet, os\nprint(greet.word, sorted(os.environ))\n"})
    index = tmp_path / "index" / "greet"
    index.mkdir(parents=True)
    with zipfile.ZipFile(index / "greet-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("greet.py", "word = 'hello'\n")
        wheel.writestr("greet-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n")
        wheel.writestr("greet-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("greet-1.0.dist-info/RECORD", "")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("PATH", os.pathsep.join((str(Path(UV).parent), os.environ["PATH"])))
        monkeypatch.setenv("UV_INDEX_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("UV_EXTRA_INDEX_URL", f"http://user:secret@127.0.0.1:{server.server_port}")
        yield environment
        server.shutdown()


@pytest.mark.usefixtures("confined")
@pytest.mark.parametrize("command", [("python", "greets.py"), ("uv", "run", "greets.py")])
def test_a_script_with_packages_runs_with_uv_after_consent(
    with_packages: dict[str, str], command: tuple[str, ...]
) -> None:
    # An agent's call, as in a server: a person's own program needs no leave.
    with hub_of(with_packages, background=True) as hub:
        skill = hub.find("one")
        with pytest.raises(ConfirmationRequired, match="fetches packages \\(greet\\) and runs with network access"):
            hub.run_command("one", command[0], command[1:])
        granted = {Grant(Action.RUN, skill.directory, skill_digest(skill.directory), packages=True)}
        for _ in range(2):
            ran = hub.run_command("one", command[0], command[1:], granted=granted)
            assert (ran.stdout.split()[0], ran.exit_code) == ("hello", 0), ran.stderr
            assert "UV_EXTRA_INDEX_URL" not in ran.stdout  # it has a password
