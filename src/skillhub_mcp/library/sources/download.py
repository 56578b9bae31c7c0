"""Fetching over HTTP within bounds, from the site that was typed and from where it leads.

Each wait and the whole have a time limit, and bytes are counted as they arrive. No cookie is kept.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import httpx2

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.sources.opening import OpenOptions
from skillhub_mcp.library.sources.source import is_this_machine
from skillhub_mcp.library.tree import in_mib
from skillhub_mcp.redaction import redacted
from skillhub_mcp.version import version

_CONNECT_SECONDS = 15.0
_MAX_REDIRECTS = 5
_SHOWN_CHARACTERS = 200
# No host of a site: an address in any form that resolvers accept, such as 127.1 and 0x7f000001, or this machine.
_ADDRESS = re.compile(r".*:.*|(?:.*\.)?(?:localhost|\d[0-9a-fx]*)\.?")
_TRUSTED_CODINGS = ("", "identity", "gzip", "deflate")
_ANYONE = "which anyone on the network can change"
_CHECK_PROXY = "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
_CHECK_ADDRESS = "check the address"
_REPORT = "try again, and report it to the site if that does not help"
_STATUSES: Mapping[int, tuple[str, str]] = {
    401: ("requires a token, or another one (401)", "set it in SKILLHUB_SOURCE_TOKENS, as HOST=TOKEN"),
    403: ("denies access (403)", "set your token in SKILLHUB_SOURCE_TOKENS, as HOST=TOKEN"),
    404: ("does not exist (404)", _CHECK_ADDRESS),
    407: ("is behind a proxy that denies access (407)", _CHECK_PROXY),
    410: ("is gone (410)", _CHECK_ADDRESS),
    429: ("has a rate limit (429)", "try again later"),
}


@dataclass(frozen=True, slots=True)
class Download:
    """A file that was fetched whole, with the URL that gave it after redirects."""

    url: str
    path: str
    digest: str

    def content(self) -> bytes:
        """Return all of its bytes."""
        with open(self.path, "rb") as file:
            return file.read()


class NotThere(SourceUnreachable):
    """The site answers, and gives no file at a URL; `status` is its answer."""

    def __init__(self, source: str, status: int) -> None:
        reason, fix = _STATUSES.get(status, (f"cannot be fetched: the site answers {status}", _REPORT))
        super().__init__(source, reason, hint=fix)
        self.status = status


class Downloader:
    """Fetches the files of one source, whose URL a person `typed`, into a directory."""

    def __init__(self, client: httpx2.Client, typed: str, directory: str, options: OpenOptions) -> None:
        self._client = client
        self._typed = typed
        self._directory = directory
        self._options = options
        self._deadline = time.monotonic() + options.total_seconds
        self._left = options.bounds.fetched_bytes
        self._files = 0

    def get(self, url: str, *, came_from: str = "") -> Download:
        """Fetch the file at `url`, which the index at `came_from` names. Raises SourceUnreachable and NotThere."""
        for _ in range(_MAX_REDIRECTS + 1):
            self._check(url, came_from)
            try:
                with self._client.stream("GET", url, headers=self._credentials(url)) as response:
                    if response.next_request is None:
                        if response.status_code != HTTPStatus.OK:
                            raise NotThere(shown(url), response.status_code)
                        return self._keep(url, response)
                    url, came_from = str(response.next_request.url), url
            except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
                raise self._unreachable(url, error) from error
        raise SourceUnreachable(shown(self._typed), f"too many redirects ({_MAX_REDIRECTS})", hint=_CHECK_ADDRESS)

    def _keep(self, url: str, response: httpx2.Response) -> Download:
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding not in _TRUSTED_CODINGS:
            raise SourceUnreachable(shown(url), f"has an unsupported encoding: {coding[:40]!r}", hint=_REPORT)
        self._files += 1
        path = os.path.join(self._directory, f"source-{self._files}")
        digest = hashlib.sha256()
        with open(path, "xb") as file:
            for chunk in response.iter_bytes():
                # Counted as it is written: it may have been compressed.
                self._left -= len(chunk)
                if self._left < 0:
                    reason = f"has more than {in_mib(self._options.bounds.fetched_bytes)} in all"
                    hint = "select skills with --skill, or take them from a repository"
                    raise SourceUnreachable(shown(url), reason, hint=hint)
                if time.monotonic() > self._deadline:
                    reason = f"took too long: more than {self._options.total_seconds:g} seconds in all"
                    raise SourceUnreachable(shown(url), reason, hint="select fewer skills with --skill")
                digest.update(chunk)
                file.write(chunk)
        return Download(url, path, f"sha256:{digest.hexdigest()}")

    def _credentials(self, url: str) -> Mapping[str, str]:
        parts = urlsplit(url)
        if parts.scheme != "https" and not is_this_machine(parts.hostname or ""):
            return {}
        token = self._options.tokens.get(parts.netloc.lower()) or self._options.tokens.get(parts.hostname or "")
        return {"authorization": f"Bearer {token}"} if token else {}

    def _check(self, url: str, came_from: str) -> None:
        problem = refusal(url, typed=self._typed, came_from=came_from, insecure=self._options.insecure)
        if problem:
            hint = "type the address that you mean" if came_from else _CHECK_ADDRESS
            if problem.endswith(_ANYONE):
                hint = "use https, or --insecure if that is what you want"
            raise SourceUnreachable(shown(came_from or url), problem, hint=hint)

    def _unreachable(self, url: str, error: Exception) -> SourceUnreachable:
        reason, hint = "cannot be reached", "check the network and the address, and try again"
        if isinstance(error, httpx2.TimeoutException):
            reason = f"took too long: nothing arrived for {self._options.read_seconds:g} seconds"
        elif isinstance(error, httpx2.ProxyError):
            reason, hint = "cannot be reached through the proxy", _CHECK_PROXY
        elif isinstance(error, httpx2.ProtocolError):
            reason = "sent an incomplete or malformed answer"
        elif isinstance(error, OSError):
            reason, hint = "cannot be written to TMPDIR", "check the directory for temporary files"
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            hint = "for an authority of your own, set SSL_CERT_FILE to its file"
        return SourceUnreachable(shown(url), f"{reason}: {error or type(error).__name__}", hint=hint)


@contextmanager
def downloading(typed: str, directory: str, options: OpenOptions) -> Iterator[Downloader]:
    """Yield a downloader for the source at the URL `typed`, into `directory`. Raises SourceUnreachable."""
    try:
        client = httpx2.Client(
            headers={"user-agent": f"skillhub/{version()}", "accept": "*/*", "accept-encoding": "identity"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            timeout=httpx2.Timeout(options.read_seconds, connect=_CONNECT_SECONDS),
        )
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        # The settings of a proxy are read here.
        raise SourceUnreachable(shown(typed), f"invalid proxy settings: {error}", hint=_CHECK_PROXY) from error
    with client:
        yield Downloader(client, typed, directory, options)


def refusal(url: str, *, typed: str, came_from: str, insecure: bool) -> str:
    """Return why `url` is not fetched, empty if it is. `came_from` is the URL that led to it. Pure."""
    try:
        parts, named = urlsplit(url), urlsplit(typed).hostname or ""
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return f"leads to a malformed URL: {shown(url)!r}" if came_from else "is a malformed URL"
    leads = f"leads to {shown(url)!r}, which" if came_from else "is an address that"
    if parts.scheme not in ("https", "http") or not host:
        return f"{leads} is neither https nor http"
    if parts.username is not None or parts.password is not None:
        return "leads to a URL with a password in it" if came_from else "has a user name or a password in it"
    if came_from and parts.scheme == "http" and urlsplit(came_from).scheme == "https":
        return f"leads from https to http: {shown(url)!r}"
    if parts.scheme == "http" and not insecure and not is_this_machine(host):
        return f"{leads} is fetched over http:, {_ANYONE}"
    # It could be one of the person's own network. Letters and digits have forms that mean the same.
    if host != named and _ADDRESS.fullmatch(unicodedata.normalize("NFKC", host)):
        return f"leads to {shown(url)!r}, an address and not a name, which was not typed"
    return ""


def shown(url: str) -> str:
    """Return a URL for a message: shortened, without secrets."""
    return redacted(url)[:_SHOWN_CHARACTERS]
