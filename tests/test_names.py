"""A module and a package of one name would be two things by one import path."""

from pathlib import Path

import skillhub_mcp

PACKAGE = Path(skillhub_mcp.__file__).parent


def test_no_two_modules_share_a_name_within_a_package() -> None:
    modules = {path.with_suffix("") for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    assert [str(path) for path in sorted(modules) if path.is_dir()] == []
