"""Write docs/reference/, examples/clients/ and parts of other pages from the program: no fact is written twice.

`python docs/generate.py` writes them; `python docs/generate.py --check` names those that differ, and fails.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import inspect
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
REFERENCE = PROJECT / "docs" / "reference"
CLIENT_FILES = PROJECT / "examples" / "clients"
# Between these lines a page is written here; the rest of it is not.
SNIPPETS_BEGIN = "<!-- snippets: written by docs/generate.py -->\n"
SNIPPETS_END = "<!-- end of snippets -->\n"
# argparse formats its help differently in other versions of Python (docs/decisions/0002).
PYTHONS_FOR_HELP = ((3, 11), (3, 12))

sys.path.insert(0, str(PROJECT))

from docs.client_files import client_files, clients_table, readme_snippets  # noqa: E402 - found only once the project's root is on the path
from docs.lock_fields import SCHEMA_NAME, STANDING_FIELDS, field_meanings, json_schema  # noqa: E402 - as above
from tests.requirements import PARTS, REQUIREMENTS, claims  # noqa: E402 - found only once the project's root is on the path

from skillhub_mcp import errors  # noqa: E402 - as above
from skillhub_mcp.auditing.rules import AUDIT_RULES, Risk  # noqa: E402 - as above
from skillhub_mcp.bootstrap.hub import make_hub  # noqa: E402 - as above
from skillhub_mcp.bootstrap.server import server_options  # noqa: E402 - as above
from skillhub_mcp.cli.arguments import Parser  # noqa: E402 - as above
from skillhub_mcp.cli.main import make_parser  # noqa: E402 - as above
from skillhub_mcp.disclosure.catalogue import estimate_tokens  # noqa: E402 - as above
from skillhub_mcp.settings import GROUPS, SETTINGS, TOOL_SETS, read_settings  # noqa: E402 - as above
from skillhub_mcp.settings.values import Setting  # noqa: E402 - as above
from skillhub_mcp.skills.places import CLIENT_SKILLS, MAX_DIRECTORIES, ClientSkills  # noqa: E402 - as above
from skillhub_mcp.skills.rules import RULES, RuleSource, Severity  # noqa: E402 - as above


def settings() -> str:
    """Return the page of every environment variable."""
    sections = []
    for title, group in GROUPS.items():
        rows = [
            f"- {' or '.join(f'`{name}`' for name in (setting.name, *setting.aliases))}"
            + (f" ({notes})" if (notes := _notes(setting)) else "")
            + f": {plain(setting.meaning)}"
            for setting in group
        ]
        sections.append(f"## {title}\n\n" + "\n".join(rows))
    forgiving = [f"`{setting.name}`" for setting in SETTINGS if setting.forgiving]
    return page(
        "Settings",
        "settings/values.py",
        "Settings are environment variables; no `.env` file is read. An empty variable counts as unset, and an option "
        "of the command line overrides it. `skillhub config` lists every value and where it came from.\n\n"
        "A variable that is not set is read from a settings file: `.skillhub/settings.toml` in the project, then "
        "`~/.config/skillhub/settings.toml`, which `skillhub config set NAME VALUE` writes. The file has the names "
        "below, such as `SEARCH_LIMIT = 5`; a list may be a list of texts. It is not used if others may write it.\n\n"
        "An invalid value ends the program with exit code 2, the setting and what is allowed. So does a variable that "
        "was not expanded, such as `${HOME}`, `${env:X}` or `%X%`, and a value in quotes. Only "
        f"{', '.join(forgiving[:-1])} and {forgiving[-1]} are reported and replaced by the default.\n\n"
        "In parentheses: the default; *project* if a project's file may set it; *secret* if it is never shown.",
        *sections,
    )


def _notes(setting: Setting) -> str:
    """Return a setting's default, whether a project may set it, and whether it is a secret."""
    default = f"`{setting.default}`" if setting.default else ""
    return ", ".join(filter(None, (default, "*project*" * setting.project, "*secret*" * setting.secret)))


