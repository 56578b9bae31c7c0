"""Which tier is chosen, and what is said where none works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skillhub_mcp.errors import SandboxUnavailable
from skillhub_mcp.execution.sandbox import choice
from skillhub_mcp.execution.sandbox.choice import ChosenSandbox, choose_sandbox
from skillhub_mcp.execution.sandbox.model import Tier

only_on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")


@pytest.fixture
def without_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No program is found but in the directory that this returns."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.defpath", str(tmp_path))
    return tmp_path


def test_off_is_taken_at_its_word_and_tries_nothing(without_programs: Path) -> None:
    assert choose_sandbox("off").tier is Tier.OFF


def test_on_another_system_commands_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable) as refused:
        choose_sandbox("auto")
    assert "needs Linux, and this is darwin" in refused.value.message
    assert "SKILLHUB_SANDBOX=off" in (refused.value.hint or "")
    assert choose_sandbox("off").tier is Tier.OFF


@only_on_linux
def test_without_bubblewrap_the_next_tier_is_taken_and_says_why(without_programs: Path) -> None:
    try:
        chosen = choose_sandbox("auto")
    except SandboxUnavailable as error:
        pytest.skip(error.message)
    assert (chosen.tier, chosen.passed_over) == (Tier.LANDLOCK, ((Tier.BUBBLEWRAP, "bwrap is not installed"),))


@only_on_linux
def test_a_tier_that_was_asked_for_is_not_replaced_by_another(without_programs: Path) -> None:
    with pytest.raises(SandboxUnavailable) as refused:
        choose_sandbox("bubblewrap")
    assert refused.value.reasons == {"bubblewrap": "bwrap is not installed"}
    assert "install bubblewrap" in (refused.value.hint or "")


@only_on_linux
def test_where_no_tier_works_each_says_why_and_is_tried_once(
    without_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = without_programs / "tried"
    bwrap = without_programs / "bwrap"
    bwrap.write_text(f'#!/bin/sh\necho x >> "{tried}"\necho "bwrap: No permissions" >&2\nexit 1\n', encoding="utf-8")
    bwrap.chmod(0o755)
    monkeypatch.setattr(choice, "_landlock_version", lambda: -1)
    sandbox = ChosenSandbox("auto")
    for _ in range(2):
        with pytest.raises(SandboxUnavailable) as refused:
            sandbox()
        assert refused.value.reasons == {
            "bubblewrap": "bwrap: No permissions",
            "landlock": "this kernel has no Landlock, or it is not switched on",
        }
        assert "install bubblewrap" not in (refused.value.hint or "")
    assert tried.read_text(encoding="utf-8") == "x\nx\n"  # its options, then a command
