"""Start a deployment for a team on this machine, check it, and stop it: python3 examples/team/check.py

A publisher writes skills to a bucket, two replicas serve it behind nginx, and clients of two teams call through nginx. All
of it is real but the bucket: moto's S3 server, which keeps objects in memory, stands in for a cloud's. Everything listens on
free ports of 127.0.0.1 and lies in one temporary directory.

Needs Python 3.10 or newer with pip, and nginx. Where this Python has not got the hub, moto and obstore, the script installs
this checkout and moto into a virtual environment in the temporary directory first.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
NAME = "skills.example.com"
# How long anything may take that is waited for. A check that fails says which one it was.
PATIENCE = 60.0


class CheckError(Exception):
    """Something is not as a deployment should be: what, and what was seen."""


def require(fact, what, seen=""):
    if not fact:
        raise CheckError(f"{what}: {seen}" if seen != "" else what)


def until(ask, what):
    """Ask again until there is an answer, and return it."""
    end = time.monotonic() + PATIENCE
    while not (answer := ask()):
        require(time.monotonic() < end, f"not so after {PATIENCE:.0f} s", what)
        time.sleep(0.05)
    return answer


def say(text):
    print(f"ok  {text}", flush=True)


# The parts of the deployment: each is a context, and what it started ends with it.


@contextlib.contextmanager
def s3_server():
    """An S3 server, and its endpoint; a context inside, so that the check can end it before the rest."""
    import logging

    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def started(command, log, environment=None):
    """A process that writes to a log; it is told to end, and killed if it does not."""
    with log.open("wb") as said:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def replica(environment, log, port=0):
    """A read-only server, and the address that it says it listens at."""
    command = [*HUB, "--transport", "http", "--read-only", "--port", str(port)]
    with started(command, log, environment) as process:

        def address():
            said = log.read_text("utf-8")
            require(process.poll() is None, "a replica ended", said)
            _, found, rest = said.partition("Serving MCP at http://")
            return rest.split("/", 1)[0] if found and "/mcp" in rest else None

        yield process, until(address, "a replica listens")


@contextlib.contextmanager
def nginx(directory, replicas):
    """nginx with this directory's nginx.conf before the replicas; its address, and what a client trusts it by."""
    import socket
    import ssl

    directory.mkdir()
    certificate, key = certify(directory)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = (HERE / "nginx.conf").read_text("utf-8")
    for written, here in (
        ("10.0.0.11:8000", replicas[0]),
        ("10.0.0.12:8000", replicas[1]),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        (f"/etc/ssl/certs/{NAME}.pem", str(certificate)),
        (f"/etc/ssl/private/{NAME}.key", str(key)),
    ):
        require(text.count(written) == 1, "nginx.conf has once what is replaced here", written)
        text = text.replace(written, here)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {directory}/{kind}; " for kind in kinds)
    # One process, with the rights of who runs this: it needs no user of its own.
    whole = directory / "nginx.conf"
    whole.write_text(
        f"daemon off; master_process off; pid {directory}/pid; events {{}}\nhttp {{ access_log off; {places}\n{text}\n}}\n",
        "utf-8",
    )
    log = directory / "error.log"
    command = [program("nginx"), "-c", str(whole), "-p", str(directory), "-e", str(log)]
    with started(command, directory / "output.log") as process:

        def reached():
            if process.poll() is not None:
                raise CheckError(f"nginx ended: {log.read_text('utf-8')}")
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port)).close()
                return True
            return False

        until(reached, "nginx listens")
        yield f"https://127.0.0.1:{port}", ssl.create_default_context(cafile=certificate)


def certify(directory):
    """Write a certificate for this run, and its key."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now, hour = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(hours=1)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - hour, now + hour)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = directory / "certificate.pem", directory / "key.pem"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key_file.touch(0o600)
    key_file.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
    return certificate_file, key_file


def program(name):
    # Debian has nginx where only root looks.
    found = shutil.which(
        name, path=os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
    )
    require(found is not None, f"{name} is not installed")
    return found


# The clients.


@contextlib.asynccontextmanager
async def client(url, token, mode, trust=True):
    """An MCP client with a team's token: of the 2026-07-28 protocol ("auto") or the one before ("legacy")."""
    import httpx2
    import mcp
    from mcp.client.streamable_http import streamable_http_client

    headers = {"authorization": f"Bearer {token}", "host": NAME}
    async with (
        httpx2.AsyncClient(headers=headers, verify=trust, timeout=30) as http,
        mcp.Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as connected,
    ):
        yield connected


