"""The documentation as a site: which pages it has, and what is noticed when a link or a picture leads nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.build_site import CONTENTS, Entry, Pages, Section, navigation, problems, sections

PROJECT = Path(__file__).parents[1]


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[a](other.md#part)", "[a](other.md#part)"),
        ("[a](#part)", "[a](#part)"),
        ("[a](https://example.com/x)", "[a](https://example.com/x)"),
        ("[a](../examples/clients)", "[a](../examples/clients/README.md)"),
        ("[a](../examples/run.py)", "[a](../examples/run.py.md)"),
        ("[a](../examples/skills)", "[a](../examples/skills/index.md)"),
        ("![a](pictures/one.svg)", "![a](pictures/one.svg)"),
        ("[a](../src/hub.py)", "a"),
        ("[a long\ntext](../src/hub.py)", "a long\ntext"),
        ("```\n[a](../src/hub.py)\n```", "```\n[a](../src/hub.py)\n```"),
    ],
)
def test_links_lead_to_pages_or_become_text(tmp_path: Path, link: str, shown: str) -> None:
    project = write(
        tmp_path,
        {
            "docs/page.md": f"# Page\n\n{link}\n",
            "docs/other.md": "# Other\n",
            "docs/pictures/one.svg": "<svg/>",
            "examples/clients/README.md": "# Clients\n",
            "examples/run.py": "print()\n",
            "examples/skills/one/SKILL.md": "# One\n",
            "src/hub.py": "",
        },
    )
    assert Pages(project).collect()["docs/page.md"] == f"# Page\n\n{shown}\n"


def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    pages = Pages(write(tmp_path, {"docs/page.md": "# Page\n\n[a](other.md) [b](../src) [c](page.md)\n"}))
    pages.collect()
    assert pages.broken == ["docs/page.md: other.md leads nowhere", "docs/page.md: ../src leads nowhere"]


def test_linked_files_and_folders_become_pages(tmp_path: Path) -> None:
    project = write(
        tmp_path,
        {
            "README.md": "[skills](examples/skills)\n",
            "examples/skills/one/SKILL.md": "# One\n\n```sh\nls\n```\n",
            "examples/skills/one/run.py": "print()\n",
            "examples/other.py": "",
        },
    )
    texts = Pages(project).collect()
    assert texts["examples/skills/index.md"] == (
        "# skills\n\n- [one/SKILL.md](one/SKILL.md.md)\n- [one/run.py](one/run.py.md)\n"
    )
    assert texts["examples/skills/one/run.py.md"] == "# run.py\n\n```py\nprint()\n```\n"
    # The fence is longer than any in the text.
    assert texts["examples/skills/one/SKILL.md.md"] == "# SKILL.md\n\n````md\n# One\n\n```sh\nls\n```\n````\n"
    assert "examples/other.py.md" not in texts


def test_the_navigation_follows_the_contents() -> None:
    found = sections(
        "A [word](x.md).\n\n## Serve\n\n- [Over HTTP](guides/http.md): tokens\n- [Safe](../SECURITY.md)\n\n## Empty\n",
        "docs",
    )
    assert found == [Section("Serve", (Entry("Over HTTP", "docs/guides/http.md"), Entry("Safe", "SECURITY.md")))]
    assert navigation(found).endswith('{"Serve" = [{"Over HTTP" = "docs/guides/http.md"}, {"Safe" = "SECURITY.md"}]}]')


def test_every_page_of_the_documentation_is_in_the_contents() -> None:
    listed = {
        entry.page
        for section in sections((PROJECT / CONTENTS).read_text(encoding="utf-8"), "docs")
        for entry in section.entries
    }
    pages = {path.relative_to(PROJECT).as_posix() for path in PROJECT.glob("docs/**/*.md")}
    # The decisions have contents of their own.
    own = {name for name in pages if name.startswith("docs/decisions/")} | {CONTENTS}
    assert pages - own - listed == set()


def test_every_decision_is_in_the_contents_of_the_decisions() -> None:
    contents = (PROJECT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    decisions = sorted(path.name for path in PROJECT.glob("docs/decisions/0*.md"))
    assert [name for name in decisions if f"({name})" not in contents] == []


def test_a_list_follows_an_empty_line() -> None:
    joined = []
    for path in [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("examples/**/README.md")]:
        code, before = False, ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            code ^= line.lstrip().startswith("```")
            starts = line.startswith(("- ", "1. "))
            if not code and starts and before and not before.startswith(("- ", "  ", "1. ")):
                joined.append(f"{path.relative_to(PROJECT)}:{number}")
            before = line
    assert joined == []


def site(tmp_path: Path, body: str) -> Path:
    return write(
        tmp_path,
        {
            "index.html": f"<html><head><title>x</title></head><body>{body}</body></html>",
            "guides/http.html": '<h1 id="tokens">Tokens</h1>',
            "look.css": "a { color: red }",
            "one.svg": "<svg/>",
        },
    )


@pytest.mark.parametrize(
    "body",
    [
        '<a href="guides/http.html#tokens">a</a> <a href="#here">b</a> <p id="here"><a href="https://example.com">c</a>',
        '<img src="one.svg"><link rel="stylesheet" href="look.css"><img src="data:image/gif;base64,R0">',
    ],
)
def test_a_site_without_broken_links_has_no_problems(tmp_path: Path, body: str) -> None:
    assert list(problems(site(tmp_path, body))) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="guides/stdio.html">a</a>', "index.html: guides/stdio.html leads nowhere"),
        ('<a href="../beyond.html">a</a>', "index.html: ../beyond.html leads nowhere"),
        (
            '<a href="guides/http.html#token">a</a>',
            "index.html: guides/http.html#token names an anchor that is not there",
        ),
        ('<a href="#gone">a</a>', "index.html: #gone names an anchor that is not there"),
        ('<img src="two.svg">', "index.html: two.svg is not there"),
        ('<img srcset="two.svg 2x">', "index.html: two.svg is not there"),
        (
            '<link rel="stylesheet" href="https://fonts.example.com/a.css">',
            "index.html: https://fonts.example.com/a.css is fetched from elsewhere",
        ),
        ('<script src="//cdn.example.com/a.js">', "index.html: //cdn.example.com/a.js is fetched from elsewhere"),
        ('<pre class="mermaid">x</pre>', "index.html: https://mermaid is fetched from elsewhere"),
    ],
)
def test_broken_links_missing_pictures_and_foreign_resources_are_reported(
    tmp_path: Path, body: str, problem: str
) -> None:
    assert list(problems(site(tmp_path, body))) == [problem]


def test_a_style_sheet_that_fetches_a_font_is_reported(tmp_path: Path) -> None:
    built = site(tmp_path, "")
    (built / "look.css").write_text("@font-face { src: url(https://fonts.example.com/a.woff2) }", encoding="utf-8")
    assert list(problems(built)) == ["look.css: https:// is fetched from elsewhere"]
