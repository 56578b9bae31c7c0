"""Changes of clients' files: shown, confirmed, written, tried and reported."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from skillhub_mcp._util.wording import plural
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.console import can_ask, confirm, print_difference, print_text
from skillhub_mcp.cli.output import print_json
from skillhub_mcp.clients.connections import ChangeKind, Connections, FileChange, Plan, Registration, ToPaste
from skillhub_mcp.clients.machine import Machine, this_system
from skillhub_mcp.clients.model import Client, ClientScope, HttpServer, Server, StdioServer
from skillhub_mcp.clients.probe import Probed, environment_of, probe
from skillhub_mcp.clients.secrets import masked
from skillhub_mcp.diagnosis.installed_command import COMMAND, own_command
from skillhub_mcp.environment import expand_home, shown_path
from skillhub_mcp.errors import ClientFileRefused, InvalidArgument, SkillHubError
from skillhub_mcp.execution.runner import RunLimits, run_command
from skillhub_mcp.settings import settings_of

_REGISTRAR_LIMITS = RunLimits(timeout_seconds=60.0, max_output_bytes=100_000)
_DONE = {
    ChangeKind.CONNECT: "connected",
    ChangeKind.UPDATE: "updated",
    ChangeKind.DISCONNECT: "disconnected",
}


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
        """Whether nothing was changed, or the server does not answer."""
        silent = self.probed is not None and not self.probed.answers
        return self.outcome in ("refused", "declined") or silent

    def as_json(self) -> dict[str, object]:
        """Return the outcome as JSON values, without empty ones."""
        said: dict[str, object] = {"client": self.client.name, "scope": self.scope.value}
        said |= {name: getattr(self, name) for name in ("outcome", "path", "reason", "hint", "text", "where")}
        said |= {"is_off": self.is_off or "", "starts": ""}
        if self.probed is not None:
            said["starts"] = {"answers": self.probed.answers} | asdict(self.probed)
        return {name: value for name, value in said.items() if value != ""}


def machine_of(options: Mapping[str, str]) -> Machine:
    """Return this machine, with the project in hand. Raises InvalidSetting."""
    return Machine(this_system(), dict(os.environ), expand_home("~"), project_of(settings_of(options)).root)


def refused(client: Client, scope: ClientScope, error: SkillHubError, text: str = "") -> ClientOutcome:
    """Return the outcome for a file that is left alone; `text` is for pasting there."""
    path, reason = (error.path, error.reason) if isinstance(error, ClientFileRefused) else ("", error.message)
    return ClientOutcome(client, scope, "refused", path, reason, error.hint or "", text)


def settle(
    plans: Sequence[Plan], connections: Connections, machine: Machine, args: argparse.Namespace
) -> list[ClientOutcome]:
    """Show the changes, ask, and carry them out. Raises InvalidArgument if there is no terminal to ask on."""
    plans = _each_file_once(plans)
    changes = [plan for plan in plans if isinstance(plan, FileChange | Registration)]
    for change in changes if not args.json else ():
        print_difference(difference(change).split("\n"), sys.stdout if args.dry_run else sys.stderr)
    if args.dry_run:
        return [_outcome(plan, "planned") for plan in plans]
    if changes and not args.yes:
        if args.json or not can_ask():
            reason = "is required without a terminal; nothing was changed"
            raise InvalidArgument("--yes", reason, hint="--dry-run shows what it changes")
        if not confirm("Change this?" if len(changes) == 1 else f"Change these {len(changes)}?", default=True):
            return [_outcome(plan, "declined") for plan in plans]
    return [_carried_out(plan, connections, machine) for plan in plans]


def difference(change: FileChange | Registration) -> str:
    """Return a change as a unified difference or as commands, with secrets masked."""
    if isinstance(change, Registration):
        return "\n".join(f"runs: {shlex.join(command)}" for command in change.commands)
    path = shown_path(change.file.path)
    if os.path.islink(change.file.path):
        path += f" -> {shown_path(change.file.place)}"
    old, new = ((content or b"").decode("utf-8", "replace") for content in (change.file.content, change.after))
    before, after = ("/dev/null" if text is None else path for text in (change.file.content, change.after))
    return masked("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="")))


def started(outcomes: Sequence[ClientOutcome], machine: Machine) -> list[ClientOutcome]:
    """Start each server that a client was connected to, as that client would; each only once."""
    probes: list[tuple[Server, Probed]] = []
    tried = []
    for one in outcomes:
        probed = None
        if one.server is not None and not one.is_off and one.outcome != "declined":
            probed = next((before for server, before in probes if server == one.server), None)
            probed = probed or _probe(one.server, one.scope, machine)
            probes.append((one.server, probed))
        tried.append(replace(one, probed=probed))
    return tried


def _probe(server: Server, scope: ClientScope, machine: Machine) -> Probed:
    """Start a server with the desktop's environment for a user's file, else with this shell's."""
    own, is_user = own_command(), scope is ClientScope.USER
    by_name = isinstance(server, StdioServer) and server.command == COMMAND
    if by_name and own is not None and shutil.which(COMMAND) is None:
        return Probed(failure=f"{COMMAND} is not found by its name: put {os.path.dirname(own)} on PATH")
    environment = environment_of(server, machine, from_desktop=is_user)
    return probe(server, environment=environment, cwd=machine.home if is_user else machine.project)


