"""Running git for a source: its settings and environment, and its errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.library.sources.repositories import ENVIRONMENT, needs_git

from skillhub_mcp.errors import CommandUnavailable, SourceUnreachable
from skillhub_mcp.library.sources.git import GitOptions, GitRepository, find_git, git_environment, last_line

OPTIONS = GitOptions(environment=ENVIRONMENT, timeout_seconds=60.0)


def planted_git(directory: Path, program: str) -> str:
    """Write a Python program as `git` to a directory, and return a PATH that starts there."""
    git = directory / "git"
    git.write_text(f"#!{sys.executable}\n{program}", encoding="utf-8")
    git.chmod(0o755)
    return f"{directory}{os.pathsep}{ENVIRONMENT['PATH']}"


def test_git_uses_the_users_settings_and_never_prompts() -> None:
    theirs = {
        "HOME": "/h",
        "SSH_AUTH_SOCK": "/s",
        "HTTPS_PROXY": "p",
        "GIT_SSH_COMMAND": "ssh",
        "GIT_CONFIG_COUNT": "0",
    }
    given = git_environment(theirs, "https://h.example/x.git")
    assert {name: given[name] for name in theirs} == theirs
    assert given["GIT_TERMINAL_PROMPT"] == "0"
    assert given["GIT_ALLOW_PROTOCOL"] == "https:ssh:file"


def test_git_gets_no_skillhub_keys_and_no_repository_variables() -> None:
    ours = {"SKILLHUB_TOKEN": "t", "X_API_KEY": "k", "GIT_DIR": "/x", "GIT_OBJECT_DIRECTORY": "/o", "GIT_TRACE": "1",
            "GIT_TEMPLATE_DIR": "/t", "GIT_CONFIG_PARAMETERS": "'core.hooksPath'='/x'"}  # fmt: skip
    assert not set(ours) & set(git_environment(ours, "https://h.example/x.git"))


@pytest.mark.parametrize(
    ("location", "protocols"),
    [
        ("git@h.example:x", "https:ssh:file"),
        ("http://localhost/x.git", "https:ssh:file:http"),
        ("git://localhost/x", "https:ssh:file:git"),
    ],
)
def test_unauthenticated_protocols_need_a_source_that_uses_them(location: str, protocols: str) -> None:
    assert git_environment({"GIT_ALLOW_PROTOCOL": "ext"}, location)["GIT_ALLOW_PROTOCOL"] == protocols


def test_missing_git_is_reported_with_an_alternative(tmp_path: Path) -> None:
    with pytest.raises(CommandUnavailable, match="not installed") as missing:
        find_git({"PATH": str(tmp_path)})
    assert missing.value.code == "COMMAND_UNAVAILABLE"
    assert "install git" in str(missing.value.hint)
    assert "archives and directories work without it" in str(missing.value.hint)


@needs_git
def test_a_program_named_git_in_the_working_directory_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "git"
    planted.write_text("#!/bin/sh\n", encoding="utf-8")
    planted.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_git({"PATH": os.pathsep.join((".", "", ENVIRONMENT["PATH"]))}) != str(planted)


@pytest.mark.parametrize(
    ("messages", "reported"),
    [
        ("remote: Not found.\nfatal: repository 'https://h/x/' not found\n", "repository 'https://h/x/' not found"),
        ("ssh: connect to host h port 22: refused\nfatal: Could not read from remote repository.\n\nPlease make sure\n",
         "ssh: connect to host h port 22: refused"),
        ("fatal: unable to access 'https://me:s3cret@h/x'\n", "unable to access 'https://h/x'"),
        ("error: one\nerror: two\n", "two"),
        ("", "git gave no reason"),
        ("fatal: a\x1b[2Jb\u202ec\n", "a\\x1b[2Jb\\u202ec"),
    ],
)  # fmt: skip
def test_git_errors_are_shown_without_passwords(messages: str, reported: str) -> None:
    assert last_line(messages) == reported


@pytest.mark.skipif(os.name != "posix", reason="the program of this test is a script")
@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("fatal: could not read Username for 'https://h': terminal prompts disabled", "git ls-remote"),
        ("git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.", "git ls-remote"),
        ("fatal: unable to access 'https://h/': The requested URL returned error: 403", "git ls-remote"),
        ("fatal: unable to access 'https://h/': Could not resolve host: h", "network"),
        ("Host key verification failed.\nfatal: Could not read from remote repository.", "look at its key"),
        ("fatal: unable to access 'https://h/': server certificate verification failed.", "http.sslCAInfo"),
        ("fatal: detected dubious ownership in repository at '/x'", "safe.directory"),
        ("fatal: something else", "None"),
    ],
)
def test_denied_access_and_unreachable_hosts_are_reported_with_a_fix(tmp_path: Path, said: str, fix: str) -> None:
    path = planted_git(tmp_path, f"import sys\nprint({said!r}, file=sys.stderr)\nsys.exit(128)\n")
    repository = GitRepository("https://h/x.git", "it", GitOptions({"PATH": path}, 60.0))
    with pytest.raises(SourceUnreachable) as refused:
        repository.list_refs(("HEAD",))
    repository.close()
    assert fix in str(refused.value.hint)


@pytest.mark.skipif(os.name != "posix", reason="the program of this test is a script")
def test_an_endless_repository_is_stopped_at_the_limit(tmp_path: Path) -> None:
    path = planted_git(
        tmp_path,
        "import os, time\nos.makedirs('repository/objects', exist_ok=True)\n"
        "while True:\n    with open('repository/objects/pack', 'ab') as pack:\n        pack.write(bytes(100_000))\n"
        "    time.sleep(0.01)\n",
    )
    repository = GitRepository("file:///x", "it", GitOptions({"PATH": path}, 60.0, max_bytes=500_000))
    with pytest.raises(SourceUnreachable, match="more than 500,000 bytes"):
        repository.fetch("refs/heads/main")
    repository.close()
    assert not Path(repository.directory).exists()


@contextmanager
def leading_to(address: str) -> Iterator[tuple[str, list[str]]]:
    """A site that redirects every request, and the requests that it got."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", address)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/x.git", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.slow
@needs_git
def test_git_does_not_follow_redirects(tmp_path: Path) -> None:
    for address in ("http://127.0.0.1:9/", tmp_path.as_uri()):
        with leading_to(address) as (site, asked):
            repository = GitRepository(site, "it", OPTIONS)
            with pytest.raises(SourceUnreachable) as refused:
                repository.list_refs(("HEAD",))
            repository.close()
            assert len(asked) == 1
            assert "leads to an address" in str(refused.value.hint)


@pytest.mark.skipif(os.name != "posix", reason="the program of this test is a script")
def test_git_is_stopped_after_its_timeout(tmp_path: Path) -> None:
    path = planted_git(tmp_path, "import time\ntime.sleep(60)\n")
    repository = GitRepository("file:///x", "it", GitOptions({"PATH": path}, 0.2))
    with pytest.raises(SourceUnreachable, match="took longer than"):
        repository.list_refs(("HEAD",))
    repository.close()
