"""The checks of `skillhub doctor`, and running them."""

from __future__ import annotations

import os
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from skillhub_mcp._util.wording import plural
from skillhub_mcp.agents_md.schema import read_config
from skillhub_mcp.chosen_roots import lock_option, project_of, recorded_roots_problem
from skillhub_mcp.clients.connection_problems import (
    Level,
    Tried,
    connection_findings,
    misplaced,
    repeated,
    unconnected,
    unreadable,
    why_not_started,
)
from skillhub_mcp.clients.connections import Connection
from skillhub_mcp.clients.machine import Machine, this_system
from skillhub_mcp.clients.model import ClientScope, StdioServer
from skillhub_mcp.clients.probe import environment_of, probe
from skillhub_mcp.clients.registered import registered_files
from skillhub_mcp.clients.table import CLIENTS, signs_of
from skillhub_mcp.diagnosis.installation import CheckResult, Installation, with_publication
from skillhub_mcp.diagnosis.installed_command import CommandOwner, command_on_path, own_command
from skillhub_mcp.disclosure.listing import count_skills
from skillhub_mcp.environment import expand_home, shell_path, shown_path
from skillhub_mcp.errors import (
    CLOSE_TO_OTHERS,
    InvalidSetting,
    PolicyUnreadable,
    SandboxUnavailable,
    SkillHubError,
)
from skillhub_mcp.execution.hooks import read_hooks
from skillhub_mcp.execution.sandbox import OFF
from skillhub_mcp.index.indexed_roots import IndexedRoot, indexed_roots
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.locks.file_digests import LockState
from skillhub_mcp.locks.lock_verifier import LockStanding
from skillhub_mcp.policy.files import TOKENS, TRUST
from skillhub_mcp.redaction import redacted
from skillhub_mcp.sanitize import in_line, shortened
from skillhub_mcp.settings import Settings, unknown_settings
from skillhub_mcp.skills.model import Problem, Trust
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import typed_command
from skillhub_mcp.version import version

_SANDBOX = "SKILLHUB_SANDBOX"
_NOT_CONNECTED = "no client connected: `skillhub connect --all` registers those that are installed"
_SECONDS = 20.0
_AT_ONCE = 4
# Doctor does not wait for the audit of a large library.
_AUDITED_AT_ONCE = 300
_REBUILD = "skillhub --reindex"
_TRUST_STATES = {Trust.AWAITED: "awaits trust", Trust.CHANGED: "has changed since you trusted it"}


def check_settings(installation: Installation) -> CheckResult:
    """Return invalid settings, invalid files that they name, and misspelt names."""
    settings = installation.settings
    problems = [
        Problem(
            one.setting.name, one.problem, f"correct it; using {one.shown}" if one.shown else "correct it, or unset it"
        )
        for one in installation.sources
        if one.problem
    ]
    # Hooks that others may write are reported by the check of the files.
    exposed = {one.subject for one in installation.exposed()}
    # A server cannot start with a file that it cannot read.
    for value, read in ((settings.execution.hooks, read_hooks), (settings.disclosure.agents_config, read_config)):
        try:
            if value and value not in exposed:
                read(value)
        except InvalidSetting as error:
            fix = error.hint or "correct it; a server that needs it does not start"
            problems.append(Problem(error.setting, error.message, fix))
    unknown = [Problem(*one, "correct the name, or unset it") for one in unknown_settings(os.environ).items()]
    return CheckResult(problems=problems, warnings=unknown)