async def call(connected, tool, **arguments):
    """What a tool answers: whether it is an error, and its text."""
    answer = await connected.call_tool(tool, arguments)
    return bool(answer.is_error), " ".join(getattr(part, "text", "") for part in answer.content)


async def journey(url, token, mode, trust):
    """Search, load and read as an agent does."""
    async with client(url, token, mode, trust) as hub:
        failed, found = await call(hub, "search_skills", query="find out why a SQL query is slow")
        require(not failed and "sql-query-review" in found, "a search finds the skill", found)
        failed, loaded = await call(hub, "load_skill", skill_name="csv-profiler")
        require(not failed and "csv" in loaded.lower(), "a skill is loaded", loaded)
        failed, read = await call(hub, "read_skill_file", skill_name="csv-profiler", file_path="scripts/profile.py")
        require(not failed and "import" in read, "a file is read", read)


async def loaded_by(url, token, skill, trust=True):
    """What loading a skill answers."""
    async with client(url, token, "auto", trust) as hub:
        return await call(hub, "load_skill", skill_name=skill)


async def calls_while(url, token, trust, event):
    """Call through nginx, by clients of both protocols, before, during and after an event.

    Return how many calls were answered and how many broke off: nginx cannot repeat an answer that it has begun to pass on.
    """
    import asyncio

    modes = ("auto", "legacy")
    answered, broken, over = 0, 0, asyncio.Event()

    async def calling(mode):
        nonlocal answered, broken
        while not over.is_set():
            try:
                async with client(url, token, mode, trust) as hub:
                    while not over.is_set():
                        failed, text = await call(hub, "load_skill", skill_name="csv-profiler")
                        require(not failed, "a call is answered while a replica dies", text)
                        answered += 1
            except Exception:
                broken += 1
                if broken > len(modes):
                    raise

    tasks = [asyncio.create_task(calling(mode)) for mode in modes]

    async def reach(count):
        while answered < count:
            for task in tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.01)

    try:
        await asyncio.wait_for(reach(5), PATIENCE)
        event()
        await asyncio.wait_for(reach(answered + 20), PATIENCE)
    finally:
        over.set()
        await asyncio.gather(*tasks)
    return answered, broken


# The check.

HUB = (sys.executable, "-m", "skillhub_mcp")


def hub(environment, *arguments):
    """Run the hub's program and return what it prints."""
    done = subprocess.run([*HUB, *arguments], env=environment, capture_output=True, encoding="utf-8", check=False)
    require(done.returncode == 0, f"skillhub {arguments[0]} succeeds", done.stdout + done.stderr)
    return done.stdout.strip()


