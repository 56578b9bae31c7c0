"""What a script declares in its PEP 723 block, and what a block may not decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillhub_mcp.errors import PackagesUnavailable
from skillhub_mcp.execution.command_policy import declared_packages


def script(directory: Path, *lines: str) -> Path:
    """A script with a block of these lines."""
    path = directory / "read.py"
    block = "".join(f"# {line}".rstrip() + "\n" for line in ("/// script", *lines, "///"))
    path.write_text(f"#!/usr/bin/env python3\n{block}\nprint(1)\n", encoding="utf-8")
    return path


def test_packages_are_read(tmp_path: Path) -> None:
    found = declared_packages(
        script(tmp_path, 'requires-python = ">=3.10"', "dependencies = [", '  "pypdf>=5,<7",', "", '  "rich[x] ; a", ]')
    )
    assert found == ("pypdf>=5,<7", "rich[x] ; a")


@pytest.mark.parametrize(
    "text",
    [
        "print(1)\n",
        "# /// script\n# dependencies = []\n# ///\n",
        '# /// script\n# requires-python = ">=3"\n# ///\n',
        "# /// script\n# dependencies = ['a']\nprint(1)\n# ///\n",
        "# /// other\n# dependencies = ['a']\n# ///\n",
    ],
)
def test_a_script_that_declares_no_packages_needs_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    assert declared_packages(tmp_path / "a.py") == ()
    assert declared_packages(tmp_path / "missing.py") == ()


@pytest.mark.parametrize(
    "requirement",
    [
        "evil @ https://evil.example/evil-1-py3-none-any.whl",
        "evil@file:///etc",
        "git+https://evil.example/evil",
        "./local",
        "/etc/passwd",
        "--index-url=https://evil.example",
        "-r other.txt",
        "a\n--index-url https://evil.example",
        "a; python_version > '3' \n-r x",
        "",
    ],
)
def test_a_package_from_an_address_or_a_path_is_refused(tmp_path: Path, requirement: str) -> None:
    with pytest.raises(PackagesUnavailable, match="is not a name and versions of a package in an index"):
        declared_packages(script(tmp_path, f"dependencies = [{json.dumps(requirement)}]"))


@pytest.mark.parametrize(
    "setting",
    [
        'index-url = "https://evil.example"',
        'extra-index-url = ["https://evil.example"]',
        'find-links = ["https://evil.example"]',
        'sources = { a = { git = "https://evil.example" } }',
        'index = [{ url = "https://evil.example" }]',
        "no-build = false",
    ],
)
def test_a_block_does_not_say_where_packages_come_from(tmp_path: Path, setting: str) -> None:
    path = script(tmp_path, 'dependencies = ["a"]', "[tool.uv]", setting)
    with pytest.raises(PackagesUnavailable, match="the skill does not decide where packages come from"):
        declared_packages(path)
    newest = script(tmp_path, 'dependencies = ["a"]', "[tool.uv]", 'exclude-newer = "2026-01-01T00:00:00Z"')
    assert declared_packages(newest) == ("a",)


@pytest.mark.parametrize(
    "line",
    [
        "dependencies = [",
        "dependencies = 3",
        "dependencies = [1]",
    ],
)
def test_a_malformed_block_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(PackagesUnavailable, match=r"The packages of 'read.py' cannot be installed"):
        declared_packages(script(tmp_path, line))
