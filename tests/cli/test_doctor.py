"""`skillhub doctor`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter


def test_where_all_is_in_order_it_says_so_and_ends_with_0(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("painter")
    done = skillhub("doctor", PATH="")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1:] == [
        "served          1, refused 0, shadowed 0",
        "index     ready, embeddings: none",
        "natively        1 published, 0 adapted, 0 withheld",
        "command   skillhub-mcp is not on PATH",
        "",
        "No problems found.",
    ]


def test_what_was_adapted_to_be_published_is_told_and_is_no_problem(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("shop", frontmatter='name: "My Shop"\ndescription: Sells.\nmetadata:\n  version: 1.10')
    done = skillhub("doctor")
    assert done.code == 0
    assert (
        "Published in the specification's form (the files themselves are unchanged):\n"
        "  skill://hub/shop/my-shop/SKILL.md\n"
        "      name: 'my-shop' instead of 'My Shop'\n"
        "      metadata: strings instead of a value in version\n"
    ) in done.out


def test_a_refused_skill_is_named_with_its_line_its_rule_and_its_fix(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("painter")
    silent = write_skill("silent", frontmatter="name: silent\ndescription:")
    done = skillhub("doctor")
    assert done.code == 1
    assert (
        f"1 problem:\n  {silent}/SKILL.md:3\n      is refused: there is no description (description-missing)"
        in done.out
    )


def test_a_skill_that_no_host_can_be_given_natively_is_a_problem_with_its_reason(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    large = write_skill("large", files={f"notes/{number}.md": "x" for number in range(512)})
    done = skillhub("doctor", "--json")
    assert done.code == 1
    (problem,) = done.json["problems"]
    assert problem["about"] == str(large)
    assert "it has more than 512 files" in problem["what"]
    (published,) = done.json["published"]
    assert published["uri"] is None


def test_an_empty_skills_directory_is_told_with_what_to_do(skillhub: Skillhub, skills_dir: Path) -> None:
    done = skillhub("doctor")
    assert done.code == 1
    assert f"{skills_dir}\n      has no skill; put a folder with a SKILL.md there" in done.out


def test_rules_that_cannot_be_read_are_a_problem_and_not_a_failure(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("painter")
    rules = tmp_path / "rules.json"
    rules.write_text("{", encoding="utf-8")
    done = skillhub("doctor", "--json", SKILLHUB_PERMISSIONS=str(rules))
    assert done.code == 1
    assert [problem["about"] for problem in done.json["problems"]] == [str(rules)]


def test_json_has_every_skill_and_where_it_is_published(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    painter = write_skill("painter")
    write_skill("listing", frontmatter="name: listing\ndescription: Lists.\nallowed-tools: [Read, Write]")
    found = skillhub("doctor", "--json").json
    assert {key: found[key] for key in ("served", "refused", "shadowed", "index", "embeddings", "problems")} == {
        "served": 2,
        "refused": 0,
        "shadowed": 0,
        "index": "ready",
        "embeddings": "none",
        "problems": [],
    }
    assert sorted(found["published"], key=lambda one: one["name"])[1] == {
        "name": "painter",
        "path": str(painter),
        "uri": "skill://hub/painter/SKILL.md",
        "changes": [],
        "withheld": None,
    }
    assert [one["changes"] for one in found["published"] if one["name"] == "listing"] == [
        ["allowed-tools: a string instead of a list"]
    ]


def test_a_default_directory_that_nobody_named_may_be_missing(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    write_skill("mine", root=project / ".agents" / "skills")
    monkeypatch.chdir(project)
    settings = {"SKILLS_DIR": "", "HOME": str(tmp_path / "home")}
    done = skillhub("doctor", **settings)
    assert (done.code, "No problems found." in done.out) == (0, True)
    # Where no place has a skill, the place to put one is named, whether or not it is there.
    elsewhere = skillhub("doctor", SKILLHUB_CWD=str(tmp_path), SKILLHUB_PROJECT_ROOT=str(tmp_path), **settings)
    assert (elsewhere.code, elsewhere.out.count("problem")) == (1, 1)
    assert f"{tmp_path}/home/.skillhub/skills\n      has no skill; put a folder with a SKILL.md there" in elsewhere.out


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_directory_that_was_named_has_to_be_there_even_where_another_has_skills(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path, kind: str
) -> None:
    write_skill("painter")
    other = tmp_path / kind
    if kind == "file":
        other.touch()
    done = skillhub("doctor", SKILLS_DIR=f"{skills_dir}{os.pathsep}{other}")
    what = {"missing": "does not exist; create it", "file": "is a file, not a directory; name a directory"}[kind]
    assert (done.code, f"1 problem:\n  {other}\n      {what}" in done.out) == (1, True)


def test_a_filter_that_leaves_nothing_is_a_problem(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("painter")
    done = skillhub("doctor", SKILLHUB_ENABLED_SKILLS="piantre")
    # It is told once, with what was probably meant.
    assert (done.code, done.out.count("SKILLHUB_ENABLED_SKILLS\n")) == (1, 1)
    assert (
        "names skills that are not here: 'piantre' (did you mean 'painter'?); nothing is served until then" in done.out
    )


def test_what_is_served_is_counted_and_not_what_is_there(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    for name in ("alpha", "beta", "gamma"):
        write_skill(name)
    skillhub("disable", "alpha")
    skillhub("permissions", "deny", "beta", "--others", "allow")
    done = skillhub("doctor", PATH="")
    assert (done.code, "served          1, off 1, denied 1, refused 0, shadowed 0" in done.out) == (0, True)
    limited = skillhub("doctor", SKILLHUB_ENABLED_SKILLS="gamm,beta", PATH="")
    assert "served          0, filtered 2, denied 1, refused 0, shadowed 0" in limited.out
    assert (
        "SKILLHUB_ENABLED_SKILLS\n      names skills that are not here: 'gamm' (did you mean 'gamma'?)" in limited.out
    )
    assert limited.code == 1
    counted = skillhub("doctor", "--json", SKILLHUB_ENABLED_SKILLS="gamma").json
    assert (counted["served"], counted["excluded"]) == (1, {"filtered": 2, "off": 0, "denied": 0})
    rules = Path(os.environ["HOME"], ".skillhub", "permissions.json")
    rules.write_text("{", encoding="utf-8")
    assert skillhub("doctor", "--json").json["served"] == 0


def test_what_concerns_every_skill_is_told_before_many_refusals(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("alpha")
    for number in range(30):
        write_skill(f"silent-{number:02}", frontmatter=f"name: silent-{number:02}")
    done = skillhub("doctor", SKILLHUB_ENABLED_SKILLS="alhpa")
    assert done.code == 1
    told = done.out.partition(" problems:\n")[2]
    assert told.startswith(
        "  SKILLHUB_ENABLED_SKILLS\n      names skills that are not here: 'alhpa' (did you mean 'alpha'?)"
    )
    assert "… and 11 more" in told
