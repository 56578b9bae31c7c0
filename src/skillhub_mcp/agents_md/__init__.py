"""AGENTS.md files: those from the project's root to the working directory at first, others for each new path."""
