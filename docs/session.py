"""Records docs/pictures/session.svg: an agent that finds a skill and loads it, as a terminal shows it.

`python docs/session.py` runs the installed program in a pseudo-terminal, with an empty home that has what many have: a
client's file and some skills of another agent. `python docs/session.py --check` runs it again and fails if the picture
shows something else; how long something took is not compared. The picture holds its text for readers who cannot see it.
"""

from __future__ import annotations

import argparse
import fcntl
import html
import io
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PICTURE = PROJECT / "docs" / "pictures" / "session.svg"
COLUMNS, LINES = 96, 40
# The home of the picture, in place of a temporary directory.
HOME = "/home/ann"

# What is typed, in this order. A line of a shell in which the program is all that runs.
COMMANDS = (
    "skillhub roots add ~/.claude/skills",
    "skillhub demo 'get the invoice number out of a PDF' --skills-dir ~/.claude/skills",
)
# Skills that are there already, of our examples, where another agent keeps its own.
SKILLS = ("pdf-invoice-extractor", "csv-profiler", "release-notes", "git-commit-messages", "sql-query-review")

_CURSOR = """\
{
  "mcpServers": {
    "tickets": { "url": "https://tickets.example.com/mcp" }
  }
}
"""

_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_SPINNER = re.compile("[\u2800-\u28ff] ")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TOOK = re.compile(r"\d[\d,.]*(?= ?(?:ms|s|seconds?)\b)")

# Without fonts that a reader's browser would fetch.
_PICTURE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>A terminal session with SkillHub</title>
<desc>%s</desc>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it was typed, and what a terminal showed for it, with colours."""

    command: str
    shown: str


def make_home(home: Path) -> dict[str, str]:
    """Fill an empty home with what many have, and return the environment of a shell in it."""
    for name in SKILLS:
        shutil.copytree(PROJECT / "examples" / "skills" / name, home / ".claude" / "skills" / name)
    cursor = home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(_CURSOR, encoding="utf-8")
    commands = home / ".local" / "bin"
    commands.mkdir(parents=True)
    for name in ("skillhub", "skillhub-mcp"):
        (commands / name).symlink_to(Path(sysconfig.get_path("scripts")) / name)
    return {
        "HOME": str(home),
        # Nothing else of this machine: clients that are installed on it are not those of the picture.
        "PATH": str(commands),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }


def record(home: Path, environment: Mapping[str, str]) -> list[Typed]:
    """Run the commands in a project in `home`, each in a terminal of its own. Raises CalledProcessError."""
    project = home / "project"
    project.mkdir()
    return [Typed(command, shown(run(command, project, environment), home)) for command in COMMANDS]


def run(command: str, directory: Path, environment: Mapping[str, str]) -> str:
    """Return what a terminal gets from a command. Raises CalledProcessError if that fails."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", LINES, COLUMNS, 0, 0))
    arguments = [environment["HOME"] + word[1:] if word.startswith("~/") else word for word in shlex.split(command)]
    with subprocess.Popen(
        [shutil.which(arguments[0], path=environment["PATH"]) or arguments[0], *arguments[1:]],
        cwd=directory,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    ) as process:
        os.close(terminal)
        parts = []
        while part := _read(controller):
            parts.append(part)
    os.close(controller)
    output = b"".join(parts).decode("utf-8")
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, output)
    return output


def _read(controller: int) -> bytes:
    try:
        return os.read(controller, 65536)
    except OSError:
        return b""  # Linux says that the other end was closed with EIO.


def shown(output: str, home: Path) -> str:
    """Return what stays on the screen: of a line that was written over the last; and the home by another name."""
    lines = [line.rpartition("\r")[2] for line in output.replace("\r\n", "\n").split("\n")]
    kept = _SEQUENCE.sub(lambda found: found[0] if _COLOUR.fullmatch(found[0]) else "", "\n".join(lines))
    # Progress, which a terminal shows only while the work lasts.
    kept = "\n".join(line for line in kept.split("\n") if not _SPINNER.match(_SEQUENCE.sub("", line)))
    return kept.replace(str(home), HOME).strip("\n")


def transcript(session: Sequence[Typed]) -> str:
    """Return the session as plain text."""
    return "\n\n".join(f"$ {one.command}\n{_SEQUENCE.sub('', one.shown)}" for one in session)


def draw(session: Sequence[Typed]) -> str:
    """Return the picture of a session."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for number, one in enumerate(session):
        prompt = Text("\n$ " if number else "$ ", style="bold green")
        console.print(prompt.append(one.command, style="bold white"), highlight=False)
        console.print(Text.from_ansi(one.shown), highlight=False)
    told = html.escape(transcript(session)).replace("{", "{{").replace("}", "}}")
    return console.export_svg(title="skillhub", theme=MONOKAI, code_format=_PICTURE % told, unique_id="session")


def told_by(picture: str) -> str:
    """Return the text that a picture holds."""
    found = re.search(r"<desc>(.*?)</desc>", picture, re.DOTALL)
    return html.unescape(found[1]) if found else ""


def lasting(text: str) -> str:
    """Return `text` without what differs from run to run: how long something took."""
    return _TOOK.sub("…", text)


def main(argv: Sequence[str] | None = None) -> int:
    """Record the session, or with --check compare it. Return 1 if the picture shows another."""
    parser = argparse.ArgumentParser(description="Record docs/pictures/session.svg.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the picture shows another session")
    check = parser.parse_args(argv).check
    with tempfile.TemporaryDirectory() as made:
        home = Path(made, "ann").resolve()
        home.mkdir()
        try:
            session = record(home, make_home(home))
        except subprocess.CalledProcessError as failed:
            print(f"{failed.cmd} ended with {failed.returncode}:\n{failed.output}", file=sys.stderr)
            return 1
    if not check:
        PICTURE.write_text(draw(session), encoding="utf-8", newline="\n")
        print(f"wrote {PICTURE.relative_to(PROJECT)}")
        return 0
    told = told_by(PICTURE.read_text(encoding="utf-8")) if PICTURE.is_file() else ""
    if lasting(told) == lasting(transcript(session)):
        return 0
    print("docs/pictures/session.svg shows another session: run python docs/session.py", file=sys.stderr)
    print(transcript(session), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
