"""The command line as a whole: the position of options, usage errors, failures and exit codes."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from fastmcp import FastMCP
from tests.cli.conftest import SKILLHUB, Skillhub, Terminal
from tests.conftest import SkillWriter

from skillhub_mcp import errors
from skillhub_mcp.cli.commands import COMMANDS, config
from skillhub_mcp.cli.main import make_parser
from skillhub_mcp.cli.renames import ALIASES
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.version import version


class Input(Terminal):
    """A terminal with a descriptor, as a server has."""

    def fileno(self) -> int:
        return 0


PROJECT = Path(__file__).parents[2]


def test_the_version_is_one_line(skillhub: Skillhub) -> None:
    done = skillhub("--version")
    assert (done.code, done.out, done.err) == (0, f"skillhub-mcp {version()}\n", "")


@pytest.mark.parametrize("words", [["eval", "run"], ["list"]], ids=" ".join)
def test_help_prints_the_help_of_a_command(skillhub: Skillhub, words: list[str]) -> None:
    done = skillhub("help", *words)
    assert (done.code, done.out, done.err) == (0, skillhub(*words, "--help").out, "")


def test_without_a_command_a_terminal_gets_the_list_of_commands(
    skillhub: Skillhub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Input())
    done = skillhub(COLUMNS="80")
    assert (done.code, done.err) == (0, "")
    assert done == skillhub("help", COLUMNS="80")
    lines = done.out.splitlines()
    assert {f"  {name:<11} {COMMANDS[name].summary}" for name in COMMANDS} <= set(lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("typed", [["--transport", "stdio"], ["--enable-run"], ["--skip-auto-reindex"], ["serve"]])
def test_serving_options_serve_on_a_terminal_too(
    skillhub: Skillhub, monkeypatch: pytest.MonkeyPatch, typed: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Input())
    served: list[str] = []
    monkeypatch.setattr(FastMCP, "run", lambda _, transport, **_options: served.append(transport))
    done = skillhub(*typed)
    assert (done.code, done.out, served) == (0, "", ["stdio"])
    assert "waiting for a client" in done.err


def test_a_server_that_starts_warns_of_variables_that_are_no_settings(
    skillhub: Skillhub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sys.stdin", Input())
    monkeypatch.setattr(FastMCP, "run", lambda *_, **_options: None)
    done = skillhub("serve", SKILLHUB_ENABLED_SKILL="painter", SKILLHUB_CARD="off", SKILLHUB_XYZZY="1")
    assert done.code == 0
    assert [message for message in caplog.messages if "is not a setting" in message] == [
        "SKILLHUB_ENABLED_SKILL is not a setting and has no effect: did you mean SKILLHUB_ENABLED_SKILLS?",
        "SKILLHUB_XYZZY is not a setting and has no effect",
    ]


@pytest.mark.parametrize("option", ["--skills-dir", "--cwd"])
@pytest.mark.parametrize("before", [True, False])
def test_an_option_for_a_setting_may_stand_before_or_after_the_command(
    skillhub: Skillhub, option: str, before: bool
) -> None:
    setting, value = {"--skills-dir": ("SKILLS_DIR", "/elsewhere"), "--cwd": ("SKILLHUB_CWD", "/")}[option]
    words = [option, value, "config"] if before else ["config", option, value]
    rows = skillhub(*words, "--json").json["settings"]
    assert [(row["value"], row["from"]) for row in rows if row["name"] == setting] == [(value, "option")]


def test_the_later_of_two_options_counts(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    write_skill("here")
    write_skill("there", root=tmp_path / "other")
    done = skillhub("--skills-dir", skills_dir, "list", f"--skills-dir={tmp_path / 'other'}", SKILLS_DIR="/nowhere")
    assert done.out.startswith("there  ")


MISUSES = [
    (["serach", "x"], "'serach' is not a command of 'skillhub'", "did you mean 'search'?"),
    (["xyzzy"], "'xyzzy' is not a command of 'skillhub'", "skillhub help lists the commands"),
    (["it's"], "\"it's\" is not a command of 'skillhub'", "skillhub help lists the commands"),
    (["a\\b\n"], "'a\\\\b\\n' is not a command of 'skillhub'", "skillhub help lists the commands"),
    (["help", "evil", "run"], "'evil' is not a command of 'skillhub'", "did you mean 'eval'?"),
    (["help", "eval", "rnu"], "'rnu' is not an action of 'skillhub eval'", "did you mean 'run'?"),
    (["eval", "xyzzy"], "'xyzzy' is not an action of 'skillhub eval'", "skillhub eval [run|from-log]"),
    (["eval"], "ACTION is required", "skillhub eval run|from-log, or skillhub eval --overlaps"),
    (["context"], "ACTION is required", "skillhub context catalogue|resolve|cost"),
    (["outdated", "pdf"], "'outdated' is not a command of 'skillhub'", "skillhub update --check"),
    (["permissions", "show"], "'permissions' is not a command of 'skillhub'", "skillhub allow"),
    (["registry", "build"], "'registry' is not a command of 'skillhub'", "skillhub call --list"),
    (["list", "--db-path", "x"], "--db-path is not an option of 'skillhub list'", "SKILLHUB_DB_PATH=PATH skillhub …"),
    (
        ["disconnect", "cursor", "--restore"],
        "--restore is not an option of 'skillhub disconnect'",
        "skillhub disconnect restores an unchanged file; older copies are in ~/.skillhub/backups",
    ),
    (["roots", "list"], "'list' is not an action of 'skillhub roots'", "skillhub roots [add|remove]"),
    (["help", "list", "one"], "'one' is an unexpected argument", "skillhub list --help"),
    (["--trans", "http"], "--trans is not an option of 'skillhub serve'", "did you mean '--transport'?"),
    (["--transport", "sdtio"], "--transport 'sdtio' is not one of stdio, http", "did you mean 'stdio'?"),
    (["--port", "99999"], "--port must be a whole number from 0 to 65535", "skillhub serve --help"),
    (["--port"], "--port requires a value", "skillhub serve --help"),
    (["show"], "NAME is required", "skillhub show --help"),
    (["list", "one"], "'one' is an unexpected argument", "skillhub list --help"),
    (["list", "--jsno"], "--jsno is not an option of 'skillhub list'", "did you mean '--json'?"),
    (["--frozen", "list"], "--frozen is not an option of 'skillhub list'", "skillhub list --help"),
]


@pytest.mark.parametrize(("typed", "message", "hint"), MISUSES, ids=[" ".join(typed) for typed, _, _ in MISUSES])
def test_a_usage_error_is_printed_on_stderr_with_a_hint_and_code_2(
    skillhub: Skillhub, typed: list[str], message: str, hint: str
) -> None:
    done = skillhub(*typed)
    assert (done.code, done.out, done.err) == (2, "", f"error: {message}\n\nhint: {hint}\n")


def test_a_usage_error_is_an_object_with_json(skillhub: Skillhub) -> None:
    done = skillhub("search", "x", "--limit", "ten", "--json")
    assert (done.code, done.out) == (2, "")
    assert done.error == {
        "code": "INVALID_ARGUMENT",
        "message": "--limit must be a whole number of at least 1, not 'ten'",
        "argument": "--limit",
        "hint": "skillhub search --help",
    }
    early = skillhub("--json", "list")
    assert (early.error["message"], early.error["hint"]) == ("--json must follow the command", "skillhub list --json")


def test_an_expected_failure_ends_with_code_1_and_leaves_stdout_empty(skillhub: Skillhub, skills_dir: Path) -> None:
    done = skillhub("show", "nobody", "--json")
    assert (done.code, done.out) == (1, "")
    assert done.error == {
        "code": "SKILL_NOT_FOUND",
        "message": "No skill is named 'nobody'",
        "skill_name": "nobody",
        "near": [],
        "hint": f"available skills: (none). {skills_dir} has no skill; "
        "put a folder with a SKILL.md there, as `skillhub add SOURCE` and `skillhub new NAME` do",
    }


@pytest.mark.parametrize(
    "error",
    [
        one
        for name, one in inspect.getmembers(errors, inspect.isclass)
        if issubclass(one, SkillHubError) and not name.startswith("_")
    ],
    ids=lambda error: error.__name__,
)
def test_every_error_ends_with_the_code_that_the_reference_says(
    skillhub: Skillhub, monkeypatch: pytest.MonkeyPatch, error: type[SkillHubError]
) -> None:
    reference = (PROJECT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    said = re.search(r"In a shell, (?P<codes>.+) exit with code 2, the others with 1\.", reference)
    assert said is not None
    with_2 = set(re.findall(r"`(\w+)`", said["codes"]))
    listed = set(re.findall(r"^\| `(\w+)` \|", reference, re.MULTILINE))
    assert with_2 < listed
    # The base is for those of a library, none of which has a row.
    assert error is SkillHubError or error.code in listed
    raised = error.__new__(error)
    SkillHubError.__init__(raised, "It failed")
    raised.__dict__["path"] = None

    def fail(*_: object) -> int:
        raise raised

    monkeypatch.setattr(config, "run", fail)
    assert skillhub("config").code == (2 if error.code in with_2 else 1)


def test_a_bug_ends_with_code_3_and_a_traceback(skillhub: Skillhub, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("of \x1b[31mours")

    monkeypatch.setattr(config, "print_json", broken)
    done = skillhub("config", "--json")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error: this is a bug in skillhub; please report it with this traceback\n\nTraceback")
    assert done.err.endswith("ZeroDivisionError: of \\x1b[31mours\n\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_an_interrupted_command_ends_quietly_with_code_130(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        provider = {
            "EMBEDDING_PROVIDER": "openai",
            "OPENAI_API_KEY": "k",
            "EMBEDDING_BASE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}/v1",
        }
        process = subprocess.Popen(
            [*SKILLHUB, "index"],
            env={**hub_environment, **provider},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A test run in the background of a shell hands on that it ignores the signal.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no other thread runs here
        )
        with silent.accept()[0] as asked:
            asked.recv(1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_words_of_other_tools_are_understood(skillhub: Skillhub, alias: str, name: str) -> None:
    assert skillhub(alias, "--help").out == skillhub(name, "--help").out


def test_summaries_of_commands_and_options_are_short() -> None:
    parser = make_parser()
    texts = [one.summary for one in COMMANDS.values()]
    texts += [one.help or "" for command in parser.subcommands.values() for one in command.arguments]
    assert [one for one in texts if len(one) >= 60 and one != argparse.SUPPRESS] == []


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes break otherwise there")
def test_a_command_keeps_its_exit_code_and_finishes_although_its_reader_left(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    good, bad = write_skill("good", root=tmp_path), write_skill("bad", root=tmp_path, frontmatter="name: bad")
    for arguments, code in ((["validate", str(bad)], 1), (["add", str(good), "--yes"], 0)):
        process = subprocess.Popen([*SKILLHUB, *arguments], env=hub_environment, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(60) == code
    assert Path(hub_environment["SKILLS_DIR"], "good", "SKILL.md").is_file()
