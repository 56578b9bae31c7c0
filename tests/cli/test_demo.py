"""`skillhub demo`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.fakes.embedding_api import EmbeddingApi

from skillhub_mcp.cli.commands.demo import next_steps

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "skills"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    directory = tmp_path / "scratch"
    directory.mkdir()
    return directory


def test_the_first_task_walks_every_tier_and_depends_on_no_setting(process: Skillhub, scratch: Path) -> None:
    if not (EXAMPLES / "pdf-invoice-extractor").is_dir():
        pytest.skip("the example skills are not beside this checkout")
    with EmbeddingApi() as api:
        others = {
            "EMBEDDING_PROVIDER": "openai",
            "OPENAI_API_KEY": "k",
            "EMBEDDING_BASE_URL": api.url_for("openai"),
            "SKILLHUB_ENABLED_SKILLS": "no-such-skill",
            "SKILLHUB_ERROR_STYLE": "jsonrpc",
            "SKILLHUB_READ_ONLY": "1",
            "SKILLHUB_SKIP_AUTO_REINDEX": "1",
            "DB_PATH": str(scratch / "none"),
        }
        done = process("demo", "--json", TMPDIR=str(scratch), **others)
    assert (done.code, api.requests) == (0, []), done.err
    report = done.json
    assert [step["call"].partition("(")[0] for step in report["steps"]] == [
        "tools/list",
        "search_skills",
        "load_skill",
        "read_skill_file",
    ]
    assert report["steps"][2]["call"] == "load_skill(skill_name='pdf-invoice-extractor')"
    assert report["skills"] == len(list(EXAMPLES.glob("*/SKILL.md")))
    assert report["tokens"] == sum(step["tokens"] for step in report["steps"]) > 0
    assert list(scratch.iterdir()) == []
    costs = [step["tokens"] for step in report["steps"][1:]]
    assert tokens_in("docs/pictures/search.svg") == pytest.approx(costs, rel=0.05)
    assert tokens_in("README.md") == pytest.approx([report["tokens"], report["upfront_tokens"]], rel=0.05)


def tokens_in(document: str) -> list[int]:
    """Return how many tokens a document says that the demo's steps cost."""
    text = (EXAMPLES.parents[1] / document).read_text(encoding="utf-8")
    found = re.findall(r"about ([\d,]+) tokens \| all 14 skills in full: about ([\d,]+) tokens|>([\d,]+) tokens<", text)
    return [int(number.replace(",", "")) for numbers in found for number in numbers if number]


def test_a_task_of_ones_own_over_ones_own_skills(
    process: Skillhub, write_skill: SkillWriter, skills_dir: Path, scratch: Path
) -> None:
    body = "Run scripts/paint.py, and mind references/colours.md.\n"
    write_skill("painter", "Paints walls.", body=body, files={"references/colours.md": "red\n", "scripts/paint.py": ""})
    write_skill("carver", "Carves wood.")
    done = process("demo", "paint", "walls", "--skills-dir", skills_dir, TMPDIR=str(scratch))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("task  paint walls\n")
    assert "load_skill(skill_name='painter')" in done.out
    assert "file_path='references/colours.md')" in done.out
    assert "   │ red\n" in done.out
    assert "All 2 skills in full would have cost about " in done.out
    assert list(scratch.iterdir()) == []


def test_a_task_that_no_skill_fits_fails(process: Skillhub, write_skill: SkillWriter, skills_dir: Path) -> None:
    write_skill("painter", "Paints walls.")
    done = process("demo", "xyzzy", "--skills-dir", skills_dir)
    assert done.code == 1
    assert "Nothing fits." in done.out


@pytest.mark.parametrize(
    ("place", "command", "what"),
    [
        ("", "skillhub add SOURCE", "installs skills of a directory, a repository or a site"),
        (".skillhub/skills", "skillhub pick", "searches your 1 skill"),
        (".codex/skills", "skillhub roots add --all", "serves the 1 skill found here"),
    ],
)
def test_the_last_lines_suggest_commands_for_this_machine(
    place: str, command: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_skill: SkillWriter
) -> None:
    for name in ("SKILLS_DIR", "SKILLHUB_ROOTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    if place:
        write_skill("one", root=tmp_path / "me" / place)
    first, *_, (last, _) = next_steps({}).items()
    assert (first, last) == ((command, what), "skillhub connect --all")
