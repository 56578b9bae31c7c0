"""Hosts read any frontmatter as its entry says, and in any tree a URI belongs to one skill."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from fastmcp.skills._snapshot import parse_frontmatter
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import AnyUrl
from tests.properties.test_frontmatter import PIECES, TEXT
from tests.search.builders import make_skill
from tests.strict_skill import StrictSkill

from skillhub_mcp.publishing.normalization import PublishedDocument, Withheld, is_text, published_document
from skillhub_mcp.publishing.uris import build_uri, parse_uri, skill_paths
from skillhub_mcp.skills.discovery import Ignored
from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot, Source
from skillhub_mcp.skills.snapshot import ScanReport, Snapshot


class Newer(yaml.SafeLoader):
    """YAML 1.2's core schema on PyYAML's syntax."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 - as the base class has it


def _newer_integer(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, 8 if text.startswith("0o") else 16 if text.startswith("0x") else 10)


def _newer_number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    return float(re.sub(r"\.(inf|nan)", r"\1", str(loader.construct_scalar(node)).lower()))


for tag, pattern in (
    ("null", r"(?:|~|null|Null|NULL)\Z"),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z"),
    ("int", r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z"),
    (
        "float",
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z",
    ),
):
    Newer.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), None)
Newer.add_constructor("tag:yaml.org,2002:int", _newer_integer)
Newer.add_constructor("tag:yaml.org,2002:float", _newer_number)

READERS: dict[str, Callable[[str], Any]] = {
    "YAML 1.1": lambda header: yaml.load(header, Loader=yaml.SafeLoader),
    "YAML 1.1, libyaml": lambda header: yaml.load(header, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)),
    "YAML 1.2": lambda header: yaml.load(header, Loader=Newer),
}
# As strict readers cut it out: the last line end is not part of it.
FRONTMATTER = re.compile(r"\A\ufeff?---\r?\n(.*?)\r?\n---(?:\r?\n|\Z)", re.DOTALL)

