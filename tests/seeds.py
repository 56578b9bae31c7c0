"""The examples of the seeds, as files in `golden/seeds`."""

from __future__ import annotations

from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def seeds_example(name: str) -> str:
    """Return an example of a seed, byte for byte as the seed shows it."""
    return (GOLDEN / "seeds" / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")
