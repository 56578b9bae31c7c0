"""What a publication costs in requests, bytes and processor time: python -m bench.publication DIRECTORY [DIRECTORY …]

Each directory of skills is copied, published to moto's S3 server and served by a replica; then one skill changes, is
published and followed. Requests are counted at the server; the processor time is that of the process that is named.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx2
from bench.processes import cpu_seconds, megabytes, run
from tests.fakes.object_storage import ObjectStorage, object_storage
from tests.server.sessions import COMMAND, serving

_PATIENCE = 600.0


def _publish(environment: Mapping[str, str], target: str, storage: ObjectStorage) -> tuple[int, list[str]]:
    """Publish; return the publication's number, and the cells of a row: CPU seconds, requests, bytes of new files."""
    storage.faults.requests.clear()
    cost = run([*COMMAND, "publish", target, "--json"], environment)
    report = json.loads(cost.output)
    sent = f"{report['files']['new_bytes'] / 1e6:.2f} MB of new files; {cost.peak_megabytes:,.0f} MB of memory"
    return report["publication"], [f"{cost.cpu:.1f} s", _requests(storage), sent]


def _requests(storage: ObjectStorage) -> str:
    counted = storage.faults.requests
    return ", ".join(f"{counted[method]:,} {method}" for method in sorted(counted))


def _until(url: str, publication: int, token: str) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        answer = httpx2.get(url.replace("/mcp", "/readyz"), headers={"authorization": f"Bearer {token}"}, timeout=60)
        told = answer.json()
        if told.get("publication") == publication and "progress" not in told:
            return
        if time.monotonic() > end:
            raise TimeoutError(str(told))
        time.sleep(0.2)


def _quiet(storage: ObjectStorage) -> None:
    """Wait until a replica has asked for nothing but the list of publications for a second."""
    seen = -1
    while (now := sum("publications.lance" not in path for path in storage.faults.paths)) != seen:
        seen = now
        time.sleep(1)


def rows(skills: Path, storage: ObjectStorage, scratch: Path) -> list[list[str]]:
    """The table's rows of one library."""
    library = scratch / "skills"
    shutil.copytree(skills, library)
    count = sum(1 for _ in library.rglob("SKILL.md"))
    target = f"{storage.make_bucket(f'skills-{count}')}/main"
    token = "a-token-of-the-benchmark"
    plain = {
        "PATH": os.environ["PATH"],
        "HOME": str(scratch),
        "EMBEDDING_PROVIDER": "none",
        "SKILLHUB_STORAGE_OPTIONS": storage.setting,
    }
    publisher = {
        **plain,
        "SKILLS_DIR": str(library),
        "SKILLHUB_ROOTS": "hub",
        "DB_PATH": str(scratch / "db" / "skills.lancedb"),
    }
    run([*COMMAND, "index"], publisher)
    replica = {**plain, "DB_PATH": target, "SKILLHUB_TOKEN": token, "SKILLHUB_REFRESH_SECONDS": "2"}
    told = []
    first, cells = _publish(publisher, target, storage)
    told.append(["first publication, of an index that is there", *cells])
    _, cells = _publish(publisher, target, storage)
    told.append(["publication without a change", *cells])
    storage.faults.requests.clear()
    with serving(replica, "--read-only") as server:
        _until(server.url, first, token)
        _quiet(storage)
        mirrored = sum(path.stat().st_size for path in (scratch / ".skillhub" / "mirrors").rglob("*") if path.is_file())
        kept = f"{mirrored / 1e6:.1f} MB mirrored; {megabytes(server.process.pid):,.0f} MB of memory"
        started = cpu_seconds(server.process.pid)
        told.append(["a replica without a mirror, with its start", f"{started:.1f} s", _requests(storage), kept])
        changed = next(library.rglob("SKILL.md"))
        changed.write_text(changed.read_text("utf-8") + "\nAnd one more thing.\n", "utf-8")
        second, cells = _publish(publisher, target, storage)
        told.append(["publication of one changed skill", *cells])
        storage.faults.requests.clear()
        _until(server.url, second, token)
        _quiet(storage)
        followed = cpu_seconds(server.process.pid) - started
        told.append(
            ["that replica follows it", f"{followed:.1f} s", "", f"{megabytes(server.process.pid):,.0f} MB of memory"]
        )
        server.process.terminate()
    return [[f"{count:,}", *row] for row in told]


def main(directories: Sequence[str]) -> None:
    print("| skills | what | CPU | requests | bytes |\n|---|---|---|---|---|")
    for directory in directories:
        with tempfile.TemporaryDirectory() as name, object_storage() as storage:
            for row in rows(Path(directory), storage, Path(name)):
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