def check_command(_: Installation) -> CheckResult:
    """Return whose command is on PATH: a problem if it is another program's."""
    command = command_on_path()
    if command is None:
        return CheckResult(details=["command   skillhub-mcp is not on PATH"], facts={"command": None})
    own, named, summary = own_command(), f"{command.distribution} {command.version}".strip(), command.summary
    named_with_summary = f"{named} ({shortened(in_line(summary), 100)})" if summary else named
    other = Problem(
        command.path,
        f"belongs to another program: {named_with_summary}",
        "put this installation's directory of commands first on PATH, or "
        + (f"give clients the command {own}" if own else "install this program from a checkout"),
    )
    return CheckResult(
        problems=[other] if command.owner is CommandOwner.OTHER_PROGRAM else (),
        details=[f"command   {command.path}: {', '.join(filter(None, (named, command.owner.value)))}"],
        facts={"command": {"path": command.path, "owner": command.owner.value}},
    )


def check_files(installation: Installation) -> CheckResult:
    """Return the files that others may write."""
    return CheckResult(problems=installation.exposed())


def check_sandbox(installation: Installation) -> CheckResult:
    """Return whether commands can be confined: a problem if they are enabled and cannot."""
    enabled = installation.settings.execution.enable_run
    try:
        sandbox = installation.hub.commands().sandbox()
    except SandboxUnavailable as error:
        about = _SANDBOX if enabled else "commands of skills"
        found = Problem(about, error.message, error.hint or "run scripts of skills in your own terminal")
        return CheckResult(
            problems=[found] if enabled else (),
            notes=() if enabled else [found],
            details=["sandbox   not available; commands are refused"],
            facts={"sandbox": {"name": None, "reason": error.reason}},
        )
    what = "commands of skills run unconfined: each may read, change and send all that you may"
    off = Problem(f"{_SANDBOX}=off", what, f"unset {_SANDBOX}, unless every skill here is your own")
    return CheckResult(
        warnings=[off] if sandbox is OFF and enabled else (),
        details=[f"sandbox   {sandbox.name}"],
        facts={"sandbox": {"name": sandbox.name, "reason": None}},
    )


def check_clients(installation: Installation) -> CheckResult:
    """Read every client's file and try each connection to SkillHub, several side by side."""
    machine = Machine(this_system(), os.environ, expand_home("~"), project_of(installation.settings).root)
    files = registered_files(machine)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        tried = list(pool.map(lambda one: _try(one, machine), (one for file in files for one in file.connections)))
    snapshot = installation.view.snapshot
    counts = Counter(skill.root for skill in snapshot.everything)
    roots = {root.path: counts[root.path] for root in snapshot.report.roots}
    findings = [found for one in tried for found in connection_findings(one, version(), roots, unknown_settings)]
    reported = {file.client.name for file in files}
    signs = [(client, signs_of(client, machine)) for client in CLIENTS if client.name not in reported]
    clients = {one.connection.client.name for one in tried if one.leads_to_us and not one.connection.is_off}
    return CheckResult(
        problems=[
            *(problem for file in files for problem in misplaced(file)),
            *(problem for level, problem in findings if level is Level.PROBLEM),
        ],
        warnings=[
            *(unreadable(file) for file in files if file.refusal),
            *(problem for level, problem in findings if level is Level.WARNING),
            *repeated(tried),
        ],
        notes=[
            *(problem for level, problem in findings if level is Level.NOTE),
            *(unconnected(client, found[0]) for client, found in signs if found),
        ],
        state=f"{plural(len(clients), 'client')} connected" if clients else _NOT_CONNECTED,
        details=[_detail(one) for one in tried],
        facts={"connections": [_json(one) for one in tried]},
    )


def _json(tried: Tried) -> dict[str, object]:
    known, probed = tried.connection, tried.probed
    return {
        "client": known.client.name,
        "path": known.path,
        "name": known.name,
        "answers": probed and probed.answers,
        "version": (probed and probed.version) or None,
    }


