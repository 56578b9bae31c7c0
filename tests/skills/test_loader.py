"""`SkillLoader`: names first, bodies on request, and no broken file stops the others."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp import SkillLoader
from skillhub_mcp.errors import SkillNotFound, SkillUnreadable

PDF = """---
name: pdf
description: PDFファイルを処理。PDF読み込み、作成、マージ時に使用。
---

# PDF処理スキル

## PDFの読み込み
高速抽出にはpdftotext使用：
pdftotext input.pdf -
"""


@pytest.fixture
def pdf(skills_dir: Path) -> Path:
    (skills_dir / "pdf" / "scripts").mkdir(parents=True)
    (skills_dir / "pdf" / "references").mkdir()
    (skills_dir / "pdf" / "references" / "日本語.md").write_text("# 参考", encoding="utf-8")
    (skills_dir / "pdf" / "SKILL.md").write_text(PDF, encoding="utf-8")
    return skills_dir / "pdf"


@pytest.mark.acceptance("S4-15", "S4-17")
def test_the_documented_example_works_with_its_text_intact(pdf: Path, skills_dir: Path) -> None:
    loader = SkillLoader(skills_dir)
    real = Path(os.path.realpath(pdf))
    description = "PDFファイルを処理。PDF読み込み、作成、マージ時に使用。"
    assert loader.skills == {"pdf": {"name": "pdf", "description": description, "path": real / "SKILL.md", "dir": real}}
    assert loader.get_descriptions() == f"- pdf: {description}"
    body = PDF.split("---\n", 2)[2]
    assert loader.get_skill_content("pdf") == f"# Skill: pdf\n\n{body}"


@pytest.mark.acceptance("S4-5")
def test_a_file_is_split_into_its_documented_parts(pdf: Path, skills_dir: Path) -> None:
    parsed = SkillLoader(skills_dir).parse_skill_md(pdf / "SKILL.md")
    assert parsed == {
        "name": "pdf",
        "description": "PDFファイルを処理。PDF読み込み、作成、マージ時に使用。",
        "body": PDF.split("---\n", 2)[2],
        "path": pdf / "SKILL.md",
        "dir": Path(os.path.realpath(pdf)),
    }


@pytest.mark.acceptance("S4-5")
def test_a_file_without_usable_frontmatter_does_not_stop_the_others(
    pdf: Path, skills_dir: Path, write_skill: SkillWriter
) -> None:
    broken = {
        "plain": b"# No frontmatter\n",
        "open": b"---\nname: open\ndescription: x\n",
        "binary": b"\0\1\2",
        "yaml": b"---\nname: 'open\n---\n",
        "silent": b"---\nname: silent\n---\nA body.\n",
        "empty": b"",
        "deep": b"---\na: " + b"[" * 60_000 + b"\n---\n",
    }
    for name, content in broken.items():
        (write_skill(name) / "SKILL.md").write_bytes(content)
    loader = SkillLoader(skills_dir)
    assert list(loader.skills) == ["pdf"]
    for name in broken:
        assert loader.parse_skill_md(skills_dir / name / "SKILL.md") is None


@pytest.mark.acceptance("S4-5")
def test_a_missing_file_raises_file_not_found(skills_dir: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SkillLoader(skills_dir).parse_skill_md(skills_dir / "missing" / "SKILL.md")


def test_a_link_out_of_the_skill_is_not_followed(tmp_path: Path, skills_dir: Path, write_skill: SkillWriter) -> None:
    (tmp_path / "secret.md").write_text("---\nname: secret\ndescription: x\n---\nSECRET\n", encoding="utf-8")
    skill = write_skill("a")
    (skill / "SKILL.md").unlink()
    (skill / "SKILL.md").symlink_to(tmp_path / "secret.md")
    loader = SkillLoader(skills_dir)
    assert loader.skills == {}
    assert loader.parse_skill_md(skill / "SKILL.md") is None


@pytest.mark.acceptance("S4-17")
def test_the_directory_is_scanned_again_on_request(skills_dir: Path, write_skill: SkillWriter) -> None:
    gone = write_skill("gone")
    loader = SkillLoader(skills_dir)
    shutil.rmtree(gone)
    write_skill("new")
    assert list(loader.skills) == ["gone"]
    loader.load_skills()
    assert list(loader.skills) == ["new"]


@pytest.mark.acceptance("S4-17")
def test_a_body_is_read_from_the_current_file(skills_dir: Path, write_skill: SkillWriter) -> None:
    skill = write_skill("a", body="First.\n")
    loader = SkillLoader(skills_dir)
    write_skill("a", body="Second.\n")
    assert loader.get_skill_content("a") == "# Skill: a\n\nSecond.\n"
    (skill / "SKILL.md").unlink()
    with pytest.raises(SkillUnreadable):
        loader.get_skill_content("a")


@pytest.mark.acceptance("S4-17")
def test_an_unknown_name_is_answered_with_the_known_ones(skills_dir: Path, write_skill: SkillWriter) -> None:
    write_skill("review")
    write_skill("release")
    with pytest.raises(SkillNotFound) as caught:
        SkillLoader(skills_dir).get_skill_content("reviw")
    said = str(caught.value)
    assert "reviw" in said
    assert caught.value.hint == "did you mean 'review'? Available skills: release, review"


@pytest.mark.acceptance("S4-17")
def test_an_empty_directory_is_reported(skills_dir: Path, tmp_path: Path) -> None:
    for directory in (skills_dir, tmp_path / "missing"):
        loader = SkillLoader(directory)
        assert loader.skills == {}
        assert loader.get_descriptions() == "(no skills available)"
        with pytest.raises(SkillNotFound) as caught:
            loader.get_skill_content("a")
        assert caught.value.hint == "available skills: (none)"


def test_a_multi_line_description_is_one_line_of_the_list(skills_dir: Path, write_skill: SkillWriter) -> None:
    write_skill("a", frontmatter="name: a\ndescription: |\n  One.\n\n  - b: Two.\n")
    loader = SkillLoader(skills_dir)
    assert loader.get_descriptions() == "- a: One. - b: Two."
    assert loader.skills["a"]["description"] == "One.\n\n- b: Two."
