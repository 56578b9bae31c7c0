"""The documents agree with the program, their links work, and they cite only what a reader can open."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs import diagrams

PROJECT = Path(__file__).parents[1]
GENERATE = PROJECT / "docs" / "generate.py"
SOURCE = PROJECT / "src" / "skillhub_mcp"
DOCUMENTS = sorted(
    path.relative_to(PROJECT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "bench/*.md", "examples/**/README.md")
    for path in PROJECT.glob(pattern)
)

# The acceptance list is the one page that refers to requirements by their ids.
CITING = sorted(
    path.relative_to(PROJECT).as_posix()
    for pattern in ("*.md", "docs/**/*", "bench/*", "examples/**/*", "src/**/*")
    for path in PROJECT.glob(pattern)
    if path.suffix in (".md", ".py", ".txt", ".json", ".toml", ".yml") and path.name != "acceptance.md"
)
_CITATION = re.compile(
    r"(?i:\bseeds?\s+0\d\d)|\b[Tt]he seeds?(?:'s?)?(?![\w(=])|(?<![\w-])S[0-4](?:\s*§|-\d+\b)|\bDECISIONS\b|§"
)
_PUBLIC_SECTION = re.compile(
    r"\b(?:RFC \d+|SEP-\d+|PEP \d+|MCP [\d-]+|SARIF [\d.]+|Agent Skills specification),? §[\w.]+"
)

_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def targets(document: Path) -> Iterator[str]:
    """Yield the links of `document` that stay within the repository."""
    for link in _LINK.finditer(_CODE.sub("", document.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", link["target"]):
            yield link["target"]


def anchors(document: Path) -> set[str]:
    """Return the anchors that a Markdown page's headings make."""
    headings = re.findall(r"^#+ (.*)$", _CODE.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.slow
def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, GENERATE, "--check"], capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_internal_link_resolves(document: str) -> None:
    path = PROJECT / document
    broken = []
    for target in targets(path):
        file, _, anchor = target.partition("#")
        leads_to = (path.parent / file).resolve() if file else path
        if not leads_to.exists() or (anchor and leads_to.suffix == ".md" and anchor not in anchors(leads_to)):
            broken.append(target)
    assert broken == []


def citations(text: str) -> list[str]:
    """Return the references of `text` to papers that are not in the repository.

    A section sign is one, except after the name of a public specification.
    """
    named = _PUBLIC_SECTION.sub("", text)
    return [found[0] for found in _CITATION.finditer(named)]


@pytest.mark.parametrize(
    ("text", "is_cited"),
    [
        *((text, True) for text in ("seed 000", "(seed 002 §3.2)", "a row S2-12", "see DECISIONS.md", "as §6.1 says")),
        *((text, False) for text in ("RFC 9110 §10.2.3", "[decisions](decisions/README.md)", "the same seed")),
    ],
)
def test_only_a_citation_without_a_file_is_found(text: str, is_cited: bool) -> None:
    assert bool(citations(text)) == is_cited


@pytest.mark.slow
def test_no_text_cites_a_paper_that_is_not_in_the_repository() -> None:
    cited: dict[str, str] = {}
    for name in CITING:
        lines = (PROJECT / name).read_text(encoding="utf-8").splitlines()
        cited |= {f"{name}:{number}": line.strip() for number, line in enumerate(lines, 1) if citations(line)}
    assert cited == {}


def modules_of(package: Path) -> set[str]:
    """Return the modules of a package, and its packages with a slash behind."""
    modules = {path.stem for path in package.glob("*.py") if not path.stem.startswith("__")}
    return modules | {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}


# The modules of cli/commands are commands: docs/reference/cli.md describes them.
PACKAGES = sorted(
    name
    for path in SOURCE.glob("*/**/__init__.py")
    if (name := path.parent.relative_to(SOURCE).as_posix()) != "cli/commands"
)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_lists_its_modules_with_what_each_holds(package: str) -> None:
    module = ast.parse((SOURCE / package / "__init__.py").read_text(encoding="utf-8"))
    listed = re.findall(r"^(\w+/?) {2,}\S", ast.get_docstring(module, clean=False) or "", re.MULTILINE)
    assert sorted(listed) == sorted(modules_of(SOURCE / package) - {"commands/"})


