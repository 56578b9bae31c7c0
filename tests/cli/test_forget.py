"""`skillhub index --forget` and what doctor says of roots that are not used here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter


@pytest.fixture
def gone(skillhub: Skillhub, write_skill: SkillWriter, hub_environment: dict[str, str], tmp_path: Path) -> Path:
    """A root that another server has indexed in the database of this one."""
    root = tmp_path / "project" / "skills"
    write_skill("theirs", "About walruses.", root=root)
    write_skill("ours", "About bread.")
    assert skillhub("index", "--skills-dir", str(root)).code == 0
    assert skillhub("index").code == 0
    return root


def states(database: str) -> bytes:
    """The state of a database, all of it."""
    return b"".join(file.read_bytes() for file in Path(database).parent.glob("index_state*"))


def test_only_a_root_that_is_gone_is_a_warning(skillhub: Skillhub, gone: Path) -> None:
    there = skillhub("doctor", "--json").json
    (reported,) = there["unused_roots"]
    assert (reported["path"], reported["there"], reported["skills"]) == (str(gone), True, 1)
    assert str(gone) not in json.dumps(there["warnings"])
    assert str(gone) in json.dumps(there["notes"])
    gone.rename(gone.with_name("elsewhere"))
    assert f"skillhub index --forget {gone}" in json.dumps(skillhub("doctor", "--json").json["warnings"])


def test_a_root_is_listed_and_forgotten_with_its_caches(
    skillhub: Skillhub, gone: Path, hub_environment: dict[str, str]
) -> None:
    database = hub_environment["DB_PATH"]
    listed = skillhub("index", "--forget")
    assert (listed.code, listed.out.startswith(f"{gone}  1 skill of ")) == (0, True)
    assert "another project or server may use these" in listed.err
    tried = skillhub("index", "--forget", str(gone), "--dry-run", "--json").json
    assert (tried["forgotten"], [one["path"] for one in tried["roots"]]) == (False, [str(gone)])
    assert str(gone).encode() in states(database)
    done = skillhub("index", "--forget", str(gone.parent))
    assert (done.code, done.out.startswith(f"forgotten  {gone}  1 skill")) == (0, True)
    assert str(gone).encode() not in states(database)
    assert skillhub("index", "--forget", "--json").json == {"forgotten": False, "roots": []}
    assert [one["name"] for one in skillhub("list", "--json").json["skills"]] == ["ours"]


def test_roots_in_use_and_unknown_roots_are_not_forgotten(skillhub: Skillhub, gone: Path, skills_dir: Path) -> None:
    used = skillhub("index", "--forget", str(skills_dir))
    assert (used.code, str(skills_dir) in used.err) == (2, True)
    mistyped = skillhub("index", "--forget", f"{gone}s")
    assert (mistyped.code, f"did you mean {gone}?" in mistyped.err) == (2, True)
    assert skillhub("index", "--forget", "--verify").code == 2