def command_line() -> str:
    """Return the page of every command's help."""
    os.environ["COLUMNS"] = "100"
    parser = make_parser()
    sections = [f"## {one.prog}\n\n```\n{_own_help(one)}```" for one in _parsers(parser)]
    return page(
        "The command line",
        "the parsers in cli/",
        "`skillhub` and `skillhub-mcp` are one command. Results go to stdout, everything else to stderr. A failure is "
        "a line `error: …` and, after a blank line, `hint: …`; with `--json` it is an object "
        '`{"error": {"code", "message", "hint", …}}`. '
        "[Errors](errors.md) lists the codes. `NO_COLOR` turns colours off.\n\n"
        "Not repeated below: `--json`, and `--skills-dir DIR`, `--roots LIST` and `--cwd DIR`, which override settings."
        " Commands that write take `--dry-run` and `--yes`.",
        *sections,
    )


_SHARED = r"-h, --help|--json|--skills-dir DIR|--roots LIST|--cwd DIR|--dry-run|-y, --yes"
_COMMON = re.compile(rf"^  (?:{_SHARED})\b.*\n(?: {{20,}}.*\n)*", re.MULTILINE)


def _own_help(parser: Parser) -> str:
    """Return a command's help without its usage and the options that most commands share."""
    text = parser.format_help()
    if parser.prog == "skillhub":
        return text
    _, _, rest = text.partition("\n\n")
    return re.sub(r"\noptions:\n(?=\n|$)", "", _COMMON.sub("", rest)).rstrip("\n") + "\n"


def _parsers(parser: Parser) -> Iterator[Parser]:
    yield parser
    for verb in parser.subcommands.values():
        yield from _parsers(verb)


def places() -> str:
    """Return the page of every place that may hold skills."""
    rows = [
        (one.client, f"`~/{one.user}`" if one.user else "", f"`{one.project}`" if one.project else "", _moved_by(one))
        for one in CLIENT_SKILLS
    ]
    return page(
        "Places that may hold skills",
        "skills/places.py",
        "[Where skills come from](../guides/find-skills.md) says which places are searched, and how others are added. "
        "`skillhub roots` lists those of this machine.",
        "## Where other clients keep skills\n\n"
        "These are not searched until `skillhub roots add` adds them. `skillhub list`, `skillhub doctor` and a server "
        "that starts say how many skills they hold that no root has. They are counted as skills are found, in at most "
        f"{MAX_DIRECTORIES} directories of each place, and no file is opened. A project's directories are looked for "
        "from the working directory up to the project's root.\n\n"
        + table(("client", "yours", "of the project", "moved by"), rows),
    )


def _moved_by(one: ClientSkills) -> str:
    if not one.user:
        return f"`{one.moved_by}` names it" if one.moved_by else ""
    return f"`{one.moved_by}`, in place of `~/{one.user.split('/')[0]}`" if one.moved_by else ""


def lock() -> str:
    """Return the page of the lock of installed skills."""
    npx, ours, told = (
        table(("field", "meaning"), [(f"`{name}`", meaning) for name, meaning in fields.items()])
        for fields in (*field_meanings(), STANDING_FIELDS)
    )
    return page(
        "The lock of installed skills",
        "locks/lock_file.py",
        "`skills-lock.json` says which skills came from where, and what their files were. It is the lock of `npx "
        "skills`, version 1: both programs read and write it, and each keeps what the other wrote. It lies beside the "
        "skills, and for a project's `.agents/skills` in the project. "
        f"[{SCHEMA_NAME}]({SCHEMA_NAME}) is its JSON Schema.",
        "## Fields of `npx skills`\n\nSkills are sorted by name. A field without a value is left out.\n\n"
        + npx
        + "\n\n## Fields of SkillHub\n\nThey are members of one object, `skillhub`, of each entry.\n\n"
        + ours
        + "\n\n## The digest\n\nSHA-256 over a line for each file, sorted by the bytes of the paths: the "
        "path with `/`, NUL, the SHA-256 of the file in hexadecimal, and a line feed. Hidden files "
        "count. It is written as `sha256:` and 64 hexadecimal digits, and is the `contentDigest` of ToolHive.\n\n"
        "A link counts by its target: `link`, a blank, and the SHA-256 of that. A FIFO, socket or device is `special`. "
        "`skillhub add` installs none of them.\n\n"
        "## A skill's lock in JSON\n\nThe member `lock` of each skill in `skillhub list --json` and `show --json`, "
        "and `io.skillhub/lock` in `_meta` of `load_skill`, have these fields. A field that does not apply is null or "
        "left out.\n\n" + told + "\n\nLists and servers ask no source; `skillhub update` does.\n\n"
        "## Lock files that are not changed\n\nA lock of a newer version is refused. One with merge "
        "markers, incomplete JSON, a repeated skill or a field of the wrong type is refused with its line "
        "(`LOCK_UNREADABLE`).",
    )


