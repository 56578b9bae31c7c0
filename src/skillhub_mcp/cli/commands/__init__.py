"""The commands, one module each: `add_parser` declares the arguments, `run` returns the exit code."""
