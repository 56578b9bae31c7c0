"""No line installs a program of our name from the package index, where these names belong to other programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[1]

# On the Python package index all of these are other programs, one with our import package and command.
_NAME = r"skillhub(?:[-_.](?:mcp|cli))?"
_EXTRAS = r"(?:\[[\w\s,.-]*\])?"
_VERSION = r"(?:\s*(?:===?|~=|[<>!]=|[<>])\s*[\w.*+!-]+(?:\s*,\s*[<>=!~]+\s*[\w.*+!-]+)*|@(?:latest|[\d.]+))"
# A requirement by name, also one that says where it comes from: who leaves the address out gets the other program.
_REQUIREMENT = re.compile(rf"(?<![\w./-]){_NAME}{_EXTRAS}{_VERSION}?(?![\w/:\[-]|\.\w)", re.IGNORECASE)
_INSTALLER = re.compile(
    r"(?<![\w-])(?P<command>"
    r"(?:uv\s+)?pip[\d.]*\s+(?:install|download|wheel|wrap)|uv\s+(?:add|tool\s+(?:install|upgrade))|"
    r"pipx\s+(?:install|inject|upgrade)|(?:poetry|pdm|rye|pixi|hatch)\s+(?:add|install|self\s+add)|"
    r"(?:conda|mamba|micromamba)\s+install|easy_install|pip-install(?:ing)?)(?![\w-])(?P<rest>[^\n]*)",
    re.IGNORECASE,
)
# These install the distribution named like the command, unless an option gives another source.
_RUNNER = re.compile(
    r"(?<![\w-])(?P<command>uvx|uv\s+tool\s+run|pipx\s+run|uv\s+run)(?![\w-])(?P<rest>[^\n]*)", re.IGNORECASE
)
_SOURCE = re.compile(r"--(?:from|spec|with|with-requirements)[\s=]+(?P<source>'[^']*'|\"[^\"]*\"|\S+)")
_CONFIGURED = re.compile(
    r"command[\"']?\s*[:=]\s*[\"'](?P<command>uvx|uv|pipx|pip\d?)[\"'],?\s*[\"']?args[\"']?\s*[:=]\s*\[(?P<args>[^\]]*)\]",
    re.IGNORECASE,
)
# A requirement with an extra or a version, quoted or as a whole line: requirements, lists of YAML, TOML and JSON.
_PINNED = re.compile(
    rf"^\s*(?:-\s+|#\s+)?([\"']?){_NAME}(?:\[[\w,\s.-]+\]{_VERSION}?|{_VERSION})\1\s*,?\s*(?:#.*)?$", re.IGNORECASE
)
_BARE = re.compile(rf"^\s*(?:-\s+)?([\"']?){_NAME}\1\s*(?:#.*)?$", re.IGNORECASE)
_LISTED = re.compile(r"dependenc(?:y|ies)[\w\s.-]*[\"']?\s*[:=]\s*\[(?P<listed>(?:\[[^\]]*\]|[^\]])*)\]", re.IGNORECASE)
_TABLE = re.compile(rf"^\s*{_NAME}\s*=\s*(?:[\"'][\^~<>=*\d]|\{{\s*version)", re.IGNORECASE)
_PROSE = re.compile(
    rf"\binstall(?:s|ed|ing)?\b[^.\n]{{0,40}}{_NAME}\b[^.\n]{{0,30}}\b(?:PyPI|(?:package )?index)\b|"
    rf"\bPyPI\b[^.\n]{{0,40}}\binstall(?:s|ed|ing)?\b[^.\n]{{0,20}}{_NAME}\b",
    re.IGNORECASE,
)
# No repository is published: a URL on a code host with our name is another project's.
_HOSTED = re.compile(r"(?:github|gitlab|bitbucket|codeberg)\.(?:com|org)[/:]\S*skillhub", re.IGNORECASE)


def installs_by_name(text: str, *, requirements: bool = False) -> list[str]:
    """Return the lines of `text` that would fetch a distribution of our name from the package index.

    With `requirements` the text is a file of requirements, where a bare name is one.
    """
    if "skillhub" not in text.lower():
        return []
    whole = re.sub(r"\\\n\s*", " ", text)
    found = [line.strip() for line in whole.splitlines() if _line_installs(line, requirements=requirements)]
    for configured in _CONFIGURED.finditer(whole):
        command = " ".join((configured["command"], *re.findall(r"[\"']([^\"']*)[\"']", configured["args"])))
        if _line_installs(command):
            found.append(command)
    found += [listed[0] for listed in _LISTED.finditer(whole) if _REQUIREMENT.search(listed["listed"])]
    return found


def _line_installs(line: str, *, requirements: bool = False) -> bool:
    patterns = [_PINNED, _TABLE, _PROSE, _HOSTED, *([_BARE] if requirements else [])]
    return (
        any(pattern.search(line) for pattern in patterns)
        or any(_names_us(_command(found["rest"])) for found in _INSTALLER.finditer(line))
        or any(_runs_us(found["command"], _command(found["rest"])) for found in _RUNNER.finditer(line))
    )


def _command(rest: str) -> str:
    """Return the rest of one command: up to the next command, a comment or a closing backtick."""
    return re.split(r"&&|\|\||[;|`]|\s#", rest)[0]


def _names_us(rest: str) -> bool:
    # The value of these options is a path and not a requirement.
    return _REQUIREMENT.search(re.sub(r"--(?:python|target|prefix|cache-dir|directory)[\s=]+\S+", "", rest)) is not None


def _runs_us(command: str, rest: str) -> bool:
    sources = [found["source"] for found in _SOURCE.finditer(rest)]
    if sources:
        return any(_REQUIREMENT.fullmatch(source.strip("\"'")) for source in sources)
    in_project = command.split() == ["uv", "run"]
    return not in_project and re.match(rf"(?:\s+-\S+)*\s+[\"']?{_NAME}\b", rest, re.IGNORECASE) is not None


def _texts(path: Path) -> Iterator[str]:
    """Yield the text of a file and, for a Python file, each of its strings, with implicit concatenation resolved."""
    text = path.read_text(encoding="utf-8")
    yield text
    # Most files of Python name us in imports alone.
    if path.suffix == ".py" and re.search(r"skillhub(?!_mcp(?:\.[a-z]| import))", text, re.IGNORECASE):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)


_EVERYWHERE = ("*", ".ci/*", "docs/**/*", "examples/**/*", "src/**/*", "bench/**/*", "tests/**/*")
_LEFT_OUT = {
    # The lock file names us with our own source, and this file holds lines that must not be anywhere else.
    "uv.lock",
    "tests/test_install_lines.py",
}
_SUFFIXES = {"", ".md", ".py", ".txt", ".in", ".toml", ".yml", ".yaml", ".json", ".cfg", ".ini", ".sh", ".jsonl"}


def _files() -> list[str]:
    found = {path for pattern in _EVERYWHERE for path in PROJECT.glob(pattern)}
    names = (path.relative_to(PROJECT).as_posix() for path in found if path.is_file() and path.suffix in _SUFFIXES)
    return sorted(name for name in names if name not in _LEFT_OUT and "__pycache__" not in name)


def test_no_line_installs_from_the_package_index() -> None:
    found = []
    for name in _files():
        requirements = re.search(r"requirements|constraints|environment\.ya?ml$", name) is not None
        texts = list(_texts(PROJECT / name))
        if name == "pyproject.toml":
            # Extras of ours that name other extras of ours: installers resolve these to the checkout itself.
            texts = [re.sub(r'^ *"skillhub-mcp\[(?:local,onnx,storage|test)\]",$', "", texts[0], flags=re.MULTILINE)]
        found += [f"{name}: {line}" for text in texts for line in installs_by_name(text, requirements=requirements)]
    assert sorted(set(found)) == []


def test_the_files_with_instructions_are_searched() -> None:
    searched = set(_files())
    assert {"README.md", "pyproject.toml", "docs/guides/find-skills.md", "docs/reference/cli.md"} <= searched
    assert {"examples/ci/github-actions.yml", "examples/clients/README.md", ".pre-commit-hooks.yaml"} <= searched
    assert {"src/skillhub_mcp/embedders/local.py", "tests/golden/cli/skillhub.txt"} <= searched


FROM_THE_INDEX = [
    "pip install skillhub-mcp",
    "pip install 'skillhub-mcp[local]'   # with word vectors",
    "python -m pip install --upgrade skillhub_mcp",
    "pip3 install skillhub",
    "Run pip install skillhub.",
    "- run: pip install skillhub-mcp",
    "RUN pip install --no-cache-dir skillhub-cli==0.3.1",
    "pip install skillhub-mcp opentelemetry-distro",
    "pip install opentelemetry-distro \\\n  skillhub-mcp",
    "Install the hub (`pip install skillhub-mcp`), then copy the file.",
    "uv pip install skillhub-mcp>=0.1",
    "uv add skillhub-mcp",
    "uv tool install skillhub-mcp",
    "uv tool install --python 3.12 'skillhub-mcp[local]'",
    "uv tool run skillhub-mcp",
    "uv run --with skillhub-mcp python app.py",
    "uvx skillhub-mcp",
    "uvx skillhub-mcp@latest --transport http",
    "uvx --from skillhub-mcp skillhub demo",
    "uvx --from 'skillhub-mcp[local]' skillhub demo",
    "pipx install skillhub-mcp",
    "pipx run skillhub",
    "pipx run --spec skillhub-mcp==0.1.0 skillhub",
    "poetry add skillhub-mcp",
    "conda install -c conda-forge skillhub-mcp",
    '"command": "uvx", "args": ["skillhub-mcp"]',
    '"command": "uvx",\n      "args": [\n        "skillhub-mcp", "--transport", "stdio"\n      ]',
    'command = "uvx"\nargs = ["skillhub-mcp"]',
    '"command": "uv", "args": ["tool", "run", "skillhub-mcp"]',
    "skillhub-mcp==0.1.0",
    "skillhub-mcp[local]~=0.1",
    "        additional_dependencies: [skillhub-mcp]",
    'dependencies = [\n    "httpx",\n    "skillhub-mcp",\n]',
    '# dependencies = ["skillhub-mcp[local]"]',
    'skillhub-mcp = "^0.1"',
    "Install skillhub-mcp from PyPI.",
    "It is on PyPI: install skillhub there.",
    "  - repo: https://github.com/somebody/skillhub-mcp",
    "uvx --from git+https://github.com/somebody/skillhub-mcp skillhub",
    "pip install 'skillhub-mcp[local] @ git+https://git.example.com/you/skillhub-mcp'",
    "pip install 'skillhub-mcp @ file:///srv/checkouts/skillhub-mcp'",
]
FROM_ELSEWHERE = [
    "pip install .",
    "pip install '.[local]'",
    "pip install -e '.[dev]'",
    "pip install --quiet . && .venv/bin/skillhub demo",
    "pip install .   # puts skillhub and skillhub-mcp on PATH",
    "`pip install .` puts `skillhub-mcp` on PATH.",
    "pip install ./skillhub-mcp",
    "pip install /srv/checkouts/skillhub-mcp",
    "pip install dist/skillhub_mcp-0.1.0-py3-none-any.whl",
    "pip install skillhub_mcp-0.1.0-py3-none-any.whl",
    "pip install git+https://git.example.com/you/skillhub-mcp@v0.1.0",
    "git clone --depth 1 https://git.example.com/you/skillhub-mcp ../hub && pip install '../hub[storage]'",
    "pip install . opentelemetry-distro opentelemetry-exporter-otlp",
    "uv tool install .",
    "uvx --from . skillhub-mcp",
    "uvx --from /srv/checkouts/skillhub-mcp skillhub demo",
    "uvx --from git+https://git.example.com/you/skillhub-mcp skillhub-mcp",
    "uv run skillhub demo",
    "pipx run --spec . skillhub",
    '"command": "uvx", "args": ["--from", "/srv/checkouts/skillhub-mcp", "skillhub-mcp"]',
    '"command": "skillhub-mcp", "args": []',
    'command = "skillhub-mcp"',
    "skillhub-mcp --transport http --port 8000",
    "skillhub-mcp",
    "pip install wordllama",
    "pip install --force-reinstall wordllama",
    "The package named skillhub-mcp on the Python package index is another program.",
    "  - repo: https://git.example.com/you/skillhub-mcp",
    '"skillhub": { "command": "skillhub-mcp" }',
    'name = "skillhub-mcp"',
    "# SkillHub",
    "skillhub is not installed here",
]


@pytest.mark.parametrize("text", FROM_THE_INDEX)
def test_an_install_by_name_is_found(text: str) -> None:
    assert installs_by_name(text) != []


@pytest.mark.parametrize("text", FROM_ELSEWHERE)
def test_an_install_from_another_source_is_accepted(text: str) -> None:
    assert installs_by_name(text) == []


def test_a_bare_name_is_a_requirement_only_where_requirements_are_written() -> None:
    text = "httpx\nskillhub-mcp\n"
    assert installs_by_name(text, requirements=True) == ["skillhub-mcp"]
    assert installs_by_name(text) == []
