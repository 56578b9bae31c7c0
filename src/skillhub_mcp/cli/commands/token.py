"""`skillhub token`: create, list and revoke the bearer tokens of HTTP clients, each with its own filter of skills."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from datetime import date

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.bootstrap.library import every_skill
from skillhub_mcp.cli.arguments import Parser, add_action, add_actions, decode_argument, did_you_mean
from skillhub_mcp.cli.console import print_line, print_note, print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.policy.access_tokens import NOT_GIVEN, Token, Tokens, filter_of, make_token
from skillhub_mcp.policy.files import TOKENS
from skillhub_mcp.policy.unknown_names import KnownNames
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.settings import TOKEN_USES, settings_of
from skillhub_mcp.usage import last_uses


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
        token, secret = make_token(
            decode_argument(args.name), visibility, may_run=args.may_run, expires=args.expires, group=args.group
        )
        if not args.dry_run:
            TOKENS.change(path, lambda tokens: tokens.with_token(token))
    except BadJson as error:
        raise InvalidArgument("the token", f"cannot be made: {error}") from error
    if visibility.limits:
        _warn_of_names(visibility, options)
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
    """List, create and revoke bearer tokens for HTTP clients. The file holds only their hashes; a server with
    SKILLHUB_TOKENS_FILE applies changes at once.
    """
    tokens = (TOKENS.file(_path(args, options), required=True).read() or Tokens()).tokens
    used = last_uses(expand_home(TOKEN_USES))
    # Another token may have had the name before.
    days = {token.name: day for token in tokens if (day := used.get(token.name, "")) >= token.created}
    if args.json:
        return print_json({"tokens": [{**one.as_json(), "last_used": days.get(one.name) or None} for one in tokens]})
    for token in tokens:
        of_group = f", group {token.group}" if token.group else ""
        until = "until" if token.is_accepted_on(date.today()) else "expired after"  # noqa: DTZ011 - the user's day
        expires = f", {until} {token.expires}" if token.expires else ""
        use = f"last used {days[token.name]}" if days.get(token.name) else "not used yet"
        print_line(f"{token.name}  {token.created}  {_scope(token)}{of_group}{expires}, {use}")
    if not tokens:
        print_text("No tokens.")
    return EXIT_OK


def _revoke(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    path, name = _path(args, options), decode_argument(args.name)
    # Reading does not create a missing file.
    tokens = (TOKENS.file(path, required=True).read() or Tokens()).tokens
    named = [(one.group if args.group else one.name, one) for one in tokens]
    revoked = [token for known_as, token in named if known_as == name]
    if not revoked:
        hint = did_you_mean(name, (known_as for known_as, _ in named), "`skillhub token` lists the tokens")
        raise InvalidArgument("NAME", f"{name!r} is not the name of a {'group' if args.group else 'token'}", hint=hint)
    if not args.dry_run:
        TOKENS.change(path, lambda current: current.without(*(one.name for one in revoked)))
    if args.json:
        return print_json({"dry_run": args.dry_run, "revoked": [one.as_json() for one in revoked]})
    for one in revoked:
        print_line(f"{'would revoke' if args.dry_run else 'revoked'} the token of {one.name}")
    return EXIT_OK


def _warn_of_names(visibility: Visibility, options: Mapping[str, str]) -> None:
    with open_hub(options) as hub:
        known = KnownNames(every_skill(settings_of(options), hub.snapshot_and_policy()[0]))
    categories = ", ".join(sorted({skill.category for skill in known.skills if skill.category}))
    for one in known.unknown_skills(visibility.names or ()):
        print_note(f"warning: no skill matches {one}")
    for one in known.unknown_categories(visibility.categories or ()):
        print_note(f"warning: no category matches {one}" + (f"; there are {categories}" if categories else ""))


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
    scope = "every skill"
    if visibility.names is not None:
        scope = f"the skills {', '.join(sorted(visibility.names))}"
    elif visibility.categories is not None:
        scope = f"the categories {', '.join(sorted(visibility.categories))}"
    return f"{scope} and may run commands" if token.may_run else scope