def lock_json_schema() -> str:
    """Return the JSON Schema of the lock."""
    return json.dumps(json_schema(), indent=2) + "\n"


def tools() -> str:
    """Return the page of every tool, as `tools/list` describes it."""
    listed = asyncio.run(_listed_tools("all"))
    told_elsewhere = {tool["name"] for tool in listed}
    without_disk = asyncio.run(_listed_tools("all", with_paths=False))
    reading = [tool for tool in without_disk if tool["name"] not in told_elsewhere]
    costs = []
    for name in TOOL_SETS:
        own = asyncio.run(_listed_tools(name))
        costs.append((f"`{name}`", ", ".join(f"`{tool['name']}`" for tool in own), *_costs(own)))
    running = [tool for tool in listed if tool["name"] == "run_skill_command"]
    costs.append(("`--enable-run`", "`run_skill_command`", *_costs(running)))
    costs.append(("`agents` over HTTP", ", ".join(f"`{tool['name']}`" for tool in reading), *_costs(reading)))
    sections = [
        "## What each set costs\n\nAn agent pays for the description of every tool in each turn. These are the bytes "
        "of the compact JSON of `tools/list`, and the estimated tokens.\n\n"
        + table(("set", "tools", "bytes", "tokens"), costs)
    ]
    for tool in [*listed, *reading]:
        hints = [f"`{name}`" for name, value in tool.get("annotations", {}).items() if value is True]
        sections += [
            f"## {tool['name']}\n\n{tool['description']}\n\nHints: {', '.join(hints)}",
            table(("argument", "type", "meaning"), _arguments(tool["inputSchema"])),
        ]
        output = tool.get("outputSchema")
        if output:
            fields = [(f"`{name}`", kind) for name, kind in _fields(output, output.get("$defs", {}))]
            sections.append(table(("result", "type"), fields))
    return page(
        "The tools",
        "a running server",
        "`SKILLHUB_TOOLS` selects the sets of tools; the default is `core`. `run_skill_command` needs `--enable-run`. "
        "Within 0.x, arguments and results gain optional fields only. The complete schemas are in "
        "[tests/golden/tools](../../tests/golden/tools).\n\n"
        "A tool with a table of results sends them as structured content and as text; every other tool sends text. "
        "`skill_search`, `context_inspect` and `agents_resolve` send structured content without a schema, which would "
        "cost tokens in each turn. A session's handle is in a block of text of its own.",
        *sections,
    )


