"""What skills were called before they were renamed."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import SkillWriter

from skillhub_mcp.disclosure.former_names import FormerNames
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import scan
from skillhub_mcp.skills.snapshot import Snapshot


def test_a_name_leads_to_what_its_skill_is_called_now_as_long_as_it_is_there(
    write_skill: SkillWriter, skills_dir: Path
) -> None:
    former = FormerNames()

    def look() -> Snapshot:
        snapshot = scan(make_roots([str(skills_dir)]), memory={}).snapshot
        former.note(snapshot)
        return snapshot

    folder = write_skill("one", directory="x")
    write_skill("other")
    assert former.find("one", look()) is None
    write_skill("two", directory="x")
    renamed = former.find("one", look())
    assert renamed is not None
    assert (renamed.name, renamed.directory) == ("two", str(folder))
    write_skill("three", directory="x")
    snapshot = look()
    names = [skill.name for name in ("one", "two") if (skill := former.find(name, snapshot)) is not None]
    assert names == ["three", "three"]
    assert former.find("other", snapshot) is None
    (folder / "SKILL.md").unlink()
    assert former.find("one", look()) is None