def _try(connection: Connection, machine: Machine) -> Tried:
    server = connection.server
    reason = why_not_started(connection, machine)
    if server is None or reason:
        return Tried(connection, untried=reason)
    environment = environment_of(server, machine, from_desktop=not connection.client.in_terminal)
    by_shell_only = False
    if isinstance(server, StdioServer) and not shutil.which(server.command, path=environment["PATH"]):
        by_shell_only = shutil.which(server.command) is not None
        if by_shell_only:
            # Whether it would answer is worth knowing all the same.
            environment["PATH"] = os.environ["PATH"]
    cwd = machine.project if connection.scope is ClientScope.PROJECT else machine.home
    probed = probe(server, environment=environment, cwd=cwd, seconds=_SECONDS)
    return Tried(connection, probed, by_shell_only=by_shell_only)


def _detail(tried: Tried) -> str:
    connection, probed = tried.connection, tried.probed
    if probed is None:
        state = tried.untried or "cannot be used"
    elif probed.answers:
        state = f"{probed.server_name} {probed.version} answers, {plural(len(probed.tools), 'tool')}"
    else:
        state = "does not answer"
    return f"client    {connection.client.title}, {connection.path}, {connection.name!r}: {state}"


def check_roots(installation: Installation) -> CheckResult:
    """Return the roots with their numbers of skills, those that cannot be searched, and places that are no roots."""
    snapshot = installation.view.snapshot
    unreadable = recorded_roots_problem()
    elsewhere = installation.unsearched(snapshot)
    skills = Counter(skill.root for skill in snapshot.everything)
    refused = Counter(one.root for one in snapshot.report.refused)
    roots = [root for root in snapshot.report.roots if os.path.isdir(root.path)]
    project = project_of(installation.settings)
    return CheckResult(
        state=f"project: {shown_path(project.root)}" if project.exists else "no project here: SKILLHUB_CWD names one",
        problems=[*([] if unreadable is None else [unreadable]), *snapshot.report.problems],
        warnings=[place.as_problem() for place in elsewhere],
        details=[
            f"{root.source.value:<10}{plural(skills[root.path], 'skill')}"
            f"{f' and {refused[root.path]:,} refused' if refused[root.path] else ''}  {root.given}"
            for root in roots
        ],
        facts={
            "roots": [{"path": root.path, "source": root.source.value, "skills": skills[root.path]} for root in roots],
            "not_searched": [{"path": one.place.path, "skills": one.skills} for one in elsewhere],
        },
    )


def check_skills(installation: Installation) -> CheckResult:
    """Return what is served, refused and shadowed."""
    snapshot, policy = installation.view.snapshot, installation.hub.access.now()
    counts = count_skills(snapshot, policy)
    elsewhere = sum(one.skills for one in installation.unsearched(snapshot))
    left = elsewhere + counts.refused + counts.filtered + counts.off + counts.denied
    state = f"{plural(counts.served, 'skill')} served"
    state += f", {counts.not_for_models:,} not for models" if counts.not_for_models else ""
    state += f", {left:,} found but not served" if left else ""
    return CheckResult(
        problems=[refused.as_problem() for refused in snapshot.report.refused],
        notes=[lost.as_problem() for lost in Names(snapshot, policy).shadowed()],
        state=state,
        details=[f"skills    {counts.sentence()}"],
        facts={
            "served": counts.served,
            "not_for_models": counts.not_for_models,
            "excluded": {"filtered": counts.filtered, "off": counts.off, "denied": counts.denied},
            "refused": counts.refused,
            "shadowed": counts.shadowed,
        },
    )


def check_trust(installation: Installation) -> CheckResult:
    """Return the projects that await trust, and project rules that cannot be read."""
    snapshot, rules = installation.view.snapshot, installation.hub.access.now().unreadable
    error = None if rules is None else rules.as_error()
    counts = Counter(skill.root for skill in snapshot.everything if skill.awaits_trust)
    awaiting = [root for root in snapshot.report.roots if counts[root.path]]
    return CheckResult(
        problems=[] if error is None else [Problem(error.path, error.message, error.fix)],
        warnings=[
            Problem(
                root.path,
                f"{_TRUST_STATES[root.trust]} ({plural(counts[root.path], 'skill')}): they cannot override your skills "
                "or be pinned",
                f"`skillhub trust {shell_path(root.within)}` shows what the project brings",
            )
            for root in awaiting
        ],
        facts={"awaiting_trust": [{"path": root.path, "trust": root.trust.value} for root in awaiting]},
    )


