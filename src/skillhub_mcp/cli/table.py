"""Lists in columns, as wide as the terminal. Pure; cells are harmless and one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillhub_mcp.cli.colours import Colour, Painter
from skillhub_mcp.cli.text_width import cut, pad, width

_GAP = "  "
# The share of the screen that names and the like may take before the text, which is cut, has too little room.
_MOST_FOR_NAMES = 0.5
_LEAST_FOR_TEXT = 20


@dataclass(frozen=True, slots=True)
class TableRow:
    """Cells that are shown whole, and a text that is cut, after a `note` of its own colour."""

    cells: tuple[str, ...]
    text: str
    note: str = ""


def table_lines(head: Sequence[str], rows: Sequence[TableRow], columns: int, paint: Painter) -> Iterator[str]:
    """Yield the lines of a table for a screen of `columns`: `head` names the cells and the text.

    Cells are never cut, because a name that is cut is no name: where one is too long, the text is in the next line.
    """
    room = int(columns * _MOST_FOR_NAMES)
    widths = [
        max((width(cell) for cell in (name, *(row.cells[at] for row in rows)) if width(cell) <= room), default=0)
        for at, name in enumerate(head[:-1])
    ]
    indent = sum(taken + len(_GAP) for taken in widths)
    if columns - indent < _LEAST_FOR_TEXT:
        # Too narrow for columns: the text has lines of its own.
        indent = len(_GAP)
        widths = [0] * len(widths)
    else:
        yield _line([(name, Colour.DIM) for name in head], widths, paint)
    for row in rows:
        cells = list(zip(row.cells, (Colour.BOLD, *[Colour.DIM] * len(row.cells)), strict=False))
        fits = all(width(cell) <= taken for cell, taken in zip(row.cells, widths, strict=True))
        note = f"({row.note}) " if row.note else ""
        note = cut(note, columns - indent)
        text = paint(note, Colour.YELLOW) + paint(cut(row.text, columns - indent - width(note)))
        if fits:
            yield _line(cells, widths, paint) + _GAP + text if cells else text
        else:
            yield _GAP.join(paint(cell, colour) for cell, colour in cells)
            yield " " * indent + text


def _line(cells: Sequence[tuple[str, Colour]], widths: Sequence[int], paint: Painter) -> str:
    padded = [pad(cell, taken) for (cell, _), taken in zip(cells, widths, strict=False)]
    rest = [cell for cell, _ in cells[len(padded) :]]
    return _GAP.join(paint(text, colour) for text, (_, colour) in zip((*padded, *rest), cells, strict=True))
