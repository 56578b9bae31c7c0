"""Builds the documentation as a site, and checks each of its links and anchors.

`python docs/build_site.py [DIRECTORY]`, into build/site by default, with what `pip install '.[docs]'` adds. The pages
are the repository's Markdown, under the same paths, so that a link works in both; the navigation is docs/README.md.
Nothing is fetched, neither here nor by a reader's browser.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

PROJECT = Path(__file__).parents[1]
CONTENTS = "docs/README.md"
PAGES = ("*.md", "docs/**/*.md", "examples/**/README.md", "bench/README.md")
PICTURES = ("docs/pictures/*.svg",)
# Files below these are shown as pages of their own where a page links to them.
SHOWN = ("examples/",)

CONFIGURATION = """\
[project]
site_name = "SkillHub"
site_description = "Finds, loads and serves Agent Skills for any AI agent, over MCP or from a shell"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
extra_css = ["wide.css"]
nav = {nav}

[project.theme]
variant = "modern"
font = false
features = ["navigation.sections", "navigation.top", "navigation.footer", "content.code.copy", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.markdown_extensions.toc]
permalink = true
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}

[project.markdown_extensions.admonition]
[project.markdown_extensions.attr_list]
[project.markdown_extensions.md_in_html]
[project.markdown_extensions.tables]
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]
"""

# Tables of settings, tools and clients are wide.
STYLE = ".md-grid { max-width: 76rem; }\n"

_FENCE = re.compile(r"^(?P<fence> *(?:```+|~~~+)).*?^(?P=fence) *$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)\[(?P<text>[^\]\n]*(?:\n[^\]\n]+)*)\]\((?P<target>[^)\s]+)\)")
_ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)\s#]+)\)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the navigation."""

    title: str
    page: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the navigation and its pages."""

    title: str
    entries: tuple[Entry, ...]


def sections(contents: str, directory: str) -> list[Section]:
    """Return the navigation that a page of contents describes: its headings, and the lists of links below them."""
    found = []
    for part in re.split(r"^## ", contents, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        entries = tuple(
            Entry(entry["title"], os.path.normpath(os.path.join(directory, entry["target"])))
            for entry in _ENTRY.finditer(rest)
        )
        if entries:
            found.append(Section(title.strip(), entries))
    return found


def navigation(listed: Iterable[Section]) -> str:
    """Return the navigation as a value of TOML, with the README as its first page."""
    parts = [_item("SkillHub", json.dumps("README.md")), _item("Contents", json.dumps(CONTENTS))]
    for section in listed:
        pages = ", ".join(_item(entry.title, json.dumps(entry.page)) for entry in section.entries)
        parts.append(_item(section.title, f"[{pages}]"))
    return f"[{', '.join(parts)}]"


def _item(title: str, value: str) -> str:
    return f"{{{json.dumps(title, ensure_ascii=False)} = {value}}}"


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return `text` with `change` applied to what is in no block of code."""
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join((*parts, change(text[end:])))


def resolved(page: str, target: str) -> tuple[str, str]:
    """Return the path in the repository that a link of `page` names, and its anchor with the `#`."""
    path, mark, anchor = target.partition("#")
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, mark + anchor


