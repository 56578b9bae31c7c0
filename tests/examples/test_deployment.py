"""The container image's file and the service's unit: what they copy is there, and what they start serves as they say.

No image is built here, since a base image would have to be downloaded: the image's command and its health check run as
they stand, with its environment and its directories below a temporary one. What the image is built by runs in
tests/conformance/test_deployment.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest
import tomlkit
import yaml
from tests.conftest import SkillWriter
from tests.examples.dockerfile import CONTAINER, environment_of, of, stages
from tests.server.bearers import add_token, knock
from tests.server.sessions import serving

from skillhub_mcp.bootstrap.server import http_options
from skillhub_mcp.cli.arguments import setting_options
from skillhub_mcp.cli.main import make_parser, with_command
from skillhub_mcp.settings import SETTINGS, read_settings

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[2]
SYSTEMD = CHECKOUT / "examples" / "systemd"
UNIT = SYSTEMD / "skillhub.service"


def settings_in(environment: Mapping[str, str]) -> set[str]:
    return {name for name in environment if name in {setting.name for setting in SETTINGS}}


def test_the_image_installs_this_checkout_as_locked() -> None:
    arguments, build, image = stages()
    assert of(arguments, "ARG")
    sources = [source for rest in of(build, "COPY") for source in rest.split()[:-1]]
    assert [source for source in sources if not (CHECKOUT / source).exists()] == []
    installs = of(build, "RUN")
    assert [run for run in installs if "uv sync" in run and "--locked" not in run] == []
    # On the index this program's names are somebody else's.
    assert [run for run in installs if re.search(r"install .*skillhub", run)] == []
    # What the wheel needs is copied before it is built.
    project = tomlkit.parse((CHECKOUT / "pyproject.toml").read_text("utf-8")).unwrap()
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {project["project"]["readme"], *project["project"]["license-files"], *wheel["force-include"]}
    assert needed | {"src", "uv.lock", "pyproject.toml"} == set(sources)
    environment = f"/{environment_of(build)['UV_PROJECT_ENVIRONMENT'].strip('/')}"
    assert f"--from=build {environment} {environment}" in of(image, "COPY")
    assert of(image, "FROM")[0] == of(build, "FROM")[0].removesuffix(" AS build")
    assert environment_of(image)["PATH"].startswith(f"{environment}/bin:")


def test_the_image_runs_unprivileged_and_writes_only_to_its_volume() -> None:
    *_, image = stages()
    user, _, group = of(image, "USER")[-1].partition(":")
    assert (user.isdigit(), group.isdigit(), int(user) >= 1000) == (True, True, True)
    (volume,) = json.loads(of(image, "VOLUME")[0])
    environment = environment_of(image)
    for name in ("HOME", "SKILLHUB_DB_PATH", "SKILLHUB_TOKENS_FILE"):
        assert environment[name].startswith(volume)
    assert f"chown {user}:{group} {volume}" in of(image, "RUN")[0]


def test_the_server_of_the_image_requires_a_token_and_passes_its_health_check(
    tmp_path: Path, write_skill: SkillWriter
) -> None:
    *_, image = stages()
    write_skill("alpha", root=tmp_path / "skills")
    (tmp_path / "data").mkdir()
    (tmp_path / "skills").chmod(0o555)
    places = {
        name: str(tmp_path / value.lstrip("/")) for name, value in environment_of(image).items() if value[:1] == "/"
    }
    scripts = Path(sys.executable).parent
    environment = {**places, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "EMBEDDING_PROVIDER": "none"}
    entry = [shutil.which(word, path=str(scripts)) or word for word in json.loads(of(image, "ENTRYPOINT")[0])]
    command = json.loads(of(image, "CMD")[0])
    made = subprocess.run(
        [*entry, "token", "new", "ann"], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    with serving(environment, command=[*entry, *command]) as server:
        assert server.url.startswith("http://0.0.0.0:")
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert [knock(url).status_code, knock(url, made.stdout.strip()).status_code] == [401, 200]
        check = of(image, "HEALTHCHECK")[0].partition("CMD ")[2]
        asked = check.replace(f":{command[-1]}/", f":{httpx2.URL(url).port}/")
        healthy = subprocess.run(json.loads(asked), env=environment, check=False, timeout=60)
        server.process.terminate()
    assert (healthy.returncode, server.ended()) == (0, 0)
    assert of(image, "EXPOSE") == [command[-1]]


def test_compose_grants_the_container_only_what_it_needs() -> None:
    (service,) = yaml.safe_load((CONTAINER / "compose.yaml").read_text("utf-8"))["services"].values()
    context = CONTAINER / service["build"]["context"]
    assert (context.resolve(), (context / service["build"]["dockerfile"]).exists()) == (CHECKOUT.resolve(), True)
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert [port for port in service["ports"] if not port.startswith("127.0.0.1:")] == []
    assert settings_in(service["environment"]) == set(service["environment"])
    *_, image = stages()
    inside = [volume.split(":/", 1)[1].split(":")[0] for volume in service["volumes"]]
    assert [f"/{path}" for path in inside] == [environment_of(image)["SKILLS_DIR"], *json.loads(of(image, "VOLUME")[0])]


def unit_values(key: str) -> list[str]:
    lines = UNIT.read_text("utf-8").splitlines()
    return [line.partition("=")[2] for line in lines if line.partition("=")[0] == key]


def test_the_service_requires_the_tokens_of_its_credential(tmp_path: Path) -> None:
    """The command line and the settings are read as they stand; the directories of systemd are temporary ones."""
    (start,) = unit_values("ExecStart")
    program, *arguments = start.split()
    assert program.endswith("/skillhub")
    given = dict(value.split("=", 1) for value in unit_values("Environment"))
    environment = {name: value.replace("%S", "/var/lib").replace("%d", str(tmp_path)) for name, value in given.items()}
    assert settings_in(environment) == set(environment) - {"HOME"}
    credential, _, copied = unit_values("LoadCredential")[0].partition(":")
    # A running service has a copy of the tokens, so another unit watches the file and restarts it.
    assert f"PathChanged={copied}\n" in (SYSTEMD / "skillhub-tokens.path").read_text("utf-8")
    add_token(tmp_path / credential, "ann")
    args = make_parser().parse(with_command(arguments))
    settings, _ = read_settings(environment, setting_options(args))
    options = http_options(settings, host=args.host, port=args.port)
    assert options.auth is not None
    assert options.auth.tokens is not None
    assert options.auth.tokens.path == str(tmp_path / credential)
    (state,) = unit_values("StateDirectory")
    assert {settings.index.db_path.rpartition("/")[0], environment["HOME"]} == {f"/var/lib/{state}"}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_accepts_the_unit_and_rates_it_as_confined(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    there = re.sub(r"^ExecStart=\S+", f"ExecStart={shutil.which('true')}", UNIT.read_text("utf-8"), flags=re.MULTILINE)
    copy.write_text(there, encoding="utf-8")
    verified = run("systemd-analyze", "verify", "--man=no", copy)
    assert (verified.returncode, verified.stderr) == (0, "")
    # In tenths: 1.3 of 10 here, 9.6 without any restriction; another version of systemd counts a little otherwise.
    assert run("systemd-analyze", "security", "--offline=true", "--threshold=25", copy).returncode == 0


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