def check_rules(installation: Installation) -> CheckResult:
    """Return misspelt names and the causes of an empty hub. Raises PolicyUnreadable for any of the person's files."""
    hub, snapshot = installation.hub, installation.view.snapshot
    TRUST.file().read()
    if path := installation.settings.http.tokens_file:
        TOKENS.file(path, required=True).read()
    named = installation.unknown_names(snapshot)
    if hub.skills():
        return CheckResult(problems=named)
    causes = hub.why_nothing(for_models=False).causes
    # Directories, refusals and misspelt filters are reported already.
    known = (*named, *snapshot.report.problems, *(refused.as_problem() for refused in snapshot.report.refused))
    reported = {one.subject for one in known}
    causes = tuple(cause for cause in causes if cause.subject not in reported and not cause.only_here)
    return CheckResult(problems=[*named, *causes])


def check_locks(installation: Installation) -> CheckResult:
    """Return the lock files that cannot be read, and the skills that were edited."""
    skills, settings = installation.view.snapshot.everything, installation.settings
    found = installation.hub.lock_standings(skills)
    standings = [(skill, one) for skill, one in zip(skills, found, strict=True) if one is not None]
    unreadable = {one.problem.path: one.problem for _, one in standings if one.problem is not None}
    edited = [(skill, one) for skill, one in standings if one.state is LockState.EDITED]
    unchanged = sum(one.state is LockState.UNCHANGED for _, one in standings)
    return CheckResult(
        problems=[Problem(path, one.message, one.hint or "correct it") for path, one in sorted(unreadable.items())],
        warnings=[_edited(skill.directory, one, settings) for skill, one in edited],
        details=[f"locks     {unchanged:,} unchanged, {len(edited):,} edited"] if unchanged or edited else (),
        facts={"locks": {"unchanged": unchanged, "edited": len(edited), "unreadable": sorted(unreadable)}},
    )


def _edited(directory: str, standing: LockStanding, settings: Settings) -> Problem:
    first = standing.differs.first
    difference = f" ({first})" if first else ""
    withheld = ", and is withheld" if settings.policy.frozen != "0" else ""
    option = lock_option(standing.lock_path, settings)
    name = standing.locked.name if standing.locked is not None else "NAME"
    verify = typed_command("skillhub verify", option=option)
    fix = f"see `{verify}`; `{typed_command('skillhub lock', name, option=option)}` locks it as it is now"
    return Problem(directory, f"is not as it was locked{difference}{withheld}", fix)


def check_audit(installation: Installation) -> CheckResult:
    """Return the critical findings, and the number of high ones."""
    auditor, policy = installation.hub.auditor, installation.hub.access.now()
    if auditor is None:
        return CheckResult(facts={"audit": None})
    skills = [skill for skill in installation.view.snapshot.everything if policy.visibility.allows(skill)]
    left = auditor.audit_all(skills, most=_AUDITED_AT_ONCE)
    found = [(skill, one) for skill in skills for one in installation.hub.audited(skill)]
    withheld = ", and is withheld" if auditor.blocks else ""
    critical = [
        Problem(
            skill.directory,
            f"has a critical finding of the audit: {one.rule} ({one.place}){withheld}",
            f"read it with `skillhub audit {shlex.quote(skill.directory)}`; remove it, or accept it with --accept",
        )
        for skill, one in found
        if one.severity.value == "critical"
    ]
    high = sum(one.severity.value == "high" for _, one in found)
    rest = f", {plural(left, 'skill')} not audited yet: `skillhub audit`" if left else ""
    return CheckResult(
        warnings=critical,
        details=[f"audit     {len(critical):,} critical, {high:,} high{rest}"],
        facts={"audit": {"critical": len(critical), "high": high, "not_audited": left}},
    )


