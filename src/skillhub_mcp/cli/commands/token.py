"""`skillhub token`: who may call over HTTP, each with a token and a filter of skills of their own."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import add_actions, add_json_option, add_setting_options, as_text
from skillhub_mcp.cli.output import EXIT_OK, note, print_json, say
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.policy.access_tokens import NOT_GIVEN, BadTokens, Token, Tokens, filter_of, make_token
from skillhub_mcp.policy.files import change_tokens, tokens_file
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.suggestions import near_names


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "token",
        help="say who may call over HTTP",
        description="Who may call over HTTP: a file of tokens, of which it holds the hashes only. A server that is "
        "given the file, as SKILLHUB_TOKENS_FILE, notices at once when it changes.",
    )
    actions = add_actions(parser)
    new = actions.add_parser("new", help="make a token and print it, this once")
    new.set_defaults(run=_new)
    new.add_argument("--skills", metavar="A,B", help="the only skills that its bearer may have")
    new.add_argument(
        "--categories", metavar="X,Y", help="the only categories; --skills decides alone where it is given"
    )
    revoke = actions.add_parser("revoke", help="take a token back")
    revoke.set_defaults(run=_revoke)
    for action in (new, revoke):
        action.add_argument("name", metavar="NAME", help="what its bearer goes by, in the audit log too")
    listing = actions.add_parser("list", help="print whose tokens there are")
    listing.set_defaults(run=_list)
    for action in (new, listing, revoke):
        action.add_argument("--file", metavar="FILE", help="the file of tokens (default: SKILLHUB_TOKENS_FILE)")
        add_json_option(action)
        add_setting_options(action)


def _new(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    path = _path(args, options)
    try:
        visibility = filter_of(_names(args.skills), _names(args.categories))
    except BadTokens as error:
        raise InvalidArgument("--skills or --categories", f"cannot be used: {error}") from error
    try:
        token, secret = make_token(as_text(args.name), visibility)
        change_tokens(path, lambda tokens: tokens.with_token(token))
    except BadTokens as error:
        raise InvalidArgument("NAME", f"cannot be used: {error}") from error
    if args.json:
        print_json({**token.as_json(), "token": secret})
    else:
        say(secret)
        note(f"{token.name} may have {_reach(token)}. The token is kept nowhere: hand it over now, as a bearer token.")
    return EXIT_OK


def _list(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    tokens = tokens_file(_path(args, options)).read() or Tokens()
    if args.json:
        print_json({"tokens": [token.as_json() for token in tokens.tokens]})
        return EXIT_OK
    for token in tokens.tokens:
        say(f"{token.name}  {token.created}  {_reach(token)}")
    if not tokens.tokens:
        say("No tokens.")
    return EXIT_OK


def _revoke(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    path = _path(args, options)
    # One that is not there yet is not made for this.
    known = tokens_file(path).read() or Tokens()
    name = as_text(args.name)
    token = known.named(name)
    if token is None:
        near = near_names(name, [one.name for one in known.tokens])
        hint = f"did you mean {near[0]!r}?" if near else "`skillhub token list` prints those there are"
        raise InvalidArgument("NAME", f"is {name!r}, and no token is named so", hint=hint)
    change_tokens(path, lambda tokens: tokens.without(name))
    if args.json:
        print_json({"revoked": token.as_json()})
    else:
        say(f"{name} is let in no more")
    return EXIT_OK


def _path(args: argparse.Namespace, options: Mapping[str, str]) -> str:
    settings, _ = read_settings(os.environ, options)
    path = os.path.abspath(os.path.expanduser(args.file)) if args.file else settings.http.tokens_file
    if not path:
        raise InvalidArgument("--file", "must be given where SKILLHUB_TOKENS_FILE is not set")
    return path


def _names(typed: str | None) -> object:
    return NOT_GIVEN if typed is None else [name.strip() for name in as_text(typed).split(",")]


def _reach(token: Token) -> str:
    visibility = token.visibility
    if visibility.names:
        return f"the skills {', '.join(sorted(visibility.names))}"
    if visibility.categories:
        return f"the categories {', '.join(sorted(visibility.categories))}"
    return "every skill"
