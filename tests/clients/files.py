"""Client files in every layout and with every fault."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A client's file before SkillHub changes it."""

    kind: str
    client: str
    text: str


PLAIN = (
    '{\n  "mcpServers": {\n    "fetch": {\n      "command": "uvx",\n      "args": ["mcp-server-fetch"]\n    }\n  }\n}\n'
)
CODEX = """\
# how I work
model = "gpt-6"   # the big one

[mcp_servers.fetch]
command = "uvx"
args = ["mcp-server-fetch"]

# shared with the team
[profiles.team]
model = "gpt-6-mini"
"""

# Files that can be changed; everything but our entry stays.
CHANGED = [
    ClientFile("empty", "cursor", ""),
    ClientFile("one empty line", "cursor", "\n"),
    ClientFile("white space", "cursor", "  \r\n  "),
    ClientFile("only a byte order mark", "cursor", "\ufeff"),
    ClientFile("only comments", "vscode", "// my servers\n/* none yet */\n"),
    ClientFile("an empty object", "cursor", "{}"),
    ClientFile("an empty object and a line end", "cursor", "{}\n"),
    ClientFile("an empty object over two lines", "cursor", "{\n}\n"),
    ClientFile("an object with only a comment", "vscode", "{\n  // nothing yet\n}\n"),
    ClientFile("a comment after the opening brace", "vscode", "{ // nothing yet\n}\n"),
    ClientFile("no servers yet", "claude-desktop", '{\n  "theme": "dark"\n}\n'),
    ClientFile("no servers yet, tabs", "zed", '{\n\t"theme": "One Dark",\n\t"vim_mode": true\n}\n'),
    ClientFile("no servers, one line", "claude-desktop", '{"theme": "dark"}'),
    ClientFile("no servers, minified", "claude-desktop", '{"theme":"dark","n":1.0,"big":12345678901234567890}'),
    ClientFile("servers on one line, empty", "cursor", '{\n  "mcpServers": {}\n}\n'),
    ClientFile("servers minified, empty", "cursor", '{"mcpServers":{}}'),
    ClientFile("servers empty over two lines", "cursor", '{\n  "mcpServers": {\n  }\n}\n'),
    ClientFile("another server", "cursor", PLAIN),
    ClientFile("another server, four spaces", "cursor", PLAIN.replace("  ", "    ")),
    ClientFile("another server, tabs", "cursor", PLAIN.replace("  ", "\t")),
    ClientFile("another server, CRLF", "cursor", PLAIN.replace("\n", "\r\n")),
    ClientFile("another server, CR", "cursor", PLAIN.replace("\n", "\r")),
    ClientFile("another server, BOM", "cursor", "\ufeff" + PLAIN),
    ClientFile("another server, BOM and CRLF", "cursor", "\ufeff" + PLAIN.replace("\n", "\r\n")),
    ClientFile("another server, no line end", "cursor", PLAIN.rstrip()),
    ClientFile("another server, minified", "cursor", '{"mcpServers":{"fetch":{"command":"uvx","args":[]}}}'),
    ClientFile("another server, one line", "cursor", '{ "mcpServers": { "fetch": { "command": "uvx" } } }'),
    ClientFile(
        "another server on one line of several", "cursor", '{\n  "mcpServers": {"fetch": {"command": "uvx"}}\n}\n'
    ),
    ClientFile(
        "braces on lines of their own", "cursor", '{\n  "mcpServers":\n  {\n    "fetch":\n    {\n    }\n  }\n}\n'
    ),
    ClientFile(
        "comments everywhere",
        "vscode",
        '// VS Code\n{\n  /* mine */ "servers": { // all of them\n    // the web, "quoted"\n    "fetch": {\n'
        '      "command": "uvx" // see https://example.org//x\n    } // keep\n    // "old": {}\n  }\n} // end\n',
    ),
    ClientFile(
        "trailing commas",
        "vscode",
        '{\n  "servers": {\n    "fetch": {"command": "uvx",}, // web\n  },\n  "inputs": [1, 2,],\n}\n',
    ),
    ClientFile("a trailing comma on one line", "vscode", '{"servers": {"fetch": {},},}'),
    ClientFile(
        "commas at the start of lines", "zed", '{\n  "theme": "x"\n  , "context_servers": { "a": {}\n  , "b": {} }\n}\n'
    ),
    ClientFile(
        "a comment between value and comma", "zed", '{ "context_servers": { "a": {} /* , */ , "b": {} // ,\n } }\n'
    ),
    ClientFile(
        "other scripts and escapes",
        "cursor",
        '{\n  "mcpServers": {\n    "données é 😀": {"command": "\\u00e9\\n\\"x"}\n  }\n}\n',
    ),
    ClientFile(
        "a key with a dot",
        "amp",
        '{\n  "amp.notifications": true,\n  "amp.mcpServers": {\n    "a": {"url": "x"}\n  }\n}\n',
    ),
    ClientFile("an unrelated name twice", "zed", '{\n  "a": 1,\n  "a": 2,\n  "context_servers": {}\n}\n'),
    ClientFile(
        "numbers of every kind",
        "gemini-cli",
        '{\n  "n": [1, 1.0, -0, 1e5, 1E-5, 0.10, true, null],\n  "mcpServers": {"x": {}}\n}',
    ),
    ClientFile("mixed line ends", "cursor", '{\r\n  "mcpServers": {\n    "a": {}\r\n  }\n}\r\n'),
    ClientFile("indented unevenly", "cursor", '{\n "mcpServers": {\n       "a": {},\n   "b": {}\n      }\n}\n'),
    ClientFile("TOML, empty", "codex", ""),
    ClientFile("TOML with comments", "codex", CODEX),
    ClientFile("TOML, CRLF", "codex", CODEX.replace("\n", "\r\n")),
    ClientFile("TOML, no line end", "codex", CODEX.rstrip()),
    ClientFile("TOML, BOM", "codex", "\ufeff" + CODEX),
    ClientFile("TOML, only comments", "codex", "# nothing yet\n"),
    ClientFile("TOML, dotted names", "codex", 'mcp_servers.fetch.command = "uvx"\nmodel = "x"\n'),
    ClientFile(
        "TOML, dates and lists of tables", "codex", "on = 2026-11-22\n[[rule]]\na = [\n  [1],\n  [2],\n]\n[[rule]]\n"
    ),
]

