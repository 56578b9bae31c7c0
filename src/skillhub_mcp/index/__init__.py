"""The LanceDB index over the skills: writing it, keeping it in step with the files, and reading its rows."""
