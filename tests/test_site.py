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


def test_every_page_is_in_the_contents_and_every_decision_in_those_of_the_decisions() -> None:
    contents = sections((PROJECT / CONTENTS).read_text(encoding="utf-8"), "docs")
    listed = {entry.page for section in contents for entry in section.entries}
    pages = {path.relative_to(PROJECT).as_posix() for path in PROJECT.glob("docs/**/*.md")} - {CONTENTS}
    decisions = {name for name in pages if name.startswith("docs/decisions/")}
    assert pages - decisions - listed == set()
    text = (PROJECT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    assert {name for name in decisions if f"({Path(name).name})" not in text} == {"docs/decisions/README.md"}


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


FINE = """\
<a href="guides/http.html#tokens">a</a> <a href="#here">b</a> <p id="here"><a href="https://example.com">c</a>
<img src="one.svg"><link rel="stylesheet" href="look.css"><img src="data:image/gif;base64,R0">
"""
WRONG = {
    '<a href="guides/stdio.html">a</a>': "guides/stdio.html leads nowhere",
    '<a href="../beyond.html">a</a>': "../beyond.html leads nowhere",
    '<a href="guides/http.html#token">a</a>': "guides/http.html#token names an anchor that is not there",
    '<a href="#gone">a</a>': "#gone names an anchor that is not there",
    '<img src="two.svg">': "two.svg is not there",
    '<img srcset="three.svg 2x">': "three.svg is not there",
    '<link rel="stylesheet" href="https://fonts.example.com/a.css">': (
        "https://fonts.example.com/a.css is fetched from elsewhere"
    ),
    '<script src="//cdn.example.com/a.js"></script>': "//cdn.example.com/a.js is fetched from elsewhere",
    '<pre class="mermaid">x</pre>': "https://mermaid is fetched from elsewhere",
}


def site(tmp_path: Path, body: str, style: str) -> Path:
    page = f"<html><head><title>x</title></head><body>{body}</body></html>"
    other = '<h1 id="tokens">Tokens</h1>'
    return write(tmp_path, {"index.html": page, "guides/http.html": other, "look.css": style, "one.svg": "<svg/>"})


def test_a_site_without_broken_links_has_no_problems(tmp_path: Path) -> None:
    assert list(problems(site(tmp_path, FINE, "a { color: red }"))) == []


def test_broken_links_missing_pictures_and_foreign_resources_are_reported(tmp_path: Path) -> None:
    found = problems(site(tmp_path, "\n".join(WRONG), "@font-face { src: url(https://fonts.example.com/a.woff2) }"))
    expected = [f"index.html: {problem}" for problem in WRONG.values()]
    assert sorted(found) == sorted([*expected, "look.css: https:// is fetched from elsewhere"])
