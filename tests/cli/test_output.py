"""Output on a terminal: every script in every locale, no control characters, and progress bars."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len as width
from tests.cli.conftest import SKILLHUB, Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp.cli.output import write_file
from skillhub_mcp.errors import InvalidArgument

ASCII_LOCALE = {"LC_ALL": "C"}


def on_a_terminal(arguments: Sequence[str | Path], environment: dict[str, str]) -> tuple[int, bytes]:
    """Run a command on a pseudo-terminal; return its code and what stdout showed."""
    pty, fcntl, termios = (
        pytest.importorskip(name, reason="this system has no pseudo-terminals") for name in ("pty", "fcntl", "termios")
    )
    ours, theirs = pty.openpty()
    # Every real terminal has a width; a new pseudo-terminal has none.
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*SKILLHUB, *arguments],
        env={**environment, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # on Linux, the other end was closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    return process.wait(timeout=60), seen


def test_control_characters_of_a_file_are_escaped_on_a_terminal(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("evil", body="\x1b[2J\x9b31m\rover\x08\u2066 body\n")
    code, seen = on_a_terminal(["show", "evil", "--file", "SKILL.md"], hub_environment)
    assert code == 0
    assert b"\\x1b[2J\\x9b31m\\rover" in seen
    assert b"\x1b" not in seen


def test_a_binary_file_is_not_printed_on_a_terminal(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    write_skill("one", files={"a.bin": bytes(range(256))})
    assert on_a_terminal(["show", "one", "--file", "a.bin"], hub_environment) == (2, b"")


@pytest.mark.slow
def test_every_script_is_printed_and_named_in_an_ascii_locale(process: Skillhub, skills_dir: Path) -> None:
    assert process("new", "été2", "--description", "議事録を作成する 🌍", **ASCII_LOCALE).code == 0
    listed = process("list", **ASCII_LOCALE)
    assert (listed.code, listed.err, "議事録を作成する 🌍" in listed.out) == (0, "", True)
    shown = process("show", skills_dir / "été2", "--json", **ASCII_LOCALE).json
    assert (shown["name"], "議事録を作成する 🌍" in shown["description"]) == ("été2", True)
    assert process("lock", "été2", **ASCII_LOCALE).out == "été2 is locked\n"
    assert process("remove", "été2", **ASCII_LOCALE).code == 0
    assert not (skills_dir / "été2").exists()


@pytest.mark.slow
def test_a_locale_with_few_characters_gets_escapes_for_the_others(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("minutes", "café 議 🌍")
    environment = {**hub_environment, "PYTHONIOENCODING": "latin-1"}

    def printed(*typed: str) -> str:
        done = subprocess.run([*SKILLHUB, *typed], env=environment, capture_output=True, check=True, timeout=60)
        return done.stdout.decode("latin-1")

    assert printed("list") == "minutes  hub  café \\u8b70 \\U0001f30d\n"
    assert json.loads(printed("list", "--json"))["skills"][0]["description"] == "café 議 🌍"


def test_a_lone_surrogate_in_a_skill_breaks_no_command(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one", frontmatter='name: one\ndescription: "half \\ud800 of it"')
    write_skill("two")
    for command in (["list"], ["search", "two"]):
        done = skillhub(*command)
        assert (done.code, "two" in done.out) == (0, True), done.err


def test_a_list_fits_the_terminal_and_is_complete_in_a_pipe(
    hub_environment: dict[str, str], skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    long = "議事録を作成する。" * 20
    write_skill("minutes", long)
    write_skill("people", "For people.", extra='disable-model-invocation: "true"')
    code, seen = on_a_terminal(["list"], {**hub_environment, "NO_COLOR": "1"})
    head, minutes, people, _, counts = seen.decode().splitlines()
    assert (code, head.split()) == (0, ["skill", "source", "description"])
    assert width(minutes) <= 80
    assert minutes.endswith("…")
    assert people.split(maxsplit=2) == ["people", "hub", "(not for models) For people."]
    assert counts == "2 served, 1 not for models"
    assert skillhub("list").out == f"minutes  hub  {long}\npeople  hub  (not for models) For people.\n"
    assert long in skillhub("search", "議事録").out
    # In colours where they are asked for, though it is no terminal.
    assert skillhub("list", FORCE_COLOR="1").out.startswith(f"\x1b[1mminutes\x1b[0m  \x1b[2mhub\x1b[0m  {long}\n")


@pytest.mark.parametrize("place", ["none/x.json", "file/x.json", "directory"])
def test_an_output_path_that_cannot_be_written_is_a_wrong_argument(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()
    with pytest.raises(InvalidArgument, match=f"^FILE .*{place}' cannot be written: "):
        write_file(str(tmp_path / place), b"x", argument="FILE")
    assert not list(tmp_path.glob("**/*.new"))