def report(outcomes: Sequence[ClientOutcome], args: argparse.Namespace, more: Mapping[str, object]) -> None:
    """Print the outcome of each client; servers that answer alike are reported once. `more` is for JSON."""
    if args.json:
        print_json({"dry_run": args.dry_run, "clients": [outcome.as_json() for outcome in outcomes], **more})
        return
    ordered = sorted(outcomes, key=lambda one: one.probed is None)
    for number, one in enumerate(ordered):
        print_text("\n".join(_lines_of(one)))
        following = ordered[number + 1].probed if number + 1 < len(ordered) else None
        if one.probed is not None and one.probed != following:
            print_text(f"  {_answer(one.probed, one.server)}")


def _each_file_once(plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans with only one change for a file that several clients read."""
    seen: set[str] = set()
    once: list[Plan] = []
    for plan in plans:
        if isinstance(plan, FileChange) and plan.file.place in seen:
            once.append(Plan(plan.client, plan.scope, plan.name, plan.path, plan.server))
            continue
        seen.update([plan.file.place] if isinstance(plan, FileChange) else [])
        once.append(plan)
    return once


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
    if not isinstance(plan, FileChange | Registration):
        outcome = "unchanged"
    is_off, hint = plan.is_off, plan.hint
    if is_off:
        hint = f"switch it on in {plan.client.title}, which does not start it until then"
    return ClientOutcome(plan.client, plan.scope, outcome, plan.path, hint=hint, server=plan.server, is_off=is_off)


def _lines_of(one: ClientOutcome) -> list[str]:
    state = {
        "unchanged": f"{'connected already' if one.server else 'not connected'}",
        "planned": "would be changed",
        "declined": "nothing was changed",
        "printed": f"put this into {one.where}:",
        "refused": "nothing was changed",
    }.get(one.outcome, one.outcome)
    state += ", but switched off there" if one.is_off else ""
    state += f" ({shown_path(one.path)})" if one.path else ""
    state += f": {one.reason}" if one.reason else ""
    if one.outcome in ("connected", "updated") and one.client.then:
        state += f". Next: {one.client.then}"
    lines = [f"{one.client.title}: {state}"]
    if one.hint:
        lines.append(f"  hint: {one.hint}")
    if one.text:
        lines += ["  To connect it yourself, put this there:"] if one.outcome == "refused" else []
        lines += ["", one.text.rstrip("\n"), ""]
    return lines


def _answer(probed: Probed, server: Server | None) -> str:
    is_reached = isinstance(server, HttpServer)
    if not probed.answers:
        return f"{'It cannot be used' if is_reached else 'It does not start'}: {probed.failure}"
    who = f"SkillHub {probed.version} answers with {plural(len(probed.tools), 'tool')}"
    return f"{'It is reached' if is_reached else 'It starts'}: {who}."
