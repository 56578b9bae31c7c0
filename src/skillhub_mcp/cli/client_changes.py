"""The options, changes, question and report that `connect` and `disconnect` share."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import confirm, print_line, print_text, shown_path
from skillhub_mcp.cli.installed_command import COMMAND, lasting_command
from skillhub_mcp.cli.output import plural, print_json
from skillhub_mcp.clients.connections import (
    ChangeKind,
    Connections,
    FileChange,
    Plan,
    Registration,
    Settled,
    ToPaste,
)
from skillhub_mcp.clients.machine import Machine, this_system
from skillhub_mcp.clients.model import Client, ClientScope, HttpServer, Server, StdioServer
from skillhub_mcp.clients.probe import Probed
from skillhub_mcp.clients.secrets import has_credentials, looks_secret, masked
from skillhub_mcp.clients.table import client_named
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import ClientFileRefused, InvalidArgument, SkillHubError
from skillhub_mcp.execution.runner import RunLimits, run_command
from skillhub_mcp.settings import settings_of

_REGISTRAR_LIMITS = RunLimits(timeout_seconds=60.0, max_output_bytes=100_000)

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_DONE = {
    ChangeKind.CONNECT: "connected",
    ChangeKind.UPDATE: "updated",
    ChangeKind.DISCONNECT: "disconnected",
    ChangeKind.RESTORE: "restored",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def add_client_options(parser: argparse.ArgumentParser) -> None:
    """Add the clients, and the options that say which of their files is meant."""
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help="client; `skillhub connect --list` lists them")
    parser.add_argument("--all", action="store_true", help="every client that is installed or connected")
    parser.add_argument(
        "--scope", choices=("user", "project"), default="user", help="your own file, or the project's (default: user)"
    )
    parser.add_argument("--name", default="skillhub", help="name of the connection (default: skillhub)")


@dataclass(frozen=True, slots=True)
class ClientOutcome:
    """The result for one client. `text` is for pasting into `where`; `server` is what its entry now starts."""

    client: Client
    scope: ClientScope
    outcome: str
    path: str = ""
    reason: str = ""
    hint: str = ""
    text: str = ""
    where: str = ""
    server: Server | None = None
    probed: Probed | None = None
    is_off: bool = False

    @property
    def failed(self) -> bool:
        """Whether the file was refused, or its server does not answer."""
        return self.outcome == "refused" or (self.probed is not None and not self.probed.answers)

    def as_json(self) -> dict[str, object]:
        """Return the outcome as JSON values, without empty ones."""
        said: dict[str, object] = {"client": self.client.name, "scope": self.scope.value}
        said |= {name: getattr(self, name) for name in ("outcome", "path", "reason", "hint", "text", "where")}
        if self.probed is not None:
            said["starts"] = {
                "answers": self.probed.answers,
                "version": self.probed.version,
                "tools": list(self.probed.tools),
                "failure": self.probed.failure,
            }
        if self.is_off:
            said["is_off"] = True
        return {name: value for name, value in said.items() if value != ""}


def refused(client: Client, scope: ClientScope, error: SkillHubError, text: str = "") -> ClientOutcome:
    """Return the outcome for a file that is left alone; `text` is for pasting there."""
    path, reason = (error.path, error.reason) if isinstance(error, ClientFileRefused) else ("", error.message)
    return ClientOutcome(client, scope, "refused", path, reason, error.hint or "", text, path if text else "")


def settle(
    plans: Sequence[Plan], connections: Connections, machine: Machine, args: argparse.Namespace
) -> list[ClientOutcome]:
    """Show the changes, ask, and carry them out. Raises InvalidArgument if there is no terminal to ask on."""
    plans = _each_file_once(plans)
    changes = [plan for plan in plans if isinstance(plan, FileChange | Registration)]
    if changes and not args.json:
        for change in changes:
            for line in difference(change).split("\n"):
                print_line((line, _STYLES.get(line[:1], "")), stream=sys.stdout if args.dry_run else sys.stderr)
    if args.dry_run:
        return [_outcome(plan, "planned") for plan in plans]
    wanted = not changes or args.yes or _confirmed(len(changes), as_json=args.json)
    return [_carried_out(plan, connections, machine) if wanted else _outcome(plan, "declined") for plan in plans]


def difference(change: FileChange | Registration) -> str:
    """Return a change as a unified difference or as commands, with secrets masked."""
    if isinstance(change, Registration):
        return "\n".join(f"runs: {shlex.join(command)}" for command in change.commands)
    old, new = change.file.content, change.after
    path = shown_path(change.file.path)
    if os.path.islink(change.file.path):
        path += f" -> {shown_path(change.file.place)}"
    lines = difflib.unified_diff(
        _lines(old), _lines(new), "/dev/null" if old is None else path, "/dev/null" if new is None else path
    )
    marked = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return masked("".join(marked).rstrip("\n"))


def report(outcomes: Sequence[ClientOutcome], *, as_json: bool, dry_run: bool) -> None:
    """Print the outcome of each client."""
    if as_json:
        print_json({"dry_run": dry_run, "clients": [outcome.as_json() for outcome in outcomes]})
        return
    answers = [(outcome, outcome.probed) for outcome in outcomes if outcome.probed is not None]
    # One line for all clients that start the same server.
    together = len({probed for _, probed in answers}) == 1 and len(answers) > 1
    for outcome, probed in answers:
        print_text("\n".join(_lines_of(outcome)))
        if not together:
            print_text(f"  {_answer(probed, outcome.server)}")
    if together:
        outcome, probed = answers[0]
        print_text(_answer(probed, outcome.server))
    for outcome in outcomes:
        if outcome.probed is None:
            print_text("\n".join(_lines_of(outcome)))


def _each_file_once(plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans with only one change for a file that several clients read."""
    seen: set[str] = set()
    once: list[Plan] = []
    for plan in plans:
        if isinstance(plan, FileChange):
            if plan.file.place in seen:
                once.append(Settled(plan.client, plan.scope, plan.name, plan.file.path, plan.server))
                continue
            seen.add(plan.file.place)
        once.append(plan)
    return once


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _confirmed(count: int, *, as_json: bool) -> bool:
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        reason = "is required without a terminal; nothing was changed"
        raise InvalidArgument("--yes", reason, hint="--dry-run shows what it changes")
    return confirm("Change this?" if count == 1 else f"Change these {count}?", default=True)


