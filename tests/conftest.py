"""Shared fixtures: a builder of skills, a clean environment, and the corpus of real skills if present."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from skillhub_mcp.settings import SETTINGS

# No time limits: a busy machine must not fail a property. Every run tries the same examples, so that only the change is
# judged; --hypothesis-profile=explore looks for others.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("explore", deadline=None, max_examples=1_000)
settings.load_profile("repeatable")

SkillWriter = Callable[..., Path]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With `-n auto`, use two workers a core: the tests wait for processes and servers half of their time."""
    return 2 * (os.cpu_count() or 1)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hide the settings and the home of the user who runs the tests."""
    for setting in SETTINGS:
        for name in (setting.name, *setting.aliases):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    # Users' shells set these; services and containers do not.
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PAGER", "LESS", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    # Shell commands of tests need the system's programs, also where PATH has no more than python3 and pip.
    monkeypatch.setenv("PATH", os.pathsep.join((os.environ["PATH"], os.defpath)))


@pytest.fixture
def skills_dir(tmp_path: Path) -> Path:
    """An empty skills directory."""
    directory = tmp_path / "skills"
    directory.mkdir()
    return directory


def put_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically, so that a running server never reads an empty one."""
    data = content.encode() if isinstance(content, str) else content
    if path.is_symlink():
        path.write_bytes(data)
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as new:
        new.write(data)
    os.chmod(new.name, 0o644)
    os.replace(new.name, path)


def switch(link: Path, target: Path) -> None:
    """Point a link to another directory atomically, as deployments do."""
    new = link.with_name(f".{link.name}.new")
    new.symlink_to(target)
    new.replace(link)


@pytest.fixture
def write_skill(skills_dir: Path) -> SkillWriter:
    """Write a skill below `skills_dir` and return its directory.

    `files` are further files by relative path; `frontmatter` replaces the generated one whole.
    """

    def write(
        name: str,
        description: str = "Does one thing well. Use when that thing is wanted.",
        *,
        body: str = "# How\n\nDo it.\n",
        category: str | None = None,
        tags: str | None = None,
        extra: str = "",
        frontmatter: str | None = None,
        files: dict[str, str | bytes] | None = None,
        root: Path | None = None,
        directory: str | None = None,
    ) -> Path:
        folder = (root or skills_dir) / (directory or name)
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"name: {name}", f"description: {description}"]
        if category or tags:
            lines.append("metadata:")
            lines += [f'  skillhub.category: "{category}"'] if category else []
            lines += [f'  skillhub.tags: "{tags}"'] if tags else []
        header = frontmatter if frontmatter is not None else "\n".join([*lines, extra]).rstrip("\n")
        put_file(folder / "SKILL.md", f"---\n{header}\n---\n{body}")
        for path, content in (files or {}).items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            put_file(target, content)
        return folder

    return write


def is_golden(name: str, text: str) -> None:
    """Compare a text with a file in `golden`, which SKILLHUB_UPDATE_GOLDEN=1 rewrites."""
    golden = Path(__file__).parent / "golden" / name
    if os.environ.get("SKILLHUB_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def own_file(name: str) -> Path:
    """Return the path of a file in the user's ~/.skillhub, which is created.

    Not for module fixtures: they see the home of the user who runs the tests.
    """
    path = Path(os.environ["HOME"], ".skillhub", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def own_rules(**permissions: object) -> None:
    """Write the user's rules: lists such as `deny`, and `others`."""
    own_file("permissions.json").write_text(json.dumps({"permissions": permissions}), encoding="utf-8")


@pytest.fixture
def make_deep(tmp_path: Path) -> Iterator[Callable[[Path], None]]:
    """Create nested directories deeper than Python's recursion limit."""

    def make(directory: Path) -> None:
        here = os.open(directory, os.O_RDONLY)
        for _ in range(1_200):
            os.mkdir("d", dir_fd=here)
            there = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = there
        os.close(here)

    yield make
    # pytest removes its temporary directories with Python.
    subprocess.run(["rm", "-rf", tmp_path], check=True)


@pytest.fixture
def hub_environment(tmp_path: Path, skills_dir: Path) -> dict[str, str]:
    """The environment for a `skillhub` process that serves `skills_dir` with a database of its own."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "SKILLS_DIR": str(skills_dir),
        "DB_PATH": str(tmp_path / "db" / "skills.lancedb"),
        # Word vectors are installed, but make other tests slower.
        "EMBEDDING_PROVIDER": "none",
        "PYTHONWARNDEFAULTENCODING": "1",
        # Processes of a test use the same package as the test.
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project, by its canonical path."""
    root = tmp_path.resolve() / "repo"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The directory of real skills that some machines have beside the project."""
    # Skills keep the configured path, and the tests of the corpus compare real ones.
    directory = (Path(__file__).parents[2] / "shared").resolve() / "corpus" / "skills"
    if not directory.is_dir():
        pytest.skip("the corpus of real skills is not beside this checkout")
    return directory