# Files that are refused, with a pattern for the reason.
REFUSED = [
    (ClientFile("broken", "cursor", '{\n  "mcpServers": {\n    "a": {\n  }\n'), "line"),
    (ClientFile("a missing comma", "cursor", '{"a": 1 "b": 2}'), "delimiter"),
    (ClientFile("a name without quotes", "cursor", "{mcpServers: {}}"), "quotes"),
    (ClientFile("quotes of the wrong kind", "cursor", "{'mcpServers': {}}"), "quotes"),
    (ClientFile("two values", "cursor", "{}\n{}\n"), "Extra data"),
    (ClientFile("an unterminated comment", "vscode", "{} /* "), "comment"),
    (ClientFile("a number of 5,000 digits", "cursor", '{"a": %s}' % ("9" * 5_000)), "limit"),
    (ClientFile("a list", "cursor", "[]\n"), "not an object"),
    (ClientFile("a string", "cursor", '"mcpServers"'), "not an object"),
    (ClientFile("servers in a list", "cursor", '{"mcpServers": []}'), "not an object"),
    (ClientFile("servers are null", "cursor", '{"mcpServers": null}'), "not an object"),
    (ClientFile("servers twice", "cursor", '{"mcpServers": {}, "mcpServers": {}}'), "twice"),
    (
        ClientFile("our name twice", "cursor", '{"mcpServers": {"skillhub": {}, "skillhub": {}}}'),
        "twice|another program",
    ),
    (ClientFile("a line break in a string", "cursor", '{"a": "b\nc"}'), "control character"),
    (ClientFile("nested too deep", "cursor", '{"a":' * 100_000), "deep"),
    (ClientFile("TOML, servers in braces", "codex", 'mcp_servers = { fetch = { command = "uvx" } }\n'), "mcp_servers"),
    (ClientFile("TOML, broken", "codex", "[mcp_servers\n"), "line 1"),
    (ClientFile("TOML, nested too deep", "codex", "a = " + "[" * 5_000), "deep"),
    (ClientFile("TOML, a table twice", "codex", "[mcp_servers.a]\n[mcp_servers.a]\n"), "twice|exists"),
    (ClientFile("TOML, servers are a number", "codex", "mcp_servers = 1\n"), "already exists|is not an object"),
]