def check_index(installation: Installation) -> CheckResult:
    """Read the whole index and return what is wrong with it."""
    view, settings, embeddings = installation.view, installation.settings, installation.index.embedding
    problems: list[Problem] = []
    try:
        if view.index is not None:
            view.index.table.check()
    except IndexDamaged as error:
        fix = f"run {_REBUILD}; it is derived from the skills"
        problems.append(Problem(redacted(settings.index.db_path), f"the index is damaged: {error}", fix))
    if view.problem is not None:
        problems.append(Problem("index", view.problem.message, view.problem.hint or f"run {_REBUILD}"))
    if view.report is not None and view.report.embedding_failure is not None:
        what = f"skills without vectors are found by text alone: {view.report.embedding_failure}"
        fix = f"check the provider, its key and EMBEDDING_BASE_URL; after a change of model, run {_REBUILD}"
        if settings.embedding.provider == "onnx":
            fix = "correct EMBEDDING_MODEL, then run skillhub index"
        problems.append(Problem("embeddings", what, fix))
    states = [] if settings.replica.read_only else installation.index.states()
    roots = indexed_roots(states, {root.path for root in view.snapshot.report.roots})
    unused = [one for one in roots if one.skills and not one.used]
    is_ready = view.index is not None and not problems
    return CheckResult(
        problems=problems,
        warnings=[_unused(one) for one in unused if not one.there],
        notes=[_unused(one) for one in unused if one.there],
        details=[f"index     {'ready' if is_ready else 'not ready'}, embeddings: {embeddings}"],
        facts={
            "index": "ready" if is_ready else "failed",
            "embeddings": embeddings,
            "unused_roots": [one.as_json() for one in unused],
        },
    )


def _unused(root: IndexedRoot) -> Problem:
    """Return the finding about rows that this configuration does not use: perhaps another project or server does."""
    if root.there:
        what = f"is not used by this configuration; the index has {root.facts}"
        fix = "leave it for the project or the server that uses it; `skillhub index --forget` drops such rows"
        return Problem(root.path, what, fix)
    what = f"is gone or not mounted, and no root here; the index has {root.facts}"
    return Problem(root.path, what, f"if it is gone for good, skillhub index --forget {shlex.quote(root.path)}")


# What concerns every skill comes before what concerns one.
CHECKS: Mapping[str, Callable[[Installation], CheckResult]] = {
    "settings": check_settings,
    "command": check_command,
    "clients": check_clients,
    "roots": check_roots,
    "index": check_index,
    "files": check_files,
    "rules": check_rules,
    "sandbox": check_sandbox,
    "trust": check_trust,
    "skills": check_skills,
    "audit": check_audit,
    "locks": check_locks,
}


def examine(installation: Installation, *, on_start: Callable[[str], None]) -> Iterator[tuple[str, CheckResult]]:
    """Yield each check's name and result; an error that several checks meet is reported once."""
    failures = set()
    for name, check in CHECKS.items():
        on_start(f"checking {name}")
        try:
            yield name, check(installation)
            continue
        except PolicyUnreadable as error:
            if error.fix == CLOSE_TO_OTHERS:
                # The check of the files reports what others may write.
                continue
            failure = Problem(error.path, error.message, error.fix)
        except SkillHubError as error:
            named = with_publication(error, installation.settings)
            fix = named.hint or "correct this first: the check needs it"
            failure = Problem(f"the check of the {name}", f"failed: {named.message}", fix)
        except OSError as error:
            failure = Problem(f"the check of the {name}", f"failed: {error}", "make this readable to you")
        if failure.message not in failures:
            yield name, CheckResult(problems=[failure])
        failures.add(failure.message)
