"""The hub behind a real nginx with TLS, configured as examples/proxy says, for clients of both protocol versions."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import mcp
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.certificates import certify
from tests.conftest import SkillWriter
from tests.server.bearers import ACCEPT, INITIALIZE, add_token, bearing
from tests.server.connections import Caller, listening

pytestmark = [pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed here"), pytest.mark.slow]

EXAMPLE = Path(__file__).parents[3] / "examples" / "proxy" / "nginx.conf"
NAME = "skills.example.com"
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@dataclass(frozen=True, slots=True)
class Proxied:
    """An address that nginx serves, the certificate to know it by, and a token to get in."""

    url: str
    certificate: Path
    token: str

    @property
    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.certificate)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        with httpx2.Client(verify=self.trust, timeout=60) as http:
            return http.get(self.url.removesuffix("/mcp") + path, headers={"host": NAME, **headers})

    def knock(self, *, token: str | None = None, at: str = "127.0.0.1", **headers: str) -> httpx2.Response:
        """Start a session (2025-11-25 protocol) from one of this machine's own addresses."""
        given = {"host": NAME, **(ACCEPT if token is None else bearing(token)), **headers}
        transport = httpx2.HTTPTransport(verify=self.trust, local_address=at)
        with httpx2.Client(transport=transport, timeout=60) as http:
            return http.post(self.url, json=INITIALIZE, headers=given)

    @asynccontextmanager
    async def client(self, mode: str) -> AsyncIterator[Caller]:
        headers = {"host": NAME, "authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, verify=self.trust, timeout=60) as http,
            mcp.Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield Caller(client)


@contextlib.contextmanager
def nginx(directory: Path, hub: str) -> Iterator[tuple[str, Path]]:
    """The address of an nginx before `hub`, and its certificate."""
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    certify(NAME, key, certificate)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = EXAMPLE.read_text(encoding="utf-8")
    for written, here in (
        ("server 127.0.0.1:8000;", f"server {urlsplit(hub).netloc};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        (f"/etc/ssl/certs/{NAME}.pem", str(certificate)),
        (f"/etc/ssl/private/{NAME}.key", str(key)),
    ):
        assert text.count(written) == 1
        text = text.replace(written, here)
    places = "".join(
        f"{kind}_temp_path {directory}/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = directory / "nginx.conf"
    # One process, with this one's rights: it needs no user of its own to read what lies here.
    whole.write_text(
        f"daemon off; master_process off; pid {directory}/nginx.pid; events {{}}\n"
        f"http {{ access_log off; {places}\n{text}\n}}\n",
        encoding="utf-8",
    )
    process = subprocess.Popen(["nginx", "-c", str(whole), "-p", str(directory), "-e", str(directory / "error.log")])
    try:
        until_reached(process, port, directory / "error.log")
        yield f"https://127.0.0.1:{port}/mcp", certificate
    finally:
        process.terminate()
        process.wait(timeout=60)


def until_reached(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert process.poll() is None, log.read_text(encoding="utf-8")
        else:
            return


@pytest.fixture
def environment(hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path) -> dict[str, str]:
    write_skill("alpha", "Does alpha.", body="The body of alpha.\n", files={"a.txt": "A"})
    return {
        **hub_environment,
        "SKILLHUB_TOKENS_FILE": str(tmp_path / "tokens.json"),
        "SKILLHUB_PUBLIC_URL": f"https://{NAME}/mcp",
        "SKILLHUB_JWT_ISSUER": "http://127.0.0.1:9",
        "SKILLHUB_JWT_AUDIENCE": f"https://{NAME}/mcp",
        "SKILLHUB_RATE_LIMIT": "30",
        "SKILLHUB_WELL_KNOWN": "1",
    }


@pytest.fixture
def proxied(environment: dict[str, str], tmp_path: Path) -> Iterator[Proxied]:
    token = add_token(tmp_path / "tokens.json", "ci")
    with listening(environment) as hub, nginx(tmp_path, hub) as (url, certificate):
        yield Proxied(url, certificate, token)


@MODES
def test_a_client_with_a_token_completes_a_journey(proxied: Proxied, mode: str) -> None:
    async def journey() -> list[str]:
        async with proxied.client(mode) as hub:
            found = (await hub.call("search_skills", query="alpha")).json["skills"]
            loaded = await hub.call("load_skill", skill_name=found[0]["name"])
            read = await hub.call("read_skill_file", skill_name=found[0]["name"], file_path="a.txt")
            resource = await hub.client.read_resource("skill://hub/alpha/SKILL.md")
        return [loaded.json["instructions"], read.json["content"], str(resource.contents)]

    body, file, resource = asyncio.run(journey())
    assert (body, file) == ("The body of alpha.\n", "A")
    assert "The body of alpha." in resource


@MODES
def test_an_event_passes_at_once_while_the_stream_stays_open(
    proxied: Proxied, write_skill: SkillWriter, mode: str
) -> None:
    heard = asyncio.Queue[object]()

    async def on_message(message: object) -> None:
        if isinstance(message, mcp.types.ResourceListChangedNotification):
            heard.put_nowait(message)

    async def journey() -> None:
        headers = {"host": NAME, "authorization": f"Bearer {proxied.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, verify=proxied.trust, timeout=60) as http,
            mcp.Client(
                streamable_http_client(proxied.url, http_client=http), mode=mode, message_handler=on_message
            ) as client,
            contextlib.AsyncExitStack() as stack,
        ):
            await client.call_tool("search_skills", {"query": "alpha"})
            if mode == "auto":
                subscription = await stack.enter_async_context(client.listen(resources_list_changed=True))
                write_skill("beta", "Does beta.")
                await anext(aiter(subscription))
            else:
                write_skill("beta", "Does beta.")
                await heard.get()

    asyncio.run(journey())


def test_skills_are_told_of_and_handed_on_to_who_has_a_token(proxied: Proxied) -> None:
    index, bearer = "/.well-known/agent-skills/index.json", {"authorization": f"Bearer {proxied.token}"}
    for path in ("/skills", index):
        assert (proxied.get(path).status_code, proxied.get(path, **bearer).status_code) == (401, 200)
    (skill,) = proxied.get(index, **bearer).json()["skills"]
    artifact = proxied.get(f"/.well-known/agent-skills/{skill['url']}", **bearer).content
    assert skill["digest"] == f"sha256:{hashlib.sha256(artifact).hexdigest()}"


def test_a_client_without_a_token_learns_through_the_proxy_where_to_get_one(proxied: Proxied) -> None:
    place = "/.well-known/oauth-protected-resource/mcp"
    for refused in (proxied.knock(), proxied.knock(token="wrong")):
        assert refused.status_code == 401
        assert f'resource_metadata="https://{NAME}{place}"' in refused.headers["www-authenticate"]
    assert proxied.get(place).json()["resource"] == f"https://{NAME}/mcp"
    assert f"endpoint  https://{NAME}/mcp\n" in proxied.get("/").text
    assert proxied.get("/healthz").json() == {"status": "ok"}
    assert proxied.get("/healthz", host="10.0.0.5").json() == {"status": "ok"}
    assert set(proxied.get("/readyz").json()) == {"index"}
    assert proxied.get("/metrics").status_code == 404
    # With a slash at its end, the address is the endpoint too.
    assert proxied.get("/mcp/").status_code == 401


def test_the_hosts_own_pages_may_call_over_tls_and_no_others(proxied: Proxied) -> None:
    def status(**headers: str) -> int:
        return proxied.knock(token=proxied.token, **headers).status_code

    assert status() == 200
    assert status(origin=f"https://{NAME}") == 200
    assert status(origin=f"http://{NAME}") == 403
    assert status(origin="https://evil.example.com") == 403
    assert status(origin="null") == 403
    assert status(host="evil.example.com") == 421
    # What the client says of itself is overwritten.
    assert status(origin=f"https://{NAME}", **{"x-forwarded-proto": "http"}) == 200


def test_a_client_is_known_by_the_address_that_the_proxy_sees(proxied: Proxied) -> None:
    def status(at: str, said: str) -> int:
        return proxied.knock(at=at, **{"x-forwarded-for": said}).status_code

    # More than the bucket holds, and than could run into it meanwhile.
    strangers = {status("127.0.0.2", f"198.51.100.{number}") for number in range(60)}
    assert strangers == {401, 429}
    assert status("127.0.0.3", "127.0.0.2") == 401
