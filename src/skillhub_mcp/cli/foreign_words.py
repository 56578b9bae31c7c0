"""Words that people know from other tools, and the command that does here what they ask for, or that none does."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.settings import DEFAULT_SKILLS_DIR, read_settings

# `https://…`, `git@host:…` or `owner/name`, in which the last part names the repository.
_REPOSITORY = re.compile(r"(?:[a-z+]+://|[\w.-]+@)\S+|(?!\.{1,2}/)[\w.-]+/[\w.-]+")
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


def _place() -> str:
    """Return the directory of the hub that new skills go to, as it is typed in a shell."""
    try:
        settings, _ = read_settings(os.environ)
        place = os.path.abspath(os.path.expanduser(settings.skills.dirs[0]))
    except InvalidSetting:
        # What is wrong there is told by the commands that need it.
        place = os.path.expanduser(DEFAULT_SKILLS_DIR)
    home = os.path.join(os.path.expanduser("~"), "")
    return f"~/{shlex.quote(place.removeprefix(home))}" if place.startswith(home) else shlex.quote(place)


def _does(command: str, *, takes_rest: bool = True) -> Callable[[Sequence[str]], Advice]:
    """Return the advice to type another command, with what was typed after the word if that means the same there."""

    def told(rest: Sequence[str]) -> Advice:
        same = shlex.join(rest) if takes_rest else ""
        return Advice(_NOT_A_COMMAND, f"skillhub {command} {same}".rstrip())

    return told


def _says(reason: str, hint: str) -> Callable[[Sequence[str]], Advice]:
    return lambda _: Advice(reason, hint)


def _add(rest: Sequence[str]) -> Advice:
    wanted = next((word for word in rest if not word.startswith("-")), "")
    if wanted and os.path.isdir(os.path.expanduser(wanted)):
        return Advice(
            "is not a command of 'skillhub': skills are served from where they are",
            f"`skillhub roots add {shlex.quote(wanted)}` searches this directory from now on",
        )
    if _REPOSITORY.fullmatch(wanted):
        name = re.split(r"[/:]", wanted.rstrip("/"))[-1].removesuffix(".git")
        source = wanted if re.match(r"[a-z+]+://|[\w.-]+@", wanted) else "URL"
        return Advice(
            "is not a command of 'skillhub': it does not fetch skills from repositories yet",
            f"fetch them yourself, and they are served: git clone {shlex.quote(source)} {_place()}/{shlex.quote(name)}",
        )
    return Advice(
        "is not a command of 'skillhub': it does not fetch skills yet",
        f"copy a skill's directory, or `git clone` a repository of skills, into {_place()}; `skillhub roots add DIR` "
        "serves a directory where it is",
    )


def _remove(rest: Sequence[str]) -> Advice:
    wanted = next((word for word in rest if not word.startswith("-")), "")
    if wanted and os.path.isdir(os.path.expanduser(wanted)):
        return Advice(
            _NOT_A_COMMAND, f"`skillhub roots remove {shlex.quote(wanted)}` searches this directory no longer"
        )
    name = shlex.quote(wanted) if wanted else "NAME"
    return Advice(_NOT_A_COMMAND, f"`skillhub remove {name}` removes a skill; `skillhub disable {name}` only hides it")


_UPDATE = _says(
    "is not a command of 'skillhub': changed skills are served at once, and it does not fetch skills yet",
    "for skills that were cloned, run `git pull` in their directory, which `skillhub show NAME` prints",
)
_SHARE = _says(
    "is not a command of 'skillhub': it sends skills to no site where others look for them",
    "a skill is a directory: share it in a repository, serve it to other machines with "
    "`skillhub serve --transport http`, or write the library where their servers read it with `skillhub publish`",
)

_WORDS: Mapping[Callable[[Sequence[str]], Advice], str] = {
    _add: "add install get import fetch download clone",
    _remove: "uninstall delete rm unadd",
    _UPDATE: "update upgrade sync pull refresh outdated",
    _SHARE: "share login",
    _does("new"): "init create make generate scaffold",
    _does("serve", takes_rest=False): "start run server mcp up daemon launch",
    _does("list"): "ls dir skills",
    _does("search"): "find query grep lookup",
    _does("show"): "info view cat load open describe",
    _does("validate"): "lint check test verify",
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
