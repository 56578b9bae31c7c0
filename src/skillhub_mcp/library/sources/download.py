"""Fetching over HTTP within bounds, from the site that was typed and from where it leads.

Each wait and the whole have a time limit, and bytes are counted as they arrive. No cookie is kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import os
import re
import ssl
import unicodedata
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx2

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.bounds import BOUNDS, in_mib
from skillhub_mcp.redaction import redacted
from skillhub_mcp.version import version

log = logging.getLogger(__name__)

_CHUNK_BYTES = 64 * 1024
# So much tells an archive from a text: a tar has its sign behind 257 bytes.
_START_BYTES = 512
_ASKED_AGAIN = 3
_DIGITS = 9
_SHOWN_CHARACTERS = 200
# 127.1, 0x7f000001 and 2130706433: no address that Python reads, and one that resolvers do.
_ODD_ADDRESS = re.compile(r"(?!\d+(?:\.\d+){3}$)(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+))*")
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_TRUSTED_CODINGS = ("", "identity", "gzip", "deflate")


@dataclass(frozen=True, slots=True)
class DownloadLimits:
    """Bounds for one source: bytes in all, seconds of silence and before a retry, redirects of a file."""

    total_bytes: int = BOUNDS.fetched_bytes
    connect_seconds: float = 15.0
    read_seconds: float = 30.0
    total_seconds: float = 600.0
    wait_seconds: float = 30.0
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class DownloadOptions:
    """How a site is asked. `insecure` allows http: to other machines.

    `tokens` are bearer tokens by `host` or `host:port`, sent to that host only, over https or to this machine.
    """

    insecure: bool = False
    authorities: ssl.SSLContext | None = None
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: DownloadLimits = field(default_factory=DownloadLimits)


@dataclass(frozen=True, slots=True)
class Download:
    """A file that was fetched whole, with the URL that gave it after redirects."""

    url: str
    path: str
    size: int
    digest: str

    @property
    def is_archive(self) -> bool:
        """Whether it is an archive, by its content."""
        with open(self.path, "rb") as file:
            return is_archive(file.read(_START_BYTES))

    def content(self) -> bytes:
        """Return all of its bytes."""
        with open(self.path, "rb") as file:
            return file.read()


class NotThere(SourceUnreachable):
    """The site answers, and gives no file at a URL; `status` is its answer."""

    def __init__(self, source: str, status: int) -> None:
        answered = f"is not given: the site answers with {status}"
        reason, fix = _STATUSES.get(status, (answered, _TELL_THE_SITE))
        super().__init__(source, reason, hint=fix)
        self.status = status


_LOOK_AT_PROXY = "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
_ANYBODY = "which anybody on the way could change"
_LOOK_AT_ADDRESS = "check the address"
_TELL_THE_SITE = "try again, and tell the site if that does not help"
_STATUSES: Final[Mapping[int, tuple[str, str]]] = {
    401: ("asks for a token, or for another one", "name it in SKILLHUB_SOURCE_TOKENS, as HOST=TOKEN"),
    403: ("denies access (403)", "name your token in SKILLHUB_SOURCE_TOKENS, as HOST=TOKEN"),
    404: ("is not there (404)", _LOOK_AT_ADDRESS),
    407: ("is behind a proxy that denies access (407)", _LOOK_AT_PROXY),
    410: ("is gone (410)", _LOOK_AT_ADDRESS),
    429: ("is asked too often (429)", "try again later"),
}


class Downloader:
    """Fetches the files of one source, which a person `named`, into a directory."""

    def __init__(self, client: httpx2.AsyncClient, named: str, directory: str, options: DownloadOptions) -> None:
        self._client = client
        self._named = named
        self._directory = directory
        self._options = options
        self._left = options.limits.total_bytes
        self._files = 0

    async def get(self, url: str, *, came_from: str = "") -> Download:
        """Fetch the file at `url`, which the index at `came_from` names. Raises SourceUnreachable and NotThere."""
        self._check(url, came_from=came_from)
        for _ in range(self._options.limits.redirects + 1):
            try:
                found = await self._ask(url)
            except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
                reason = _in_words(error, self._options.limits)
                raise SourceUnreachable(shown(url), reason, hint=_fix(error)) from error
            if isinstance(found, Download):
                return found
            self._check(found, came_from=url)
            url = found
        raise SourceUnreachable(
            shown(self._named),
            f"leads on and on: more than {self._options.limits.redirects} redirects",
            hint=_LOOK_AT_ADDRESS,
        )

    async def _ask(self, url: str) -> Download | str:
        """Return what is at `url`, or where it leads."""
        for again in range(_ASKED_AGAIN + 1):
            async with self._client.stream("GET", url, headers=self._credentials(url)) as response:
                if response.has_redirect_location:
                    return _joined(url, response.headers["location"])
                if response.status_code == HTTPStatus.OK:
                    return await self._keep(url, response)
                wait = _seconds(response.headers.get("retry-after", ""))
                asks_to_wait = response.status_code in _BUSY and wait <= self._options.limits.wait_seconds
                if not asks_to_wait or again == _ASKED_AGAIN:
                    raise NotThere(shown(url), response.status_code)
            log.info("%s asks to wait %g seconds", shown(url), wait)
            await asyncio.sleep(wait)
        raise AssertionError  # the last round has returned or raised

    async def _keep(self, url: str, response: httpx2.Response) -> Download:
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding not in _TRUSTED_CODINGS:
            reason = f"comes in an encoding that was not asked for: {coding[:40]!r}"
            raise SourceUnreachable(shown(url), reason, hint=_TELL_THE_SITE)
        path = os.path.join(self._directory, f"source-{self._files}")
        self._files += 1
        digest, size = hashlib.sha256(), 0
        with open(path, "xb") as file:  # noqa: ASYNC230 - the loop only fetches
            async for chunk in response.aiter_bytes(_CHUNK_BYTES):
                size += len(chunk)
                # Counted as it is written: it may have been compressed.
                self._left -= len(chunk)
                if self._left < 0:
                    raise SourceUnreachable(
                        shown(url),
                        f"is larger than may be fetched: more than {in_mib(self._options.limits.total_bytes)} in all",
                        hint="name the skills that you want with --skill, or take them from a repository",
                    )
                digest.update(chunk)
                file.write(chunk)
        return Download(url, path, size, f"sha256:{digest.hexdigest()}")

    def _credentials(self, url: str) -> Mapping[str, str]:
        parts = urlsplit(url)
        if parts.scheme != "https" and not is_this_machine(parts.hostname or ""):
            return {}
        token = self._options.tokens.get(parts.netloc.lower()) or self._options.tokens.get(parts.hostname or "")
        return {"authorization": f"Bearer {token}"} if token else {}

    def _check(self, url: str, *, came_from: str) -> None:
        """Raise SourceUnreachable for a URL that is not asked; `came_from` is what led to it, if it was not typed."""
        problem = refusal(url, named=self._named, came_from=came_from, insecure=self._options.insecure)
        if problem:
            fix = "type the address that you mean" if came_from else _LOOK_AT_ADDRESS
            if problem.endswith(_ANYBODY):
                fix = "use https, or --insecure where that is what you want"
            raise SourceUnreachable(shown(came_from or url), problem, hint=fix)


@asynccontextmanager
async def downloading(named: str, directory: str, options: DownloadOptions) -> AsyncIterator[Downloader]:
    """Yield what fetches for the source at the URL `named`, into `directory`. Raises SourceUnreachable."""
    limits = options.limits
    try:
        client = httpx2.AsyncClient(
            headers={"user-agent": f"skillhub/{version()}", "accept": "*/*", "accept-encoding": "identity"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            verify=True if options.authorities is None else options.authorities,
            follow_redirects=False,
            timeout=httpx2.Timeout(limits.read_seconds, connect=limits.connect_seconds),
        )
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        # What is configured for a proxy is read here.
        raise SourceUnreachable(
            shown(named),
            f"cannot be asked by the proxy that is set: {error}",
            hint=_LOOK_AT_PROXY,
        ) from error
    async with client:
        yield Downloader(client, named, directory, options)


def refusal(url: str, *, named: str, came_from: str, insecure: bool) -> str:
    """Return why `url` is not asked, empty if it is. `came_from` is the URL that led to it. Pure."""
    try:
        parts, typed = urlsplit(url), urlsplit(named).hostname or ""
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return f"leads to a malformed URL: {shown(url)!r}" if came_from else "is a malformed URL"
    leads = f"leads to {shown(url)!r}, which" if came_from else "is an address that"
    if parts.scheme not in ("https", "http") or not host:
        return f"{leads} is neither https nor http"
    if parts.username is not None or parts.password is not None:
        return "leads to a URL with a password in it" if came_from else "has a user name or a password in it"
    if came_from and parts.scheme == "http" and urlsplit(came_from).scheme == "https":
        return f"leads from https to http, at {shown(url)!r}, where anybody on the way could change what comes"
    if parts.scheme == "http" and not insecure and not is_this_machine(host):
        return f"{leads} is asked by http:, {_ANYBODY}"
    if host != typed and (inside := _inside(host)) and inside != _inside(typed):
        return f"leads to {shown(url)!r}, an address of this machine or its network, which was not typed"
    return ""


def is_archive(start: bytes) -> bool:
    """Whether a file that begins with `start`, 512 bytes or all of it, is a zip, a tar, or something in gzip."""
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b")) or start[257:262] == b"ustar"


def is_this_machine(host: str) -> bool:
    """Whether a host, a name or an address, means this machine whatever a name server says."""
    plain = _plain(host)
    if plain == "localhost" or plain.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(plain).is_loopback
    except ValueError:
        return False


def _inside(host: str) -> str:
    """Return whether a host is an address of this `machine`, its `link` or its `network`; empty for any other.

    A cloud serves its secrets on the link, so one kind does not lead to another.
    """
    plain = _plain(host)
    if is_this_machine(plain) or _ODD_ADDRESS.fullmatch(plain):
        return "machine"
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        return ""
    mapped = getattr(address, "ipv4_mapped", None) or address
    if mapped.is_loopback or mapped.is_unspecified:
        return "machine"
    return "link" if mapped.is_link_local else "" if mapped.is_global else "network"


def _plain(host: str) -> str:
    """Return a host as it is looked up: letters and digits have forms that mean the same."""
    return unicodedata.normalize("NFKC", host).rstrip(".").lower()


def shown(url: str) -> str:
    """Return a URL for a message: without secrets, and cut."""
    return redacted(url)[:_SHOWN_CHARACTERS]


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError as error:
        reason = f"leads to a malformed URL: {shown(location)!r}"
        raise SourceUnreachable(shown(url), reason, hint=_TELL_THE_SITE) from error


def _seconds(retry_after: str) -> float:
    """Return how long a site asks to wait; a second where it does not say, or gives a date."""
    return float(retry_after[:_DIGITS]) if retry_after.isdecimal() else 1.0


def _in_words(error: Exception, limits: DownloadLimits) -> str:
    if isinstance(error, httpx2.ConnectTimeout):
        return f"does not answer: no connection within {limits.connect_seconds:g} seconds"
    if isinstance(error, httpx2.TimeoutException):
        return f"took too long: nothing came for {limits.read_seconds:g} seconds"
    for kind, words in (
        (httpx2.ProxyError, "cannot be reached by the proxy that is set"),
        (httpx2.RemoteProtocolError, "broke off, or speaks no HTTP"),
        (httpx2.DecodingError, "is not encoded as it says"),
        (OSError, "cannot be kept on this machine"),
    ):
        if isinstance(error, kind):
            return f"{words}: {error}"
    return f"cannot be reached: {error or type(error).__name__}"


def _fix(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "for an authority of your own, name its file in SSL_CERT_FILE"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.ProxyError):
        return _LOOK_AT_PROXY
    if isinstance(error, OSError):
        return "check the directory for temporary files (TMPDIR), and try again"
    return "check the network and the address, and try again"
