"""The configuration of the AGENTS.md tools, from JSON text or from a JSON file."""

from __future__ import annotations

from pydantic import ValidationError

from skillhub_mcp.agents_md.schema import AgentsConfig
from skillhub_mcp.errors import InvalidSetting

SETTING = "SKILLHUB_AGENTS_CONFIG"

_MAX_BYTES = 1024 * 1024


def read_config(written: str) -> AgentsConfig:
    """Return the configuration from JSON text or from the path of a JSON file; the defaults for an empty string.

    Raises InvalidSetting for a configuration that cannot be read or has unknown keys.
    """
    if not written:
        return AgentsConfig()
    text = written if written.startswith("{") else _file(written)
    try:
        return AgentsConfig.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = f"{place}: {first['msg']}" if place else first["msg"]
        raise InvalidSetting(SETTING, written, f"cannot be used: {reason}") from error


def _file(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read(_MAX_BYTES)
    except OSError as error:
        raise InvalidSetting(SETTING, path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidSetting(SETTING, path, "is not UTF-8") from error
