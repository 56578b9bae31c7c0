"""What the options of `connect` and `disconnect` mean: the machine, the clients and the server."""

from __future__ import annotations

import argparse
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.installed_command import COMMAND, lasting_command
from skillhub_mcp.clients.machine import Machine, this_system
from skillhub_mcp.clients.model import Client, ClientScope, HttpServer, Server, StdioServer
from skillhub_mcp.clients.secrets import has_credentials, looks_secret
from skillhub_mcp.clients.table import client_named
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.settings import settings_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def machine_of(options: Mapping[str, str]) -> Machine:
    """Return this machine, with the project in hand. Raises InvalidSetting."""
    settings = settings_of(options)
    return Machine(this_system(), dict(os.environ), expand_home("~"), project_of(settings).root)


def refuse_settings(options: Mapping[str, str]) -> None:
    """Raise InvalidArgument for an option that chooses skills: it would not reach the server that a client starts."""
    if "SKILLS_DIR" in options or "SKILLHUB_ROOTS" in options:
        raise InvalidArgument(
            "--skills-dir" if "SKILLS_DIR" in options else "--roots",
            "is not written to a client's file, where it would turn off the project's skills and your own",
            hint="`skillhub roots add DIR` has a directory searched for every client",
        )


def connection_name(args: argparse.Namespace) -> str:
    """Return the name of the connection. Raises InvalidArgument for one that some client would refuse."""
    if not _NAME.fullmatch(args.name):
        raise InvalidArgument("--name", f"{args.name!r} may have letters, digits, `-` and `_` only")
    return str(args.name)


def named_clients(args: argparse.Namespace) -> tuple[Client, ...]:
    """Return the clients that were named, each once. Raises InvalidArgument."""
    if args.all and args.clients:
        raise InvalidArgument("--all", "cannot be used with names of clients", hint="remove one of the two")
    found = [client_named(decode_argument(name)) for typed in args.clients for name in typed.split(",") if name]
    return tuple({client.name: client for client in found}.values())


def registrar_of(client: Client) -> str | None:
    """Return the path of the client's own program that registers servers, where this process can run it."""
    # On Windows no run can be ended with all that it started: the command is printed there.
    return shutil.which(client.registrar) if client.registrar and os.name == "posix" else None


def server_of_options(args: argparse.Namespace, scope: ClientScope) -> Server:
    """Return the server that the options describe. Raises InvalidArgument, for a secret too.

    A person's own file gets the absolute path of the command: a desktop's programs have no shell's PATH. In a
    project's file that path would be wrong on the next machine.
    """
    environment, variables = _environment(args.env or ())
    if args.http is not None:
        if environment or variables:
            raise InvalidArgument("--env", "is for a server that the client starts", hint="remove --env or --http")
        return HttpServer(_address(args.http), _token_variable(args.token_variable))
    if args.token_variable is not None:
        raise InvalidArgument("--token-variable", "is for a server over HTTP", hint="--http URL")
    command = lasting_command() if scope is ClientScope.USER else (COMMAND,)
    return StdioServer(command[0], command[1:], environment, variables)


def _environment(typed: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables with a value, and those whose value the client is to take from its own environment."""
    values: dict[str, str] = {}
    names: list[str] = []
    for one in map(decode_argument, typed):
        name, equals, value = one.partition("=")
        if not _VARIABLE.fullmatch(name):
            raise InvalidArgument("--env", f"{name!r} is no name of a variable", hint="--env NAME=VALUE, or --env NAME")
        if not equals:
            names.append(name)
        elif looks_secret(name, value):
            raise InvalidArgument(
                "--env",
                f"{name} looks like a secret, and no secret is written to a file",
                hint=f"`--env {name}` has the client take its value from the environment",
            )
        else:
            values[name] = value
    return values, tuple(dict.fromkeys(names))


def _address(typed: str) -> str:
    url = decode_argument(typed)
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise InvalidArgument("--http", f"{url!r} is no address", hint="--http http://127.0.0.1:8000/mcp")
    if has_credentials(url):
        raise InvalidArgument(
            "--http",
            "contains what looks like a secret, and no secret is written to a file",
            hint="--token-variable NAME names the variable that holds the token",
        )
    return url


def _token_variable(typed: str | None) -> str:
    if typed is None:
        return ""
    if not _VARIABLE.fullmatch(typed):
        raise InvalidArgument(
            "--token-variable", "is not the name of a variable", hint="the token itself is never written to a file"
        )
    return typed