# fmt: off
WORDS = st.sampled_from((
    "yes", "No", "on", "y", "tRUE", "true", "False", "null", "nUll", "~", "", "<<", "=", "0", "-0", "+1", "012",
    "0o17", "0x1F", "0b1", "1_0", "1,000", "1.10", "1.0", "-.5", ".5", "5.", "1e3", "1.5e+3", ".inf", ".NaN",
    "0.0000001", "9" * 20, "9" * 400 + ".5", "1:30", "190:20:30.5", "1.2.3", "v1", "2024-01-01", "2024-1-1",
    "2001-12-14 21:59:43.10 -5", "a: b", "a #b", "a#b", "C#", "a |# b", "http://x.y:1/z", "'yes'", "'it''s'",
    "'a\n  b'", "'a\nb'", "'a\n\n  b'", '"\\x41\\u00e9\\U0001F600"', '"\\e[2J"', '"a\\\n  b"', '"a\n b"', '"a\nb"',
    '"a\tb"', "'a'#b", "a\n  b", "a\n\n  b\n  c", "|\n  a\n  b", "|-\n  a", "|+\n  a\n\n", "|2\n   a",
    ">\n  a\n  b\n\n  c", ">-\n  a\n   b\n  c", ">+\n  a\n\n", "|\n  a\n \n  b", "|  # c\n  a", ">-#\n  a", "|\n\ta",
    "[]", "{}", "[a, b]", "[a,b,]", "[yes, 1.10, 2024-01-01]", "[a: b]", "[?a]", "[a\n, b]", "[\n  a,\n  b\n]",
    "{a: 1, b: [c, {d: e}]}", "{a, b}", '{"a":1}', "{yes: a}", "{a: 1, a: 2}", "[http://x, a:b]", "[- a]",
    "\n  - a\n  - b: c\n    d: e", "\n- a\n- b", "\n  a: b\n  c: 1.10", "\n  1: b", "\n  a:\n    b: yes",
    "\n  <<: {a: b}", "&x v", "*x", "!!str 5", "! x", "!t x", "é", "日本語 🧪", "a\u2028b", "a\x85b", "a\u00a0",
    "a\ufeffb", "a\t", "a\r\n  b",
))
KEYS = st.sampled_from((
    "license", "compatibility", "metadata", "allowed-tools", "version", "tags", "hooks", "x-y", "a.b", "ü", "k l",
    "yes", "on", "1", "1.5", "null", "~", "<<", "=", "2024-01-01", '"q k"', "'s'", "? k", "-k", "a:b", "&x k",
    "!!str k", "name", "description", '"\\e]0;x\\a"', "[a]", "{a: b}", "k" * 130, "__proto__",
))
# fmt: on
ENTRIES = st.tuples(
    KEYS,
    st.sampled_from((": ", ":  ", " : ", ":\t", ":")),
    WORDS | TEXT.map(json.dumps) | st.floats(allow_nan=False).map(repr) | st.integers().map(str),
    st.sampled_from(("\n", "\n", "\n", "\n\n", " # c\n", "\n# c\n", " \n", "\t\n", "\n \n")),
).map("".join)
HEADERS = st.builds(
    lambda before, name, description, after, rest: f"{before}name: {name}\ndescription: {description}\n{after}{rest}",
    st.lists(ENTRIES, max_size=2).map("".join),
    st.sampled_from(("demo", "demo", "'demo'", "Demo", "1", "", "yes")),
    st.just("Does it.") | WORDS,
    st.lists(ENTRIES, max_size=3).map("".join),
    st.just("") | st.lists(PIECES, max_size=12).map(lambda pieces: "".join(pieces) + "\n"),
)
FILES = st.builds(
    lambda before, first, header, last, body, ending: f"{before}{first}\n{header}{last}\n{body}".replace("\n", ending),
    st.sampled_from(("", "", "", "", "\ufeff", "\n")),
    st.sampled_from(("---", "---", "---", "--- ")),
    HEADERS,
    st.sampled_from(("---", "---", "---", "---", "--- ", "---\t")),
    st.sampled_from(("# Body\n", "", "---\na: b\n---\n", "\ufeffx")),
    st.sampled_from(("\n", "\n", "\n", "\r\n")),
).map(str.encode)


