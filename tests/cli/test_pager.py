"""The pager: for what is too long for a terminal, as the person chose it, and never in the way."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from skillhub_mcp.cli import pager
from skillhub_mcp.cli.output import print_text
from skillhub_mcp.cli.pager import pager_command, paging
from skillhub_mcp.cli.screen import Screen

LONG = "".join(f"line {number}\n" for number in range(50))


def terminal(monkeypatch: pytest.MonkeyPatch) -> io.TextIOWrapper:
    """Return a terminal of 24 lines, which is stdout from now on."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr(pager, "stdout_screen", lambda: Screen(24, 80))
    return stream


def written(stream: io.TextIOWrapper) -> str:
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined,no-any-return]  # the BytesIO above


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({"PAGER": "most -s 'a b'"}, ["most", "-s", "a b"]),
        ({"PAGER": ""}, []),
        ({"PAGER": "cat"}, []),
        ({"PAGER": "less", "TERM": "dumb"}, []),
        ({"PATH": "/nowhere"}, []),
    ],
)
def test_the_pager_is_the_one_that_was_chosen(environment: Mapping[str, str], command: list[str]) -> None:
    assert pager_command(environment) == command


def test_less_comes_first_where_none_was_chosen(tmp_path: Path) -> None:
    for name in ("more", "less"):
        (tmp_path / name).write_text("", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
        assert pager_command({"PATH": str(tmp_path)}) == [str(tmp_path / name)]


def test_long_text_goes_through_it_with_the_usual_habits_and_short_text_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdout = terminal(monkeypatch)
    seen = tmp_path / "seen"
    script = tmp_path / "pager"
    script.write_text(f'#!/bin/sh\necho "$LESS" > {seen}; cat >> {seen}\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PAGER", str(script))
    monkeypatch.delenv("LESS", raising=False)
    with paging(wanted=True):
        assert sys.stdout.isatty()
        print_text(LONG)
        print_text("議事録")
    assert (written(stdout), seen.read_text(encoding="utf-8")) == ("", f"FRX\n{LONG}\n議事録\n")
    with paging(wanted=True):
        print_text("short")
    with paging(wanted=False):
        print_text(LONG)
    assert written(stdout) == f"short\n{LONG}\n"


def test_one_who_has_seen_enough_ends_the_command_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = terminal(monkeypatch)
    monkeypatch.setenv("PAGER", "true")
    with paging(wanted=True):
        print_text("much\n" * 100_000)
    assert written(stdout) == ""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("chosen", ["no-such-pager -x", "unclosed '"])
def test_a_pager_that_cannot_be_run_is_named_and_the_text_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], chosen: str
) -> None:
    stdout = terminal(monkeypatch)
    monkeypatch.setenv("PAGER", chosen)
    with paging(wanted=True):
        print_text(LONG)
    assert written(stdout) == f"{LONG}\n"
    assert "cannot be run" in capsys.readouterr().err


def test_what_was_printed_before_a_failure_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = terminal(monkeypatch)
    monkeypatch.setenv("PAGER", os.devnull)
    with pytest.raises(KeyboardInterrupt):
        _interrupted()
    assert written(stdout) == f"{LONG}\n"
    assert sys.stdout is stdout


def _interrupted() -> None:
    with paging(wanted=True):
        print_text(LONG)
        raise KeyboardInterrupt