def test_the_architecture_names_every_package_and_module_of_the_program() -> None:
    table = (PROJECT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("\n## The packages\n")[2]
    named = set(re.findall(r"`(\w+(?:/|(?=\.py`)))", table.partition("\n## ")[0]))
    assert modules_of(SOURCE) - {"version"} <= named


GUIDES_TO_THE_CODE = sorted(
    ["ARCHITECTURE.md", "CONTRIBUTING.md", *(name for name in DOCUMENTS if name.startswith("docs/decisions/"))]
)


@pytest.mark.slow
@pytest.mark.parametrize("document", GUIDES_TO_THE_CODE)
def test_modules_and_names_of_the_code_in_a_document_exist(document: str) -> None:
    text = _CODE.sub("", (PROJECT / document).read_text(encoding="utf-8"))
    modules = [path for root in (SOURCE, PROJECT / "tests") for path in root.rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    files = [f"/{path.as_posix()}" for path in modules]
    missing = [
        name for name in re.findall(r"`([\w/.-]+\.py)`", text) if not any(file.endswith(f"/{name}") for file in files)
    ]
    for owner, member in re.findall(r"`([A-Z][a-z]\w+)\.(\w+)`", text):
        if not re.search(rf"^class {owner}\b", code, re.MULTILINE) or not re.search(rf"\b{member}\b", code):
            missing.append(f"{owner}.{member}")
    assert missing == []


# A path that only a checkout has.
_PAGE = re.compile(r"(?<![\w./-])(?:docs|examples|bench|tests)/[\w-]")


def checkout_paths(source: str) -> list[str]:
    """Return the texts of a module that name a file of the repository; docstrings and comments are for its readers."""
    tree = ast.parse(source)
    reported = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in reported
        and _PAGE.search(node.value)
    ]


@pytest.mark.slow
def test_messages_name_no_file_that_an_installation_lacks() -> None:
    assert checkout_paths('"""docs/a.md"""\nhint = "see docs/a.md"') == ["see docs/a.md"]
    found = {path: checkout_paths(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.slow
def test_the_recorded_session_is_current() -> None:
    """If this fails after a change of what the program prints: python docs/session.py, and look at the picture."""
    pytest.importorskip("pty")
    from docs import session

    assert session.main(["--check"]) == 0


def test_the_diagrams_are_current() -> None:
    assert diagrams.main(["--check"]) == 0


@pytest.mark.parametrize("picture", sorted(path.name for path in PROJECT.glob("docs/pictures/*.svg")))
def test_a_picture_is_small_and_fetches_nothing(picture: str) -> None:
    text = (PROJECT / "docs" / "pictures" / picture).read_text(encoding="utf-8")
    assert len(text) < 60_000
    fetched = r"@import|@font-face|<script|<image|url\(['\"]?[^#]|(?:href|src)=\"[^#]"
    assert re.findall(fetched, text) == []
    # Nor does it name a directory of the machine that it was made on.
    assert re.findall(r"/(?:work|root|tmp|Users)/", text) == []


def readme() -> str:
    return (PROJECT / "README.md").read_text(encoding="utf-8")


def test_the_readme_begins_with_a_picture_and_two_commands() -> None:
    first_screen = "\n".join(readme().splitlines()[:24])
    assert "](docs/pictures/session.svg)" in first_screen
    run, tests = re.findall(r"^```sh\n(.+)\n```$", first_screen, re.MULTILINE)
    assert run.endswith(" && .venv/bin/skillhub demo")
    assert " -m pytest " in tests
    gate = (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
    assert "block == 2" in gate  # The gate takes the second block, as it stands.


def test_the_readme_is_short() -> None:
    by_hand = re.compile(r"<!-- snippets.*?<!-- end of snippets -->", re.DOTALL)
    assert len(by_hand.sub("", readme()).split()) <= 700


# The cells of a row of the table of quality: ours without vectors, and LanceDB's.
_OURS, _LANCEDB = r" \|(?:[^|]*\|){4} 0\.(\d\d) /", r" \|[^|]*\| 0\.(\d\d) /"
_AGENTS = r"^\| held out: an agent, the field's terms"
# A promise of the README, and where its figure is measured.
FIGURES = [
    (r"as agents ask \| ([\d.]+) %", _AGENTS + _OURS),
    (r"as agents ask \| [\d.]+ % \| [^|]*?([\d.]+) %", _AGENTS + _LANCEDB),
    (r"in people's own words \| ([\d.]+) %", r"^\| held out: people" + _OURS),
    (r"in people's own words \| [\d.]+ % \| [^|]*?([\d.]+) %", r"^\| held out: people" + _LANCEDB),
    (r"tool list \| ([\d,]+) bytes", r"^\| bytes of tools/list, default surface \| ([\d,]+) bytes"),
]


@pytest.mark.parametrize(("promise", "measured"), FIGURES)
def test_figures_in_the_readme_were_measured(promise: str, measured: str) -> None:
    promised = re.search(promise, " ".join(readme().split()))
    found = re.search(measured, (PROJECT / "docs" / "benchmarks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert promised is not None
    assert found is not None
    assert promised[1] == found[1]


def test_bug_reports_ask_for_the_output_of_doctor() -> None:
    bug = (PROJECT / ".github" / "ISSUE_TEMPLATE" / "1-bug.yml").read_text(encoding="utf-8")
    assert {"`skillhub doctor --json`", "`skillhub --version`"} <= set(re.findall(r"`[^`]+`", bug))
