"""`audit`, `validate` and `add --list` read the same skills of a directory, and say which they do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub

# The directories of skills by what becomes of them.
TREES = {
    "beside those of clients": (["skills/one", ".claude/skills/two", ".agents/skills/three"], []),
    "only in a client's directory": ([".github/skills/one"], []),
    "in the packages of a repository": (["packages/a/.cursor/skills/one", "packages/b/skills/two"], []),
    "in other hidden directories": (["skills/one"], [".archive/two", ".claude/commands/three"]),
    "in installed packages": (["skills/one"], ["node_modules/two"]),
    "inside another skill": (["skills/one"], []),
}


def below(top: Path, paths: Iterator[str]) -> set[str]:
    return {Path(path).relative_to(top).as_posix() for path in paths}


@pytest.mark.parametrize(("read", "skipped"), TREES.values(), ids=TREES.keys())
def test_the_same_skills_are_read_and_skipped(
    skillhub: Skillhub, tmp_path: Path, read: list[str], skipped: list[str]
) -> None:
    top = tmp_path / "clone"
    for path in (*read, *skipped, f"{read[0]}/assets/.claude/skills/inner"):
        name = path.rpartition("/")[2]
        (top / path).mkdir(parents=True)
        (top / path / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n---\nText\n")
    audit = skillhub("audit", str(top), "--json")
    validate = skillhub("validate", str(top), "--json")
    listed = skillhub("add", str(top), "--list", "--json").json
    assert below(top, (one["path"] for one in audit.json["skills"])) == set(read)
    assert below(top, (str(Path(one["path"]).parent) for one in validate.json["skills"])) == set(read)
    assert {one["path"] for one in listed["skills"]} == set(read)
    tops = {path.partition("/")[0] for path in skipped}
    for done in (audit, validate):
        assert below(top, (one["path"] for one in done.json["skipped"])) == tops
        assert all(f"not searched: {top}/{one} holds 1 skill" in done.err for one in tops)
    assert {one["what"] for one in listed["left_out"]} == tops
