"""The review, question and report that `add` and `update` share."""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.filesize import decimal

from skillhub_mcp._util.wording import plural
from skillhub_mcp.auditing.rules import AUDIT_RULES
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.arguments import did_you_mean
from skillhub_mcp.cli.console import confirm, one_line, print_line, print_note
from skillhub_mcp.cli.library_place import LibraryPlace, RefreshedIndex, refresh_index
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, error_json, finding_json, first_lines, print_json
from skillhub_mcp.environment import shown_path
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.library.inspection import Capabilities
from skillhub_mcp.library.install import InstallOptions, Prepared, Proposal, Refused, install
from skillhub_mcp.library.plan import Settlement, Verb, is_alike
from skillhub_mcp.library.sources.git_tree import SignatureState
from skillhub_mcp.locks.file_digests import digest_of
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import typed_command

_SHOWN = 5
_SHOWN_FILES = 20
_SHOWN_LINES = 60
_VERBS = {
    Verb.ADD: "new",
    Verb.UPDATE: "update",
    Verb.REPLACE: "replaces the skill that is there",
    Verb.KEEP: "your edited files stay; the lock gets the source's new version",
    Verb.LOCK: "is there already; it would be locked",
    Verb.NOTHING: "is there already, as in its source",
}
_DONE = {Verb.ADD: "Added", Verb.UPDATE: "Updated", Verb.REPLACE: "Replaced", Verb.KEEP: "Kept", Verb.LOCK: "Locked"}
_POWERS = {"scripts": "scripts", "executables": "may be run", "hosts": "hosts in URLs", "tools": "allowed-tools"}
_WANTED_RISK = 2  # critical and high; `skillhub audit` shows the rest


class Neighbours(NamedTuple):
    """The other roots with a skill of the same name, and the names of skills that look alike."""

    same_name: Sequence[str] = ()
    alike: Sequence[str] = ()


def add_terms(parser: argparse.ArgumentParser) -> None:
    """Add the options that answer in advance what an installation would refuse or ask."""
    edits = parser.add_mutually_exclusive_group()
    edits.add_argument("--theirs", action="store_true", help="take the source's files of skills that you edited")
    edits.add_argument("--ours", action="store_true", help="keep your files of skills that you edited")
    accepting = "accept critical findings of this rule (repeatable)"
    parser.add_argument("--accept", action="append", default=[], metavar="RULE", help=accepting)
    parser.add_argument("--accept-signer", action="store_true", help="accept another signer than before")
    parser.add_argument("--insecure", action="store_true", help="allow http: and git: to other machines")


def terms_of(args: argparse.Namespace, settings: Settings, *, replace: bool = False) -> InstallOptions:
    """Return what the options settle. Raises InvalidArgument for a rule that the audit does not have."""
    for rule in args.accept:
        if rule not in AUDIT_RULES:
            hint = did_you_mean(rule, AUDIT_RULES, "`skillhub audit --list-rules` lists them")
            raise InvalidArgument("--accept", f"{rule!r} is not an audit rule", hint=hint)
    settled = Settlement.THEIRS if args.theirs else Settlement.OURS if args.ours else Settlement.ASK
    return InstallOptions(replace, settled, frozenset(args.accept), args.accept_signer, settings.library.require_signed)


