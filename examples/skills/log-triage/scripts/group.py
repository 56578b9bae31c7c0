"""Group the lines of a log that differ only in numbers, ids, addresses and quoted texts."""

import argparse
import json
import re
import sys

TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?|\w{3} +\d{1,2} \d{2}:\d{2}:\d{2}|\d{2}:\d{2}:\d{2}")
TAKEN_OUT = [
    (re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?"), "<time>"),
    (re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}\b"), "<hex>"),
    (re.compile(r'"[^"]*"|(?<!\w)\'[^\']*\''), "<text>"),
    (re.compile(r"\d+"), "<n>"),
]


def shape(line):
    """Return the line without what differs from one occurrence to the next."""
    for pattern, name in TAKEN_OUT:
        line = pattern.sub(name, line)
    return " ".join(line.split())


def group(lines, only):
    """Return the groups, most frequent first."""
    groups = {}
    for number, line in enumerate(lines, start=1):
        if only is not None and not only.search(line):
            continue
        when = TIME.search(line)
        found = groups.setdefault(
            shape(line),
            {"count": 0, "first_line": number, "first_time": None, "last_time": None, "example": line.rstrip()},
        )
        found["count"] += 1
        found["last_line"] = number
        if when:
            found["first_time"] = found["first_time"] or when[0]
            found["last_time"] = when[0]
    return sorted(groups.values(), key=lambda found: (-found["count"], found["first_line"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the log, or - for stdin")
    parser.add_argument("--only", help="keep the lines in which this regular expression is found")
    parser.add_argument("--top", type=int, default=30, help="groups to show (default: 30)")
    parser.add_argument("--json", action="store_true", help="print the groups as JSON")
    args = parser.parse_args()
    try:
        only = re.compile(args.only) if args.only else None
        if args.file == "-":
            groups = group(sys.stdin, only)
        else:
            with open(args.file, encoding="utf-8", errors="replace") as lines:
                groups = group(lines, only)
    except (OSError, re.error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(groups[: args.top], ensure_ascii=False, indent=2))
        return 0
    for found in groups[: args.top]:
        span = (
            f"{found['first_time']} to {found['last_time']}" if found["first_time"] else f"line {found['first_line']}"
        )
        print(
            f"{found['count']:>8,} x  {span}  (first at line {found['first_line']:,})\n            {found['example'][:200]}"
        )
    print(f"{len(groups):,} groups")
    return 0


if __name__ == "__main__":
    sys.exit(main())
