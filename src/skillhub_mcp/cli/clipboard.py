"""Copying to the clipboard: with the system's tool, or by asking the terminal, which works over SSH too."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable, Mapping, Sequence

_SECONDS = 3.0


def copy_command(environment: Mapping[str, str], is_installed: Callable[[str], bool]) -> Sequence[str]:
    """Return the command that copies its stdin; none where the terminal is asked instead.

    Over SSH the tools would copy to the clipboard of the other machine.
    """
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return ()
    tools: list[Sequence[str]] = [("pbcopy",), ("clip.exe",)]
    if environment.get("WAYLAND_DISPLAY"):
        tools.append(("wl-copy",))
    if environment.get("DISPLAY"):
        tools += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    return next((tool for tool in tools if is_installed(tool[0])), ())


def run_copy_command(command: Sequence[str], text: str) -> bool:
    """Copy `text` and return whether that worked. Some tools stay behind to hand the text out, so none is waited for
    longer than it takes to read it.
    """
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def copying_sequence(text: str) -> str:
    """Return what asks a terminal to copy `text` (OSC 52)."""
    return f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07"
