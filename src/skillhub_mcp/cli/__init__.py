"""The shell: one verb a file in `commands/`, and what they print."""
