"""Bounded downloads over HTTP from a misbehaving site."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.library.sources.lying_server import (
    LyingSite,
    bomb,
    dripping,
    endless,
    leads_to,
    lying_site,
    rubbish,
    silent,
    torn,
    whole,
)

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.sources.download import Download, NotThere, downloading, refusal, shown
from skillhub_mcp.library.sources.opening import OpenOptions
from skillhub_mcp.library.tree import Bounds

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
OPTIONS = OpenOptions("/", bounds=Bounds(fetched_bytes=400_000))


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[LyingSite]:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with lying_site() as site:
        yield site


def fetch(site: LyingSite, path: str, directory: Path, options: OpenOptions = OPTIONS) -> Download:
    with downloading(site.url, mkdtemp(dir=directory), options) as downloader:
        return downloader.get(site.url + path)


def refused(site: LyingSite, path: str, directory: Path, options: OpenOptions = OPTIONS) -> SourceUnreachable:
    with pytest.raises(SourceUnreachable) as error:
        fetch(site, path, directory, options)
    return error.value


def test_a_file_is_downloaded_completely_with_its_digest(site: LyingSite, tmp_path: Path) -> None:
    site.answers["/a"] = leads_to("/b")
    site.answers["/b"] = whole(b"hello\n")
    found = fetch(site, "/a", tmp_path)
    assert found.content() == b"hello\n"
    assert found.digest == "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    assert (found.url, site.paths) == (f"{site.url}/b", ["/a", "/b"])


def test_sites_get_a_user_agent_and_no_cookies(site: LyingSite, tmp_path: Path) -> None:
    site.answers["/a"] = whole(b"", status="302 Found", headers={"location": "/b", "set-cookie": "id=1; Path=/"})
    site.answers["/b"] = whole(b"x")
    fetch(site, "/a", tmp_path)
    for request in site.asked:
        assert request.headers["user-agent"].startswith("skillhub/")
        assert " " not in request.headers["user-agent"]
        assert not {"cookie", "authorization", "referer"} & request.headers.keys()


def test_a_token_is_sent_to_its_host_only(site: LyingSite, tmp_path: Path) -> None:
    with lying_site() as other:
        site.answers["/a"] = leads_to(f"{other.url}/b")
        other.answers["/b"] = whole(b"x")
        host = site.url.removeprefix("http://")
        fetch(site, "/a", tmp_path, replace(OPTIONS, tokens={host: "secret"}))
        assert site.asked[0].headers["authorization"] == "Bearer secret"
        assert "authorization" not in other.asked[0].headers
    assert "secret" not in repr(replace(OPTIONS, tokens={host: "secret"}))


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        ("/torn", "incomplete"),
        ("/torn-chunks", "incomplete"),
        ("/rubbish", "malformed"),
        ("/circle", "too many redirects (5)"),
        ("/bomb", "more than 400,000 bytes in all"),
        ("/endless", "more than 400,000 bytes in all"),
        ("/brotli", "encoding: 'br'"),
        ("/twice", "encoding"),
        ("/no-gzip", "cannot be reached"),
        ("/file", "neither https nor http"),
        ("/password", "password"),
        ("/malformed", "malformed"),
        ("/nowhere", "302"),
    ],
)
def test_incomplete_downloads_are_never_used(site: LyingSite, tmp_path: Path, path: str, reported: str) -> None:
    site.answers.update(
        {
            "/torn": torn(b"half", missing=10),
            "/torn-chunks": lambda client: client.sendall(
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel"
            ),
            "/rubbish": rubbish,
            "/circle": leads_to("/circle"),
            "/bomb": bomb(5_000_000),
            "/endless": endless(site.over),
            "/brotli": whole(b"x", headers={"content-encoding": "br"}),
            "/twice": whole(gzip.compress(gzip.compress(b"x")), headers={"content-encoding": "gzip, gzip"}),
            "/no-gzip": whole(b"plain", headers={"content-encoding": "gzip"}),
            "/file": leads_to("file:///tmp/x"),
            "/password": leads_to(site.url.replace("//", "//me:secret@")),
            "/malformed": leads_to("http://[x/"),
            "/nowhere": whole(b"", status="302 Found"),
        }
    )
    error = refused(site, path, tmp_path)
    assert reported in error.message
    assert "secret" not in error.message


def test_silent_and_slow_sites_time_out(site: LyingSite, tmp_path: Path) -> None:
    site.answers["/silent"] = silent(site.over)
    site.answers["/slow"] = dripping(site.over, 0.02)
    assert "took too long" in refused(site, "/silent", tmp_path, replace(OPTIONS, read_seconds=0.1)).message
    # No single wait is long.
    assert "in all" in refused(site, "/slow", tmp_path, replace(OPTIONS, total_seconds=0.2)).message


def test_all_files_of_a_source_share_one_byte_limit(site: LyingSite, tmp_path: Path) -> None:
    site.answers["/a"] = whole(b"PK\x03\x04" + b"x" * 250_000)
    with downloading(site.url, str(tmp_path), OPTIONS) as downloader:
        downloader.get(f"{site.url}/a")
        with pytest.raises(SourceUnreachable, match="400,000 bytes in all"):
            downloader.get(f"{site.url}/a")


@pytest.mark.parametrize(
    ("status", "reported"), [(401, "token"), (403, "403"), (404, "does not exist"), (429, "rate limit"), (500, "500")]
)
def test_http_errors_are_reported_with_their_status(
    site: LyingSite, tmp_path: Path, status: int, reported: str
) -> None:
    site.answers["/a"] = whole(b"", status=f"{status} Whatever")
    error = refused(site, "/a?key=hidden", tmp_path)
    assert "hidden" not in error.message
    error = refused(site, "/a", tmp_path)
    assert isinstance(error, NotThere)
    assert error.status == status
    assert reported in error.message


def test_an_unreachable_host_is_reported(site: LyingSite, tmp_path: Path) -> None:
    gone = replace(site, url="http://127.0.0.1:9")
    assert "cannot be reached" in refused(gone, "/", tmp_path).message


def test_the_users_proxy_is_used(site: LyingSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.answers["http://skills.invalid/a"] = whole(b"by the proxy")
    monkeypatch.setenv("http_proxy", site.url)
    elsewhere = replace(site, url="http://skills.invalid")
    assert fetch(elsewhere, "/a", tmp_path, replace(OPTIONS, insecure=True)).content() == b"by the proxy"
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
    assert "proxy" in refused(elsewhere, "/a", tmp_path, replace(OPTIONS, insecure=True)).message


SITE, HERE = "https://a.example/x", "http://127.0.0.1:8000/x"


@pytest.mark.parametrize(
    ("url", "typed", "came_from", "insecure", "reported"),
    [
        (SITE, SITE, "", False, ""),
        (HERE, HERE, "", False, ""),
        ("http://localhost/x", "http://localhost/x", "", False, ""),
        ("http://[::1]:1/x", "http://[::1]:1/x", "", False, ""),
        ("http://a.example/x", "http://a.example/x", "", False, "fetched over http:"),
        ("http://a.example/x", "http://a.example/x", "", True, ""),
        ("http://localhost.a.example/x", "http://localhost.a.example/x", "", False, "fetched over http:"),
        ("ftp://a.example/x", "ftp://a.example/x", "", True, "neither https nor http"),
        ("https://me:secret@a.example/", "https://me:secret@a.example/", "", True, "password"),
        ("https://b.example/y", SITE, SITE, False, ""),
        ("http://a.example/y", SITE, SITE, True, "from https to http"),
        (HERE, SITE, SITE, True, "from https to http"),
        ("https://b.example/y", "http://a.example/", "http://a.example/", True, ""),
        ("http://b.example/y", HERE, HERE, False, "which anyone on the network can change"),
        ("https://127.0.0.1/y", SITE, SITE, False, "not typed"),
        ("https://169.254.169.254/latest", SITE, SITE, False, "not typed"),
        ("https://10.0.0.1/y", SITE, SITE, True, "not typed"),
        ("https://127.1/y", SITE, SITE, False, "not typed"),
        ("https://2130706433/y", SITE, SITE, False, "not typed"),
        ("https://0x7f.0.0.0x1/y", SITE, SITE, False, "not typed"),
        ("https://127.0.0.1./y", SITE, SITE, False, "not typed"),
        ("https://\uff11\uff12\uff17.0.0.1/y", SITE, SITE, False, "not typed"),
        ("https://[::ffff:127.0.0.1]/y", SITE, SITE, False, "not typed"),
        ("https://a.localhost/y", SITE, SITE, False, "not typed"),
        ("https://1.1.1.1/y", SITE, SITE, False, "not typed"),
        ("https://3com.example/y", SITE, SITE, False, ""),
        ("https://[fd00::1]/y", SITE, SITE, True, "not typed"),
        ("http://10.0.0.1/y", "http://10.0.0.1/x", "http://10.0.0.1/x", True, ""),
        ("https://169.254.169.254/y", "https://10.0.0.1/x", "https://10.0.0.1/x", True, "not typed"),
        ("https://10.0.0.1/y", HERE, HERE, True, "not typed"),
        ("http://127.0.0.1:9/y", HERE, HERE, False, ""),
        ("javascript:alert(1)", SITE, SITE, True, "neither https nor http"),
        ("https:///y", SITE, SITE, True, "neither https nor http"),
        ("https://a.example:99999/", SITE, SITE, True, "malformed"),
    ],
)
def test_redirects_are_allowed_only_to_safe_addresses(
    url: str, typed: str, came_from: str, insecure: bool, reported: str
) -> None:
    problem = refusal(url, typed=typed, came_from=came_from, insecure=insecure)
    assert reported in problem
    assert bool(reported) == bool(problem)


def test_urls_are_shown_without_secrets() -> None:
    assert shown("https://me:secret@a.example/x?key=1#f") == "https://a.example/x?***#f"
    assert shown("https://[x/?key=1") == "https://[x/?***"
