"""Drawing on a terminal with rich: wrapped text, colours, tables, Markdown, progress and questions.

rich is imported only to draw. A pipe or a file gets complete lines without colours.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from skillhub_mcp.sanitize import in_line, on_terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

    from skillhub_mcp.index.progress import ProgressCallback

Part = str | tuple[str, str]
"""Text of one line, or text and its rich style."""

_PIPE_COLUMNS = 100_000
_PROGRESS_DELAY_SECONDS = 0.4
_MIN_TEXT_COLUMNS = 20
_DIFFERENCE_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def is_drawn(stream: IO[str]) -> bool:
    """Whether `stream` is a terminal, or FORCE_COLOR is set."""
    return stream.isatty() or bool(os.environ.get("FORCE_COLOR"))


def columns(stream: IO[str] | None = None) -> int:
    """Return the width of the terminal; a pipe is as wide as its longest line."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else _PIPE_COLUMNS


def rich_console(stream: IO[str]) -> Console:
    """Return a rich console for `stream` that interprets no markup in text."""
    from rich.console import Console

    no_color = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Console(
        file=stream,
        force_terminal=True,
        color_system=None if no_color else "standard",
        width=columns(stream),
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def print_text(text: str) -> None:
    """Print `text` on stdout, sanitized; a terminal wraps it between words."""
    for line in on_terminal(text).split("\n"):
        _print(sys.stdout, [(line, "")])


def print_note(*lines: str) -> None:
    """Print lines that are not part of the result on stderr; they are lost if stderr is closed."""
    try:
        for line in lines:
            print_line(line, stream=sys.stderr)
    except OSError:
        drop(sys.stderr)


def print_line(*parts: Part, stream: IO[str] | None = None) -> None:
    """Print one line, by default on stdout; a tuple is text with a style."""
    styled = [(part, "") if isinstance(part, str) else part for part in parts]
    _print(stream or sys.stdout, [(in_line(text), style) for text, style in styled])


def print_difference(lines: Iterable[str], stream: IO[str] | None = None) -> None:
    """Print the lines of a unified difference in its usual colours."""
    for line in lines:
        heading = "bold" if line.startswith(("--- ", "+++ ")) else ""
        print_line((line, heading or _DIFFERENCE_STYLES.get(line[:1], "")), stream=stream)


def drop(stream: Any) -> None:
    """Redirect `stream` to the null device, so that Python's flush at exit succeeds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print(stream: IO[str], parts: Sequence[tuple[str, str]]) -> None:
    hide_progress()
    plain = "".join(text for text, _ in parts)
    if not is_drawn(stream) or (len(plain) < _MIN_TEXT_COLUMNS and not any(style for _, style in parts)):
        print(plain, file=stream)
        return
    from rich.text import Text

    console = rich_console(stream)
    indent = len(plain) - len(plain.lstrip(" "))
    whole = Text.assemble(*parts)[indent:]
    for line in _wrapped(whole, max(console.width - indent, _MIN_TEXT_COLUMNS), console):
        console.print(Text(" " * indent) + line)


def _wrapped(text: Text, width: int, console: Console) -> list[Text]:
    """Return the lines of `text`; a word that is wider than a line, such as a path, breaks after `/` or `-`."""
    from rich.cells import cell_len

    breaks, used = [], 0
    for word in re.finditer(r"\S+\s*", text.plain):
        is_wide = cell_len(word[0].rstrip()) > width
        place = word.start()
        for part in re.findall(r"[^/-]*[/-]+|[^/-]+", word[0]) if is_wide else [word[0]]:
            if used and used + cell_len(part.rstrip()) > width:
                breaks.append(place)
                used = 0
            used += cell_len(part)
            place += len(part)
    return [line for piece in text.divide(breaks) for line in piece.wrap(console, width) or [piece]]


def cut(text: str, width: int) -> str:
    """Return one line of `text`, shortened between words to `width` columns."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    kept = set_cell_size(text, max(width - 1, 0))
    word_end = kept.rfind(" ")
    return (kept[:word_end] if word_end > len(kept) // 2 else kept).rstrip() + "…"


def one_line(text: str, *, width: int | None = 160) -> str:
    """Return `text` as one line of at most `width` columns; with None, all of it."""
    flat = in_line(" ".join(text.split()))
    return flat if width is None else cut(flat, width)


def print_table(head: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
    """Print rows below their heads; the last column is shortened to fit, the first wraps.

    In a pipe, each row is a line without a head.
    """
    hide_progress()
    cells = [[(part, "") if isinstance(part, str) else part for part in row] for row in rows]
    if not sys.stdout.isatty():
        for (name, _), *others in cells:
            print_line((name, "bold"), *(part for text, style in others for part in ("  ", (text, style))))
        return
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    console, width = rich_console(sys.stdout), columns()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, title in enumerate(head):
        table.add_column(title, no_wrap=True, overflow="ignore", style="bold" if number == 0 else "")
    texts = [[Text(in_line(text), style) for text, style in row] for row in cells]
    for line in texts:
        line[0] = Text("\n").join(_wrapped(line[0], max(width // 2, _MIN_TEXT_COLUMNS), console))
    columns_ = zip(*([Text(title) for title in head[:-1]], *(line[:-1] for line in texts)), strict=True)
    widths = (max(cell_len(part) for cell in column for part in cell.plain.split("\n")) for column in columns_)
    room = max(width - sum(one + 2 for one in widths), _MIN_TEXT_COLUMNS)
    for line in texts:
        line[-1] = Text(cut(line[-1].plain, room), line[-1].style)
        table.add_row(*line)
    with console.capture() as drawn:
        console.print(table, soft_wrap=False, crop=False)
    print("\n".join(line.rstrip() for line in drawn.get().rstrip("\n").split("\n")))


def print_markdown(text: str) -> None:
    """Print Markdown, rendered on a terminal. HTML and the targets of links stay visible."""
    hide_progress()
    if not is_drawn(sys.stdout):
        print(on_terminal(text))
        return
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    rendered = Markdown("", hyperlinks=False)
    # rich leaves out HTML, so comments in a skill would not be seen.
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    rendered.parsed = parser.parse(on_terminal(text))
    rich_console(sys.stdout).print(rendered, soft_wrap=False)


def can_ask() -> bool:
    """Whether questions reach a person, who can answer them."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, *, default: bool = False) -> bool:
    """Ask on the terminal; without one, return False."""
    if not can_ask():
        return False
    typed = ask(f"{question} {'[Y/n]' if default else '[y/N]'}")
    return typed is not None and typed.strip().lower() in (("", "y", "yes") if default else ("y", "yes"))


def ask(question: str) -> str | None:
    """Ask on the terminal; at its end, return None."""
    hide_progress()
    print(question, end=" ", file=sys.stderr, flush=True)
    typed = sys.stdin.readline()
    if not typed:
        print(file=sys.stderr)
    return typed or None


# The progress of this process's terminal: a second one would write over it.
_progress: Progress | None = None


@contextmanager
def terminal_progress(what: str = "updating the index") -> Iterator[ProgressCallback]:
    """Yield a callback that shows progress on stderr, if that is a terminal; it appears after a moment.

    `what` is shown until the first step. Within another such context, the outer one is used.
    """
    global _progress  # noqa: PLW0603 - the terminal is one too
    if _progress is not None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _report_step
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

    columns_ = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    _progress = Progress(*columns_, console=rich_console(sys.stderr), transient=True)
    _progress.add_task(what, total=None)
    timer = threading.Timer(_PROGRESS_DELAY_SECONDS, _progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield _report_step
    finally:
        timer.cancel()
        hide_progress()
        _progress = None


def hide_progress() -> None:
    """Remove the progress, because something else is about to be written to the terminal."""
    if _progress is not None:
        _progress.stop()


def _report_step(step: str, done: int, total: int) -> None:
    if _progress is not None:
        _progress.update(_progress.task_ids[0], description=step, completed=done, total=total or None)
