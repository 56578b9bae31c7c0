# /// script
# requires-python = ">=3.10"
# dependencies = ["matplotlib>=3.8"]
# ///
"""Draw a line, bar or scatter chart from a CSV file."""

import argparse
import csv
import sys


def column(rows, name):
    if rows and name not in rows[0]:
        raise ValueError(f"there is no column {name!r}; there are {', '.join(rows[0])}")
    return [row[name] for row in rows]


def numbers(values):
    """Return the values as numbers; what is missing leaves a gap."""
    found = []
    for value in values:
        text = (value or "").replace(",", "").strip()
        try:
            found.append(float(text) if text else float("nan"))
        except ValueError:
            raise ValueError(f"{value!r} is not a number") from None
    return found


def draw(args, rows):
    try:
        import matplotlib
    except ImportError:
        raise ValueError(
            "matplotlib is not installed: run this with 'uv run --script', or 'pip install matplotlib'"
        ) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    x = column(rows, args.x)
    if args.kind == "scatter":
        x = numbers(x)
    for name in args.y:
        y = numbers(column(rows, name))
        if args.kind == "line":
            axes.plot(x, y, marker="o", label=name)
        elif args.kind == "bar":
            axes.bar(x, y, label=name)
        else:
            axes.scatter(x, y, label=name)
    axes.set(title=args.title, xlabel=args.x, ylabel=args.y[0] if len(args.y) == 1 else "")
    axes.spines[["top", "right"]].set_visible(False)
    if len(args.y) > 1:
        axes.legend(frameon=False)
    if args.kind != "scatter" and len(x) > 8:
        axes.tick_params(axis="x", rotation=45)
    figure.savefig(args.out, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the CSV file")
    parser.add_argument("--x", required=True, help="column of the x axis")
    parser.add_argument("--y", required=True, action="append", help="column of the y axis; may be given again")
    parser.add_argument("--kind", choices=("line", "bar", "scatter"), default="line")
    parser.add_argument("--title", default="")
    parser.add_argument("--out", default="chart.png", help="PNG or SVG (default: chart.png)")
    args = parser.parse_args()
    try:
        with open(args.file, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        if not rows:
            raise ValueError("the file has no rows")
        draw(args, rows)
    except (OSError, ValueError, csv.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
