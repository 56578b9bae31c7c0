"""No line installs a program of our name from the package index, where these names belong to other programs."""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).parents[1]

_REQUIREMENT = re.compile(r"skillhub(?:[-_](?:mcp|cli))?(?:[=<>~!@].*)?", re.IGNORECASE)
_INSTALLER = re.compile(
    r"(?<![\w-])(?:pip[\d.]* (?:install|download)|uv (?:add|run --with|tool (?:install|run|upgrade))|uvx"
    r"|pipx (?:install|inject|run|upgrade)|(?:poetry|pdm) add|conda install)(?P<rest>[^\n&;|`#]*)",
    re.IGNORECASE,
)
_PINNED = re.compile(
    r"^\W*skillhub(?:[-_](?:mcp|cli))?(?:\[[\w,-]*\])?['\"]?\s*(?:[=~<>!]=|=\s*['\"]\W*\d)", re.IGNORECASE
)
# No repository is published: a URL on a code host with our name is another project's.
_HOSTED = re.compile(r"(?:github|gitlab|bitbucket|codeberg)\.(?:com|org)[/:]\S*skillhub", re.IGNORECASE)


def installs_by_name(text: str) -> list[str]:
    """Return the lines of `text` that would fetch a distribution of our name from the package index."""
    found = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        # A command in a configuration is a list of quoted words.
        bare = re.sub(r"[\"',\[\]:=]+(?=\s|$)|[\"'\[\]]|\bargs\b", " ", line)
        rests = [" ".join(one["rest"].split()) for one in _INSTALLER.finditer(" ".join(bare.split()))]
        if _PINNED.search(line) or _HOSTED.search(line) or any(map(_names_us, rests)):
            found.append(line.strip())
    return found


def _names_us(rest: str) -> bool:
    source = re.search(r"--(?:from|spec)[ =](\S+)", rest)
    words = [source[1]] if source else rest.split()
    return any(_REQUIREMENT.fullmatch(word) for word in words)


def _files() -> list[str]:
    found = {
        path
        for pattern in ("*", "docs/**/*", "examples/**/*", "src/**/*", "tests/golden/**/*")
        for path in PROJECT.glob(pattern)
        if path.suffix in ("", ".md", ".py", ".txt", ".toml", ".yml", ".yaml", ".json", ".sh") and path.is_file()
    }
    return sorted(path.relative_to(PROJECT).as_posix() for path in found if "__pycache__" not in path.parts)


def test_no_line_installs_from_the_package_index() -> None:
    searched = _files()
    assert {"README.md", "docs/guides/find-skills.md", "examples/ci/github-actions.yml"} <= set(searched)
    found = {
        name: installs_by_name((PROJECT / name).read_text(encoding="utf-8", errors="replace")) for name in searched
    }
    assert {name: lines for name, lines in found.items() if lines} == {}


INSTALLED_BY_NAME = """\
pip install skillhub-mcp
python -m pip install --upgrade 'skillhub_mcp[local]'   # with word vectors
Install the hub (`pip install skillhub-mcp`), then copy the file.
RUN pip install --no-cache-dir skillhub-cli==0.3.1
uv tool install --python 3.12 'skillhub-mcp[local]'
uv run --with skillhub-mcp python app.py
uvx --from skillhub-mcp skillhub demo
pipx run --spec skillhub-mcp==0.1.0 skillhub
"command": "uvx", "args": ["skillhub-mcp"]
skillhub-mcp = "^0.1"
uvx --from git+https://github.com/somebody/skillhub-mcp skillhub"""
INSTALLED_OTHERWISE = """\
pip install -e '.[dev]'
`pip install .` puts `skillhub-mcp` on PATH.
pip install dist/skillhub_mcp-0.1.0-py3-none-any.whl
pip install git+https://git.example.com/you/skillhub-mcp@v0.1.0
uvx --from . skillhub-mcp
"command": "uvx", "args": ["--from", "/srv/checkouts/skillhub-mcp", "skillhub-mcp"]
name = "skillhub-mcp\""""


def test_an_install_by_name_is_found_and_one_from_another_source_is_not() -> None:
    assert installs_by_name(INSTALLED_BY_NAME) == INSTALLED_BY_NAME.splitlines()
    assert installs_by_name(INSTALLED_OTHERWISE) == []