def finish(
    prepared: Prepared,
    place: LibraryPlace,
    args: argparse.Namespace,
    options: Mapping[str, str],
    more: Mapping[str, object],
) -> int:
    """Show the proposals, ask, install and report; return the exit code. `more` is what JSON has besides.

    Raises what `install` raises.
    """
    near = {one.name: _neighbours(one, place, settings_of(options)) for one in prepared.proposals}
    wanted = [one for one in prepared.proposals if one.verb is not Verb.NOTHING]
    if not args.json:
        for one in prepared.proposals:
            for line in _lines(one, near[one.name]):
                print_line(line)
        _report_refused(prepared.refused)
    agreed = bool(wanted) and not args.dry_run and (args.yes or (not args.json and _asked(wanted, place)))
    index, unserved = RefreshedIndex(), list[str]()
    if agreed:
        install(place.root, place.lock_path, wanted)
        if not args.json:
            _report_installed(wanted, place)
        directories = {one.incoming.known_as: os.path.join(place.root, one.name) for one in wanted}
        index = refresh_index(options, list(directories))
        unserved = [] if index.problem else [name for name in directories if not index.serves(name, directories[name])]
    if args.json:
        result = {
            "dry_run": args.dry_run,
            "installed": agreed,
            "unserved": unserved,
            "awaiting_trust": sorted(index.awaiting),
            "skills": [_json(one, near[one.name], place) for one in prepared.proposals],
            "refused": [{"name": one.name, "error": error_json(one.error)} for one in prepared.refused],
            "index_problem": index.problem or None,
        }
        print_json(place.json(**more, **result))
    else:
        if index.awaiting:
            print_note(f"{', '.join(sorted(index.awaiting))}: awaiting trust, see `skillhub trust`")
        for name in unserved:
            print_note(f"{name} does not load this skill: see {typed_command('skillhub why', name)}")
        index.note_problem()
    if agreed or args.dry_run or not wanted:
        return EXIT_FAILED if prepared.refused else EXIT_OK
    print_note("Nothing was changed; --yes does it without a question")
    return EXIT_FAILED


def _asked(wanted: Sequence[Proposal], place: LibraryPlace) -> bool:
    verbs = {one.verb for one in wanted}
    verb = "Update" if verbs == {Verb.UPDATE} else "Lock" if verbs == {Verb.LOCK} else "Add"
    what = one_line(wanted[0].name) if len(wanted) == 1 else plural(len(wanted), "skill")
    return confirm(f"{verb} {what} in {in_line(shown_path(place.root))}?")


def _report_refused(refused: Iterable[Refused]) -> None:
    for one in refused:
        hint = f" ({one.error.hint})" if one.error.hint else ""
        print_note(f"refused: {one.name}: {one.error.message}{hint}")


def _report_installed(installed: Sequence[Proposal], place: LibraryPlace) -> None:
    for verb, done in _DONE.items():
        if names := [one.name for one in installed if one.verb is verb]:
            print_line(f"{done} {', '.join(names)} in {shown_path(place.root)}")
    if any(one.lost or one.verb is Verb.REPLACE for one in installed):
        print_note("What was dropped lies in its trash")
    if edited := [one.name for one in installed if one.entry.ours and digest_of(one.after) != one.entry.ours.digest]:
        print_note(f"edits that are not locked: `{place.command('lock', names=edited)}` locks them")
    if added := [one.name for one in installed if one.verb is Verb.ADD]:
        undo = place.command("remove", names=added if len(added) <= _SHOWN else ["NAME"])
        print_note("", f"to undo: `{undo}`", *filter(None, [place.attributes_hint()]))


def _lines(one: Proposal, near: Neighbours) -> Iterator[str]:
    """Yield what is shown of a skill before the question."""
    verb = "is there already, with your edits" if one.verb is Verb.NOTHING and one.kept else _VERBS[one.verb]
    size = decimal(sum(file.size for file in one.files.values()))
    yield f"{one.name}  ({verb}; {plural(len(one.files), 'file')}, {size})"
    if one.incoming.description:
        yield f"  {one_line(one.incoming.description)}"
    if one.incoming.rename and one.incoming.title != one.name:
        yield f"  renamed: its source calls it {one_line(repr(one.incoming.title))}"
    elif one.incoming.known_as != one.name:
        yield f"  its SKILL.md calls it {one_line(repr(one.incoming.title))}: agents know it by that name"
    if one.incoming.moved_from is not None:
        yield f"  it has moved in its source, from {one.incoming.moved_from or '.'} to {one.incoming.path or '.'}"
    if one.verb is Verb.NOTHING:
        return
    yield f"  {_signed(one)}"
    yield from (f"  ! {line}" for line in _warnings(one, near))
    is_update = one.before is not None
    powers = powers_json(one.news if is_update else one.look.powers)
    for kind, what in _POWERS.items():
        if names := [name for name in powers[kind] if kind != "executables" or name not in powers["scripts"]]:
            yield f"  {'new ' if is_update else ''}{what}: {_some(names)}"
    if is_update:
        yield from (f"  {line}" for line in _changes(one))