def _carried_out(plan: Plan, connections: Connections, machine: Machine) -> ClientOutcome:
    try:
        if isinstance(plan, FileChange):
            connections.carry_out(plan)
        elif isinstance(plan, Registration):
            _register(plan, machine)
            connections.note_registration(plan)
    except SkillHubError as error:
        return refused(plan.client, plan.scope, error)
    return _outcome(plan, _DONE[plan.kind] if isinstance(plan, FileChange | Registration) else "unchanged")


def _register(plan: Registration, machine: Machine) -> None:
    """Run the commands of the client's own program. Raises ClientFileRefused for one that fails."""
    for command in plan.commands:
        done = run_command(command, cwd=Path(machine.home), limits=_REGISTRAR_LIMITS, environment=machine.environment)
        if done.exit_code != 0 or done.timeout:
            said = " ".join((done.stderr or done.stdout).split())[:400] or f"exit code {done.exit_code}"
            raise ClientFileRefused(plan.path, f"`{shlex.join(command[:3])}` failed: {said}")


def _outcome(plan: Plan, outcome: str) -> ClientOutcome:
    if isinstance(plan, ToPaste):
        return ClientOutcome(plan.client, plan.scope, "printed", text=plan.text, where=plan.where)
    if isinstance(plan, Settled):
        hint = plan.hint or _off_hint(plan)
        return ClientOutcome(
            plan.client, plan.scope, "unchanged", plan.path, hint=hint, server=plan.server, is_off=plan.is_off
        )
    if isinstance(plan, Registration):
        return ClientOutcome(plan.client, plan.scope, outcome, plan.path, server=plan.server)
    path, hint = plan.file.path, _off_hint(plan)
    return ClientOutcome(plan.client, plan.scope, outcome, path, hint=hint, server=plan.server, is_off=plan.is_off)


def _off_hint(plan: FileChange | Settled) -> str:
    return f"switch it on in {plan.client.title}, which does not start it until then" if plan.is_off else ""


def _lines_of(outcome: ClientOutcome) -> list[str]:
    title, path = outcome.client.title, shown_path(outcome.path)
    where = f" ({path})" if path else ""
    following = f" Next: {outcome.client.then}." if outcome.client.then else ""
    absent = "not connected under that name" if outcome.hint else "not connected"
    state = "connected already" if outcome.server else absent
    off = ", but switched off there" if outcome.is_off else ""
    sentences = {
        "connected": f"{title}: connected{off}{where}.{following}",
        "updated": f"{title}: updated{off}{where}.{following}",
        "disconnected": f"{title}: disconnected{where}.",
        "restored": f"{title}: restored{where}.",
        "unchanged": f"{title}: {state}{off}, nothing was changed{where}.",
        "planned": f"{title}: would be changed{where}.",
        "declined": f"{title}: nothing was changed{where}.",
        "printed": f"{title}: put this into {outcome.where}:",
        "refused": f"{title}: nothing was changed{where}: {outcome.reason}",
    }
    lines = [sentences[outcome.outcome]]
    if outcome.hint:
        lines.append(f"  hint: {outcome.hint}")
    if outcome.text:
        if outcome.outcome == "refused":
            lines.append("  To connect it yourself, put this there:")
        lines += ["", outcome.text.rstrip("\n"), ""]
    return lines


def _answer(probed: Probed, server: Server | None) -> str:
    if isinstance(server, HttpServer):
        begin = "It is reached" if probed.answers else "It cannot be used"
    else:
        begin = "It starts" if probed.answers else "It does not start"
    if not probed.answers:
        return f"{begin}: {probed.failure}"
    return f"{begin}: SkillHub {probed.version} answers with {plural(len(probed.tools), 'tool')}."


def machine_of(options: Mapping[str, str]) -> Machine:
    """Return this machine, with the project in hand. Raises InvalidSetting."""
    settings = settings_of(options)
    return Machine(this_system(), dict(os.environ), expand_home("~"), project_of(settings).root)


def refuse_settings(options: Mapping[str, str]) -> None:
    """Raise InvalidArgument for an option that would not reach the server that a client starts."""
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
    """Return the path of the client's own program that registers servers, if it can run here."""
    return shutil.which(client.registrar) if client.registrar and os.name == "posix" else None


def server_of_options(args: argparse.Namespace, scope: ClientScope) -> Server:
    """Return the server that the options describe. Raises InvalidArgument, also for a secret.

    Desktop programs lack the shell's PATH, so a user's file gets an absolute path; a project's file is shared.
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
    """Return the variables with a value, and those that the client reads from its environment."""
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
