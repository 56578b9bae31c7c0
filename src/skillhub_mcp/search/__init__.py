"""Which skill? The index over the skills, its freshness, and the ranking of what it finds."""
