"""One verb a file: `add_parser` says what may be typed, `run` does it and returns the exit code."""
