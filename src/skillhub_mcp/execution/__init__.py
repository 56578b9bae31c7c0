"""Running commands: what may run, how it runs, and the user's hooks."""
