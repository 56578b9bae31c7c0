"""What to type instead of a name that is gone, or that people know from another tool."""

from __future__ import annotations

from collections.abc import Mapping

ALIASES: Mapping[str, str] = {
    "ls": "list",
    "rm": "remove",
    "uninstall": "remove",
    "install": "add",
    "upgrade": "update",
}

_WORDS: Mapping[str, str] = {
    "show NAME --file FILE": "read cat",
    "call --list": "agents registry tools",
    "context catalogue": "catalogue catalog",
    "context resolve": "resolve",
    "context cost": "inspect cost costs tokens",
    "update --check": "outdated",
    "eval --overlaps": "overlaps",
    "publish --list": "snapshots snapshot publications",
    "allow": "permissions permission rules",
    "--version": "version",
    "add": "get import fetch download clone",
    "remove": "delete",
    "update": "sync pull refresh",
    "new": "init create make generate scaffold",
    "serve": "start run server mcp up",
    "list": "skills",
    "search": "find query grep",
    "show": "info view load open describe",
    "validate": "lint check test",
    "audit": "scan security",
    "connect": "setup configure register link",
    "disconnect": "unregister unlink",
    "roots": "root dirs paths sources",
    "config": "settings env",
    "doctor": "status diagnose health",
    "index": "reindex rebuild",
    "publish": "push upload deploy share",
    "bundle": "pack package mcpb",
    "help": "man docs usage",
}
SUCCESSORS: Mapping[str, str] = {word: command for command, words in _WORDS.items() for word in words.split()}
"""The command to type instead, without `skillhub`, by the word that was typed."""

OPTION_SUCCESSORS: Mapping[str, str] = {
    "--no-pager": "output is not paged",
    "--repair": "skillhub index --verify",
    "--forget-missing": "skillhub index --forget",
    "--wait": "a replica serves the newest publication; skillhub publish --list TARGET",
    "--publisher": "publishers need no name",
    "--restore": "skillhub disconnect restores an unchanged file; older copies are in ~/.skillhub/backups",
    "--db-path": "SKILLHUB_DB_PATH=PATH skillhub …",
    "--log-level": "SKILLHUB_LOG_LEVEL=LEVEL skillhub …",
    "--show": "skillhub trust",
    "--offset": "skillhub call read_skill_file offset=N …",
    "--tag": "skillhub search --category NAME",
    "--max-entries": "SKILLHUB_CATALOGUE_MAX_ENTRIES=N skillhub …",
    "--max-bytes": "SKILLHUB_CATALOGUE_MAX_BYTES=N skillhub …",
    "--costs": "skillhub validate --json has the tokens of each skill",
    "--statistics": "skillhub validate ends with the count of each rule",
    "--least": "skillhub eval --overlaps --json has every pair",
    "--ids": "skillhub list has the names of skills for QUERIES",
}
