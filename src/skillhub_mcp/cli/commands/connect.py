"""`skillhub connect` and `disconnect`: register the server with the programs that use it, such as Cursor."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from skillhub_mcp._util.wording import plural
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import Parser, decode_argument
from skillhub_mcp.cli.console import can_ask, confirm, print_difference, print_line, print_note, print_table, print_text
from skillhub_mcp.cli.found_skills import entries_of, found_skills, found_text, record_roots
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.clients.connection_problems import disconnecting_command
from skillhub_mcp.clients.connections import Connections, FileChange, Plan, Registration, ToPaste, no_file_of
from skillhub_mcp.clients.editing import whole_file
from skillhub_mcp.clients.entries import DEFAULT_NAME, in_workspace, install_link
from skillhub_mcp.clients.machine import Machine, this_system
from skillhub_mcp.clients.model import Client, ClientScope, HttpServer, Server, StdioServer
from skillhub_mcp.clients.probe import Probed, environment_of, probe
from skillhub_mcp.clients.registered import registered_files
from skillhub_mcp.clients.secrets import has_credentials, looks_secret, masked
from skillhub_mcp.clients.table import CLIENTS, LINKED, client_named, signs_of
from skillhub_mcp.diagnosis.installed_command import COMMAND, is_passing, lasting_command
from skillhub_mcp.environment import expand_home, shown_path
from skillhub_mcp.errors import ClientFileRefused, InvalidArgument, SkillHubError
from skillhub_mcp.execution.runner import RunLimits, run_command
from skillhub_mcp.settings import read_settings, settings_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CHOICES_OF_SKILLS = {"SKILLS_DIR": "--skills-dir", "SKILLHUB_ROOTS": "--roots"}
_REGISTRAR_LIMITS = RunLimits(timeout_seconds=60.0, max_output_bytes=100_000)
_DESCRIPTIONS = {
    "connect": "Register SkillHub with clients: show what changes in their files, ask, write, and start the server as "
    "they would. Everything else in a file stays as it is, and `skillhub disconnect` restores it.",
    "disconnect": "Remove SkillHub from clients' files. A file that was not touched since `skillhub connect` gets its "
    "very bytes back; of any other, only our entry goes. The last hundred copies are in ~/.skillhub/backups.",
}


def add_arguments(parser: Parser, command: str) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTIONS[command]
    if command == "connect":
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--list", action="store_true", help="list the clients: installed, connected, and where")
        what.add_argument("--print", dest="printing", action="store_true", help="print the entry, and change nothing")
        what.add_argument("--link", choices=LINKED, help="print the link that adds it with one click")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--http", metavar="URL", help="use the server that is running at this address")
        how.add_argument("--stdio", action="store_true", help="start a server, also if it uses one at an address")
        parser.add_argument(
            "--serve-found", action=argparse.BooleanOptionalAction, help="serve the skills that are found here, or not"
        )
        parser.add_argument("--token-variable", metavar="NAME", help="with --http: the variable that holds the token")
        parser.add_argument(
            "--env", action="append", default=[], metavar="NAME[=VALUE]", help="a setting for the server; repeatable"
        )
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help="client; `skillhub connect --list` lists them")
    parser.add_argument("--all", action="store_true", help="every client that is installed or connected")
    parser.add_argument(
        "--scope", choices=("user", "project"), default="user", help="your own file, or the project's (default: user)"
    )
    parser.add_argument("--name", default=DEFAULT_NAME, help="name of the connection (default: skillhub)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done about a plan. `text` is for pasting into the client's file, `where` says the place."""

    plan: Plan
    outcome: str
    reason: str = ""
    text: str = ""
    where: str = ""
    probed: Probed | None = None

    @property
    def failed(self) -> bool:
        """Whether nothing was changed, or the server does not answer."""
        silent = self.probed is not None and not self.probed.answers
        return self.outcome in ("refused", "declined") or silent

    @property
    def hint(self) -> str:
        """How to go on."""
        if self.plan.is_off:
            return f"switch it on in {self.plan.client.title}, which does not start it until then"
        return self.plan.hint

    def as_json(self) -> dict[str, object]:
        """Return the outcome as JSON values, without empty ones."""
        known: dict[str, object] = {"client": self.plan.client.name, "scope": self.plan.scope.value}
        known |= {"outcome": self.outcome, "path": self.plan.path, "reason": self.reason, "hint": self.hint}
        known |= {"text": self.text, "where": self.where, "is_off": self.plan.is_off or ""}
        if self.probed is not None:
            known["starts"] = {"answers": self.probed.answers} | asdict(self.probed)
        return {name: value for name, value in known.items() if value != ""}


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Connect or disconnect. Fails if a file was left alone, or its server does not answer. Raises InvalidArgument."""
    _refuse_options(args, options)
    project = project_of(settings_of(options)).root
    machine, args.scope = Machine(this_system(), dict(os.environ), expand_home("~"), project), ClientScope(args.scope)
    connections = Connections(machine)
    named = (client_named(decode_argument(name)) for typed in args.clients for name in typed.split(",") if name)
    clients = tuple({client.name: client for client in named}.values())
    if args.command == "disconnect":
        return _report(_disconnect(clients, connections, args), args)
    if args.list:
        return _list(connections, machine, args)
    if args.link is not None:
        return _print_link(args)
    server = _server_of(args)
    clients = clients or _installed(args, machine)
    if args.printing:
        return _print_entries(clients, server, connections, args)
    outcomes = _connect(clients, server, connections, args)
    if not args.dry_run:
        outcomes = _started(outcomes, machine)
    starts = any(one.probed and one.probed.answers and isinstance(one.plan.server, StdioServer) for one in outcomes)
    return _report(outcomes, args, offers_found=starts)


def _refuse_options(args: argparse.Namespace, options: Mapping[str, str]) -> None:
    for setting, typed in _CHOICES_OF_SKILLS.items():
        if setting in options:
            _refuse_choice_of_skills(typed)
    if not _NAME.fullmatch(args.name):
        raise InvalidArgument("--name", f"{args.name!r} may have letters, digits, `-` and `_` only")
    if args.all and args.clients:
        raise InvalidArgument("--all", "cannot be used with names of clients", hint="remove one of the two")


def _refuse_choice_of_skills(option: str) -> None:
    raise InvalidArgument(
        option,
        "is not written to a client's file, where it would turn off the project's skills and your own",
        hint="`skillhub roots add DIR` has a directory searched for every client",
    )


def _connect(
    clients: Sequence[Client], server: Server, connections: Connections, args: argparse.Namespace
) -> list[Outcome]:
    """Connect the clients. Raises InvalidArgument about the only one."""
    if isinstance(server, StdioServer) and args.scope is ClientScope.USER and is_passing(server.command):
        print_note(
            f"warning: {server.command} is in a cache, which may be emptied at any time",
            "  `uv tool install .` in a checkout installs it where it stays",
        )
    plans: list[Plan] = []
    left_alone: list[Outcome] = []
    for client in clients:
        wanted = in_workspace(client, args.scope, server)
        try:
            plan = connections.plan(
                client,
                args.scope,
                wanted,
                name=args.name,
                registrar=_registrar_of(client),
                # --env is for a server that the client starts, as --stdio is.
                replaces_address=args.stdio or bool(args.env),
            )
            plans.append(plan)
        except ClientFileRefused as error:
            # Pasting under a taken name would replace its entry.
            text = "" if error.name_taken else whole_file(client, wanted, name=args.name)
            left_alone.append(_refused(client, args.scope, error, text))
        except InvalidArgument as error:
            if len(clients) == 1:
                raise
            left_alone.append(_refused(client, args.scope, error))
    return [*_settle(plans, connections, args), *left_alone]


def _disconnect(clients: Sequence[Client], connections: Connections, args: argparse.Namespace) -> list[Outcome]:
    """Disconnect the clients. Raises InvalidArgument for none."""
    if not clients and not args.all:
        raise InvalidArgument("CLIENT", "is required", hint="`skillhub connect --list` says which are connected")
    plans: list[Plan] = []
    left_alone: list[Outcome] = []
    for client in clients or CLIENTS:
        try:
            found = [one for one in connections.found(client, args.scope, name=args.name) if one.is_ours]
            if not (clients or found):
                continue
            plan = connections.plan_removal(client, args.scope, name=args.name, registrar=_registrar_of(client))
            others = [disconnecting_command(one) for one in found if one.name != args.name]
            if others and not isinstance(plan, FileChange | Registration | ToPaste):
                plan = replace(plan, hint=f"`{others[0]}` disconnects it")
            plans.append(plan)
        except ClientFileRefused as error:
            # With --all, SkillHub never wrote to an unreadable file.
            left_alone += [_refused(client, args.scope, error)] if clients else []
    if not plans and not left_alone:
        raise InvalidArgument("--all", "finds no client that is connected", hint="`skillhub connect --list`")
    return [*_settle(plans, connections, args), *left_alone]


def _settle(plans: Sequence[Plan], connections: Connections, args: argparse.Namespace) -> list[Outcome]:
    """Show the changes, ask, and carry them out. Raises InvalidArgument if there is no terminal to ask on."""
    plans = _each_file_once(plans)
    changes = [plan for plan in plans if isinstance(plan, FileChange | Registration)]
    for change in changes if not args.json else ():
        print_difference(_difference(change).split("\n"), sys.stdout if args.dry_run else sys.stderr)
    if args.dry_run:
        return [_outcome(plan, "planned") for plan in plans]
    if changes and not args.yes:
        if args.json or not can_ask():
            reason = "is required without a terminal; nothing was changed"
            raise InvalidArgument("--yes", reason, hint="--dry-run shows what it changes")
        if not confirm("Change this?" if len(changes) == 1 else f"Change these {len(changes)}?", default=True):
            return [_outcome(plan, "declined") for plan in plans]
    return [_carried_out(plan, connections) for plan in plans]


def _each_file_once(plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans with only the first change of a file that several clients read."""
    places = [plan.file.place if isinstance(plan, FileChange) else None for plan in plans]
    return [
        plan for number, plan in enumerate(plans) if places[number] is None or places[number] not in places[:number]
    ]


