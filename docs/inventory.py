"""Write docs/inventory.md: what users see today, and whether the next release keeps, replaces or drops it.

`python docs/inventory.py` writes the page; with `--check` it fails if the page is stale. The items come from the
program; the verdicts are in docs/inventory.toml. A verdict decides the item of that name, or those that its pattern
with `*` matches; if several match, the longest one decides. An option without a verdict goes the way of its command.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import tomlkit

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "inventory.md"
VERDICTS = PROJECT / "docs" / "inventory.toml"

sys.path.insert(0, str(PROJECT))

import skillhub_mcp  # noqa: E402 - found only once the project's root is on the path
from skillhub_mcp import errors  # noqa: E402 - as above
from skillhub_mcp.bootstrap.http import http_options  # noqa: E402 - as above
from skillhub_mcp.bootstrap.hub import make_hub  # noqa: E402 - as above
from skillhub_mcp.bootstrap.observers import make_metrics  # noqa: E402 - as above
from skillhub_mcp.bootstrap.server import server_options  # noqa: E402 - as above
from skillhub_mcp.cli.arguments import Parser  # noqa: E402 - as above
from skillhub_mcp.cli.main import make_parser  # noqa: E402 - as above
from skillhub_mcp.hub import SkillHub  # noqa: E402 - as above
from skillhub_mcp.server.app import make_server  # noqa: E402 - as above
from skillhub_mcp.server.http.app import make_http_app  # noqa: E402 - as above
from skillhub_mcp.settings import SETTINGS, read_settings  # noqa: E402 - as above

# An option of more commands than this is listed once.
_SHARED_ABOVE = 12
_FIRST_WORDS = 80
_OPENING = (
    "Everything that users see today, and what the next issues do with it. The page is removed with the release. "
    "*replace* means that the same is done another way, or by other means; *drop* that nothing takes its place. An "
    "option that many commands share is listed once, and a row of SECURITY.md by its first words."
)
_WRITTEN = re.compile(r"(?P<kind>keep|replace|drop)(?: (?P<issue>\d+))?: (?P<reason>.+)")


@dataclass(frozen=True)
class Verdict:
    """What happens to an item, the number of the issue that does it, if any, and why."""

    kind: str
    issue: str
    reason: str


Verdicts = Mapping[str, Verdict]


def commands() -> list[str]:
    """Return every command and action, such as `token new`."""
    return [name for name, _ in _parsers() if name]


def options() -> dict[str, str]:
    """Return the command of each option, empty for those of the bare program and those that most commands share."""
    own = {name: [action.option_strings[-1] for action in _options(parser)] for name, parser in _parsers()}
    uses = Counter(option for names in own.values() for option in names)
    shared = sorted(option for option, count in uses.items() if count > _SHARED_ABOVE)
    found = dict.fromkeys([*shared, *own[""]], "")
    for command, names in own.items():
        found |= {f"{command} {option}": command for option in names if command and option not in shared}
    return found


def routes() -> list[str]:
    """Return every path that a server answers over HTTP, with everything switched on that adds one."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {
            "SKILLS_DIR": empty,
            "DB_PATH": f"{empty}/skills.lancedb",
            "SKILLHUB_METRICS": "1",
            "SKILLHUB_WELL_KNOWN": "1",
            "SKILLHUB_PUBLIC_URL": "https://skills.example.com/mcp",
            "SKILLHUB_JWT_ISSUER": "https://issuer.example.com",
            "SKILLHUB_JWT_AUDIENCE": "skills",
        }
        settings, _ = read_settings(environment)
        hub = make_hub(settings, background=False)
        try:
            server = make_server(hub, server_options(settings, hub, over_http=True))
            http = http_options(settings, host="127.0.0.1", port=0, metrics=make_metrics(settings))
            return sorted(set(_paths(make_http_app(server, hub, http))))
        finally:
            hub.close()


def promises() -> list[str]:
    """Return the first words of every row and bullet of SECURITY.md."""
    found = []
    for paragraph in re.split(r"\n\n|\n(?=[|-])", (PROJECT / "SECURITY.md").read_text(encoding="utf-8")):
        row = re.match(r"\| (?!threat \|)(?P<text>.*?) \| ", paragraph, re.DOTALL)
        text = row["text"] if row else paragraph.removeprefix("- ") if paragraph.startswith("- ") else ""
        words = " ".join(text.replace("**", "").split())
        if words:
            found.append(words if len(words) <= _FIRST_WORDS else words[:_FIRST_WORDS].rpartition(" ")[0] + " …")
    return found


def python_names() -> list[str]:
    """Return every public name of the package, and the public methods and properties of SkillHub."""
    return [*skillhub_mcp.__all__, *(f"SkillHub.{name}" for name in vars(SkillHub) if not name.startswith("_"))]


def error_codes() -> list[str]:
    """Return the code of every error."""
    classes = (one for one in vars(errors).values() if isinstance(one, type))
    codes = [one.code for one in classes if issubclass(one, errors.SkillHubError)]
    return [code for code in codes if code != errors.SkillHubError.code]


