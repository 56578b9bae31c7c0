"""The commands, one module each: `add_arguments` declares the arguments, `run` returns the exit code.

The docstring of `run` is the description in the command's help. `main` prints every SkillHubError that it raises. Two
commands may be in one module: `args.command` says which was typed, and `add_arguments` sets their descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command as help lists it. `writes` gives it --dry-run and --yes."""

    name: str
    summary: str
    module: str = ""
    writes: bool = False


GROUPS: Mapping[str, tuple[Command, ...]] = {
    "find": (
        Command("search", "find the skills that fit a task"),
        Command("list", "list the skills", "list_"),
        Command("show", "print a skill, or a file of it"),
        Command("why", "explain why a skill is served, hidden or ranked low"),
        Command("pick", "choose a skill interactively"),
    ),
    "write": (
        Command("new", "start a skill and check how it is found", writes=True),
        Command("validate", "check skills against the specification", writes=True),
        Command("audit", "find hostile content in skills", writes=True),
    ),
    "install": (
        Command("add", "install skills from a repository, archive or site", writes=True),
        Command("update", "update installed skills from their sources", writes=True),
        Command("remove", "remove installed skills, or undo that", writes=True),
        Command("lock", "record the current files in skills-lock.json", writes=True),
        Command("verify", "compare installed skills with the lock file", "lock"),
    ),
    "control": (
        Command("enable", "enable disabled skills", "enable", writes=True),
        Command("disable", "hide skills from agents", "enable", writes=True),
        Command("allow", "allow agents to load or run skills", "rules", writes=True),
        Command("deny", "deny agents to load or run skills", "rules", writes=True),
        Command("trust", "show and trust what a project brings", writes=True),
        Command("roots", "list and change where skills are searched"),
    ),
    "serve": (
        Command("connect", "register SkillHub with Cursor, VS Code, Claude, …", writes=True),
        Command("disconnect", "remove SkillHub from clients' files", "connect", writes=True),
        Command("serve", "serve the skills over MCP"),
        Command("token", "list and change the tokens of HTTP clients"),
        Command("publish", "write the library to a directory or bucket", writes=True),
        Command("index", "update the index and report", writes=True),
    ),
    "look": (
        Command("doctor", "check the installation and suggest fixes"),
        Command("config", "list and change settings"),
        Command("stats", "print which skills are used"),
        Command("eval", "measure search quality, or find overlaps", "eval_"),
        Command("demo", "watch an agent use a skill"),
    ),
    "integrate": (
        Command("call", "call any MCP tool and print its JSON"),
        Command("context", "print skills as a model is given them"),
        Command("bundle", "write an .mcpb file for Claude Desktop"),
        Command("completion", "print the completion script of a shell"),
    ),
}
"""Every command by group, in the order of help."""

COMMANDS: Mapping[str, Command] = {one.name: one for members in GROUPS.values() for one in members}
