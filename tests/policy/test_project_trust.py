"""Trust in a project ends when its skills or rules change."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.policy import project_trust
from skillhub_mcp.policy.files import TRUST
from skillhub_mcp.policy.project_trust import ProjectTrust, project_digest
from skillhub_mcp.policy.trust import TrustMode
from skillhub_mcp.project import find_project
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.roots import SkillRoot, choose_roots


class Repo:
    """A project with skills, and the record of trust."""

    def __init__(self, path: Path, record: Path, write_skill: SkillWriter) -> None:
        self.path, self.record, self.write_skill = path, record, write_skill
        (path / ".git").mkdir(parents=True)
        self.skills = path / ".agents" / "skills"
        self.add("commit", files={"scripts/run.sh": "echo"})
        self.outside = self.add("linked", root=path.parent / "outside")
        (self.skills / "linked").symlink_to(self.outside)

    def add(self, name: str, root: Path | None = None, **options: object) -> Path:
        return self.write_skill(name, root=root or self.skills, **options)

    def roots(self, cwd: Path | None = None) -> tuple[SkillRoot, ...]:
        project = find_project(str(cwd or self.path))
        return choose_roots(("project",), project=project, home="", hub=[], builtin="")

    def judge(self, mode: TrustMode = TrustMode.LIMITED) -> ProjectTrust:
        return ProjectTrust(mode, TRUST.file(str(self.record)))

    def agree(self, cwd: Path | None = None) -> None:
        digests = {root.path: project_digest(root) for root in self.roots(cwd)}
        TRUST.change(str(self.record), lambda record: record.agreed(str(self.path), digests))

    def trust(self, judge: ProjectTrust, cwd: Path | None = None) -> Trust:
        """Return the trust in the skills nearest to `cwd`, the first of its roots."""
        return judge.judged(self.roots(cwd))[0].trust


@pytest.fixture
def repo(tmp_path: Path, write_skill: SkillWriter) -> Repo:
    return Repo(tmp_path / "repo", tmp_path / "home" / "trust.json", write_skill)


def test_a_project_is_trusted_until_its_first_change(repo: Repo) -> None:
    judge = repo.judge()
    assert repo.trust(judge) is Trust.AWAITED
    repo.agree()
    assert repo.trust(judge) is Trust.AGREED
    (repo.skills / "commit" / "scripts" / "run.sh").write_text("rm", encoding="utf-8")
    assert repo.trust(judge) is Trust.CHANGED
    repo.agree()
    assert repo.trust(judge) is Trust.AGREED
    TRUST.change(str(repo.record), lambda record: record.revoked([str(repo.path)]))
    assert repo.trust(judge) is Trust.AWAITED


def _add_a_skill(repo: Repo) -> None:
    repo.add("second")


def _remove_a_skill(repo: Repo) -> None:
    shutil.rmtree(repo.skills / "commit")


def _rename_a_skill(repo: Repo) -> None:
    (repo.skills / "commit").rename(repo.skills / "other")


def _add_a_hidden_file(repo: Repo) -> None:
    (repo.skills / "commit" / ".env").write_text("A=1", encoding="utf-8")


def _make_executable(repo: Repo) -> None:
    (repo.skills / "commit" / "scripts" / "run.sh").chmod(0o755)


def _add_rules(repo: Repo) -> None:
    (repo.path / ".skillhub").mkdir()
    (repo.path / ".skillhub" / "permissions.json").write_text('{"permissions": {}}', encoding="utf-8")


def _add_an_invalid_skill(repo: Repo) -> None:
    repo.add("broken", frontmatter="---\nname: [\n---\n")


def _add_unchecked_bytecode(repo: Repo) -> None:
    bytecode = repo.skills / "commit" / "scripts" / "__pycache__"
    bytecode.mkdir()
    (bytecode / "run.cpython-312.pyc").write_bytes(b"\xcb\r\r\n\1" + bytes(11))


def _change_the_target_of_a_link(repo: Repo) -> None:
    (repo.outside / "run.sh").write_text("curl", encoding="utf-8")


def _switch_a_link(repo: Repo) -> None:
    shutil.copytree(repo.outside, repo.outside.with_name("copy"))
    (repo.skills / "linked").unlink()
    (repo.skills / "linked").symlink_to(repo.outside.with_name("copy"))


def _rename_a_link(repo: Repo) -> None:
    (repo.skills / "linked").rename(repo.skills / "push")


def _add_a_text_beside_bytecode(repo: Repo) -> None:
    bytecode = repo.skills / "commit" / "__pycache__"
    bytecode.mkdir()
    (bytecode / "more.md").write_text("Obey.", encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        _add_a_skill,
        _remove_a_skill,
        _rename_a_skill,
        _add_a_hidden_file,
        _make_executable,
        _add_rules,
        _add_an_invalid_skill,
        _add_unchecked_bytecode,
        _add_a_text_beside_bytecode,
        _change_the_target_of_a_link,
        _switch_a_link,
        _rename_a_link,
    ],
)
def test_every_change_of_a_projects_skills_ends_its_trust(repo: Repo, change: Callable[[Repo], None]) -> None:
    repo.agree()
    judge = repo.judge()
    assert repo.trust(judge) is Trust.AGREED
    change(repo)
    assert repo.trust(judge) is Trust.CHANGED


def test_other_files_and_bytecode_do_not_end_trust(repo: Repo) -> None:
    kept = repo.add("inside", root=repo.path / "kept")
    (repo.skills / "inside").symlink_to(kept)
    repo.agree()
    (repo.path / "README.md").write_text("# Repo", encoding="utf-8")
    bytecode = repo.skills / "commit" / "scripts" / "__pycache__"
    bytecode.mkdir()
    (bytecode / "run.cpython-312.pyc").write_bytes(b"\xcb\r\r\n" + bytes(12))
    assert repo.trust(repo.judge()) is Trust.AGREED
    # Targets of links inside the project count.
    (kept / "SKILL.md").write_text("---\nname: inside\ndescription: Other.\n---\n", encoding="utf-8")
    assert repo.trust(repo.judge()) is Trust.CHANGED


def test_each_directory_of_skills_is_trusted_separately(repo: Repo) -> None:
    web = repo.path / "web"
    repo.agree()
    repo.add("build", root=web / ".agents" / "skills")
    judge = repo.judge()
    assert [root.trust for root in judge.judged(repo.roots(web))][:2] == [Trust.AWAITED, Trust.AGREED]
    repo.agree(web)
    assert [root.trust for root in judge.judged(repo.roots(web))][:2] == [Trust.AGREED, Trust.AGREED]
    assert repo.trust(judge) is Trust.AGREED


def test_a_change_that_keeps_size_and_time_ends_trust(repo: Repo) -> None:
    judge = repo.judge()
    repo.agree()
    assert repo.trust(judge) is Trust.AGREED
    file = repo.skills / "commit" / "scripts" / "run.sh"
    before = file.stat()
    file.write_text("echO", encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert repo.trust(judge) is Trust.CHANGED


def test_files_are_read_only_to_compare_them_with_an_agreement(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_trust, "project_digest", pytest.fail)
    assert repo.trust(repo.judge()) is Trust.AWAITED
    repo.record.parent.mkdir()
    repo.record.write_text("{", encoding="utf-8")
    assert repo.trust(repo.judge(TrustMode.ALL)) is Trust.AGREED


def test_an_unusable_record_trusts_nothing_and_is_logged_once(repo: Repo, caplog: pytest.LogCaptureFixture) -> None:
    repo.agree()
    judge = repo.judge()
    text = repo.record.read_text(encoding="utf-8")
    repo.record.write_text("{", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert [repo.trust(judge) for _ in range(2)] == [Trust.AWAITED, Trust.AWAITED]
    (reported,) = caplog.messages
    assert "no project is trusted until it is fixed" in reported
    repo.record.write_text(text, encoding="utf-8")
    assert repo.trust(judge) is Trust.AGREED


def test_a_project_that_cannot_be_hashed_is_not_trusted(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.agree()
    monkeypatch.setattr("skillhub_mcp.skills.digest.MAX_ENTRIES", 1)
    assert repo.trust(repo.judge()) is Trust.CHANGED
