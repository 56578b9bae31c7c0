"""The entry point of `python -m skillhub_mcp`, `skillhub` and `skillhub-mcp`, also if it is started by its path."""

import os
import sys

if not __package__:
    # The path begins with this package's own directory, whose modules are not to be imported by their bare names.
    _HERE = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if place != _HERE] + [os.path.dirname(_HERE)]

from skillhub_mcp.environment import prepare_environment


def main() -> None:
    """Run the command line and exit with its code."""
    notes = prepare_environment()
    # The threads of the library below numpy spin a tenth of a second for more work, from the import on: 2^4 turns do.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    try:
        if sys.argv[1:2] == ["__complete"]:
            # The commands, which this leaves out, take three times as long to import.
            from skillhub_mcp.cli.completion_words import run
        else:
            for note in notes:
                print(f"note: {note}", file=sys.stderr)  # noqa: T201 - no command has begun
            from skillhub_mcp.cli.main import run
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130  # interrupted before the command line could handle it
    sys.exit(code)


if __name__ == "__main__":
    main()
