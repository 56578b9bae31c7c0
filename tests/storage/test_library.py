from __future__ import annotations

from pathlib import Path

from skillhub_mcp.skills.roots import Source, distinct_roots
from skillhub_mcp.storage.library import labels_of


def test_a_root_keeps_the_label_that_the_index_gave_it_and_others_get_a_free_one(tmp_path: Path) -> None:
    """An index of an earlier version gave none."""
    paths = [str(tmp_path / name) for name in ("a", "b", "c", "d")]
    roots = distinct_roots(
        zip((Source.USER, Source.HUB, Source.HUB, Source.HUB), paths, strict=True),
    )
    known = {paths[2]: "hub", paths[1]: "", "/of/another/server": "hub-2"}
    assert {path: labels_of(roots, known)[path] for path in paths} == dict(
        zip(paths, ("user", "hub-3", "hub", "hub-4"), strict=True)
    )
