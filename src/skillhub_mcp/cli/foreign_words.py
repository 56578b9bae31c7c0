"""Words that people know from other tools, and the command that does here what they ask for, or that none does."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.environment import expand_home

_NOT_A_COMMAND = "is not a command of 'skillhub'"


@dataclass(frozen=True, slots=True)
class Advice:
    """Why a word is no command, in a phrase that follows the word; and what to do instead."""

    reason: str
    hint: str


def advice(word: str, rest: Sequence[str]) -> Advice | None:
    """Return what to tell somebody who typed `word` as a command, followed by `rest`; None for an unknown word."""
    told = _ADVICE.get(word.lower())
    return None if told is None else told(rest)


def _does(command: str, *, takes_rest: bool = True) -> Callable[[Sequence[str]], Advice]:
    """Return the advice to type another command, with what was typed after the word if that means the same there."""

    def told(rest: Sequence[str]) -> Advice:
        same = shlex.join(rest) if takes_rest else ""
        return Advice(_NOT_A_COMMAND, f"skillhub {command} {same}".rstrip())

    return told


def _says(reason: str, hint: str) -> Callable[[Sequence[str]], Advice]:
    return lambda _: Advice(reason, hint)


def _remove(rest: Sequence[str]) -> Advice:
    wanted = next((word for word in rest if not word.startswith("-")), "")
    if wanted and os.path.isdir(expand_home(wanted)):
        return Advice(
            _NOT_A_COMMAND, f"`skillhub roots remove {shlex.quote(wanted)}` searches this directory no longer"
        )
    name = shlex.quote(wanted) if wanted else "NAME"
    return Advice(_NOT_A_COMMAND, f"`skillhub remove {name}` removes a skill; `skillhub disable {name}` only hides it")


_SHARE = _says(
    "is not a command of 'skillhub': it sends skills to no site where others look for them",
    "a skill is a directory: share it in a repository, serve it to other machines with "
    "`skillhub serve --transport http`, or write the library where their servers read it with `skillhub publish`",
)

_WORDS: Mapping[Callable[[Sequence[str]], Advice], str] = {
    _does("add"): "install get import fetch download clone",
    _remove: "uninstall delete rm unadd",
    _does("update"): "upgrade sync pull refresh",
    _SHARE: "share login",
    _does("new"): "init create make generate scaffold",
    _does("serve", takes_rest=False): "start run server mcp up daemon launch",
    _does("list"): "ls dir skills",
    _does("search"): "find query grep lookup",
    _does("show"): "info view cat load open describe",
    _does("validate"): "lint check test",
    _does("audit"): "scan security vet",
    _does("enable"): "on activate",
    _does("disable"): "off deactivate hide",
    _does("permissions"): "permission allow deny rules",
    _does("connect"): "setup configure attach register integrate link",
    _does("disconnect"): "detach unregister unlink",
    _does("roots"): "root dirs paths places sources",
    _does("config"): "settings env",
    _does("doctor", takes_rest=False): "status diagnose health debug",
    _does("index", takes_rest=False): "reindex rebuild",
    _does("completion"): "completions autocomplete",
    _does("publish"): "push upload deploy",
    _does("bundle"): "pack package mcpb",
    _does("inspect"): "cost costs tokens",
    _does("help"): "man docs usage",
    _does("version"): "ver",
}
_ADVICE = {word: told for told, words in _WORDS.items() for word in words.split()}
WORDS = frozenset(_ADVICE)
