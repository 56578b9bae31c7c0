"""Align, sort and convert Markdown tables."""

import argparse
import csv
import io
import re
import sys
import unicodedata

RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
CELL_BORDER = re.compile(r"(?<!\\)\|")


def cells(line):
    """Return the cells of a table's line."""
    inner = line.strip()
    inner = inner[1:] if inner.startswith("|") else inner
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip() for cell in CELL_BORDER.split(inner)]


def width(text):
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def find_tables(lines):
    """Yield the first and the past-last line of each table."""
    position = 1
    while position < len(lines):
        if RULE.fullmatch(lines[position]) and "-" in lines[position] and "|" in lines[position - 1]:
            end = position + 1
            while end < len(lines) and "|" in lines[end]:
                end += 1
            yield position - 1, end
            position = end
        position += 1


def render(header, marks, rows):
    """Return the aligned lines of a table."""
    columns = max(len(row) for row in [header, *rows])
    table = [row + [""] * (columns - len(row)) for row in [header, *rows]]
    marks = marks + ["---"] * (columns - len(marks))
    widths = [max(3, *(width(row[column]) for row in table)) for column in range(columns)]

    def line(row):
        padded = []
        for cell, wide, mark in zip(row, widths, marks):
            space = " " * (wide - width(cell))
            padded.append(space + cell if mark.endswith(":") and not mark.startswith(":") else cell + space)
        return "| " + " | ".join(padded) + " |"

    rule = []
    for mark, wide in zip(marks, widths):
        left, right = mark.startswith(":"), mark.endswith(":")
        rule.append((":" if left else "-") + "-" * (wide - 2) + (":" if right else "-"))
    return [line(table[0]), "| " + " | ".join(rule) + " |", *(line(row) for row in table[1:])]


def parse(lines):
    return cells(lines[0]), cells(lines[1]), [cells(line) for line in lines[2:]]


def aligned(text):
    """Return the document with every table aligned."""
    lines = text.splitlines()
    for start, end in reversed(list(find_tables(lines))):
        lines[start:end] = render(*parse(lines[start:end]))
    return "\n".join(lines)


def first_table(text):
    lines = text.splitlines()
    for start, end in find_tables(lines):
        return parse(lines[start:end])
    raise ValueError("there is no table in it")


def sort_key(rows, column):
    try:
        numbers = {row[column]: float(row[column].replace(",", "")) for row in rows}
    except ValueError:
        return lambda row: row[column].casefold()
    return lambda row: numbers[row[column]]


def run(args, text):
    if args.verb == "align":
        return aligned(text)
    if args.verb == "from-csv":
        rows = [
            [cell.replace("|", "\\|").replace("\n", " ") for cell in row]
            for row in csv.reader(io.StringIO(text))
            if row
        ]
        if not rows:
            raise ValueError("the CSV is empty")
        return "\n".join(render(rows[0], [], rows[1:]))
    header, marks, rows = first_table(text)
    if args.verb == "to-csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(
            [cell.replace("\\|", "|") for cell in row] for row in [header, *rows]
        )
        return out.getvalue().rstrip("\n")
    if not 1 <= args.column <= len(header):
        raise ValueError(f"--column must be from 1 to {len(header)}")
    rows = [row + [""] * (len(header) - len(row)) for row in rows]
    rows.sort(key=sort_key(rows, args.column - 1), reverse=args.descending)
    return "\n".join(render(header, marks, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("align", "sort", "from-csv", "to-csv"))
    parser.add_argument("file", help="the file, or - for stdin")
    parser.add_argument("--column", type=int, default=1, help="for sort: which column, from 1 (default: 1)")
    parser.add_argument("--descending", action="store_true", help="for sort: largest first")
    args = parser.parse_args()
    try:
        if args.file == "-":
            text = sys.stdin.read()
        else:
            with open(args.file, encoding="utf-8-sig", newline="") as file:
                text = file.read()
        print(run(args, text))
    except (OSError, ValueError, csv.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
