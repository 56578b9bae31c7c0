"""Every `skillhub …` line of the documents is one that the program takes, and every setting that they name exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillhub_mcp.cli.main import make_parser, with_command
from skillhub_mcp.cli.renames import ALIASES, SUCCESSORS
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.settings import GROUPS

PROJECT = Path(__file__).parents[1]
PATTERNS = ("*.md", "docs/**/*.md", "bench/*.md", "examples/**/README.md", ".github/ISSUE_TEMPLATE/*.yml")
# What was, what the tests are called, and what is decided and not built.
_OTHER = ("CHANGELOG.md", "docs/reference/acceptance.md")
DOCUMENTS = sorted(
    name
    for pattern in PATTERNS
    for path in PROJECT.glob(pattern)
    if (name := path.relative_to(PROJECT).as_posix()) not in _OTHER
)
PARSER = make_parser()
SETTINGS = {name for settings in GROUPS.values() for setting in settings for name in (setting.name, *setting.aliases)}
# What tests, and commands of skills, find in their environment.
_NOT_SETTINGS = {"SKILLHUB_KILLS", "SKILLHUB_OUTPUT_DIR", "SKILLHUB_REQUIRE_CONFORMANCE", "SKILLHUB_UPDATE_GOLDEN"}

_FENCE = re.compile(r"^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(skillhub(?:-mcp)? [^`\n]+)`")
_ASSIGNED = re.compile(r"^(?:[A-Z_]+=\S+\s+|env\s+)*")
_PROGRAM = re.compile(r"^(?:\S*/)?skillhub(?:-mcp)?(?=\s|$)")
_REDIRECTED = re.compile(r"\s\d?>>?\s*\S+")
_SHELL = {"", "sh", "bash", "console", "text", "shell"}


def typed(text: str) -> Iterator[str]:
    """Yield the arguments of each command of ours in a text of a shell."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        for command in re.split(r"&&|\|\||[;|](?=\s)", re.sub(r"(^|\s)#.*", "", line).strip().removeprefix("$ ")):
            bare = _ASSIGNED.sub("", command.strip())
            program = _PROGRAM.match(bare)
            if program:
                yield _REDIRECTED.sub("", bare[program.end() :]).strip()


def blocks(document: str) -> Iterator[str]:
    """Yield the arguments of each command in the blocks of code of a document."""
    for fence in _FENCE.finditer(document):
        if fence["language"] in _SHELL:
            yield from typed(fence["text"])


def refusal(arguments: str) -> InvalidArgument | None:
    """Return why the program would not take these arguments, written as a shell does; None if it would."""
    # What may be left out, and a place for what the reader writes there.
    written = re.sub(r"<[^>]*>|…", "1", re.sub(r"\[(-[^\]]*)\]", r"\1", re.sub(r"\[[^\]]*…\]", "1", arguments)))
    try:
        PARSER.parse(with_command(shlex.split(written)))
    except InvalidArgument as error:
        return error
    except SystemExit:
        return None
    return None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documented_commands_are_accepted(document: str) -> None:
    text = (PROJECT / document).read_text(encoding="utf-8")
    refused = {command: str(why) for command in blocks(text) if (why := refusal(command)) is not None}
    for command in _INLINE.findall(_FENCE.sub("", text)):
        for arguments in typed(command):
            why = refusal(arguments)
            # A sentence may leave out what a command is used on, or be about a word that people know from other tools.
            of_other_tools = bool(arguments) and arguments.split()[0] in {**SUCCESSORS, **ALIASES}
            if why is not None and " is required" not in str(why) and not of_other_tools:
                refused[command] = str(why)
    assert refused == {}


def test_options_in_messages_exist() -> None:
    advised = {
        found[1]: path.name
        for path in (PROJECT / "src").rglob("*.py")
        for found in re.finditer(r"skillhub ((?:[a-z]+ )+--[a-z-]+)", path.read_text(encoding="utf-8"))
    }
    assert "index --verify" in advised
    refused = {words: str(why) for words in advised if not words.endswith("--help") and (why := refusal(words))}
    assert {words for words, why in refused.items() if "is not an option of" in why} == set()


@pytest.mark.parametrize("guide", [name for name in DOCUMENTS if name.startswith("docs/guides/")])
def test_a_guide_begins_with_a_command_or_setting(guide: str) -> None:
    title, *opening = (PROJECT / guide).read_text(encoding="utf-8").splitlines()[:22]
    assert title.startswith("# ")
    assert re.search(r"\bskillhub [a-z]|\bSKILLHUB_[A-Z]|\bpip install\b", "\n".join(opening))


def test_documented_settings_exist() -> None:
    named = {
        name: document
        for document in DOCUMENTS
        for name in re.findall(r"\bSKILLHUB_[A-Z_]*[A-Z]\b", (PROJECT / document).read_text(encoding="utf-8"))
    }
    assert {name: where for name, where in named.items() if name not in SETTINGS | _NOT_SETTINGS} == {}


@pytest.mark.parametrize(
    ("line", "is_accepted"),
    [
        ("skillhub serch x", False),
        ("$ skillhub search --explian x", False),
        ("mkdir x && skillhub lst", False),
        ("skillhub token new ci \\\n  --skill a", False),
        ("skillhub-mcp --transport tcp   # over TCP", False),
        ("skillhub call build_index [key=value …]", True),
        ("SKILLHUB_METRICS=1 skillhub --transport http", True),
        ("$ skillhub search 'a task' --limit 3 | head", True),
        ("skillhub context catalogue 2> errors >> ~/list.txt", True),
    ],
)
def test_a_command_in_a_block_is_checked(line: str, is_accepted: bool) -> None:
    (command,) = blocks(f"Text\n```sh\n{line}\n```\n")
    assert (refusal(command) is None) == is_accepted


def test_the_documents_with_commands_are_read() -> None:
    found = {document: list(blocks((PROJECT / document).read_text(encoding="utf-8"))) for document in DOCUMENTS}
    assert found["docs/guides/control.md"]
    assert found["docs/guides/http.md"]
    assert found["README.md"]