class Pages:
    """The pages of the site by their path in the repository, each made when it is linked or listed."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self.texts: dict[str, str] = {}
        self.broken: list[str] = []
        self._open = sorted({path.relative_to(project).as_posix() for one in PAGES for path in project.glob(one)})
        self._listed = frozenset(self._open)

    def collect(self) -> dict[str, str]:
        """Return every page, with the pages of those files that one of them shows."""
        while self._open:
            name = self._open.pop()
            if name not in self.texts:
                self.texts[name] = self._written(name) if name in self._listed else self._shown(name)
        return self.texts

    def _written(self, name: str) -> str:
        text = (self._project / name).read_text(encoding="utf-8")
        return outside_code(text, lambda part: _LINK.sub(lambda link: self._link(name, link), part))

    def _link(self, page: str, link: re.Match[str]) -> str:
        if urlsplit(link["target"]).scheme or link["target"].startswith("#"):
            return link[0]
        path, anchor = resolved(page, link["target"])
        if not (self._project / path).exists():
            self.broken.append(f"{page}: {link['target']} leads nowhere")
        leads_to = self._page_of(path)
        if leads_to is None:
            # What the site does not show has no address: the words stay.
            return link["text"]
        return f"[{link['text']}]({os.path.relpath(leads_to, os.path.dirname(page) or '.')}{anchor})"

    def _page_of(self, path: str) -> str | None:
        """Return the page that shows a file or directory, and have it made; None where none does."""
        file = self._project / path
        if path in self._listed or path.endswith(".svg"):
            return path
        if file.is_dir() and f"{path}/README.md" in self._listed:
            return f"{path}/README.md"
        if not f"{path}/".startswith(SHOWN):
            return None
        page = f"{path}/index.md" if file.is_dir() else f"{path}.md"
        self._open.append(page)
        return page

    def _shown(self, page: str) -> str:
        """Return the page of a file's text, or of a directory's files."""
        file = self._project / page.removesuffix(".md")
        return self._text_of(file) if file.is_file() else self._files_of(file.parent)

    @staticmethod
    def _text_of(file: Path) -> str:
        text = file.read_text(encoding="utf-8")
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
        return f"# {file.name}\n\n{fence}{file.suffix[1:]}\n{text.rstrip()}\n{fence}\n"

    def _files_of(self, folder: Path) -> str:
        lines = []
        for file in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            shown = self._page_of(file.relative_to(self._project).as_posix())
            if shown is not None:
                name = file.relative_to(folder).as_posix()
                lines.append(f"- [{name}]({os.path.relpath(self._project / shown, folder)})")
        return f"# {folder.name}\n\n" + "\n".join(lines) + "\n"


@dataclass(slots=True)
class Found:
    """What one HTML page has: its anchors, what it links to, and what a browser loads with it."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = Found()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.found.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("next", "prev", "canonical"):
            self.found.loaded.append(given.get("href", ""))
        elif "src" in given or "srcset" in given:
            self.found.loaded += [given["src"]] if "src" in given else []
            self.found.loaded += [one.split()[0] for one in given.get("srcset", "").split(",") if one.strip()]
        if "mermaid" in given.get("class", "").split():
            # The theme's script fetches what draws it from a host elsewhere.
            self.found.loaded.append("https://mermaid")


def read_html(text: str) -> Found:
    """Return what a page of HTML has."""
    reader = _Reader()
    reader.feed(text)
    return reader.found


def problems(site: Path) -> Iterator[str]:
    """Yield each link of a built site that leads nowhere, and each thing that a browser would fetch from elsewhere."""
    pages = {
        path: read_html(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"
    }
    for page, found in pages.items():
        name = page.relative_to(site).as_posix()
        for link in found.links:
            if (why := _broken(page, link, pages, site)) is not None:
                yield f"{name}: {link} {why}"
        for address in found.loaded:
            if urlsplit(address).scheme not in ("", "data") or address.startswith("//"):
                yield f"{name}: {address} is fetched from elsewhere"
            elif not address.startswith("data:") and not (page.parent / unquote(urlsplit(address).path)).is_file():
                yield f"{name}: {address} is not there"
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"url\(\s*['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(site).as_posix()}: {address}// is fetched from elsewhere"


def _broken(page: Path, link: str, pages: Mapping[Path, Found], site: Path) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
        return None
    leads_to = Path(os.path.normpath(page.parent / unquote(parts.path))) if parts.path else page
    leads_to = leads_to / "index.html" if leads_to.is_dir() else leads_to
    if not leads_to.is_file() or not leads_to.is_relative_to(site):
        return "leads nowhere"
    if parts.fragment and leads_to in pages and unquote(parts.fragment) not in pages[leads_to].anchors:
        return "names an anchor that is not there"
    return None


def build(project: Path, target: Path) -> list[str]:
    """Build the site into `target`, which is replaced, and return its problems. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as made:
        pages = Pages(project)
        texts = pages.collect()
        for name, text in texts.items():
            page = Path(made, "pages", name)
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, encoding="utf-8")
        for pattern in PICTURES:
            for picture in project.glob(pattern):
                copy = Path(made, "pages", picture.relative_to(project))
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(picture.read_bytes())
        Path(made, "pages", "wide.css").write_text(STYLE, encoding="utf-8")
        listed = sections(texts[CONTENTS], os.path.dirname(CONTENTS))
        Path(made, "zensical.toml").write_text(CONFIGURATION.format(nav=navigation(listed)), encoding="utf-8")
        subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--strict"],
            cwd=made,
            check=True,
            capture_output=True,
            encoding="utf-8",
        )
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(Path(made, "site"), target)
    return sorted((*pages.broken, *problems(target)))


def main(argv: Sequence[str] | None = None) -> int:
    """Build the site and name what is wrong with it. Return 1 if anything is."""
    parser = argparse.ArgumentParser(description="Build the documentation as a site and check its links.")
    parser.add_argument("directory", nargs="?", default=str(PROJECT / "build" / "site"))
    target = Path(parser.parse_args(argv).directory).resolve()
    try:
        found = build(PROJECT, target)
    except subprocess.CalledProcessError as failed:
        print(failed.stdout, failed.stderr, file=sys.stderr)
        return 1
    for problem in found:
        print(problem, file=sys.stderr)
    pages = sum(1 for _ in target.rglob("*.html"))
    print(f"{target}: {pages} pages, {len(found)} broken links")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