def _difference(change: FileChange | Registration) -> str:
    """Return a change as a unified difference or as commands, with secrets masked."""
    if isinstance(change, Registration):
        return "\n".join(f"runs: {shlex.join(command)}" for command in change.commands)
    path = shown_path(change.file.path)
    if os.path.islink(change.file.path):
        path += f" -> {shown_path(change.file.place)}"
    old, new = ((content or b"").decode("utf-8", "replace") for content in (change.file.content, change.after))
    before, after = ("/dev/null" if text is None else path for text in (change.file.content, change.after))
    return masked("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="")))


def _carried_out(plan: Plan, connections: Connections) -> Outcome:
    try:
        if isinstance(plan, FileChange):
            connections.carry_out(plan)
        elif isinstance(plan, Registration):
            for command in plan.commands:
                done = run_command(command, cwd=Path.home(), limits=_REGISTRAR_LIMITS, environment=os.environ)
                if done.exit_code != 0 or done.timeout:
                    said = " ".join((done.stderr or done.stdout).split())[:400] or f"exit code {done.exit_code}"
                    raise ClientFileRefused(plan.path, f"`{shlex.join(command[:3])}` failed: {said}")
            connections.note_registration(plan)
    except SkillHubError as error:
        return _refused(plan.client, plan.scope, error)
    return _outcome(plan, plan.kind.value if isinstance(plan, FileChange | Registration) else "")


def _outcome(plan: Plan, outcome: str) -> Outcome:
    """Return the `outcome` of a plan that changes something; of any other, what there is instead."""
    if isinstance(plan, ToPaste):
        return Outcome(plan, "printed", text=plan.text, where=plan.where)
    return Outcome(plan, outcome if isinstance(plan, FileChange | Registration) else "unchanged")


def _refused(client: Client, scope: ClientScope, error: SkillHubError, text: str = "") -> Outcome:
    """Return the outcome for a file that is left alone; `text` is for pasting there."""
    path, reason = (error.path, error.reason) if isinstance(error, ClientFileRefused) else ("", error.message)
    return Outcome(Plan(client, scope, "", path, hint=error.hint or ""), "refused", reason, text)


def _started(outcomes: Sequence[Outcome], machine: Machine) -> list[Outcome]:
    """Start each server that a client was connected to, as that client would; each only once."""
    probes: dict[str, Probed] = {}
    for one in outcomes:
        server = one.plan.server
        if server is not None and not one.plan.is_off and one.outcome != "declined" and repr(server) not in probes:
            # A program started from a desktop uses the user's file, one started in this shell the project's.
            is_user = one.plan.scope is ClientScope.USER
            environment = environment_of(server, machine, from_desktop=is_user)
            cwd = machine.home if is_user else machine.project
            probes[repr(server)] = probe(server, environment=environment, cwd=cwd)
    return [replace(one, probed=None if one.plan.is_off else probes.get(repr(one.plan.server))) for one in outcomes]


def _report(outcomes: Sequence[Outcome], args: argparse.Namespace, *, offers_found: bool = False) -> int:
    """Print the outcome of each client, servers that answer alike once, and return the exit code."""
    code = EXIT_FAILED if any(outcome.failed for outcome in outcomes) else EXIT_OK
    if args.json:
        more = _offer_found(args) if offers_found else {}
        print_json({"dry_run": args.dry_run, "clients": [outcome.as_json() for outcome in outcomes], **more})
        return code
    ordered = sorted(outcomes, key=lambda one: one.probed is None)
    for one, following in zip_longest(ordered, ordered[1:]):
        print_text("\n".join(_lines_of(one)))
        if one.probed is not None and (following is None or one.probed != following.probed):
            print_line(f"  {_answer(one.probed, one.plan.server)}")
    if offers_found:
        _offer_found(args)
    return code


def _lines_of(one: Outcome) -> list[str]:
    client = one.plan.client
    states = {
        "unchanged": "connected already" if one.plan.server else "not connected",
        "planned": "would be changed",
        "declined": "nothing was changed",
        "printed": f"put this into {one.where}:",
        "refused": "nothing was changed",
    }
    state = states.get(one.outcome, one.outcome)
    state += ", but switched off there" if one.plan.is_off else ""
    state += f" ({shown_path(one.plan.path)})" if one.plan.path else ""
    state += f": {one.reason}" if one.reason else ""
    if one.outcome in ("connected", "updated") and client.then:
        state += f". Next: {client.then}"
    lines = [f"{client.title}: {state}", *([f"  hint: {one.hint}"] if one.hint else [])]
    if one.text:
        lines += ["  To connect it yourself, put this there:"] if one.outcome == "refused" else []
        lines += ["", one.text.rstrip("\n"), ""]
    return lines


def _answer(probed: Probed, server: Server | None) -> str:
    by_address = isinstance(server, HttpServer)
    if not probed.answers:
        return f"{'It cannot be used' if by_address else 'It does not start'}: {probed.failure}"
    tools = plural(len(probed.tools), "tool")
    return f"{'It is reached' if by_address else 'It starts'}: SkillHub {probed.version} answers with {tools}."


def _installed(args: argparse.Namespace, machine: Machine) -> tuple[Client, ...]:
    """Return the clients that are installed here. Raises InvalidArgument for none, and without --all."""
    found = {client.name: signs for client in CLIENTS if (signs := signs_of(client, machine))}
    hint = "`skillhub connect --list` lists the clients"
    if not args.all:
        if found:
            hint = f"`skillhub connect {' '.join(found)}` connects those that are installed here, and so does --all"
        raise InvalidArgument("CLIENT", "is required", hint=hint)
    here = [client for client in CLIENTS if client.name in found]
    able = [client for client in here if args.scope is ClientScope.USER or client.files(args.scope, machine)]
    if not able:
        raise InvalidArgument("--all", f"finds no client here that has a file of the {args.scope.value}", hint=hint)
    if not args.json:
        for client in able:
            print_note(f"{client.title} is installed: {shown_path(found[client.name][0])}")
    return tuple(able)


def _registrar_of(client: Client) -> str | None:
    """Return the path of the client's own program that registers servers, if it can run here."""
    return shutil.which(client.registrar) if client.registrar and os.name == "posix" else None


def _print_entries(
    clients: Sequence[Client], server: Server, connections: Connections, args: argparse.Namespace
) -> int:
    entries = []
    for client in clients:
        path = connections.path_of(client, args.scope)
        if path is None and not client.is_printed:
            raise no_file_of(client, args.scope)
        where = client.where or shown_path(path or "")
        text = whole_file(client, in_workspace(client, args.scope, server), name=args.name)
        entries.append({"client": client.name, "where": where, "text": text})
        if not args.json:
            print_note(f"{client.title}: {where}")
            print_text(entries[-1]["text"].rstrip("\n"))
    if args.json:
        print_json({"clients": entries})
    return EXIT_OK


def _offer_found(args: argparse.Namespace) -> dict[str, object]:
    """Offer to serve the skills that are here and not served, and return what came of it as JSON values."""
    # The entry has no choice of skills, so neither has the server that it starts.
    settings, _ = read_settings({name: value for name, value in os.environ.items() if name not in _CHOICES_OF_SKILLS})
    own, found = found_skills(settings)
    serving = bool(found) and bool(args.serve_found)
    if not args.json and found:
        print_note("", found_text(found))
        if args.serve_found is None and not args.yes:
            serving = confirm("Serve them?", default=True)
    if serving:
        record_roots(entries_of(found, settings))
    if args.json:
        rows = [{"path": one.place.path, "skills": one.skills, "command": one.reason.command} for one in found]
        return {"found": rows, "serving_found": serving}
    if serving:
        print_text("They are served from now on; `skillhub roots` lists them and ends that.")
    elif found and args.serve_found is None:
        print_note("  → `skillhub roots add --all` serves them")
    elif not found and not own:
        print_note("", "No skill is served yet", "  → `skillhub new my-first-skill` writes a skill of yours")
    return {}


def _list(connections: Connections, machine: Machine, args: argparse.Namespace) -> int:
    files = registered_files(machine)
    rows = [
        {
            "client": client.name,
            "title": client.title,
            "installed": list(signs_of(client, machine)),
            "where": client.where or shown_path(connections.path_of(client, ClientScope.USER) or ""),
            "connections": [
                {"scope": one.scope.value, "is_skillhub": one.is_ours}
                | {key: getattr(one, key) for key in ("path", "name", "is_off")}
                for file in files
                if file.client is client
                for one in file.connections
            ],
            "problems": [
                {"scope": file.scope.value, "path": file.path, "reason": file.refusal}
                for file in files
                if file.client is client and file.refusal
            ],
        }
        for client in CLIENTS
        if client.name != "other"
    ]
    if args.json:
        return print_json({"clients": rows})
    near = [row for row in rows if row["installed"] or row["connections"] or row["problems"]]
    if near:
        table = [(str(row["client"]), (state, "dim"), text) for row in near for state, text in _states(row)]
        print_table(("client", "state", "file"), table)
        print_text("")
    if others := ", ".join(str(row["client"]) for row in rows if row not in near):
        print_text(f"not found here: {others}")
    which = "--all` connects those that are installed" if near else "CLIENT` connects one anyway"
    print_note("", f"`skillhub connect {which}, `skillhub connect other` prints an entry")
    return EXIT_OK


def _states(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each state of a client, with a path or place."""
    for problem in row["problems"]:
        yield "unreadable", f"{shown_path(problem['path'])}: {problem['reason']}"
    for one in row["connections"]:
        named = f" as {one['name']}" if one["name"] != DEFAULT_NAME else ""
        state = "taken" if not one["is_skillhub"] else "off" if one["is_off"] else "connected"
        yield state, shown_path(one["path"]) + named + ("" if one["is_skillhub"] else " (by something else)")
    if not row["connections"] and not row["problems"]:
        yield "installed", str(row["where"])


def _print_link(args: argparse.Namespace) -> int:
    """Print the link. Raises InvalidArgument for options without meaning for a link."""
    if args.clients or args.all or args.scope is ClientScope.PROJECT:
        hint = f"skillhub connect --link {args.link}"
        raise InvalidArgument("--link", "takes no CLIENT, --all and --scope", hint=hint)
    client = client_named(args.link)
    link = install_link(client, _server_of(args), name=args.name)
    if args.json:
        print_json({"client": client.name, "name": args.name, "link": link})
    else:
        print_text(link)
        print_note(f"Open it in a browser on this machine: {client.title} shows what it will add, and asks.")
    return EXIT_OK


def _server_of(args: argparse.Namespace) -> Server:
    """Return the server that the options describe. Raises InvalidArgument, also for a secret.

    Desktop programs lack the shell's PATH, so a user's file gets an absolute path; a project's file is shared.
    """
    values, variables = _environment(args.env)
    if args.token_variable is not None and (args.http is None or not _VARIABLE.fullmatch(args.token_variable)):
        reason = "takes the name of a variable, and only with --http"
        raise InvalidArgument("--token-variable", reason, hint="the token itself is never written to a file")
    if args.http is None:
        command = lasting_command() if args.scope is ClientScope.USER else (COMMAND,)
        return StdioServer(command[0], command[1:], values, variables)
    if args.env:
        raise InvalidArgument("--env", "is for a server that the client starts", hint="remove --env or --http")
    url = decode_argument(args.http)
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise InvalidArgument("--http", f"{url!r} is not an address", hint="--http http://127.0.0.1:8000/mcp")
    if has_credentials(url):
        reason = "contains what looks like a secret, and no secret is written to a file"
        raise InvalidArgument("--http", reason, hint="--token-variable NAME names the variable that holds the token")
    return HttpServer(url, args.token_variable or "")


def _environment(typed: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables with a value, and those that the client reads from its environment."""
    values: dict[str, str] = {}
    names: list[str] = []
    for one in map(decode_argument, typed):
        name, equals, value = one.partition("=")
        if not _VARIABLE.fullmatch(name):
            reason = f"{name!r} is not the name of a variable"
            raise InvalidArgument("--env", reason, hint="--env NAME=VALUE, or --env NAME")
        if name in _CHOICES_OF_SKILLS:
            _refuse_choice_of_skills(f"--env {name}")
        if equals and looks_secret(name, value):
            reason = f"{name} looks like a secret, and no secret is written to a file"
            hint = f"`--env {name}` has the client take its value from the environment"
            raise InvalidArgument("--env", reason, hint=hint)
        if equals:
            values[name] = value
        else:
            names.append(name)
    return values, tuple(dict.fromkeys(names))
