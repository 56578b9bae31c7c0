"""Every rule is reported for its violating example and not for its conforming one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.skills.conftest import Looker

from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES
from skillhub_mcp.skills.rules import RULES, RuleSource
from skillhub_mcp.skills.scanner import CachedSkillFile

SOUND = "---\nname: a-skill\ndescription: Does it.\n---\nBody\n"

Planter = Callable[[Path], None]


def text(content: str | bytes) -> Planter:
    def plant(skill: Path) -> None:
        (skill / "SKILL.md").write_bytes(content if isinstance(content, bytes) else content.encode())

    return plant


def with_more(lines: str) -> Planter:
    return text(SOUND.replace("\n---\nBody", f"\n{lines}\n---\nBody"))


def named(name: str) -> Planter:
    def plant(skill: Path) -> None:
        (skill / name).write_text(SOUND, encoding="utf-8")

    return plant


def of_size(size: int) -> Planter:
    return text(SOUND.encode().ljust(size, b"x"))


def linked_to(target: str) -> Planter:
    def plant(skill: Path) -> None:
        (skill / "own.md").write_text(SOUND, encoding="utf-8")
        (skill.parent / "foreign.md").write_text(SOUND, encoding="utf-8")
        (skill / "SKILL.md").symlink_to(target)

    return plant


@dataclass(frozen=True)
class Example:
    """A SKILL.md that breaks a rule, the line, and the nearest valid one."""

    breaks: Planter
    keeps: Planter
    line: int | None = None


ALMOST_64_KIB = "# " + "x" * 65_000

EXAMPLES = {
    "file-unreadable": Example(linked_to("../foreign.md"), linked_to("own.md")),
    "file-too-large": Example(of_size(MAX_SKILL_FILE_BYTES + 1), of_size(MAX_SKILL_FILE_BYTES)),
    "file-name": Example(named("Skill.md"), text(SOUND)),
    "file-binary": Example(text(SOUND.replace("Does", "D\0es")), text(SOUND)),
    "file-encoding": Example(text(SOUND.replace("Does", "Doés").encode("utf-16")), text(SOUND.replace("Does", "Doés"))),
    "file-encoding-unknown": Example(
        text(SOUND.replace("Does", "会議録作成").encode("euc_jp")), text(SOUND.replace("Does", "会議録作成")), line=3
    ),
    "file-line-ends": Example(text(SOUND.replace("\n", "\r")), text(SOUND.replace("\n", "\r\n"))),
    "frontmatter-missing": Example(text("# A skill\n"), text(SOUND), line=1),
    "frontmatter-fence": Example(text(SOUND.replace("---", "----")), text(SOUND), line=1),
    "frontmatter-unclosed": Example(with_more(f"{ALMOST_64_KIB}\n# {'x' * 1_000}"), with_more(ALMOST_64_KIB), line=1),
    "frontmatter-late": Example(text("\n" + SOUND), text("\ufeff" + SOUND), line=1),
    "yaml-invalid": Example(text("---\nname: a-skill\n'open\n---\n"), text(SOUND), line=4),
    "yaml-words-lost": Example(with_more("license: !MIT or later"), with_more("license: MIT # or later"), line=4),
    "yaml-repaired": Example(with_more("license: MIT: yes"), with_more("license: 'MIT: yes'"), line=4),
    "yaml-not-mapping": Example(text("---\n- name\n---\n"), text(SOUND), line=2),
    "yaml-too-complex": Example(with_more("metadata: {a: &a [*a]}"), with_more("metadata: {a: '[*a]'}"), line=2),
    "yaml-alias": Example(
        with_more("license: &x MIT\ncompatibility: *x"), with_more("license: MIT\ncompatibility: MIT"), line=5
    ),
    "yaml-duplicate-key": Example(with_more("license: MIT\nlicense: MIT"), with_more("license: MIT"), line=5),
    "name-missing": Example(text("---\ndescription: Does it.\n---\n"), text(SOUND)),
    "name-unusable": Example(text(SOUND.replace("a-skill", "a" * 257)), text(SOUND), line=2),
    "name-form": Example(text(SOUND.replace("a-skill", "A Skill")), text(SOUND), line=2),
    "name-directory": Example(text(SOUND.replace("a-skill", "b-skill")), text(SOUND), line=2),
    "description-missing": Example(text("---\nname: a-skill\n---\n"), text(SOUND)),
    "description-length": Example(
        text(SOUND.replace("Does it.", "x" * 1_025)), text(SOUND.replace("Does it.", "x" * 1_024)), line=3
    ),
    "compatibility-length": Example(
        with_more("compatibility: " + "x" * 501), with_more("compatibility: " + "x" * 500), line=4
    ),
    "key-unknown": Example(with_more("version: 1"), with_more("metadata: {version: '1'}"), line=4),
    "key-misspelt": Example(with_more("allowed_tools: Read"), with_more("allowed-tools: Read"), line=4),
    "key-extension": Example(with_more("model: opus"), with_more("license: MIT"), line=4),
    "key-type": Example(with_more("license: {a: b}"), with_more("license: a b"), line=4),
    "metadata-length": Example(
        with_more(f"metadata:\n  skillhub.category: {'x' * 257}"),
        with_more(f"metadata:\n  skillhub.category: {'x' * 256}\n  skillhub.tags: {','.join(['t' * 256] * 9)}"),
        line=4,
    ),
    "metadata-nested": Example(
        with_more("metadata:\n  skillhub: {category: x}"), with_more("metadata:\n  skillhub.category: x"), line=4
    ),
}


@pytest.fixture
def entry(skills_dir: Path, look: Looker) -> Callable[[Planter], CachedSkillFile]:
    def read(plant: Planter) -> CachedSkillFile:
        skill = skills_dir / "a-skill"
        shutil.rmtree(skill, ignore_errors=True)
        skill.mkdir()
        plant(skill)
        (remembered,) = look().memory.values()
        return remembered

    return read


def test_every_rule_of_loading_has_an_example() -> None:
    # Scans find existing files only; rules of single consumers have their examples in test_admission.
    by_scanning = {rule.id for rule in RULES.values() if rule.origin is RuleSource.SPECIFICATION} - {"file-missing"}
    assert set(EXAMPLES) == by_scanning


@pytest.mark.acceptance("S2-56")
@pytest.mark.parametrize("rule_id", EXAMPLES)
def test_a_violating_example_is_reported_and_a_conforming_one_is_not(
    rule_id: str, entry: Callable[[Planter], CachedSkillFile]
) -> None:
    rule, example = RULES[rule_id], EXAMPLES[rule_id]
    violating = entry(example.breaks)
    (found,) = (one for one in violating.diagnostics if one.rule == rule_id)
    assert (found.severity, found.hint, found.line) == (rule.severity, rule.fix, example.line)
    assert found.message
    assert LENIENT.refuses(violating.diagnostics) == rule.refuses
    assert violating.skill is not None or rule.refuses
    conforming = entry(example.keeps)
    assert conforming.diagnostics == ()
    assert conforming.skill is not None
