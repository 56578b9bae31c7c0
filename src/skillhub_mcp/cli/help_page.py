"""The help of the program as a whole: the commands by group, on one screen or with everything that can be typed."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.cli.arguments import Group, Parser
from skillhub_mcp.cli.colours import Colour, Painter

_WIDEST = 100


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command as help lists it. Only an `everyday` one has a line of its own on the one screen."""

    name: str
    summary: str
    group: Group
    everyday: bool


def command_lines(root: Parser) -> tuple[CommandLine, ...]:
    """Return the commands of `root` that have a group, as help lists them."""
    summaries = root.summaries()
    return tuple(
        CommandLine(name, summaries[name], command.group, command.everyday)
        for name, command in root.subcommands.items()
        if command.group is not None
    )


def by_group(commands: Sequence[CommandLine]) -> Mapping[Group, tuple[CommandLine, ...]]:
    """Return the commands of each group that has some, the everyday ones first, otherwise in their order."""
    ordered = sorted(commands, key=lambda one: not one.everyday)
    found = {group: tuple(one for one in ordered if one.group is group) for group in Group}
    return {group: members for group, members in found.items() if members}


def screen_lines(commands: Sequence[CommandLine], paint: Painter) -> Iterator[str]:
    """Yield the lines of the help that fits a screen: everyday commands with what they do, the others by name."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    names = max(len(one.name) for one in commands if one.everyday)
    titles = max(len(group.value) for group in Group)
    yield f"{paint('usage:', Colour.BOLD)} skillhub COMMAND [OPTION …]"
    yield ""
    for group, members in by_group([one for one in commands if one.group is not Group.HELP]).items():
        title = paint(f"{group.value:{titles}}", Colour.BOLD)
        for one in members:
            if one.everyday:
                start = f"{title}  {paint(f'{one.name:{names}}', Colour.CYAN)}  "
                yield start + textwrap.shorten(one.summary, max(width - titles - names - 4, 1), placeholder="…")
                title = " " * titles
    # The last line names `help`.
    rest = ", ".join(one.name for one in commands if not one.everyday and one.name != "help")
    yield ""
    yield from textwrap.wrap(f"also: {rest}", width, subsequent_indent="      ", break_on_hyphens=False)
    yield "`skillhub help COMMAND` explains one; `skillhub help --all` lists everything."


def whole_list(commands: Sequence[CommandLine]) -> str:
    """Return every command with what it does, by group."""
    names = max(len(one.name) for one in commands)
    return "\n\n".join(
        "\n".join([f"{group.value}:", *(f"  {one.name:{names}}  {one.summary}" for one in members)])
        for group, members in by_group(commands).items()
    )
