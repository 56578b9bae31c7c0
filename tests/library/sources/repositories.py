"""Repositories to fetch from, created without a working tree by one git process a commit."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ENVIRONMENT = {
    # The system's programs, even if PATH has only python3 and pip.
    "PATH": os.pathsep.join((os.environ["PATH"], os.defpath)),
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}
HAS_GIT = shutil.which("git", path=ENVIRONMENT["PATH"]) is not None
needs_git = pytest.mark.skipif(not HAS_GIT, reason="git is not installed here")
_WHO = "Ada <ada@example.org> 1700000000 +0000"


@dataclass(frozen=True)
class Executable:
    content: str


@dataclass(frozen=True)
class Link:
    target: str


@dataclass(frozen=True)
class Submodule:
    commit: str = "1" * 40


Entry = str | bytes | Executable | Link | Submodule


def skill_text(name: str, description: str = "Does what a test needs.", body: str = "Do it.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"


class Repository:
    """A bare repository with HEAD on `main`. Its URL is what users type.

    Skips the test that wants one where git is not installed.
    """

    def __init__(self, directory: Path, *, object_format: str = "sha1") -> None:
        if not HAS_GIT:
            pytest.skip("git is not installed here")
        self.directory = directory
        version, extension = ("0", "") if object_format == "sha1" else ("1", "[extensions]\nobjectFormat = sha256\n")
        for name in ("objects", "refs"):
            (directory / name).mkdir(parents=True)
        (directory / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (directory / "config").write_text(
            f"[core]\nrepositoryformatversion = {version}\nbare = true\n{extension}", encoding="utf-8"
        )

    @property
    def url(self) -> str:
        return self.directory.as_uri()

    def git(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            ("git", *arguments),
            cwd=self.directory,
            env={**ENVIRONMENT, **(environment or {})},
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def commit(
        self,
        files: Mapping[str, Entry],
        *,
        branch: str = "main",
        removed: Sequence[str] = (),
        tags: Mapping[str, bool] | None = None,
    ) -> str:
        """Add a commit with `files` to the branch, and return its id. `tags` maps names to annotated or not."""
        ref = f"refs/heads/{branch}"
        out = bytearray(f"feature done\ncommit {ref}\nmark :1\ncommitter {_WHO}\ndata 6\nchange\n".encode())
        if (self.directory / ref).exists():
            out += f"from {ref}^0\n".encode()
        for path in removed:
            out += f"D {path}\n".encode()
        for path, entry in files.items():
            if isinstance(entry, Submodule):
                out += f"M 160000 {entry.commit} {path}\n".encode()
                continue
            mode, content = _mode_and_bytes(entry)
            out += f"M {mode} inline {path}\ndata {len(content)}\n".encode() + content + b"\n"
        for name, is_object in (tags or {}).items():
            out += f"tag {name}\nfrom :1\ntagger {_WHO}\ndata 3\ntag\n".encode() if is_object else b""
            out += b"" if is_object else f"reset refs/tags/{name}\nfrom :1\n\n".encode()
        out += b"get-mark :1\ndone\n"
        return self.git("fast-import", "--quiet", "--force", "--cat-blob-fd=1", stdin=bytes(out))

    def id_of(self, name: str) -> str:
        return self.git("rev-parse", name)


def _mode_and_bytes(entry: str | bytes | Executable | Link) -> tuple[str, bytes]:
    if isinstance(entry, Executable):
        return "100755", entry.content.encode()
    if isinstance(entry, Link):
        return "120000", entry.target.encode()
    return "100644", entry.encode() if isinstance(entry, str) else entry
