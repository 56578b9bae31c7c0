"""Profile a CSV file: types, missing values, distinct values, ranges and broken rows, column by column."""

import argparse
import csv
import io
import json
import re
import sys
from collections import Counter

MISSING = {"", "na", "n/a", "null", "none", "nan", "-", "?"}
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
KEPT_VALUES = 100_000


def kind_of(text):
    """Return number, date or text; a leading zero makes a code, which is text."""
    if NUMBER.fullmatch(text):
        return "number"
    return "date" if DATE.fullmatch(text) else "text"


class Column:
    """What was seen in one column."""

    def __init__(self, name):
        self.name = name
        self.missing = 0
        self.kinds = Counter()
        self.values = Counter()
        self.low = self.high = None

    def add(self, text):
        text = text.strip()
        if text.lower() in MISSING:
            self.missing += 1
            return
        kind = kind_of(text)
        self.kinds[kind] += 1
        if len(self.values) < KEPT_VALUES or text in self.values:
            self.values[text] += 1
        if kind == "number":
            number = float(text)
            self.low = number if self.low is None else min(self.low, number)
            self.high = number if self.high is None else max(self.high, number)

    def profile(self, rows):
        present = rows - self.missing
        return {
            "column": self.name,
            "kinds": dict(self.kinds.most_common()),
            "missing": self.missing,
            "distinct": len(self.values),
            "unique": present > 0 and len(self.values) == present,
            "range": None if self.low is None else [self.low, self.high],
            "most_common": self.values.most_common(3),
        }


def profile(text, delimiter):
    """Return the profile of a CSV text."""
    if delimiter is None:
        header_line = text.partition("\n")[0]
        delimiter = max(",;\t|", key=header_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = next(reader, None)
    if not header:
        raise ValueError("the file is empty")
    columns = [Column(name.strip() or f"column {number}") for number, name in enumerate(header, start=1)]
    rows, broken, seen, duplicates = 0, [], set(), 0
    for row in reader:
        if not row:
            continue
        rows += 1
        if len(row) != len(columns):
            broken.append({"line": reader.line_num, "fields": len(row)})
        key = hash(tuple(row))
        duplicates += key in seen
        seen.add(key)
        for column, value in zip(columns, row + [""] * (len(columns) - len(row))):
            column.add(value)
    return {
        "delimiter": delimiter,
        "rows": rows,
        "columns": len(columns),
        "broken_rows": broken,
        "duplicate_rows": duplicates,
        "profile": [column.profile(rows) for column in columns],
    }


def facts(found):
    """Return the profile for a person."""
    lines = [
        f"delimiter {found['delimiter']!r}, {found['rows']:,} rows, {found['columns']} columns",
        f"broken rows: {len(found['broken_rows'])}, duplicate rows: {found['duplicate_rows']}",
    ]
    lines += [f"  line {row['line']}: {row['fields']} fields" for row in found["broken_rows"][:10]]
    for column in found["profile"]:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in column["kinds"].items()) or "nothing"
        span = f", from {column['range'][0]:g} to {column['range'][1]:g}" if column["range"] else ""
        unique = ", unique" if column["unique"] else ""
        common = ", ".join(f"{value!r} x {count:,}" for value, count in column["most_common"])
        lines.append(
            f"\n{column['column']}: {kinds}; missing {column['missing']:,}; distinct {column['distinct']:,}{unique}{span}"
        )
        lines.append(f"  most common: {common or 'nothing'}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the CSV file, or - for stdin")
    parser.add_argument("--delimiter", help="instead of guessing it")
    parser.add_argument("--encoding", default="utf-8-sig", help="of the file (default: UTF-8)")
    parser.add_argument("--json", action="store_true", help="print the profile as JSON")
    args = parser.parse_args()
    try:
        if args.file == "-":
            content = sys.stdin.buffer.read()
        else:
            with open(args.file, "rb") as file:
                content = file.read()
        found = profile(content.decode(args.encoding), args.delimiter)
    except (OSError, ValueError, LookupError, csv.Error) as error:
        print(f"error: {args.file}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(found, ensure_ascii=False, indent=2) if args.json else reported(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