def check(scratch):
    import asyncio
    import json
    from urllib.request import Request, urlopen

    skills, tokens = scratch / "skills", scratch / "tokens.json"
    shutil.copytree(CHECKOUT / "examples" / "skills", skills)
    plain = {
        # No setting of whoever runs this counts, and nothing is written to their home.
        "HOME": str(scratch),
        "PATH": os.environ.get("PATH", os.defpath),
        "EMBEDDING_PROVIDER": "none",
    }

    with contextlib.ExitStack() as running:
        storage = running.enter_context(contextlib.ExitStack())
        endpoint = storage.enter_context(s3_server())
        urlopen(Request(f"{endpoint}/company", method="PUT"), timeout=10).close()
        target = "s3://company/skills"
        reached = {"SKILLHUB_STORAGE_OPTIONS": f"region=us-east-1,endpoint={endpoint},allow_http=true"}
        writer = {**plain, **reached, "AWS_ACCESS_KEY_ID": "publisher", "AWS_SECRET_ACCESS_KEY": "moto-takes-any"}
        writer |= {
            "SKILLS_DIR": str(skills),
            "SKILLHUB_ROOTS": "hub",
            "SKILLHUB_DB_PATH": str(scratch / "publisher" / "skills.lancedb"),
        }
        say(f"an S3 server at {endpoint} (moto's: a stand-in)")

        def publish():
            return json.loads(hub(writer, "publish", target, "--json"))["number"]

        first = publish()
        say(f"published {first}")

        development = hub(writer, "token", "new", "development", "--categories", "development", "--file", str(tokens))
        everything = hub(writer, "token", "new", "platform", "--file", str(tokens))
        say("a token for each of two teams: development has its category, platform has every skill")

        reader = {**plain, **reached, "AWS_ACCESS_KEY_ID": "replica", "AWS_SECRET_ACCESS_KEY": "moto-takes-any"}
        reader |= {
            "SKILLHUB_DB_PATH": target,
            "SKILLHUB_TOKENS_FILE": str(tokens),
            "SKILLHUB_PUBLIC_URL": f"https://{NAME}/mcp",
            "SKILLHUB_REFRESH_SECONDS": "0.5",
        }
        # Two machines share nothing, and so these do not share their mirrors.
        each = [{**reader, "SKILLHUB_MIRROR_DIR": str(scratch / f"mirror-{number}")} for number in (1, 2)]
        logs = [scratch / "replica-1.log", scratch / "replica-2.log"]
        (one, at_one), (two, at_two) = (
            running.enter_context(replica(environment, log)) for environment, log in zip(each, logs, strict=True)
        )
        url, trust = running.enter_context(nginx(scratch / "nginx", (at_one, at_two)))

        def ready(address):
            request = Request(f"http://{address}/readyz", headers={"Authorization": f"Bearer {everything}"})
            with contextlib.suppress(OSError), urlopen(request, timeout=10) as answer:
                return json.load(answer)
            return {}

        def serves(address, **wanted):
            until(
                lambda: ready(address).items() >= wanted.items(), f"{address} is at {wanted}; it says {ready(address)}"
            )

        for address in (at_one, at_two):
            serves(address, index="ready", publication=first, storage="ok")
        say(f"two replicas at {at_one} and {at_two}, and nginx before them at {url}")

        for mode in ("auto", "legacy"):
            asyncio.run(journey(url, everything, mode, trust))
        say("clients of both protocol versions search, load and read a file through nginx")
        failed, text = asyncio.run(loaded_by(url, development, "csv-profiler", trust))
        require(failed and "SKILL_NOT_FOUND" in text, "a team does not see another's skill", text)
        failed, text = asyncio.run(loaded_by(url, development, "code-review-checklist", trust))
        require(not failed, "a team is served what its token grants", text)
        unknown = asyncio.run(refused(url, trust))
        require(unknown == 401, "without a token nothing is answered", unknown)
        say("a team's token opens its own skills and no others; without one the answer is 401")

        skill = skills / "csv-profiler" / "SKILL.md"
        skill.write_text(skill.read_text("utf-8") + "\nThe second edition.\n", "utf-8")
        second = publish()
        for address in (at_one, at_two):
            serves(address, publication=second)
            _, text = asyncio.run(loaded_by(f"http://{address}", everything, "csv-profiler"))
            require("The second edition." in text, "a replica serves what was published", text)
        say(f"published {second}: both replicas serve it")

        def die():
            one.send_signal(signal.SIGKILL)
            one.wait()

        answered, broken = asyncio.run(calls_while(url, everything, trust, die))
        say(f"one replica was killed: {answered} calls were answered through nginx, {broken} broke off")

        hub(writer, "publish", target, "--rollback", "1")
        serves(at_two, publication=3)
        _, text = asyncio.run(loaded_by(url, everything, "csv-profiler", trust))
        require("The second edition." not in text, "a rollback takes back what was published", text)
        say(f"rolled back: publication 3 has what {first} had")

        storage.close()
        serves(at_two, index="ready", publication=3, storage="failing")
        port = int(at_one.rpartition(":")[2])
        _, back = running.enter_context(replica(each[0], logs[0], port))
        serves(back, index="ready", publication=second)
        asyncio.run(journey(url, everything, "auto", trust))
        say("the storage is away: one replica goes on, and the killed one is back with what its mirror has")

        two.terminate()
        require(two.wait(timeout=15) == 0, "a replica that is told to stop ends in order", logs[1].read_text("utf-8"))
    say("all is stopped")


async def refused(url, trust):
    import httpx2

    async with httpx2.AsyncClient(verify=trust, headers={"host": NAME}) as http:
        return (await http.post(f"{url}/mcp", json={})).status_code


def install(scratch):
    """Make a Python that has what this needs, and return it."""
    print("installing this checkout and moto into a temporary virtual environment, once …", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(scratch / "venv")], check=True)
    python = scratch / "venv" / "bin" / "python"
    wanted = [f"{CHECKOUT}[storage]", "moto[server]>=5.2,<6"]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


def main():
    try:
        program("nginx")
        with tempfile.TemporaryDirectory(prefix="skillhub-team-") as name:
            scratch = Path(name)
            if all(importlib.util.find_spec(module) for module in ("skillhub_mcp", "moto", "obstore", "werkzeug")):
                check(scratch)
                return 0
            return subprocess.run([str(install(scratch)), str(HERE / "check.py")], check=False).returncode
    except CheckError as error:
        print(f"not as it should be: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
