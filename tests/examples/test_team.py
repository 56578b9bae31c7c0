"""The deployment for a team: one command starts it and finds it right, and its manifests name only what there is."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.examples.dockerfile import environment_of, of, stages
from tests.server.bearers import add_token
from tests.surfaces.test_over_http import ROUTES

from skillhub_mcp.bootstrap.server import http_options
from skillhub_mcp.cli.arguments import setting_options
from skillhub_mcp.cli.main import make_parser, with_command
from skillhub_mcp.settings import SETTINGS, read_settings

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[2]
MANIFESTS = sorted((CHECKOUT / "examples" / "kubernetes").glob("*.yaml"))
NGINX = shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin")))


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed here")
def test_the_team_deployment_passes_its_own_check(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, CHECKOUT / "examples" / "team" / "check.py"],
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    reported = [line.removeprefix("ok  ") for line in done.stdout.splitlines()]
    assert len(reported) == len(done.stdout.splitlines()) == 11
    assert re.fullmatch(r"one replica was killed: \d+ calls were answered through nginx, [012] broke off", reported[7])
    assert reported[-1] == "all is stopped"
    assert list(scratch.iterdir()) == []


def documents() -> Iterator[Mapping[str, Any]]:
    for manifest in MANIFESTS:
        yield from yaml.safe_load_all(manifest.read_text("utf-8"))


def named(kind: str) -> dict[str, Mapping[str, Any]]:
    return {one["metadata"]["name"]: one for one in documents() if one["kind"] == kind}


def pods() -> Iterator[Mapping[str, Any]]:
    """Yield what each workload runs."""
    for one in documents():
        if one["kind"] == "Deployment":
            yield one["spec"]["template"]
        if one["kind"] == "CronJob":
            yield one["spec"]["jobTemplate"]["spec"]["template"]


def containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]


def of_the_hub() -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each container of the hub's image, with its pod."""
    for pod in pods():
        for container in containers(pod):
            if "/skillhub:" in container["image"]:
                yield pod, container


def environment(container: Mapping[str, Any]) -> dict[str, str]:
    """The container's variables: the image's, those of ConfigMaps, and a word for each that comes from a Secret."""
    *_, image = stages()
    configured: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        if "configMapRef" in source:
            configured |= named("ConfigMap")[source["configMapRef"]["name"]]["data"]
    given = {one["name"]: one.get("value", "a-secret") for one in container.get("env", ())}
    return {**environment_of(image), **configured, **given}


def test_manifests_use_existing_commands_and_settings(tmp_path: Path) -> None:
    known = {name for setting in SETTINGS for name in (setting.name, *setting.aliases)}
    *_, image = stages()
    outside = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", *environment_of(image)}
    add_token(tmp_path / "tokens.json", "ann")
    commands = []
    for _, container in of_the_hub():
        # The image's entry point stays: arguments are those of `skillhub`.
        assert "command" not in container
        args = make_parser().parse(with_command(container["args"]))
        commands.append(container["args"][0])
        given = environment(container)
        assert set(given) - known - outside == set()
        given["SKILLHUB_TOKENS_FILE"] = str(tmp_path / "tokens.json")
        settings, _ = read_settings(given, setting_options(args))
        assert (args.command == "validate") or settings.storage.options["region"]
        if commands[-1] == "--transport":
            assert settings.replica.read_only
            assert settings.index.db_path.startswith("s3://")
            options = http_options(settings, host=args.host, port=args.port)
            assert (options.port, options.stateless) == (int(of(image, "EXPOSE")[0]), True)
            assert options.trusted_proxies
    assert commands == ["validate", "publish", "--transport"]


def test_manifests_probe_served_paths_and_ports() -> None:
    (deployment,) = named("Deployment").values()
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    (port,) = container["ports"]
    probes = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
    assert {probe["path"] for probe in probes.values()} <= ROUTES
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    # A replica that waits for its first publication is alive and not ready.
    assert (probes["startup"], probes["readiness"]["path"]) == (probes["liveness"], "/readyz")
    arguments = container["args"]
    assert arguments[arguments.index("--port") + 1] == str(port["containerPort"])
    (service,) = named("Service").values()
    assert [one["targetPort"] for one in service["spec"]["ports"]] == [port["name"]]
    (budget,) = named("PodDisruptionBudget").values()
    labels = template["metadata"]["labels"]
    for selector in (
        service["spec"]["selector"],
        deployment["spec"]["selector"]["matchLabels"],
        budget["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= labels.items()
    # What a stopping server takes to finish its requests.
    assert template["spec"]["terminationGracePeriodSeconds"] >= 10


def test_manifests_mount_what_they_name_and_hold_no_secret() -> None:
    assert named("Secret") == {}
    text = "".join(manifest.read_text("utf-8") for manifest in MANIFESTS)
    for pod in pods():
        volumes = {one["name"] for one in pod["spec"]["volumes"]}
        assert pod["spec"]["automountServiceAccountToken"] is False
        for container in containers(pod):
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            security = container["securityContext"]
            assert (security["readOnlyRootFilesystem"], security["capabilities"]) == (True, {"drop": ["ALL"]})
            assert {"cpu", "memory"} <= set(container["resources"]["requests"])
            for one in container.get("env", ()):
                assert "KEY" not in one["name"] or "secretKeyRef" in one["valueFrom"]
    # The guide creates each Secret that is asked for.
    asked = set(re.findall(r"secretName: (\S+)", text)) | set(re.findall(r"secretKeyRef: \{ name: ([\w-]+)", text))
    page = (CHECKOUT / "docs" / "guides" / "platform.md").read_text("utf-8")
    assert asked == set(re.findall(r"create secret generic (\S+)", page))


def test_manifests_let_a_server_write_only_where_needed() -> None:
    for pod, container in of_the_hub():
        sizes = {one["name"]: one["emptyDir"].get("sizeLimit") for one in pod["spec"]["volumes"] if "emptyDir" in one}
        writable = {m["mountPath"]: sizes[m["name"]] for m in container["volumeMounts"] if not m.get("readOnly")}
        given = environment(container)
        assert set(writable) <= {"/data", "/tmp"}
        assert given["HOME"] in writable
        settings, _ = read_settings(given)
        if settings.replica.read_only:
            assert settings.replica.mirror_dir.startswith("/data/")


def test_the_publishing_job_runs_existing_commands_after_its_checks() -> None:
    (job,) = yaml.safe_load((CHECKOUT / "examples" / "ci" / "publish.yml").read_text("utf-8"))["jobs"].values()
    lines = [step["run"] for step in job["steps"] if step.get("run", "").startswith("skillhub ")]
    commands = [make_parser().parse(shlex.split(line)[1:]).command for line in lines]
    assert commands == ["validate", "audit", "publish"]
    settings, _ = read_settings(job["env"])
    assert settings.storage.options["region"]
    assert set(job["env"]) <= {setting.name for setting in SETTINGS}