def inventory() -> dict[str, dict[str, Verdict]]:
    """Return the verdict on each item by group. Raises ValueError if an item has none, or a verdict no item."""
    written = tomlkit.parse(VERDICTS.read_text(encoding="utf-8")).unwrap()
    table = {group: {item: _verdict(text) for item, text in rows.items()} for group, rows in written.items()}
    found = {
        "commands": decide("commands", commands(), table["commands"]),
        "settings": decide("settings", [setting.name for setting in SETTINGS], table["settings"]),
        "errors": decide("errors", error_codes(), table["errors"]),
        "routes": decide("routes", routes(), table["routes"]),
        "security": decide("security", promises(), table["security"]),
        "python": decide("python", python_names(), table["python"]),
    }
    with_commands = {
        option: Verdict(one.kind, one.issue, "as its command")
        for option, command in options().items()
        if (one := found["commands"].get(command)) is not None
    }
    return found | {"options": decide("options", list(options()), table["options"], with_commands)}


def decide(
    group: str, items: Sequence[str], verdicts: Verdicts, defaults: Verdicts | None = None
) -> dict[str, Verdict]:
    """Return the verdict on each item, else its default. Raises ValueError; see `inventory`."""
    repeated = [item for item, count in Counter(items).items() if count > 1]
    if repeated:
        raise ValueError(f"{group}: two items are called {repeated[0]!r}")
    decided, used = {}, set()
    for item in items:
        matching = [name for name in verdicts if item == name or fnmatchcase(item, name)]
        if matching:
            longest = max(matching, key=lambda name: (name == item, len(name)))
            decided[item] = verdicts[longest]
            used.add(longest)
        elif defaults and item in defaults:
            decided[item] = defaults[item]
        else:
            raise ValueError(f"{group}: {item!r} has no verdict in docs/inventory.toml")
    if verdicts.keys() - used:
        raise ValueError(f"{group}: the verdict {min(verdicts.keys() - used)!r} decides no item")
    return decided


def page() -> str:
    """Return the whole page."""
    groups = {
        "commands": "Commands",
        "options": "Options",
        "settings": "Settings",
        "errors": "Error codes",
        "routes": "HTTP routes",
        "security": "SECURITY.md",
        "python": "Python",
    }
    found = inventory()
    counted = {group: Counter(one.kind for one in rows.values()) for group, rows in found.items()}
    total = sum(counted.values(), Counter[str]())
    counts = [(groups[group], counted[group]) for group in groups] + [("all", total)]
    lines = [
        "<!-- Written by docs/inventory.py; the verdicts are in docs/inventory.toml. -->",
        "",
        "# What the next release keeps",
        "",
        _OPENING,
        "",
        "| group | items | keep | replace | drop |",
        "|---|---|---|---|---|",
        *(
            f"| {title} | {sum(one.values())} | {one['keep']} | {one['replace']} | {one['drop']} |"
            for title, one in counts
        ),
    ]
    for group, title in groups.items():
        lines += ["", f"## {title}", "", "| item | verdict | issue | reason |", "|---|---|---|---|"]
        for item, one in found[group].items():
            shown = item if group == "security" else f"`{item}`"
            lines.append(f"| {_cell(shown)} | {one.kind} | {one.issue} | {_cell(one.reason)} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it; return the exit code."""
    parser = argparse.ArgumentParser(description="Write docs/inventory.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is stale")
    check, text = parser.parse_args(arguments).check, page()
    if not check:
        PAGE.write_text(text, encoding="utf-8", newline="\n")
    elif PAGE.read_text(encoding="utf-8") != text:
        print("docs/inventory.md is stale: run python docs/inventory.py", file=sys.stderr)
        return 1
    return 0


def _verdict(text: str) -> Verdict:
    written = _WRITTEN.fullmatch(text)
    if written is None:
        raise ValueError(f"not a verdict: {text!r}")
    return Verdict(written["kind"], written["issue"] or "", written["reason"])


def _parsers() -> Iterator[tuple[str, Parser]]:
    def below(name: str, parser: Parser) -> Iterator[tuple[str, Parser]]:
        yield name, parser
        for word, inner in parser.subcommands.items():
            yield from below(f"{name} {word}".lstrip(), inner)

    return below("", make_parser())


def _options(parser: Parser) -> list[argparse.Action]:
    return [action for action in parser.arguments() if action.option_strings]


def _paths(app: Any) -> Iterator[str]:
    """Yield the path of every route, also of what is mounted or wrapped."""
    for route in getattr(app, "routes", None) or ():
        if hasattr(route, "endpoint"):
            yield route.path
        else:
            yield from _paths(route.app)
    if not hasattr(app, "routes"):
        for name in ("app", "_app"):
            if hasattr(app, name):
                yield from _paths(getattr(app, name))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(main())
