"""What a script declares in its PEP 723 block, and what a block may not decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillhub_mcp.errors import PackagesUnavailable
from skillhub_mcp.execution.script_packages import ScriptNeeds, read_needs


def script(directory: Path, *lines: str, lock: str | None = None) -> Path:
    """A script with a block of these lines."""
    path = directory / "read.py"
    block = "".join(f"# {line}".rstrip() + "\n" for line in ("/// script", *lines, "///"))
    path.write_text(f"#!/usr/bin/env python3\n{block}\nprint(1)\n", encoding="utf-8")
    if lock is not None:
        path.with_name("read.py.lock").write_text(lock, encoding="utf-8")
    return path


def test_packages_and_the_range_of_pythons_are_read(tmp_path: Path) -> None:
    found = read_needs(
        script(tmp_path, 'requires-python = ">=3.10"', "dependencies = [", '  "pypdf>=5,<7",', "", '  "rich[x] ; a", ]')
    )
    assert found == ScriptNeeds(("pypdf>=5,<7", "rich[x] ; a"), ">=3.10")


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
    assert read_needs(tmp_path / "a.py") is None
    assert read_needs(tmp_path / "missing.py") is None


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
        "a" * 500,
    ],
)
def test_a_package_from_an_address_or_a_path_is_refused(tmp_path: Path, requirement: str) -> None:
    with pytest.raises(PackagesUnavailable, match="is not a name and versions of a package in an index"):
        read_needs(script(tmp_path, f"dependencies = [{json.dumps(requirement)}]"))


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
    with pytest.raises(PackagesUnavailable, match="where packages come from is not a skill's to say"):
        read_needs(path)
    newest = script(tmp_path, 'dependencies = ["a"]', "[tool.uv]", 'exclude-newer = "2026-01-01T00:00:00Z"')
    assert read_needs(newest) == ScriptNeeds(("a",), exclude_newer="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "line",
    [
        "dependencies = [",
        "dependencies = 3",
        "dependencies = [1]",
        'dependencies = ["a"]\n# requires-python = 3',
        'dependencies = ["a"]\n# requires-python = "--x"',
    ],
)
def test_a_malformed_block_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(PackagesUnavailable, match=r"The packages of 'read.py' cannot be installed"):
        read_needs(script(tmp_path, line))


def test_a_lock_file_settles_versions_and_not_where_they_come_from(tmp_path: Path) -> None:
    lock = """version = 1
[[package]]
name = "pypdf"
version = "5.1.0"
source = { registry = "https://evil.example" }
[[package]]
name = "own"
source = { virtual = "." }
"""
    before = read_needs(script(tmp_path, 'dependencies = ["pypdf"]'))
    found = read_needs(script(tmp_path, 'dependencies = ["pypdf"]', lock=lock))
    assert found == ScriptNeeds(("pypdf",), locked=("pypdf==5.1.0",))
    assert before is not None
    assert found is not None
    assert before.key != found.key
    with pytest.raises(PackagesUnavailable, match="its lock file is"):
        read_needs(script(tmp_path, 'dependencies = ["pypdf"]', lock="[[package]]\nname = 'a b'\n"))


@pytest.mark.parametrize(
    ("lock", "reason"),
    [
        ("#" * (4 * 1024 * 1024 + 1), "has more than 4,194,304 bytes"),
        ('[[package]]\nname = "a"\nversion = "1"\n' * 2_049, "has more than 2,048 packages"),
        ("version = 1\n" + "a.b.c.d = 1\n" * 40_000, "is malformed"),
    ],
    ids=["bytes", "packages", "no packages"],
)
def test_an_oversized_lock_file_is_refused(tmp_path: Path, lock: str, reason: str) -> None:
    with pytest.raises(PackagesUnavailable, match=f"its lock file {reason}"):
        read_needs(script(tmp_path, 'dependencies = ["a"]', lock=lock))


def test_tables_of_a_lock_file_that_are_slow_to_parse_do_not_matter(tmp_path: Path) -> None:
    slow = "".join(f"[package.metadata]\n{'a.' * 40}b{number} = 1\n" for number in range(4_000))
    lock = f'[[package]]\nname = "a"\nversion = "1"\n{slow}'
    found = read_needs(script(tmp_path, 'dependencies = ["a"]', lock=lock))
    assert found == ScriptNeeds(("a",), locked=("a==1",))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"# {'x' * 9_000}", "it has more than 8,192 characters"),
        (f"{'a.' * 20}b = 1", "it has a key of more than 16 parts"),
        (f"a = {'[' * 4_000}", "it is nested too deep|nested more than"),
    ],
    ids=["long", "parts", "nested"],
)
def test_a_block_that_is_slow_to_parse_is_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(PackagesUnavailable, match=reason):
        read_needs(script(tmp_path, 'dependencies = ["a"]', line))


def test_what_is_written_in_another_order_is_the_same_environment() -> None:
    assert ScriptNeeds(("a", "b")).key == ScriptNeeds(("b", "a")).key
    assert len({ScriptNeeds(("a",)).key, ScriptNeeds(("b",)).key, ScriptNeeds(("a",), ">=3.12").key}) == 3
