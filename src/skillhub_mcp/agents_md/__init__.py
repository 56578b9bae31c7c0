"""Which AGENTS.md apply? Those from a project's root to here at first, and others as paths come up (seed 001)."""
