"""The entry point of `python -m skillhub_mcp`, `skillhub` and `skillhub-mcp`, which are one command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        if sys.argv[1:2] == ["__complete"]:
            # The commands, which this leaves out, take three times as long to import.
            from skillhub_mcp.cli.completion_words import run
        else:
            from skillhub_mcp.cli.main import run
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130  # interrupted before the command line could handle it
    sys.exit(code)


if __name__ == "__main__":
    main()