def _costs(tools: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Return the bytes and the estimated tokens of the descriptions of `tools`."""
    told = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
    return f"{len(told.encode()):,}", f"{estimate_tokens(told):,}"


async def _listed_tools(sets: str, *, with_paths: bool = True) -> list[dict[str, Any]]:
    from fastmcp import Client

    from skillhub_mcp.server.app import make_server

    with tempfile.TemporaryDirectory() as empty:
        chosen, _ = read_settings(
            {}, {"SKILLS_DIR": empty, "DB_PATH": os.path.join(empty, "skills.lancedb"), "SKILLHUB_TOOLS": sets}
        )
        hub = make_hub(chosen, background=False)
        options = replace(server_options(chosen, hub), enable_run=sets == "all", expose_paths=with_paths)
        async with Client(make_server(hub, options)) as client:
            listed = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]


def _arguments(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, argument in schema["properties"].items():
        required = ", required" if name in schema.get("required", ()) else ""
        yield f"`{name}`", _type(argument) + required, str(argument.get("description", ""))


# The largest integer that JSON carries exactly: as a bound it says nothing to a reader.
_LARGEST_INTEGER = 2**53


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    kind = str(schema.get("type", "any"))
    if kind == "array":
        kind = f"list of {_type(schema['items'])}"
    bounds = [
        words.format(schema[key])
        for key, words in (
            ("minimum", "at least {:,}"),
            ("maximum", "at most {:,}"),
            ("maxLength", "at most {:,} characters"),
            ("maxItems", "at most {:,} items"),
        )
        if key in schema and schema[key] != _LARGEST_INTEGER
    ]
    return kind + (f" ({', '.join(bounds)})" if bounds else "")


def _fields(schema: Mapping[str, Any], definitions: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, field in schema["properties"].items():
        inner = definitions[field["$ref"].rpartition("/")[2]] if "$ref" in field else field
        item = inner.get("items", {})
        optional = "" if name in schema.get("required", ()) else ", optional"
        if inner.get("type") == "object":
            yield from _fields(inner, definitions, f"{above}{name}.")
        elif item.get("type") == "object":
            yield f"{above}{name}", f"list{optional}"
            yield from _fields(item, definitions, f"{above}{name}[].")
        else:
            yield f"{above}{name}", _type(inner) + optional


def error_codes() -> str:
    """Return the page of every error code."""
    facts = _facts()
    rows = [
        (
            f"`{error.code}`",
            inspect.cleandoc(error.__doc__ or "").replace("\n", " "),
            ", ".join(f"`{fact}`" for fact in facts.get(error.__name__, ())) or "-",
        )
        for error in _errors()
    ]
    return page(
        "Errors",
        "errors.py",
        "A failed tool call returns a result with `isError: true`. Its text is `CODE: sentence. Hint.`; its `_meta` "
        "has the code, the facts and the hint under `io.skillhub/error`. With `SKILLHUB_ERROR_STYLE=jsonrpc` it "
        "returns a JSON-RPC error with the same object as its data. In a shell, `INVALID_ARGUMENT` and "
        "`INVALID_SETTING` exit with code 2, the others with 1.",
        table(("code", "meaning", "facts"), rows),
    )


def _errors() -> list[type[errors.SkillHubError]]:
    """Return the error of every code, in the order of the module."""
    classes = (one for one in vars(errors).values() if isinstance(one, type))
    return [one for one in classes if issubclass(one, errors.SkillHubError) and one.code != errors.SkillHubError.code]


def _facts() -> dict[str, list[str]]:
    """Return the keys of each error's `facts`, as written in its class."""
    found: dict[str, list[str]] = {}
    for node in ast.parse(inspect.getsource(errors)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        own = [str(getattr(given.value, "value", "")) for given in node.keywords if given.arg == "fact"]
        for given in ast.walk(node):
            if isinstance(given, ast.Call) and ast.unparse(given.func) == "super().__init__":
                own += [one.arg for one in given.keywords if one.arg and one.arg != "hint"]
            elif isinstance(given, ast.Dict):
                own += [str(key.value) for key in given.keys if isinstance(key, ast.Constant)]
        found[node.name] = own
    return found


def diagnostics() -> str:
    """Return the page of every rule for a SKILL.md."""
    severities = list(Severity)
    origins = {
        RuleSource.SPECIFICATION: "Rules of the Agent Skills specification, and what is needed to read a SKILL.md.",
        RuleSource.REGISTRY: "Further rules of a strict [registry](../guides/find-skills.md).",
        RuleSource.AGENT_CONTEXT: "Further rules of the [agent-context tools](../guides/integrate.md).",
        RuleSource.ADVICE: "Advice that makes a skill better. Only `skillhub validate` checks it.",
    }
    sections = []
    for origin, meaning in origins.items():
        sections.append(f"## {origin.value.capitalize()}\n\n{meaning}")
        own = [rule for rule in RULES.values() if rule.origin is origin]
        for rule in sorted(own, key=lambda rule: (not rule.refuses, severities.index(rule.verdict))):
            loading = (
                "refused" if rule.refuses else rule.severity.value if origin is not RuleSource.ADVICE else "not checked"
            )
            sections.append(
                f"### {rule.id}\n\n{plain(rule.requirement[0].upper() + rule.requirement[1:])}.\n\n"
                f"Fix: {plain(rule.fix)}. ({rule.verdict.value}, {loading})"
            )
    return page(
        "Diagnostics",
        "skills/rules.py",
        "What `skillhub validate`, `index` and `show` report about a SKILL.md. Loading is lenient: a skill that breaks "
        "a rule is still served if it has a name and a description. With `SKILLHUB_STRICT=1`, every violation that "
        "`validate` calls an error refuses the skill. In parentheses: what `validate` calls a violation, and what "
        "loading does.",
        *sections,
    )


def audit_rules() -> str:
    """Return the page of every rule of the audit."""
    usual = "remove it, or ask the author what it is for"
    sections = []
    for risk in Risk:
        sections.append(f"## {risk.value.capitalize()}")
        rows = [
            f"| `{rule.id}` | {plain(rule.finds)} | {plain(rule.fix).replace(usual, '')} | {plain(rule.source)} |"
            for rule in AUDIT_RULES.values()
            if rule.severity is risk
        ]
        sections.append("\n".join(("| rule | finds | fix | published |", "|---|---|---|---|", *rows)))
    return page(
        "Rules of the audit",
        "auditing/rules.py",
        "What [`skillhub audit`](../guides/write.md) looks for, by the worst severity that a rule reports. A finding "
        "is less severe where the text cites an attack or forbids it, and where a rule says so. Where no fix is named: "
        f"{usual}.",
        *sections,
    )


def acceptance() -> str:
    """Return the page of every acceptance row; the tests that prove one carry its id."""
    proved = len(REQUIREMENTS.keys() & claims().keys())
    entries = []
    for part, title in PARTS.items():
        rows = [(row, text) for row, text in REQUIREMENTS.items() if row.startswith(f"{part}-")]
        lines = [f"- **{row}** {plain(text)}" for row, text in rows]
        entries.append(f"## {part}\n\n{title}.\n\n" + "\n".join(lines))
    return page(
        "Acceptance",
        "tests/requirements.py",
        f"What SkillHub must do: {proved} of {len(REQUIREMENTS)} rows are proved from the outside. The tests that "
        "prove a row carry its id.",
        *entries,
    )


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings,
    "cli.md": command_line,
    "places.md": places,
    "lock.md": lock,
    SCHEMA_NAME: lock_json_schema,
    "tools.md": tools,
    "errors.md": error_codes,
    "diagnostics.md": diagnostics,
    "audit-rules.md": audit_rules,
    "acceptance.md": acceptance,
}

SNIPPETS: dict[str, Callable[[], str]] = {
    "README.md": readme_snippets,
    "examples/clients/README.md": clients_table,
}


def page(title: str, source: str, opening: str, *sections: str) -> str:
    """Return a whole page."""
    note = f"<!-- Written by docs/generate.py from {source}; change it there. -->"
    return "\n\n".join((note, f"# {title}", opening, *sections)) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(head), ["---"] * len(head), *([plain(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plain(text: str) -> str:
    """Return `text` with what Markdown would take for markup escaped, except code in backticks."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def with_snippets(name: str, snippets: str) -> str:
    """Return the text of the page at `name` with its snippets written anew."""
    before, begin, rest = (PROJECT / name).read_text(encoding="utf-8").partition(SNIPPETS_BEGIN)
    _, end, after = rest.partition(SNIPPETS_END)
    if not begin or not end:
        sys.exit(f"{name} lacks the line {SNIPPETS_END if begin else SNIPPETS_BEGIN}")
    return f"{before}{begin}\n{snippets}\n{end}{after}"


def everything() -> dict[Path, str]:
    """Return the text of every file that is generated."""
    made = {}
    for name, make in PAGES.items():
        if name == "cli.md" and sys.version_info[:2] not in PYTHONS_FOR_HELP:
            print(f"{name} is skipped: argparse of this Python formats help differently", file=sys.stderr)
            continue
        made[REFERENCE / name] = make()
    made |= {CLIENT_FILES / name: text for name, text in client_files().items()}
    return made | {PROJECT / name: with_snippets(name, make()) for name, make in SNIPPETS.items()}


def left_over() -> list[Path]:
    """Return the files among the generated ones that are not generated."""
    known = {REFERENCE / name for name in PAGES} | {CLIENT_FILES / name for name in client_files()}
    known |= {PROJECT / name for name in SNIPPETS}
    found = (path for folder in (REFERENCE, CLIENT_FILES) for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if path not in known)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the files, or with --check compare them. Return 1 if one differs."""
    parser = argparse.ArgumentParser(description="Write what is generated from the program.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    check = parser.parse_args(argv).check
    drifted = []
    for path, text in everything().items():
        if (path.read_text(encoding="utf-8") if path.is_file() else None) == text:
            continue
        if check:
            drifted.append(path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {path.relative_to(PROJECT).as_posix()}")
    for path in drifted:
        print(f"{path.relative_to(PROJECT).as_posix()} differs: run python docs/generate.py", file=sys.stderr)
    for path in left_over():
        print(f"{path.relative_to(PROJECT).as_posix()} is not generated: remove it", file=sys.stderr)
    return 1 if drifted or left_over() else 0


if __name__ == "__main__":
    sys.exit(main())
