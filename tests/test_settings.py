"""Every setting: its default, its values, its effect, and the error for an invalid one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.bootstrap.policy import name_problems
from skillhub_mcp.errors import InvalidSetting, SkillDisabled
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.redaction import redacted
from skillhub_mcp.settings import SETTINGS, Settings, read_settings, unknown_settings

HOME = "/home/somebody"

DEFAULTS: dict[str, object] = {
    "SKILLS_DIR": (f"{HOME}/.skillhub/skills",),
    "SKILLHUB_ROOTS": ("project", "user", "hub"),
    "SKILLHUB_CWD": "",
    "SKILLHUB_PROJECT_ROOT": "",
    "SKILLHUB_MARKERS": (".codelia", ".git", ".jj"),
    "SKILLHUB_TOOLS": ("core",),
    "SKILLHUB_DB_PATH": f"{HOME}/.skillhub/skills.lancedb",
    "EMBEDDING_PROVIDER": "auto",
    "EMBEDDING_MODEL": "",
    "EMBEDDING_BASE_URL": "",
    "OPENAI_API_KEY": "",
    "GEMINI_API_KEY": "",
    "SEARCH_LIMIT": 10,
    "SEARCH_THRESHOLD": 0.2,
    "SEARCH_CONFIDENCE": 0.2,
    "SEARCH_MODE": "auto",
    "SEARCH_FIELDS": ("name", "description", "tags", "category", "body"),
    "SEARCH_RERANK": "0",
    "SEARCH_RERANK_MODEL": "",
    "MAX_FILE_BYTES": 65_536,
    "ALLOWED_COMMANDS": ("python", "uv", "node", "cat", "ls", "grep"),
    "EXEC_TIMEOUT_SECONDS": 60.0,
    "EXEC_MAX_OUTPUT_BYTES": 65_536,
    "SKILLHUB_SANDBOX": "bubblewrap",
    "SKILLHUB_OUTPUT_DIRS": (),
    "SKILLHUB_LOG_LEVEL": "INFO",
    "SKILLHUB_ENABLED_SKILLS": None,
    "SKILLHUB_ENABLED_CATEGORIES": None,
    "SKILLHUB_SKIP_AUTO_REINDEX": False,
    "SKILLHUB_STORAGE_OPTIONS": {},
    "SKILLHUB_REQUIRE_SIGNED": False,
    "SKILLHUB_SOURCE_TOKENS": {},
    "SKILLHUB_READ_ONLY": False,
    "SKILLHUB_REFRESH_SECONDS": 30.0,
    "SKILLHUB_MIRROR_DIR": f"{HOME}/.skillhub/mirrors",
    "SKILLHUB_STRICT": False,
    "SKILLHUB_ENABLE_RUN": False,
    "SKILLHUB_EXPOSE_PATHS": False,
    "SKILLHUB_SERVE_DOTFILES": False,
    "SKILLHUB_ERROR_STYLE": "result",
    "SKILLHUB_CARD": "full",
    "SKILLHUB_SKILL_CLOSING": "en",
    "SKILLHUB_ALLOWED_HOSTS": (),
    "SKILLHUB_ALLOWED_ORIGINS": (),
    "SKILLHUB_TOKEN": "",
    "SKILLHUB_TOKENS_FILE": "",
    "SKILLHUB_JWT_ISSUER": "",
    "SKILLHUB_JWT_AUDIENCE": "",
    "SKILLHUB_JWT_JWKS": "",
    "SKILLHUB_PUBLIC_URL": "",
    "SKILLHUB_RATE_LIMIT": 6_000,
    "SKILLHUB_MAX_CONNECTIONS": 512,
    "SKILLHUB_TRUSTED_PROXIES": None,
    "SKILLHUB_WELL_KNOWN": False,
    "SKILLHUB_LOG_FORMAT": "text",
    "SKILLHUB_AUDIT_LOG": "",
    "SKILLHUB_METRICS": "0",
    "SKILLHUB_REGISTRY_MAX_LINES": 200,
    "SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS": 500,
    "SKILLHUB_SKILLS_ENABLED": True,
    "SKILLHUB_CATALOGUE_MAX_ENTRIES": 200,
    "SKILLHUB_CATALOGUE_MAX_BYTES": 32_768,
    "SKILLHUB_SKILL_SEARCH_LIMIT": 8,
    "SKILLHUB_AGENTS_CONFIG": "",
    "SKILLHUB_USAGE": "counts",
    "SKILLHUB_USAGE_LOG": "",
    "SKILLHUB_AUDIT": "warn",
    "SKILLHUB_FROZEN": "0",
    "SKILLHUB_TRUST": "limited",
    "SKILLHUB_HOOKS": "",
}

WRITTEN: dict[str, tuple[str, object]] = {
    "SKILLS_DIR": (f"~/a{os.pathsep}/b", (f"{HOME}/a", "/b")),
    "SKILLHUB_ROOTS": ("builtin, Project", ("project", "builtin")),
    "SKILLHUB_CWD": ("/work", "/work"),
    "SKILLHUB_PROJECT_ROOT": ("..", ".."),
    "SKILLHUB_MARKERS": (".hg , .git", (".hg", ".git")),
    "SKILLHUB_TOOLS": ("all", ("core", "context", "agents", "registry", "skill")),
    "SKILLHUB_DB_PATH": ("~/x/y.lancedb", f"{HOME}/x/y.lancedb"),
    "EMBEDDING_PROVIDER": ("NONE", "none"),
    "EMBEDDING_MODEL": ("m", "m"),
    "EMBEDDING_BASE_URL": ("http://localhost:1/v1", "http://localhost:1/v1"),
    "OPENAI_API_KEY": ("k\n", "k"),
    "GEMINI_API_KEY": ("k", "k"),
    "SEARCH_LIMIT": (" 7 ", 7),
    "SEARCH_THRESHOLD": ("0.5", 0.5),
    "SEARCH_CONFIDENCE": ("0.25", 0.25),
    "SEARCH_MODE": ("Hybrid", "hybrid"),
    "SEARCH_FIELDS": ("category, Name", ("name", "category")),
    "SEARCH_RERANK": ("no", "0"),
    "SEARCH_RERANK_MODEL": (" m ", "m"),
    "MAX_FILE_BYTES": ("100", 100),
    "ALLOWED_COMMANDS": ("node, cat,,cat", ("node", "cat")),
    "EXEC_TIMEOUT_SECONDS": ("1.5", 1.5),
    "EXEC_MAX_OUTPUT_BYTES": ("10", 10),
    "SKILLHUB_SANDBOX": (" Off", "off"),
    "SKILLHUB_OUTPUT_DIRS": (f"/srv/out{os.pathsep}/srv/more", ("/srv/out", "/srv/more")),
    "SKILLHUB_LOG_LEVEL": ("warn", "WARN"),
    "SKILLHUB_ENABLED_SKILLS": ("a, b", frozenset({"a", "b"})),
    "SKILLHUB_ENABLED_CATEGORIES": ("Data,DOCS", frozenset({"data", "docs"})),
    "SKILLHUB_SKIP_AUTO_REINDEX": ("1", True),
    "SKILLHUB_SOURCE_TOKENS": ("A.example=x==, 127.0.0.1:80=y", {"a.example": "x==", "127.0.0.1:80": "y"}),
    "SKILLHUB_STORAGE_OPTIONS": ("a=1, b_c=x,y=z==,proxy=h,i", {"a": "1", "b_c": "x", "y": "z==", "proxy": "h,i"}),
    "SKILLHUB_READ_ONLY": ("yes", True),
    "SKILLHUB_REFRESH_SECONDS": ("0.5", 0.5),
    "SKILLHUB_MIRROR_DIR": ("~/mirror", f"{HOME}/mirror"),
    "SKILLHUB_STRICT": ("yes", True),
    "SKILLHUB_ENABLE_RUN": ("true", True),
    "SKILLHUB_EXPOSE_PATHS": ("1", True),
    "SKILLHUB_SERVE_DOTFILES": ("1", True),
    "SKILLHUB_ERROR_STYLE": ("JSONRPC", "jsonrpc"),
    "SKILLHUB_CARD": ("names", "names"),
    "SKILLHUB_SKILL_CLOSING": ("ja", "ja"),
    "SKILLHUB_ALLOWED_HOSTS": ("a.example, b.example", ("a.example", "b.example")),
    "SKILLHUB_ALLOWED_ORIGINS": ("https://a.example", ("https://a.example",)),
    "SKILLHUB_TOKEN": ("t0k3n\n", "t0k3n"),
    "SKILLHUB_TOKENS_FILE": ("~/tokens.json", f"{HOME}/tokens.json"),
    "SKILLHUB_JWT_ISSUER": ("https://i.example", "https://i.example"),
    "SKILLHUB_JWT_AUDIENCE": (" skills ", "skills"),
    "SKILLHUB_JWT_JWKS": ("https://i.example/keys", "https://i.example/keys"),
    "SKILLHUB_PUBLIC_URL": ("https://a.example/mcp", "https://a.example/mcp"),
    "SKILLHUB_RATE_LIMIT": ("0", 0),
    "SKILLHUB_MAX_CONNECTIONS": ("1000", 1_000),
    "SKILLHUB_TRUSTED_PROXIES": ("10.0.0.0/8, fd00::/8", ("10.0.0.0/8", "fd00::/8")),
    "SKILLHUB_REQUIRE_SIGNED": ("1", True),
    "SKILLHUB_WELL_KNOWN": ("1", True),
    "SKILLHUB_LOG_FORMAT": ("JSON", "json"),
    "SKILLHUB_AUDIT_LOG": ("~/audit.jsonl", f"{HOME}/audit.jsonl"),
    "SKILLHUB_METRICS": ("1", "1"),
    "SKILLHUB_REGISTRY_MAX_LINES": ("20", 20),
    "SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS": ("80", 80),
    "SKILLHUB_SKILLS_ENABLED": ("off", False),
    "SKILLHUB_CATALOGUE_MAX_ENTRIES": ("5", 5),
    "SKILLHUB_CATALOGUE_MAX_BYTES": ("1000", 1_000),
    "SKILLHUB_SKILL_SEARCH_LIMIT": ("3", 3),
    "SKILLHUB_AGENTS_CONFIG": (' {"enabled": false}', '{"enabled": false}'),
    "SKILLHUB_USAGE": ("Queries", "queries"),
    "SKILLHUB_USAGE_LOG": ("~/usage.jsonl", f"{HOME}/usage.jsonl"),
    "SKILLHUB_TRUST": ("ask", "ask"),
    "SKILLHUB_AUDIT": ("block", "block"),
    "SKILLHUB_FROZEN": ("only", "only"),
    "SKILLHUB_HOOKS": ("~/hooks.json", f"{HOME}/hooks.json"),
}

SWITCH = "must be 1 or 0 (or true/false, yes/no, on/off)"
BAD = [
    ("SKILLS_DIR", os.pathsep, "must name at least one directory"),
    ("SKILLHUB_DB_PATH", "  ", "must be a local path"),
    *(("SKILLHUB_DB_PATH", url, "must be a local path") for url in ("db://name", "memory://", "file:///srv/skills")),
    *(("SKILLS_DIR", text, "must name at least one directory, by") for text in ("s3://a", f"/srv{os.pathsep}gs://a/b")),
    *(
        ("SKILLHUB_DB_PATH", url, "is a publication, which is served read-only, and SKILLHUB_READ_ONLY is not set")
        for url in ("s3://bucket/skills", "gs://bucket/a", "az://container/a")
    ),
    ("EMBEDDING_PROVIDER", "cohere", "must be one of auto, none, local, onnx, openai, gemini"),
    ("EMBEDDING_BASE_URL", "localhost:8080", "must be a URL that starts with http:// or https://"),
    ("SEARCH_LIMIT", "0", "must be a whole number from 1 to 100"),
    ("SEARCH_LIMIT", "9" * 5_000, "must be a whole number from 1 to 100"),
    ("SEARCH_THRESHOLD", "nan", "must be a number from 0 to 1"),
    ("SEARCH_CONFIDENCE", "-1", "must be a number from 0 to 1"),
    ("SEARCH_RERANK", "maybe", "must be one of 0, 1, local"),
    ("SEARCH_RERANK", "local", "requires SEARCH_RERANK_MODEL, which is not set"),
    ("EMBEDDING_PROVIDER", "onnx", "requires EMBEDDING_MODEL, which is not set"),
    ("SEARCH_RERANK", "1", "requires the provider openai or gemini, but EMBEDDING_PROVIDER is auto"),
    ("SEARCH_MODE", "bm25", "must be one of auto, fts, vector, hybrid"),
    ("SEARCH_FIELDS", "name,headings", "must be one or more of name, description, tags, category, body"),
    ("MAX_FILE_BYTES", "0", "must be a whole number from 1 to 67108864"),
    ("ALLOWED_COMMANDS", "python,/bin/sh", "must be command names"),
    ("ALLOWED_COMMANDS", "rm -rf", "must be command names"),
    ("EXEC_TIMEOUT_SECONDS", "inf", "must be a number from 0.1 to 86400"),
    ("SKILLHUB_OUTPUT_DIRS", os.pathsep, "must name at least one directory"),
    ("SKILLHUB_SANDBOX", "none", "must be one of bubblewrap, off"),
    ("EXEC_MAX_OUTPUT_BYTES", "1e3", "must be a whole number from 1 to 67108864"),
    ("SKILLHUB_LOG_LEVEL", "LOUD", "must be one of DEBUG, INFO, WARN, WARNING, ERROR"),
    ("SKILLHUB_REFRESH_SECONDS", "0", "must be a number from 0.2 to 86400"),
    ("SKILLHUB_MIRROR_DIR", "s3://bucket/mirror", "must be a local path"),
    ("SKILLHUB_STRICT", "2", SWITCH),
    (
        "SKILLHUB_ROOTS",
        "project,home",
        "must be one or more of project, user, hub, builtin, claude, plugins, separated by commas",
    ),
    (
        "SKILLHUB_TOOLS",
        "core,extra",
        "must be one or more of core, context, agents, registry, skill, separated by commas",
    ),
    ("SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS", "many", "must be a whole number from 1 to 1000000"),
    ("SKILLHUB_AUDIT_LOG", "https://example.com/audit", "must be a local path"),
    ("SKILLHUB_JWT_JWKS", "/keys.json", "must be a URL that starts with http:// or https://"),
    ("SKILLHUB_PUBLIC_URL", "a.example/mcp", "must be a URL that starts with http:// or https://"),
    ("SKILLHUB_PUBLIC_URL", "https://a.example/", "must be a URL that ends with /mcp"),
    ("SKILLHUB_PUBLIC_URL", "https://a.example/?x=/mcp", "must be a URL that ends with /mcp"),
    ("SKILLHUB_RATE_LIMIT", "-1", "must be a whole number from 0 to 1000000"),
    ("SKILLHUB_MAX_CONNECTIONS", "3", "must be a whole number from 4 to 100000"),
    ("SKILLHUB_TRUSTED_PROXIES", "*", "must be IP addresses or networks, such as 10.0.0.0/8"),
    ("SKILLHUB_TRUSTED_PROXIES", "10.0.0.1/8", "must be IP addresses or networks, such as 10.0.0.0/8"),
    ("SKILLHUB_TRUSTED_PROXIES", "proxy.internal", "must be IP addresses or networks, such as 10.0.0.0/8"),
    ("SKILLHUB_ALLOWED_HOSTS", "*", "must be host names, such as skills.example.com, separated by commas"),
    ("SKILLHUB_ALLOWED_HOSTS", "https://a.example", "must be host names"),
    ("SKILLHUB_ALLOWED_ORIGINS", "a.example", "must be origins, such as https://app.example.com, separated by commas"),
    ("SKILLHUB_ALLOWED_ORIGINS", "https://*", "must be origins"),
    ("SKILLHUB_ALLOWED_ORIGINS", "https://a.example/x", "must be origins"),
]
# An invalid value of these is reported, and the default is used.
FORGIVEN = [
    ("SKILLHUB_SKILLS_ENABLED", "perhaps", SWITCH),
    ("SKILLHUB_CATALOGUE_MAX_ENTRIES", "-1", "must be a whole number from 1 to 1000000"),
    ("SKILLHUB_CATALOGUE_MAX_BYTES", "0", "must be a whole number from 1 to 67108864"),
    ("SKILLHUB_SKILL_SEARCH_LIMIT", "0", "must be a whole number from 1 to 1000"),
    ("SKILLHUB_SKILL_SEARCH_LIMIT", "1.5", "must be a whole number from 1 to 1000"),
]
MISSING_KEY = """\
error: EMBEDDING_PROVIDER='openai' requires OPENAI_API_KEY, which is not set

