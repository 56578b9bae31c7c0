"""The environments of scripts with packages, made by a real uv from a directory of wheels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from skillhub_mcp.errors import PackagesUnavailable
from skillhub_mcp.execution.script_environments import ScriptEnvironments
from skillhub_mcp.execution.script_packages import ScriptNeeds

UV = shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
pytestmark = [pytest.mark.skipif(UV is None, reason="uv is not installed here"), pytest.mark.slow]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a server whose user gets packages from a directory."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for version in ("1.0", "2.0"):
        info = f"greet-{version}.dist-info"
        with zipfile.ZipFile(wheels / f"greet-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("greet.py", f"version = {version!r}\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: greet\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_FIND_LINKS": str(wheels),
        "UV_OFFLINE": "1",
        "UV_NO_INDEX": "1",
    }


def greeting(python: str) -> str:
    return subprocess.check_output([python, "-c", "import greet; print(greet.version)"], text=True).strip()


def test_an_environment_is_made_once_and_found_again(environment: dict[str, str], tmp_path: Path) -> None:
    made = ScriptEnvironments(str(tmp_path / "hub" / "kept"))
    needs = ScriptNeeds(("greet",))
    assert made.find(needs) is None
    python = made.make(needs, script="a.py", uv=UV or "", environment=environment)
    assert (greeting(python), made.find(needs)) == ("2.0", python)
    # Without what made it: nothing is fetched for it again.
    assert made.make(needs, script="a.py", uv="/no/uv", environment={}) == python
    locked = ScriptNeeds(("greet",), locked=("greet==1.0",))
    assert greeting(made.make(locked, script="a.py", uv=UV or "", environment=environment)) == "1.0"
    directories = (tmp_path / "hub", tmp_path / "hub" / "kept")
    assert [directory.stat().st_mode & 0o777 for directory in directories] == [0o700, 0o700]


def test_no_file_of_a_project_says_where_packages_come_from(environment: dict[str, str], tmp_path: Path) -> None:
    # The database, and so the environments, of this hub are below a repository.
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "uv.toml").write_text('index-url = "https://evil.example/simple"\nno-index = true\nbroken', "utf-8")
    made = ScriptEnvironments(str(repository / "kept"))
    assert greeting(made.make(ScriptNeeds(("greet",)), script="a.py", uv=UV or "", environment=environment)) == "2.0"


def test_what_cannot_be_had_is_told_with_the_installers_words_and_tried_again_the_next_time(
    environment: dict[str, str], tmp_path: Path
) -> None:
    made = ScriptEnvironments(str(tmp_path / "kept"))
    with pytest.raises(PackagesUnavailable, match=r"The packages of 'a.py' cannot be installed: .*nothing-like-it"):
        made.make(ScriptNeeds(("nothing-like-it",)), script="a.py", uv=UV or "", environment=environment)
    assert made.find(ScriptNeeds(("nothing-like-it",))) is None


def test_a_package_that_would_have_to_be_built_is_not_installed(environment: dict[str, str], tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    source = tmp_path / "evil-1.0"
    source.mkdir()
    (source / "setup.py").write_text(f"open({str(ran)!r}, 'w')\n", encoding="utf-8")
    shutil.make_archive(str(tmp_path / "wheels" / "evil-1.0"), "gztar", tmp_path, "evil-1.0")
    made = ScriptEnvironments(str(tmp_path / "kept"))
    with pytest.raises(PackagesUnavailable) as caught:
        made.make(ScriptNeeds(("evil",)), script="a.py", uv=UV or "", environment=environment)
    assert "only wheels are installed" in (caught.value.hint or "")
    assert not ran.exists()


def test_a_step_that_is_cancelled_leaves_nothing_that_would_be_used(
    environment: dict[str, str], tmp_path: Path
) -> None:
    stop = threading.Event()
    stop.set()
    made, needs = ScriptEnvironments(str(tmp_path / "kept")), ScriptNeeds(("greet",))
    with pytest.raises(PackagesUnavailable, match="the call was cancelled"):
        made.make(needs, script="a.py", uv=UV or "", environment=environment, stop=stop)
    assert made.find(needs) is None
