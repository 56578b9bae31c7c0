"""Publications in Azure's Blob Storage, with Microsoft's emulator."""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import itertools
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests import installs
from tests.conftest import SkillWriter
from tests.server.sessions import command, serving
from tests.store.test_over_http import until_ready
from tests.store.test_several_publishers import publish_at_once

from skillhub_mcp.store.tables import Target, open_target

pytestmark = pytest.mark.conformance

# The emulator's public account.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_VERSION = "2021-08-06"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the emulator, in memory and without telemetry."""
    modules = installs.npm_packages(Path(__file__).parent / "azurite" / "package.json")
    script = modules / "azurite" / "dist" / "src" / "blob" / "main.js"
    arguments = ["--blobPort", "0", "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]
    with subprocess.Popen(
        [str(installs.node()), str(script), *arguments],
        cwd=tmp_path_factory.mktemp("azurite"),
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        output = ""
        while (found := re.search(r"successfully listens on (\S+)", output)) is None:
            line = process.stdout.readline()
            assert line, output
            output += line
        yield f"{found[1]}/{_ACCOUNT}"
        process.kill()


@pytest.fixture
def container(endpoint: str) -> Target:
    """An empty container, with a prefix in it."""
    name = f"container-{next(_numbers)}"
    headers = {
        "Content-Type": "application/octet-stream",
        "x-ms-date": email.utils.formatdate(usegmt=True),
        "x-ms-version": _VERSION,
    }
    of_azure = "".join(f"{key}:{value}\n" for key, value in headers.items() if key.startswith("x-ms-"))
    resource = f"/{_ACCOUNT}/{_ACCOUNT}/{name}\nrestype:container"
    signed = f"PUT\n\n\n\n\n{headers['Content-Type']}\n\n\n\n\n\n\n{of_azure}{resource}"
    signature = base64.b64encode(hmac.new(base64.b64decode(_KEY), signed.encode(), hashlib.sha256).digest()).decode()
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{signature}"
    request = Request(f"{endpoint}/{name}?restype=container", data=b"", headers=headers, method="PUT")
    urlopen(request, timeout=10).close()
    options = {
        "azure_storage_account_name": _ACCOUNT,
        "azure_storage_account_key": _KEY,
        "endpoint": endpoint,
        "allow_http": "true",
    }
    return open_target(f"az://{name}/team/skills", options)


def test_concurrent_publishers_lose_and_duplicate_nothing(
    hub_environment: Mapping[str, str], write_skill: SkillWriter, container: Target, tmp_path: Path
) -> None:
    publish_at_once(hub_environment, write_skill, container, tmp_path, has_publication=False)


def test_a_replica_serves_what_was_published(
    hub_environment: dict[str, str], write_skill: SkillWriter, container: Target, tmp_path: Path
) -> None:
    options = ",".join(f"{key}={value}" for key, value in container.options.items())
    publisher = {**hub_environment, "SKILLHUB_STORAGE_OPTIONS": options}
    write_skill("walrus", "Feeds the walrus.")
    output = command(publisher, "publish", container.name)
    assert _KEY not in output
    replica = {
        **publisher,
        "DB_PATH": container.name,
        "SKILLHUB_MIRROR_DIR": str(tmp_path / "mirror"),
        "SKILLHUB_REFRESH_SECONDS": "0.2",
        "SKILLHUB_TOKEN": "a-token-of-the-test",
    }
    found = command({**replica, "SKILLHUB_READ_ONLY": "1"}, "search", "walrus", "--json")
    assert '"walrus"' in found
    with serving(replica, "--read-only") as server:
        until_ready([server.url], "a-token-of-the-test", index="ready", storage="ok", skills=1)
        server.process.terminate()