def _signed(one: Proposal) -> str:
    found = one.signature
    if found.state in (SignatureState.GOOD, SignatureState.UNKNOWN):
        return f"signed by {found.principal or 'an unknown key'} ({found.fingerprint})"
    return "not signed" if found.state is SignatureState.UNSIGNED else found.reason


def _warnings(one: Proposal, near: Neighbours) -> Iterator[str]:
    for problem in one.look.problems[:_SHOWN]:
        yield f"specification ({problem.rule}): {problem.message}"
    findings = []
    for finding in (finding for finding in one.look.findings if finding.severity.rank < _WANTED_RISK):
        accepted = ", accepted" if one.entry.ours and finding.rule in dict(one.entry.ours.findings) else ""
        findings.append(f"{finding.severity.value}{accepted} ({finding.rule}, {finding.place}): {finding.message}")
    yield from first_lines(findings, _SHOWN)
    yield from one.notes
    yield from (f"{shown_path(path)} has a skill of that name, too" for path in near.same_name)
    if near.alike:
        yield f"its name looks like that of {_some(near.alike)}, which you have"


def _changes(one: Proposal) -> Iterator[str]:
    """Yield the files that change, and the difference of the SKILL.md."""
    found = one.changes
    kinds = {"+": found.added, "-": found.removed, "~": found.changed}
    yield from first_lines([f"{sign} {path}" for sign, paths in kinds.items() for path in paths], _SHOWN_FILES)
    for paths, what in ((one.kept, "edited here, and kept"), (one.lost, "edited here, and replaced")):
        if paths:
            yield f"{what}: {_some(paths)}"
    yield from first_lines([f"  {line}" for line in document_difference(one)], _SHOWN_LINES)


def document_difference(one: Proposal) -> list[str]:
    """Return the unified difference of the SKILL.md without its header."""
    if one.document is None or SKILL_FILE not in (*one.changes.changed, *one.changes.added):
        return []
    with open(os.path.join(one.directory, SKILL_FILE), encoding="utf-8", errors="replace") as file:
        after = file.read()
    lines = difflib.unified_diff(one.document.splitlines(), after.splitlines(), lineterm="", n=2)
    return [line for line in lines if not line.startswith(("--- ", "+++ "))]


def _neighbours(one: Proposal, place: LibraryPlace, settings: Settings) -> Neighbours:
    if one.verb is not Verb.ADD:
        return Neighbours()
    found, real = walk_roots(roots_of(settings)).found, os.path.realpath(place.root)
    same = {skill.root for skill in found if skill.name == one.name and os.path.realpath(skill.root) != real}
    alike = {skill.name for skill in found if skill.name != one.name and is_alike(skill.name, one.name)}
    return Neighbours(sorted(same), sorted(alike))


def _json(one: Proposal, near: Neighbours, place: LibraryPlace) -> dict[str, Any]:
    ours, signature = one.entry.ours, one.signature
    return {
        "name": one.name,
        "action": one.verb.value,
        "title": one.incoming.known_as,
        "renamed_from": one.incoming.title if one.incoming.rename else None,
        "description": one.incoming.description,
        "directory": os.path.join(place.root, one.name),
        "path": one.incoming.path,
        "moved_from": one.incoming.moved_from,
        "digest": ours.digest if ours else None,
        "commit": one.incoming.tree.commit or None,
        "files": len(one.files),
        "bytes": sum(file.size for file in one.files.values()),
        "signature": {"state": signature.state.value}
        | {key: getattr(signature, key) or None for key in ("fingerprint", "principal", "reason")},
        "problems": [{"rule": found.rule, "message": found.message, "line": found.line} for found in one.look.problems],
        "findings": [finding_json(found, file=found.path) for found in one.look.findings],
        "accepted": sorted(dict(ours.findings)) if ours else [],
        "powers": powers_json(one.look.powers),
        "new_powers": powers_json(one.news),
        **{key: list(getattr(one.changes, key)) for key in ("added", "removed", "changed")},
        "kept_edits": list(one.kept),
        "lost_edits": list(one.lost),
        "difference": document_difference(one),
        "same_name_in": near.same_name,
        "looks_like": near.alike,
        "notes": list(one.notes),
    }


def powers_json(powers: Capabilities) -> dict[str, list[str]]:
    """Return what a skill can do as JSON values."""
    return {kind: sorted(getattr(powers, kind)) for kind in _POWERS}


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
