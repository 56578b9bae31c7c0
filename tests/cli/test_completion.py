"""`skillhub completion`: the scripts, in the shells that they are for."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp.cli.commands.completion import SHELLS, SKILLS, fixed_words, script
from skillhub_mcp.cli.completion_words import run
from skillhub_mcp.cli.main import make_parser

AWKWARD = "Chat with PDF; $(touch owned)"
# What is typed before Tab, and what a shell offers.
LINES = {
    "skillhub sho": ["show"],
    "skillhub --skil": ["--skills-dir"],
    "skillhub --transp": [],
    "skillhub enable log-triage csv-": ["csv-cleaner", "csv-profiler"],
    "skillhub search --source ": ["builtin", "hub", "project", "user"],
    "skillhub eval ": ["from-log", "run"],
    "skillhub help ser": ["serve"],
    "skillhub connect cursor vsc": ["vscode", "vscode-insiders"],
    "skillhub new x --from-template pdf": ["pdf-invoice-extractor"],
    "skillhub validate kep": ["kept"],
    "skillhub show Chat": [AWKWARD],
}
# Each prints a line for each of LINES: what is offered, separated by tabs.
PROGRAMS = {
    "bash": """
source ./script
try() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _shtab_skillhub
    (IFS=$'\\t'; echo "${COMPREPLY[*]}")
}
""",
    "fish": """
source ./script
function try
    echo (complete -C "$argv" | string split -f 1 \\t | string join \\t)
end
""",
}


@pytest.fixture
def place(tmp_path: Path, write_skill: SkillWriter) -> Path:
    """A directory to type in: with a program `skillhub`, and skills."""
    for name in ("csv-profiler", "csv-cleaner", "log-triage"):
        write_skill(name)
    write_skill(AWKWARD, directory="chat")
    (tmp_path / "kept").mkdir()
    program = tmp_path / "bin" / "skillhub"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m skillhub_mcp "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


def in_shell(shell: str, program: str, place: Path, environment: dict[str, str]) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    start = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}[shell]
    done = subprocess.run(
        [path, start, "-c", program],
        env={**environment, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        cwd=place,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_offers_commands_options_choices_paths_and_skills(
    place: Path, hub_environment: dict[str, str], shell: str
) -> None:
    (place / "script").write_text(script(shell, make_parser()), encoding="utf-8")
    typed = [line if shell == "fish" else " ".join(map(shlex.quote, line.split(" "))) for line in LINES]
    calls = "\n".join(f"try {shlex.quote(line) if shell == 'fish' else line}" for line in typed)
    lines = in_shell(shell, PROGRAMS[shell] + calls, place, hub_environment).splitlines()
    # What bash inserts is quoted for it.
    offered = [shlex.split(line) if shell == "bash" else [word for word in line.split("\t") if word] for line in lines]
    found = {line: sorted(word.rstrip("/") for word in words) for line, words in zip(LINES, offered, strict=True)}
    assert found == LINES
    assert not (place / "owned").exists()


@pytest.mark.slow
def test_zsh_completes_the_name_of_a_skill(place: Path, hub_environment: dict[str, str]) -> None:
    (place / "_skillhub").write_text(script("zsh", make_parser()), encoding="utf-8")
    program = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; echo READ""Y'
zpty -r shell seen '*READY*'
zpty -w -n shell $'skillhub show log-\\t'
zpty -r shell seen '*log-triage*' && echo found
zpty -d shell
"""
    assert in_shell("zsh", program, place, hub_environment) == "found\n"


def test_without_a_shell_it_says_how_to_install_the_script(skillhub: Skillhub) -> None:
    done = skillhub("completion")
    assert (done.code, done.err) == (0, "")
    assert all(f"skillhub completion {shell}" in done.out for shell in SHELLS)
    assert done.out in skillhub("completion", "--help").out
    assert all("disconnect" in skillhub("completion", shell).out for shell in SHELLS)
    assert skillhub("completion", "csh").code == 2


def test_every_argument_whose_words_are_known_exists() -> None:
    root = make_parser()
    for command, argument in (*((one, name) for one, names in SKILLS.items() for name in names), *fixed_words(())):
        assert argument in {action.dest for action in root.command(command.split()).arguments}, (command, argument)


@pytest.fixture
def words(
    hub_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Callable[[], list[str]]:
    """Ask for the names of skills."""

    def ask() -> list[str]:
        monkeypatch.setenv("SKILLS_DIR", hub_environment["SKILLS_DIR"])
        assert run([]) == 0
        sys.stdout.flush()
        return capsysbinary.readouterr().out.decode(errors="surrogateescape").splitlines()

    return ask


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("name: plain", "plain"),
        ('name: "Chat with PDF"  ', "Chat with PDF"),
        ("name: 'quoted'\r", "quoted"),
        ("description: d\nname: second", "second"),
        ("name: 請求書", "請求書"),
        ("no: name", "folder"),
        ("name:", "folder"),
    ],
)
def test_a_skill_is_completed_by_its_own_name(
    words: Callable[[], list[str]], skills_dir: Path, line: str, name: str
) -> None:
    (skills_dir / "folder").mkdir()
    (skills_dir / "folder" / "SKILL.md").write_text(f"---\n{line}\n---\nbody\n", encoding="utf-8", newline="")
    assert words() == [name]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_does_not_block_completion(
    words: Callable[[], list[str]], skills_dir: Path, write_skill: SkillWriter
) -> None:
    write_skill("one")
    (skills_dir / "pipe").mkdir()
    os.mkfifo(skills_dir / "pipe" / "SKILL.md")
    assert set(words()) <= {"one", "pipe"}


def test_completion_loads_no_command_and_no_hub(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    write_skill("one")
    program = """
import sys
from skillhub_mcp.__main__ import main
sys.argv[1:] = ["__complete"]
try:
    main()
except SystemExit:
    print(sorted({"skillhub_mcp.bootstrap", "skillhub_mcp.hub", "skillhub_mcp.cli.main", "yaml"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=hub_environment, capture_output=True, check=True, timeout=60
    )
    assert done.stdout.decode() == "one\n[]\n"