hint: set OPENAI_API_KEY, or EMBEDDING_PROVIDER=none to search without embeddings
"""


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setenv("USERPROFILE", HOME)


def named(settings: Settings) -> dict[str, object]:
    return {setting.name: getattr(getattr(settings, setting.group), setting.field) for setting in SETTINGS}


@pytest.mark.acceptance("S2-68")
def test_without_any_variable_every_setting_has_its_default(at_home: None) -> None:
    settings, origins = read_settings({})
    assert named(settings) == DEFAULTS
    assert {origin.source for origin in origins} == {"default"}


@pytest.mark.acceptance("S2-68")
@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS])
def test_each_variable_sets_its_own_value_and_no_other(name: str, at_home: None) -> None:
    written, expected = WRITTEN[name]
    settings, origins = read_settings({name: written})
    # If SKILLS_DIR is set and SKILLHUB_ROOTS is not, only the hub is searched.
    also = {"SKILLHUB_ROOTS": ("hub",)} if name == "SKILLS_DIR" else {}
    assert named(settings) == {**DEFAULTS, **also, name: expected}
    assert {o.setting.name: o.source for o in origins if o.source != "default"} == {name: f"environment ({name})"}


@pytest.mark.acceptance("S2-69")
@pytest.mark.parametrize(("name", "written", "reason"), BAD, ids=[f"{name}={text[:20]}" for name, text, _ in BAD])
def test_a_bad_value_is_named_with_what_would_be_allowed(name: str, written: str, reason: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        read_settings({name: written})
    assert caught.value.message.startswith(redacted(f"{name}={written!r} {reason}"))
    assert caught.value.facts == {"setting": name, "value": redacted(written)}


@pytest.mark.acceptance("S0-74")
@pytest.mark.parametrize(("name", "written", "reason"), FORGIVEN, ids=[name for name, _, _ in FORGIVEN])
def test_a_bad_value_of_a_forgiving_setting_is_told_and_the_default_used(
    name: str, written: str, reason: str, at_home: None
) -> None:
    settings, origins = read_settings({name: written})
    assert named(settings) == DEFAULTS
    (told,) = [origin for origin in origins if origin.problem is not None]
    assert (told.setting.name, told.source) == (name, "default")
    assert told.problem == f"{name}={written!r} {reason}"


def test_a_skills_directory_and_chosen_roots_go_together() -> None:
    settings, _ = read_settings({"SKILLS_DIR": "/a", "SKILLHUB_ROOTS": "user,hub"})
    assert settings.skills.roots == ("user", "hub")


@pytest.mark.acceptance("S2-64")
@pytest.mark.parametrize(("provider", "key"), [("openai", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY")])
def test_a_provider_without_its_key_is_refused(provider: str, key: str) -> None:
    for environment in ({}, {key: ""}, {key: " \n"}):
        with pytest.raises(InvalidSetting, match=f"EMBEDDING_PROVIDER='{provider}' requires {key}, which is not set"):
            read_settings({"EMBEDDING_PROVIDER": provider, **environment})
        own = {"EMBEDDING_BASE_URL": "http://127.0.0.1:1/v1"}
        with pytest.raises(InvalidSetting) as caught:
            read_settings({"EMBEDDING_PROVIDER": provider, **environment, **own})
        assert "takes any text" in (caught.value.hint or "")
    settings, _ = read_settings({"EMBEDDING_PROVIDER": provider, key: "k"})
    assert settings.embedding.provider == provider


@pytest.mark.acceptance("S2-64", "S2-69")
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            {"EMBEDDING_PROVIDER": "openai"},
            MISSING_KEY,
        ),
        ({"SEARCH_LIMIT": "abc"}, "error: SEARCH_LIMIT='abc' must be a whole number from 1 to 100\n"),
    ],
    ids=["missing-key", "bad-value"],
)
def test_a_server_with_unusable_settings_does_not_start(
    hub_environment: dict[str, str], transport: str, wrong: dict[str, str], says: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "skillhub_mcp", "--transport", transport, "--port", "0"],
        env={**hub_environment, **wrong},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", says)


def test_googles_own_name_for_the_key_is_understood() -> None:
    settings, origins = read_settings({"EMBEDDING_PROVIDER": "gemini", "GOOGLE_API_KEY": "k"})
    assert settings.embedding.gemini_api_key == "k"
    assert "environment (GOOGLE_API_KEY)" in {origin.source for origin in origins}
    both, _ = read_settings({"GEMINI_API_KEY": "own", "GOOGLE_API_KEY": "k"})
    assert both.embedding.gemini_api_key == "own"


def test_the_specifications_names_are_read_too(tmp_path: Path) -> None:
    settings, _ = read_settings({"DB_PATH": str(tmp_path / "db"), "LOG_LEVEL": "ERROR"})
    assert (settings.index.db_path, settings.observability.log_level) == (str(tmp_path / "db"), "ERROR")
    both, _ = read_settings({"DB_PATH": str(tmp_path / "db"), "SKILLHUB_DB_PATH": str(tmp_path / "own")})
    assert both.index.db_path == str(tmp_path / "own")


def test_the_database_of_another_program_is_not_used(tmp_path: Path, at_home: None) -> None:
    (tmp_path / "app.sqlite").write_bytes(b"SQLite format 3\0")
    settings, sources = read_settings({"DB_PATH": str(tmp_path / "app.sqlite")})
    assert settings.index.db_path == DEFAULTS["SKILLHUB_DB_PATH"]
    assert [one.problem for one in sources if one.problem] == [
        f"DB_PATH='{tmp_path}/app.sqlite' is a file of another program; SKILLHUB_DB_PATH sets the database"
    ]


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS])
def test_an_empty_variable_counts_as_unset(name: str, at_home: None) -> None:
    settings, _ = read_settings({name: ""})
    assert named(settings) == DEFAULTS


def test_an_empty_option_does_not(at_home: None) -> None:
    with pytest.raises(InvalidSetting, match="SKILLS_DIR='' must name at least one directory"):
        read_settings({}, {"SKILLS_DIR": ""})


def test_keys_are_in_no_representation_of_the_settings() -> None:
    secret = {
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "SKILLHUB_TOKEN",
        "SKILLHUB_STORAGE_OPTIONS",
        "SKILLHUB_SOURCE_TOKENS",
    }
    settings, origins = read_settings({name: f"{name}=very-secret" for name in secret})
    assert "very-secret" not in repr(settings) + repr(origins)
    assert {setting.name for setting in SETTINGS if setting.secret} == secret


@pytest.mark.parametrize("written", ["very-secret", "=very-secret", "1=very-secret"])
def test_storage_options_that_are_none_are_refused_without_being_shown(written: str) -> None:
    with pytest.raises(InvalidSetting, match=r"'\*\*\*' must be key=value, separated by commas") as caught:
        read_settings({"SKILLHUB_STORAGE_OPTIONS": written})
    assert "secret" not in f"{caught.value.message} {caught.value.facts}"


@pytest.mark.parametrize(
    "written",
    [
        # The storage's library ends the process over such a port.
        "endpoint=http://127.0.0.1:99999",
        "region=x,aws_endpoint_url=127.0.0.1:9000",
        "AWS_ENDPOINT=https://",
        "azure_storage_endpoint=s3://host",
        "endpoint=http://[::1",
        "endpoint=",
    ],
)
def test_an_endpoint_that_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(InvalidSetting, match="must be a URL that starts with http"):
        read_settings({"SKILLHUB_STORAGE_OPTIONS": written})


@pytest.mark.parametrize("written", ["very-secret", "=very-secret", "a b=very-secret", "https://a.example=very-secret"])
def test_tokens_of_sites_that_are_none_are_refused_without_being_shown(written: str) -> None:
    with pytest.raises(InvalidSetting, match=r"'\*\*\*' must be host=token") as caught:
        read_settings({"SKILLHUB_SOURCE_TOKENS": written})
    assert "secret" not in f"{caught.value.message} {caught.value.facts}"


@pytest.mark.parametrize(
    "chosen",
    [
        {"EMBEDDING_PROVIDER": "onnx", "EMBEDDING_MODEL": "s3://models/m"},
        {"SEARCH_RERANK": "local", "SEARCH_RERANK_MODEL": "s3://models/m"},
    ],
    ids=["encoder", "reranker"],
)
def test_a_model_on_this_machine_is_a_local_directory(chosen: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting, match="MODEL='s3://models/m' must be a local path"):
        read_settings(chosen)


def test_options_of_serve_have_no_variable() -> None:
    bad = {"--workers": "0"}
    assert read_settings(bad)[0].http.workers == 1
    with pytest.raises(InvalidSetting, match="--workers='0' must be a whole number from 1 to 64"):
        read_settings({}, bad)


@pytest.mark.slow
@pytest.mark.acceptance("S2-68")
def test_by_default_all_lies_below_the_home_directory(
    write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["HOME"])
    write_skill("painter", "Paints walls.", root=home / ".skillhub" / "skills")
    with hub_of({}) as hub:
        assert [found.skill.name for found in hub.search("paint walls").hits] == ["painter"]
    assert (home / ".skillhub" / "skills.lancedb").is_dir()
    assert (home / ".skillhub" / "index_state.json").is_file()


@pytest.mark.acceptance("S2-68")
def test_the_limits_of_a_search_are_the_settings(write_skill: SkillWriter, hub_environment: dict[str, str]) -> None:
    for number in range(12):
        write_skill(f"skill-{number}", "Paints walls." if number < 6 else "Climbs over walls of any height.")

    def hits(**environment: str) -> int:
        with hub_of({**hub_environment, **environment}) as hub:
            return len(hub.search("paints walls").hits)

    assert hits(SEARCH_THRESHOLD="1") == 6
    assert hits(SEARCH_THRESHOLD="0") == 10
    assert hits(SEARCH_LIMIT="3") == 3
    assert hits(SEARCH_THRESHOLD="0", SEARCH_LIMIT="100") == 12


@pytest.mark.slow
@pytest.mark.acceptance("S2-68")
def test_the_limits_of_a_read_and_of_a_run_are_the_settings(
    write_skill: SkillWriter, hub_environment: dict[str, str]
) -> None:
    write_skill("one", files={"long.txt": "x" * 70_000})

    def sizes(**environment: str) -> tuple[int, int]:
        with hub_of({**hub_environment, **environment}) as hub:
            run = hub.run_command("one", "cat", ["long.txt"])
            return len(hub.read_file("one", "long.txt").content), len(run.stdout)

    assert sizes() == (65_536, 65_536)
    assert sizes(MAX_FILE_BYTES="10", EXEC_MAX_OUTPUT_BYTES="20", ALLOWED_COMMANDS="cat") == (10, 20)
    with hub_of({**hub_environment, "EXEC_TIMEOUT_SECONDS": "0.3"}) as hub:
        assert hub.run_command("one", "python", ["-c", "while True: pass"]).timeout is True


def visible(environment: Mapping[str, str], **filters: str) -> set[str]:
    """What the hub lists; and what it lists it also finds and loads, and nothing else."""
    with hub_of({**environment, **filters}) as hub:
        listed = {skill.name for skill in hub.skills()}
        assert {found.skill.name for found in hub.search("thing").hits} == listed
        assert {name for name in ("first", "second", "third") if loads(hub, name)} == listed
    return listed


def loads(hub: SkillHub, name: str) -> bool:
    try:
        return hub.load(name).skill.name == name
    except SkillDisabled:
        return False


@pytest.fixture
def three(write_skill: SkillWriter) -> None:
    write_skill("first", "Does a thing.", category="docs")
    write_skill("second", "Does a thing.", category="data")
    write_skill("third", "Does a thing.")


@pytest.mark.acceptance("S2-70")
def test_enabled_skills_are_the_only_ones(three: None, hub_environment: dict[str, str]) -> None:
    assert visible(hub_environment, SKILLHUB_ENABLED_SKILLS="first, third,unknown") == {"first", "third"}


@pytest.mark.acceptance("S2-71")
def test_enabled_categories_are_the_only_ones_without_regard_to_case(
    three: None, hub_environment: dict[str, str]
) -> None:
    assert visible(hub_environment, SKILLHUB_ENABLED_CATEGORIES="DOCS,other") == {"first"}


@pytest.mark.acceptance("S2-72")
def test_names_decide_alone_and_nothing_set_serves_all(three: None, hub_environment: dict[str, str]) -> None:
    assert visible(hub_environment, SKILLHUB_ENABLED_SKILLS="third", SKILLHUB_ENABLED_CATEGORIES="docs") == {"third"}
    assert visible(hub_environment) == {"first", "second", "third"}


@pytest.mark.slow
@pytest.mark.parametrize("text", [",", " ", " , ,", ",,", "\t", "\u00a0"])
@pytest.mark.parametrize("setting", ["SKILLHUB_ENABLED_SKILLS", "SKILLHUB_ENABLED_CATEGORIES"])
def test_a_filter_that_is_set_and_names_nothing_serves_nothing(
    three: None, hub_environment: dict[str, str], setting: str, text: str
) -> None:
    assert visible(hub_environment, **{setting: text}) == set()


def test_a_filter_that_names_nothing_is_told_of_and_one_that_is_unset_or_empty_is_none(
    three: None, hub_environment: dict[str, str]
) -> None:
    for setting in ("SKILLHUB_ENABLED_SKILLS", "SKILLHUB_ENABLED_CATEGORIES"):
        settings, _ = read_settings({**hub_environment, setting: ","})
        with hub_of({**hub_environment, setting: ","}) as hub:
            (told,) = name_problems(settings, hub.views.snapshot())
            assert told.subject == setting
            assert "nothing is served" in told.sentence()
            assert any(cause.subject == setting for cause in hub.why_nothing().causes)
        assert visible(hub_environment, **{setting: ""}) == {"first", "second", "third"}
    both = {"SKILLHUB_ENABLED_SKILLS": ",", "SKILLHUB_ENABLED_CATEGORIES": "docs"}
    assert visible(hub_environment, **both) == set()


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        *((setting, text) for setting in ("SKILLHUB_ROOTS", "SKILLHUB_TOOLS", "SEARCH_FIELDS") for text in (",", " ")),
        *((setting, "  ") for setting in ("SKILLHUB_TOKEN", "SKILLHUB_TOKENS_FILE", "SKILLHUB_JWT_ISSUER")),
        *((setting, " ") for setting in ("SKILLHUB_HOOKS", "SKILLHUB_AUDIT_LOG")),
    ],
)
def test_what_was_set_to_limit_something_and_says_nothing_is_refused_and_limits_nothing_silently(
    setting: str, text: str
) -> None:
    with pytest.raises(InvalidSetting) as raised:
        read_settings({setting: text})
    assert setting in raised.value.message


def test_lists_of_what_is_allowed_besides_allow_nothing_where_they_name_nothing() -> None:
    named = ("ALLOWED_COMMANDS", "SKILLHUB_ALLOWED_HOSTS", "SKILLHUB_ALLOWED_ORIGINS", "SKILLHUB_TRUSTED_PROXIES")
    settings, _ = read_settings(dict.fromkeys(named, ","))
    http = settings.http
    assert (settings.execution.allowed_commands, http.allowed_hosts, http.allowed_origins) == ((), (), ())
    assert http.trusted_proxies == ()


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("SKILLHUB_ENABLED_SKILL", "SKILLHUB_ENABLED_SKILLS"),
        ("SKILLHUB_ENABLE_SKILLS", "SKILLHUB_ENABLED_SKILLS"),
        ("SKILLHUB_ROOT", "SKILLHUB_ROOTS"),
        ("SKILLHUB_TOKEN_FILE", "SKILLHUB_TOKENS_FILE"),
        ("SKILLHUB_SKILLS_DIR", "SKILLS_DIR"),
        ("SKILLHUB_ALLOWED_COMMANDS", "ALLOWED_COMMANDS"),
        ("Skillhub_Tools", "SKILLHUB_TOOLS"),
        ("SKILLHUB_XYZZY", ""),
        ("SKILLHUB_", ""),
    ],
)
def test_a_variable_that_is_no_setting_is_known_with_the_setting_that_it_may_mean(written: str, near: str) -> None:
    (unknown,) = unknown_settings([written, "PATH", "SKILLHUB_ROOTS"])
    assert (unknown.name, unknown.near) == (written, near)


def test_no_name_that_the_program_reads_or_sets_is_unknown() -> None:
    own = [name for setting in SETTINGS for name in (setting.name, *setting.aliases)]
    assert unknown_settings([*own, "skills_dir", "PATH", "MYSKILLHUB_ROOT"]) == ()


OWN_FILE = ".config/skillhub/settings.toml"


def write_file(directory: Path, path: str, text: str) -> Path:
    file = directory / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def home() -> Path:
    return Path(os.environ["HOME"])


def origins_of(environment: Mapping[str, str], options: Mapping[str, str] | None = None) -> dict[str, tuple[str, str]]:
    _, sources = read_settings(environment, options)
    return {one.setting.name: (one.raw, one.source) for one in sources if one.source != "default"}


def test_an_option_beats_a_variable_which_beats_the_projects_file_which_beats_the_persons(tmp_path: Path) -> None:
    own = write_file(home(), OWN_FILE, "SEARCH_LIMIT = 1\nSEARCH_THRESHOLD = 0.1\nSEARCH_CONFIDENCE = 0.1\n")
    project = write_file(tmp_path, ".skillhub/settings.toml", "SEARCH_LIMIT = 2\nSEARCH_THRESHOLD = 0.2\n")
    environment = {"SKILLHUB_CWD": str(tmp_path), "SEARCH_LIMIT": "3"}
    expected = {
        "SKILLHUB_CWD": (str(tmp_path), "environment (SKILLHUB_CWD)"),
        "SEARCH_LIMIT": ("3", "environment (SEARCH_LIMIT)"),
        "SEARCH_THRESHOLD": ("0.2", f"project ({project})"),
        "SEARCH_CONFIDENCE": ("0.1", f"settings file ({own})"),
    }
    assert origins_of(environment) == expected
    assert origins_of(environment, {"SEARCH_LIMIT": "4"}) == {**expected, "SEARCH_LIMIT": ("4", "option")}


def test_a_settings_file_may_have_numbers_switches_and_lists() -> None:
    write_file(
        home(),
        OWN_FILE,
        'SKILLS_DIR = ["/a", "/b"]\nALLOWED_COMMANDS = ["cat", "ls"]\nSKILLHUB_STRICT = true\nSEARCH_LIMIT = 7\n',
    )
    settings, _ = read_settings({})
    assert (settings.skills.dirs, settings.skills.roots) == (("/a", "/b"), ("hub",))
    assert (settings.execution.allowed_commands, settings.skills.strict, settings.search.limit) == (
        ("cat", "ls"),
        True,
        7,
    )


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("SEARCH_LIMIT = 700\n", "SEARCH_LIMIT='700' must be a whole number from 1 to 100", "correct it in {path}"),
        ("[SEARCH_LIMIT]\nx = 1\n", "SEARCH_LIMIT='' must be a text, a number, true, false", "correct it in {path}"),
        ("SEARCH_LIMTI = 7\n", "SEARCH_LIMTI='' is not a setting", "did you mean SEARCH_LIMIT? correct or remove"),
        ("SEARCH_LIMIT\n", "settings file='{path}' cannot be used: ", "correct or remove it"),
        ('SKILLS_DIR = "${HOME}/x"\n', "SKILLS_DIR='${HOME}/x' contains ${HOME}", "write what the variable stands for"),
    ],
    ids=["value", "table", "name", "toml", "variable"],
)
def test_a_settings_file_with_a_mistake_is_refused_with_its_path(text: str, says: str, hint: str) -> None:
    path = str(write_file(home(), OWN_FILE, text))
    with pytest.raises(InvalidSetting) as caught:
        read_settings({})
    assert caught.value.message.startswith(says.replace("{path}", path))
    assert (caught.value.hint or "").startswith(hint.replace("{path}", path))


def test_a_settings_file_that_others_may_write_is_refused() -> None:
    path = write_file(home(), OWN_FILE, "SEARCH_LIMIT = 7\n")
    path.chmod(0o666)
    with pytest.raises(InvalidSetting, match="others may write it") as caught:
        read_settings({})
    assert caught.value.hint == f"run chmod go-w {path}"


def test_a_project_sets_only_what_it_may_and_never_stops_the_program_by_a_value(tmp_path: Path) -> None:
    text = 'SKILLHUB_TRUST = "all"\nSEARCH_LIMIT = 700\nSKILLHUB_CARD = "names"\nNEWER = 1\n'
    path = write_file(tmp_path, ".skillhub/settings.toml", text)
    settings, sources = read_settings({"SKILLHUB_CWD": str(tmp_path)})
    assert (settings.policy.trust, settings.search.limit, settings.disclosure.card) == ("limited", 10, "names")
    assert {one.setting.name: one.problem for one in sources if one.problem} == {
        "SKILLHUB_TRUST": f"SKILLHUB_TRUST cannot be set by a project: {path}",
        "SEARCH_LIMIT": "SEARCH_LIMIT='700' must be a whole number from 1 to 100",
    }


def test_a_projects_settings_file_is_not_read_through_a_link_out_of_it(tmp_path: Path) -> None:
    elsewhere = write_file(tmp_path, "elsewhere.toml", "SEARCH_LIMIT = 7\n")
    project = tmp_path / "project"
    (project / ".skillhub").mkdir(parents=True)
    (project / ".skillhub" / "settings.toml").symlink_to(elsewhere)
    with pytest.raises(InvalidSetting, match="it is a link out of the project"):
        read_settings({"SKILLHUB_CWD": str(project)})


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("SKILLS_DIR", "${HOME}/skills", "contains ${HOME}, which was not expanded"),
        ("OPENAI_API_KEY", "${env:OPENAI_API_KEY}", "contains ${env:OPENAI_API_KEY}, which was not expanded"),
        ("SKILLHUB_AUDIT_LOG", "%APPDATA%/audit.jsonl", "contains %APPDATA%, which was not expanded"),
        ("SKILLHUB_MIRROR_DIR", '"/srv/mirror"', "is in quotes, which belong to the value here"),
        ("SEARCH_LIMIT", "'7'", "is in quotes, which belong to the value here"),
    ],
)
def test_a_variable_that_a_client_did_not_expand_and_quotes_are_refused_with_that_reason(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(InvalidSetting) as caught:
        read_settings({name: text})
    assert f" {reason}" in caught.value.message
    assert caught.value.hint in ("write what the variable stands for", "remove the quotes")


def test_a_working_directory_that_a_client_did_not_expand_counts_as_unset() -> None:
    settings, sources = read_settings({"SKILLHUB_CWD": "${workspaceFolder}"})
    assert settings.skills.cwd == ""
    assert [one.setting.name for one in sources if one.problem] == ["SKILLHUB_CWD"]


def test_there_are_at_most_seventy_settings() -> None:
    assert len(SETTINGS) <= 70
