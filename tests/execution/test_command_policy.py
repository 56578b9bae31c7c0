"""Which program a call may run, with real programs on a real search path."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from skillhub_mcp.errors import CommandNotAllowed, CommandUnavailable, InvalidArgument, PackagesUnavailable
from skillhub_mcp.execution.command_policy import (
    absolute_path_entries,
    build_argv,
    declared_packages,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands are run on POSIX systems only")

ALLOWED = ("python", "uv", "node", "cat", "ls", "grep")

SCRIPT_BLOCK = '# /// script\n# requires-python = ">=3.9"\n# dependencies = []\n# ///\n'


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    directory = tmp_path / "bin"
    directory.mkdir()
    return directory


def install(directory: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    program = directory / name
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program


def resolve(
    command: str, *args: str, cwd: Path, search_path: object, allowed: tuple[str, ...] = ALLOWED
) -> tuple[str, ...]:
    return build_argv(allowed, command, args, cwd=cwd, search_path=str(search_path))


@pytest.mark.acceptance("S2-37")
@pytest.mark.parametrize(
    "command",
    ["/bin/cat", "./cat", "../cat", "cat ", "cat\n", "cat\0", "cat;ls", "CAT", "bash", "\\cat", ""],
)
def test_only_exact_allowed_names_are_accepted(command: str, skill: Path, programs: Path) -> None:
    install(programs, "cat")
    install(skill, "cat")
    with pytest.raises(CommandNotAllowed) as refused:
        resolve(command, cwd=skill, search_path=programs)
    assert refused.value.facts == {"command": command, "allowed": list(ALLOWED)}


@pytest.mark.acceptance("S2-37")
def test_a_path_is_refused_even_if_it_is_listed(skill: Path, programs: Path) -> None:
    program = install(programs, "cat")
    listed = (str(program), "./cat")
    for command in listed:
        with pytest.raises(CommandNotAllowed):
            resolve(command, cwd=skill, search_path=programs, allowed=listed)


@pytest.mark.acceptance("S2-37")
def test_an_allowed_command_becomes_an_absolute_path_and_its_arguments(skill: Path, programs: Path) -> None:
    program = install(programs, "grep")
    argv = resolve("grep", "-n", "a b", "*", cwd=skill, search_path=programs)
    assert argv == (str(program), "-n", "a b", "*")


@pytest.mark.acceptance("S2-37")
def test_a_file_of_the_skill_is_never_run_as_a_program(
    skill: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(skill, "cat")
    install(skill / "..", "cat")
    monkeypatch.chdir(skill)
    hostile = os.pathsep.join(["", ".", "..", "./", "../runner-skill"])
    with pytest.raises(CommandUnavailable):
        resolve("cat", cwd=skill, search_path=f"{hostile}{os.pathsep}{programs}")
    real = install(programs, "cat")
    argv = resolve("cat", cwd=skill, search_path=f"{hostile}{os.pathsep}{programs}{os.pathsep}")
    assert argv == (str(real),)


@pytest.mark.parametrize("search_path", ["", ".", ":", "bin:.:~/bin"])
def test_a_search_path_without_absolute_entries_becomes_the_default_path(search_path: str) -> None:
    assert absolute_path_entries(search_path) == os.defpath


def test_an_argument_with_an_unpaired_surrogate_is_refused(skill: Path, programs: Path) -> None:
    install(programs, "cat")
    with pytest.raises(InvalidArgument) as refused:
        resolve("cat", "fine", "\ud800", cwd=skill, search_path=programs)
    assert refused.value.subject == "args"


@pytest.mark.acceptance("S2-38")
@pytest.mark.parametrize("command", ["python", "python3"])
@pytest.mark.parametrize("listed", ["python", "python3"])
def test_python_runs_through_uv_if_installed(command: str, listed: str, skill: Path, programs: Path) -> None:
    install(programs, "python")
    python3 = install(programs, "python3")
    assert resolve(command, "run.py", cwd=skill, search_path=programs, allowed=(listed,)) == (str(python3), "run.py")
    uv = install(programs, "uv")
    argv = resolve(command, "run.py", "x", cwd=skill, search_path=programs, allowed=(listed,))
    assert argv == (str(uv), "run", "--quiet", "--no-project", "python", "run.py", "x")


@pytest.mark.acceptance("S2-38")
@pytest.mark.parametrize("text", [SCRIPT_BLOCK, "import os\n" + SCRIPT_BLOCK.replace("\n", "\r\n")])
def test_a_pep_723_script_runs_with_uv_script(text: str, skill: Path, programs: Path) -> None:
    uv = install(programs, "uv")
    (skill / "scripts").mkdir()
    (skill / "scripts" / "run.py").write_text(text, encoding="utf-8", newline="")
    argv = resolve("python", "scripts/run.py", "--help", cwd=skill, search_path=programs)
    assert argv == (str(uv), "run", "--quiet", "--no-project", "--script", "scripts/run.py", "--help")


def test_only_scripts_inside_the_skill_are_read(skill: Path, programs: Path) -> None:
    install(programs, "uv")
    outside = skill.parent / "outside.py"
    outside.write_text(SCRIPT_BLOCK, encoding="utf-8")
    (skill / "run.py").write_text(SCRIPT_BLOCK, encoding="utf-8")
    (skill / "link.py").symlink_to(outside)
    (skill / "ring.py").symlink_to("ring.py")
    os.mkfifo(skill / "pipe.py")
    for args in (
        (),
        ("../outside.py",),
        (str(outside),),
        ("link.py",),
        ("ring.py",),
        ("pipe.py",),
        ("missing.py",),
        ("x" * 5000,),
        (".",),
        ("-u", "run.py"),
        ("-c", "print()"),
    ):
        argv = resolve("python", *args, cwd=skill, search_path=programs)
        assert argv[4:] == ("python", *args)


def script(directory: Path, *lines: str) -> Path:
    """A script with a block of these lines."""
    path = directory / "read.py"
    block = "".join(f"# {line}".rstrip() + "\n" for line in ("/// script", *lines, "///"))
    path.write_text(f"#!/usr/bin/env python3\n{block}\nprint(1)\n", encoding="utf-8")
    return path


def test_declared_packages_are_read(tmp_path: Path) -> None:
    found = declared_packages(
        script(tmp_path, 'requires-python = ">=3.10"', "dependencies = [", '  "pypdf>=5,<7",', "", '  "rich[x] ; a", ]')
    )
    assert found == ("pypdf>=5,<7", "rich[x] ; a")


@pytest.mark.parametrize(
    "text",
    [
        "print(1)\n",
        "# /// script\n# dependencies = []\n# ///\n",
        '# /// script\n# requires-python = ">=3"\n# ///\n',
        "# /// script\n# dependencies = ['a']\nprint(1)\n# ///\n",
        "# /// other\n# dependencies = ['a']\n# ///\n",
    ],
)
def test_a_script_without_declared_packages_needs_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    assert declared_packages(tmp_path / "a.py") == ()
    assert declared_packages(tmp_path / "missing.py") == ()


@pytest.mark.parametrize(
    "requirement",
    [
        "evil @ https://evil.example/evil-1-py3-none-any.whl",
        "evil@file:///etc",
        "git+https://evil.example/evil",
        "./local",
        "/etc/passwd",
        "--index-url=https://evil.example",
        "-r other.txt",
        "a\n--index-url https://evil.example",
        "a; python_version > '3' \n-r x",
        "",
    ],
)
def test_packages_from_urls_and_paths_are_refused(tmp_path: Path, requirement: str) -> None:
    with pytest.raises(PackagesUnavailable, match="is not a name and versions of a package in an index"):
        declared_packages(script(tmp_path, f"dependencies = [{json.dumps(requirement)}]"))


@pytest.mark.parametrize(
    "setting",
    [
        'index-url = "https://evil.example"',
        'extra-index-url = ["https://evil.example"]',
        'find-links = ["https://evil.example"]',
        'sources = { a = { git = "https://evil.example" } }',
        'index = [{ url = "https://evil.example" }]',
        "no-build = false",
    ],
)
def test_a_pep_723_block_cannot_choose_the_package_index(tmp_path: Path, setting: str) -> None:
    path = script(tmp_path, 'dependencies = ["a"]', "[tool.uv]", setting)
    with pytest.raises(PackagesUnavailable, match="the skill does not decide where packages come from"):
        declared_packages(path)
    newest = script(tmp_path, 'dependencies = ["a"]', "[tool.uv]", 'exclude-newer = "2026-01-01T00:00:00Z"')
    assert declared_packages(newest) == ("a",)


@pytest.mark.parametrize(
    "line",
    [
        "dependencies = [",
        "dependencies = 3",
        "dependencies = [1]",
    ],
)
def test_a_malformed_pep_723_block_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(PackagesUnavailable, match=r"The packages of 'read.py' cannot be installed"):
        declared_packages(script(tmp_path, line))
