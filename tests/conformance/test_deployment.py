"""The steps of the container image work, and the manifests fit the schemas of Kubernetes."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import installs
from tests.examples.dockerfile import environment_of, stages

pytestmark = pytest.mark.conformance

CHECKOUT = Path(__file__).parents[2]
MANIFESTS = sorted((CHECKOUT / "examples" / "kubernetes").glob("*.yaml"))


@pytest.mark.skipif(sys.platform == "win32", reason="the image is of Linux")
def test_the_steps_of_the_image_install_a_working_program(tmp_path: Path) -> None:
    """The steps run as they stand, below a temporary directory and with this machine's Python."""
    _, build, _ = stages()
    checkout, installed = tmp_path / "checkout", tmp_path / "installed"
    checkout.mkdir()
    uv, environment = installs.uv()
    environment |= environment_of(build) | {"UV_PROJECT_ENVIRONMENT": str(installed), "UV_PYTHON": sys.executable}
    # What was downloaded once serves the next run; a layer of an image would only be larger for it.
    del environment["UV_NO_CACHE"]
    for word, rest in build[build.index(("WORKDIR", "/checkout")) :]:
        if word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                to = checkout / (source if target == "./" else target)
                copy = shutil.copytree if (CHECKOUT / source).is_dir() else shutil.copy2
                copy(CHECKOUT / source, to)
        elif word == "RUN":
            program, *arguments = shlex.split(rest.replace("${EXTRAS}", ""))
            assert program == "uv"
            done = subprocess.run(
                [uv, *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
    shutil.rmtree(checkout)
    places = {
        "HOME": tmp_path,
        "SKILLS_DIR": CHECKOUT / "examples" / "skills",
        "SKILLHUB_DB_PATH": tmp_path / "skills.lancedb",
    }
    found = subprocess.run(
        [str(installed / "bin" / "skillhub"), "search", "turn a csv file into a chart"],
        env={name: str(place) for name, place in places.items()},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, "chart-from-csv" in found.stdout) == (0, True), found.stderr
    # A replica and a publisher are this image, too.
    assert subprocess.run([str(installed / "bin" / "python"), "-c", "import obstore"], check=False).returncode == 0


def test_kubernetes_accepts_the_manifests() -> None:
    python = installs.python_with(Path(__file__).with_name("requirements") / "kubernetes-validate.txt")
    command = [str(python.with_name("kubernetes-validate")), "--strict", *map(str, MANIFESTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(MANIFESTS) == 2
