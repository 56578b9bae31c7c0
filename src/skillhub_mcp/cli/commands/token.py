"""`skillhub token`: create, list and revoke the bearer tokens of HTTP clients, each with its own filter of skills."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from datetime import date

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.bootstrap.policy import every_skill
from skillhub_mcp.cli.arguments import Parser, add_action, add_actions, decode_argument
from skillhub_mcp.cli.console import print_note, print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.policy.access_tokens import NOT_GIVEN, Token, Tokens, filter_of, make_token
from skillhub_mcp.policy.files import change_tokens, tokens_file
from skillhub_mcp.policy.unknown_names import KnownNames
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import TOKEN_USES, settings_of
from skillhub_mcp.skills.names import near_names
from skillhub_mcp.usage import last_uses

DESCRIPTION = (
    "List, create and revoke bearer tokens for HTTP clients. The file holds only their hashes; a server with "
    "SKILLHUB_TOKENS_FILE applies changes at once."
)


def add_arguments(parser: Parser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("--file", metavar="FILE", help="file of tokens (default: SKILLHUB_TOKENS_FILE)")
    actions = add_actions(parser)
    new = add_action(actions, "new", _new, "create a token and print it once", writes=True)
    new.add_argument("--skills", metavar="A,B", help="only these skills, globs, source:, category: or tag: groups")
    new.add_argument("--categories", metavar="X,Y", help="only these categories; no effect with --skills")
    new.add_argument("--may-run", action="store_true", help="let its bearer run commands, if they are enabled")
    new.add_argument("--expires", default="", metavar="DAY", help="last day on which it is accepted, as 2027-01-31")
    new.add_argument("--group", default="", metavar="GROUP", help="name of a group, to revoke its tokens together")
    revoke = add_action(actions, "revoke", _revoke, "revoke a token", writes=True)
    revoke.add_argument("--group", action="store_true", help="NAME is a group: revoke all of its tokens")
    for action in (new, revoke):
        action.add_argument("name", metavar="NAME", help="name of the token's bearer, also for the audit log")
        action.add_argument("--file", metavar="FILE", default=argparse.SUPPRESS, help="file of tokens")


def _new(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    path = _path(args, options)
    try:
        visibility = filter_of(_names(args.skills), _names(args.categories))
    except BadJson as error:
        raise InvalidArgument("--skills or --categories", f"is invalid: {error}") from error
    if visibility.limits:
        _warn_of_names(visibility, options)
    try:
        token, secret = make_token(
            decode_argument(args.name), visibility, may_run=args.may_run, expires=args.expires, group=args.group
        )
        if not args.dry_run:
            change_tokens(path, lambda tokens: tokens.with_token(token))
    except BadJson as error:
        raise InvalidArgument("the token", f"cannot be made: {error}") from error
    if args.json:
        print_json({"dry_run": args.dry_run, **token.as_json(), "token": None if args.dry_run else secret})
    elif args.dry_run:
        print_text(f"{token.name} would be granted {_scope(token)}")
    else:
        print_text(secret)
        print_note(
            f"{token.name} is granted {_scope(token)}. The token is not stored: copy it now, to send as a bearer token."
        )
    return EXIT_OK


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """List the tokens. Raises InvalidArgument and TokensUnreadable."""
    tokens = tokens_file(_path(args, options)).read() or Tokens()
    used = last_uses(expand_home(TOKEN_USES))
    # Another token may have had the name before.
    days = {token.name: day for token in tokens.tokens if (day := used.get(token.name, "")) >= token.created}
    if args.json:
        rows = [{**token.as_json(), "last_used": days.get(token.name) or None} for token in tokens.tokens]
        return print_json({"tokens": rows})
    for token in tokens.tokens:
        print_text(in_line(f"{token.name}  {token.created}  {_scope(token)}{_life(token, days.get(token.name, ''))}"))
    if not tokens.tokens:
        print_text("No tokens.")
    return EXIT_OK


def _revoke(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    path = _path(args, options)
    # Reading does not create a missing file.
    tokens = tokens_file(path).read() or Tokens()
    name = decode_argument(args.name)
    revoked = [one for one in tokens.tokens if name == (one.group if args.group else one.name)]
    if not revoked:
        near = near_names(name, [one.group if args.group else one.name for one in tokens.tokens])
        hint = f"did you mean {near[0]!r}?" if near else "`skillhub token` lists the tokens"
        raise InvalidArgument("NAME", f"{name!r} is not the name of a {'group' if args.group else 'token'}", hint=hint)
    names = [one.name for one in revoked]
    if not args.dry_run:
        change_tokens(path, lambda current: current.without(*names))
    if args.json:
        print_json({"dry_run": args.dry_run, "revoked": [one.as_json() for one in revoked]})
    for one in () if args.json else names:
        print_text(f"{'would revoke' if args.dry_run else 'revoked'} the token of {one}")
    return EXIT_OK


def _warn_of_names(visibility: Visibility, options: Mapping[str, str]) -> None:
    settings = settings_of(options)
    with open_hub(options) as hub:
        known = KnownNames(every_skill(settings, hub.snapshot_and_policy()[0]))
    categories = sorted({skill.category for skill in known.skills if skill.category})
    for kind, unknown in (
        ("skill", known.unknown_skills(visibility.names or ())),
        ("category", known.unknown_categories(visibility.categories or ())),
    ):
        for one in unknown:
            guess = f"; did you mean {one.near!r}?" if one.near else ""
            here = f"; there are {in_line(', '.join(categories))}" if kind == "category" and categories else ""
            print_note(f"warning: no {kind} matches {one.name!r}{guess or here}")


def _path(args: argparse.Namespace, options: Mapping[str, str]) -> str:
    settings = settings_of(options)
    path = os.path.abspath(expand_home(args.file)) if args.file else settings.http.tokens_file
    if not path:
        hint = "such as --file ~/.skillhub/tokens.json"
        raise InvalidArgument("--file", "is required if SKILLHUB_TOKENS_FILE is not set", hint=hint)
    return path


def _names(typed: str | None) -> object:
    return NOT_GIVEN if typed is None else [name.strip() for name in decode_argument(typed).split(",")]


def _scope(token: Token) -> str:
    visibility = token.visibility
    more = " and may run commands" if token.may_run else ""
    if visibility.names is not None:
        return f"the skills {', '.join(sorted(visibility.names))}{more}"
    if visibility.categories is not None:
        return f"the categories {', '.join(sorted(visibility.categories))}{more}"
    return f"every skill{more}"


def _life(token: Token, used: str) -> str:
    of_group = f", group {token.group}" if token.group else ""
    until = f", {'until' if token.is_accepted_on(date.today()) else 'expired after'} {token.expires}"  # noqa: DTZ011
    return f"{of_group}{until if token.expires else ''}, {f'last used {used}' if used else 'not used yet'}"
