"""Changes of clients' files at a terminal: shown as differences, asked about, carried out, and reported."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from skillhub_mcp.cli.colours import Colour, painter
from skillhub_mcp.cli.output import plural, print_json, print_text
from skillhub_mcp.clients.connections import (
    ChangeKind,
    Connections,
    FileChange,
    Plan,
    Registration,
    Settled,
    ToPaste,
)
from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import Client, ClientScope, HttpServer, Server
from skillhub_mcp.clients.probe import Probed
from skillhub_mcp.clients.secrets import masked
from skillhub_mcp.errors import ClientFileRefused, InvalidArgument, SkillHubError
from skillhub_mcp.execution.runner import RunLimits, run_command

_REGISTRAR_LIMITS = RunLimits(timeout_seconds=60.0, max_output_bytes=100_000)

_COLOURS = (("+", Colour.GREEN), ("-", Colour.RED), ("@@", Colour.CYAN))
_DONE = {
    ChangeKind.CONNECT: "connected",
    ChangeKind.UPDATE: "updated",
    ChangeKind.DISCONNECT: "disconnected",
    ChangeKind.RESTORE: "restored",
}


@dataclass(frozen=True, slots=True)
class ClientOutcome:
    """What became of one client: a word for it, the file, and why not or what to do, each empty where there is none.

    `text` is what a person is to paste, in `where`. `server` is the one that its entry now leads to; with `is_off` the
    client does not use it, because it is switched off there.
    """

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
        """Whether something is to be mended: the file was left alone, or its server does not answer."""
        return self.outcome == "refused" or (self.probed is not None and not self.probed.answers)

    def as_json(self) -> dict[str, object]:
        """Return the outcome as JSON values, without what is empty."""
        said: dict[str, object] = {
            "client": self.client.name,
            "scope": self.scope.value,
            "outcome": self.outcome,
            "path": self.path,
            "reason": self.reason,
            "hint": self.hint,
            "text": self.text,
            "where": self.where,
        }
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
    """Return the outcome of a client whose file is left alone; `text` is what its owner may paste there."""
    path, reason = (error.path, error.reason) if isinstance(error, ClientFileRefused) else ("", error.message)
    return ClientOutcome(client, scope, "refused", path, reason, error.hint or "", text, path if text else "")


def settle(
    plans: Sequence[Plan], connections: Connections, machine: Machine, args: argparse.Namespace
) -> list[ClientOutcome]:
    """Show what the plans change, ask, and carry them out. Raises InvalidArgument where nobody can be asked.

    Nothing is changed with `--dry-run`, or where the answer is no.
    """
    plans = _each_file_once(plans)
    changes = [plan for plan in plans if isinstance(plan, FileChange | Registration)]
    if changes and not args.json:
        for change in changes:
            _show(difference(change, machine), sys.stdout if args.dry_run else sys.stderr)
    if args.dry_run:
        return [_outcome(plan, "planned") for plan in plans]
    wanted = not changes or args.yes or _confirmed(len(changes), as_json=args.json)
    return [_carried_out(plan, connections, machine) if wanted else _outcome(plan, "declined") for plan in plans]


def difference(change: FileChange | Registration, machine: Machine) -> str:
    """Return a change as a unified difference, or as the commands that it runs; without secrets of other servers."""
    if isinstance(change, Registration):
        return "\n".join(f"runs: {shlex.join(command)}" for command in change.commands)
    old, new = change.file.content, change.after
    path = shown(change.file.path, machine)
    if os.path.islink(change.file.path):
        path += f" -> {shown(change.file.place, machine)}"
    lines = difflib.unified_diff(
        _lines(old), _lines(new), "/dev/null" if old is None else path, "/dev/null" if new is None else path
    )
    marked = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return masked("".join(marked).rstrip("\n"))


def report(outcomes: Sequence[ClientOutcome], machine: Machine, *, as_json: bool, facts: dict[str, object]) -> None:
    """Print what became of each client: results on stdout, what is to be pasted with them."""
    if as_json:
        print_json({**facts, "clients": [outcome.as_json() for outcome in outcomes]})
        return
    answers = [(outcome, outcome.probed) for outcome in outcomes if outcome.probed is not None]
    # Of several clients that start the same server, one line says that it does.
    together = len({probed for _, probed in answers}) == 1 and len(answers) > 1
    for outcome, probed in answers:
        _print_outcome(outcome, machine)
        if not together:
            print_text(f"  {_answer(probed, outcome.server)}")
    if together:
        outcome, probed = answers[0]
        print_text(_answer(probed, outcome.server))
    for outcome in outcomes:
        if outcome.probed is None:
            _print_outcome(outcome, machine)


def shown(path: str, machine: Machine) -> str:
    """Return a path as people write it: below the home directory with `~`."""
    below = path.removeprefix(machine.home)
    return f"~{below}" if machine.home and below != path and below.startswith(os.sep) else path


def _each_file_once(plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans with one change for a file that several clients read: for the later ones it is done then."""
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
    """Ask whether to go on. Raises InvalidArgument where nobody can answer."""
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidArgument(
            "--yes",
            "is required where nobody can be asked; nothing was changed",
            hint="--dry-run shows what it changes",
        )
    sys.stderr.write("Change this? [Y/n] " if count == 1 else f"Change these {count}? [Y/n] ")
    sys.stderr.flush()
    typed = sys.stdin.readline()
    if not typed:
        # The end of the input leaves the question's line open.
        print(file=sys.stderr)
    return bool(typed) and typed.strip().lower() in ("", "y", "yes")


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
    return ClientOutcome(
        plan.client,
        plan.scope,
        outcome,
        plan.file.path,
        hint=_off_hint(plan),
        server=plan.server,
        is_off=plan.is_off,
    )


def _off_hint(plan: FileChange | Settled) -> str:
    return f"switch it on in {plan.client.title}, which does not start it until then" if plan.is_off else ""


def _print_outcome(outcome: ClientOutcome, machine: Machine) -> None:
    for line in _lines_of(outcome, machine):
        print_text(line)


def _lines_of(outcome: ClientOutcome, machine: Machine) -> list[str]:
    title, path = outcome.client.title, shown(outcome.path, machine)
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


def _show(text: str, stream: IO[str]) -> None:
    """Print a difference, in colours on a terminal."""
    paint = painter(stream, os.environ)
    for line in text.split("\n"):
        print(paint(line, *(colour for sign, colour in _COLOURS if line.startswith(sign))), file=stream)