def same(one: object, other: object) -> bool:
    """Whether two values are the same JSON: of one type, and equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return type(one) is type(other) and one == other


@given(FILES)
@example(b"---\nname: demo\ndescription: |\n  a\n---\n")
@example(b"---\nname: demo\ndescription: d\nversion: 0.0000001\nforce: 012\n---\n")
@example(b"---\nname: demo\ndescription: d\n--- \n---\na: b\n---\n")
@example(b"---\nname: demo\ndescription: a |# b\nlast: 012\n---\n")
def test_every_parser_reads_the_entry_from_the_served_file_and_strict_clients_accept_it(content: bytes) -> None:
    document = published_document(content, "demo")
    if isinstance(document, Withheld):
        assert parse(content).values is None or document.reason
        return
    header = FRONTMATTER.match(document.content.decode())
    assert header is not None
    for reader, read in READERS.items():
        assert same(read(header[1]), dict(document.frontmatter)), reader
    assert same(parse_frontmatter(document.content).root, dict(document.frontmatter))
    assert same(json.loads(json.dumps(document.frontmatter)), dict(document.frontmatter))
    uri = "skill://hub/demo/SKILL.md"
    resources = [{"uri": uri, "digest": f"sha256:{'0' * 64}", "size": len(document.content)}]
    entry = {"uri": uri, "frontmatter": dict(document.frontmatter), "resources": resources}
    StrictSkill.model_validate_json(json.dumps(entry))


@pytest.mark.slow
@given(FILES | st.binary(max_size=60).map(lambda noise: b"---\nname: demo\ndescription: d\n---\n" + noise))
@example(b'---\nname: demo\ndescription: Does it.\nlicense: "\\u001b"\n---\n# Body\n')
@example(b'---\nname: demo\ndescription: "\\u001b"\n---\n# Body\n')
@example(b'---\nname: demo\ndescription: Does it.\nlicense: ["\\u001b"]\n---\n# Body\n')
@example(b'---\nname: demo\ndescription: Does it.\nmetadata: "\\u001b"\nallowed-tools: "\\u001b"\n---\n# Body\n')
@example(b'---\nname: demo\ndescription: Does it.\ncompatibility: "\\u001b"\n---\n# Body\n')
def test_a_served_file_differs_only_in_reported_frontmatter(content: bytes) -> None:
    document = published_document(content, "demo")
    assume(isinstance(document, PublishedDocument))
    assert isinstance(document, PublishedDocument)
    assert (document.content == content) == (not document.changes)
    assert all(change.isprintable() and len(change) < 1_000 for change in document.changes)
    if is_text(content):
        body = parse(content).body.encode()
        assert document.content.endswith(body)
        assert parse(document.content).body.encode() == body
    # What was adapted once needs no more of it.
    assert published_document(document.content, "demo") == PublishedDocument(document.frontmatter, document.content, ())


SEGMENTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\\"), min_size=1, max_size=8).filter(
    lambda text: text not in (".", "..")
)


NOT_TEXT = st.binary(min_size=1, max_size=4).filter(lambda name: not set(name) & set(b"/\\.")).map(os.fsdecode)
ODD = st.sampled_from(("%2e%2e", "%", "a b", "#", "?", "ü", "\0", "...", "~", "SKILL.md"))


@given(st.lists(SEGMENTS | ODD | NOT_TEXT, max_size=6))
def test_a_uri_round_trips_and_is_normalised(segments: list[str]) -> None:
    path = ("hub", *segments)
    uri = build_uri(path)
    assert parse_uri(uri) == path
    assert uri.isascii()
    # Parsed and written by the rules that browsers have.
    assert str(AnyUrl(uri)) == uri


DIRECTORIES = st.lists(st.sampled_from(("a", "b", "c", "hub-2", "a b", "x\\y", "é")), min_size=1, max_size=4).map(
    "/".join
)
TREES = st.lists(
    st.tuples(
        st.integers(0, 3), st.booleans(), DIRECTORIES, st.sampled_from(("a", "b", "c", "hub", "Wild Name", "日本", "é"))
    ),
    max_size=25,
)
ROOTS = tuple(
    SkillRoot(f"/{number}/root", f"/{number}/root", source, number + 1)
    for number, source in enumerate((Source.PROJECT, Source.HUB, Source.HUB, Source.HUB))
)


def skills_of(tree: list[tuple[int, bool, str, str]]) -> list[Skill]:
    """A skill for each place, unless it lies in or around another one: a found skill ends the search below it."""
    placed: dict[str, Skill] = {}
    for root, linked, directory, name in tree:
        place = f"/elsewhere/{directory}" if linked else f"{ROOTS[root].path}/{directory}"
        if any(f"{one}/".startswith(f"{place}/") or f"{place}/".startswith(f"{one}/") for one in placed):
            continue
        placed[place] = make_skill(name, directory=place, root=ROOTS[root].path)
    return list(placed.values())


def paths_of(skills: list[Skill]) -> dict[str, tuple[str, ...]]:
    report = ScanReport(ROOTS, len(skills), refused=(), problems=(), ignored=Ignored(), seconds=0.0)
    snapshot = Snapshot(tuple(skills), report)
    return {skill.directory: path for path, skill in skill_paths(snapshot).items()}


@given(TREES, st.data())
def test_uris_are_unique_and_stable(tree: list[tuple[int, bool, str, str]], data: st.DataObject) -> None:
    skills = skills_of(tree)
    paths = paths_of(skills)
    known = set(paths.values())
    assert len(known) == len(paths)
    for path in known:
        assert parse_uri(build_uri(path)) == path
        assert not any(path[:length] in known for length in range(1, len(path)))
    rest = [skill for skill in skills if data.draw(st.booleans())]
    assert paths_of(rest).items() <= paths.items()
