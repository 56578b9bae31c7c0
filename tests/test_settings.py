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

from skillhub_mcp.bootstrap.library import name_problems
from skillhub_mcp.errors import InvalidSetting, SkillDisabled
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.redaction import redacted
from skillhub_mcp.settings import SETTINGS, Settings, read_settings, unknown_settings

HOME = "/home/somebody"

# The default of each setting, a text, and the value that it sets.
VALUES: dict[str, tuple[object, str, object]] = {
    "SKILLS_DIR": ((f"{HOME}/.skillhub/skills",), f"~/a{os.pathsep}/b", (f"{HOME}/a", "/b")),
    "SKILLHUB_ROOTS": (("project", "user", "hub"), "builtin, Project", ("project", "builtin")),
    "SKILLHUB_CWD": ("", "/work", "/work"),
    "SKILLHUB_PROJECT_ROOT": ("", "..", ".."),
    "SKILLHUB_MARKERS": ((".codelia", ".git", ".jj"), ".hg , .git", (".hg", ".git")),
    "SKILLHUB_TOOLS": (("core",), "all", ("core", "context", "agents", "registry", "skill")),
    "SKILLHUB_DB_PATH": (f"{HOME}/.skillhub/skills.lancedb", "~/x/y.lancedb", f"{HOME}/x/y.lancedb"),
    "EMBEDDING_PROVIDER": ("auto", "NONE", "none"),
    "EMBEDDING_MODEL": ("", "m", "m"),
    "EMBEDDING_BASE_URL": ("", "http://localhost:1/v1", "http://localhost:1/v1"),
    "OPENAI_API_KEY": ("", "k\n", "k"),
    "GEMINI_API_KEY": ("", "k", "k"),
    "SEARCH_LIMIT": (10, " 7 ", 7),
    "SEARCH_THRESHOLD": (0.2, "0.5", 0.5),
    "SEARCH_CONFIDENCE": (0.2, "0.25", 0.25),
    "SEARCH_MODE": ("auto", "Hybrid", "hybrid"),
    "SEARCH_FIELDS": (("name", "description", "tags", "category", "body"), "category, Name", ("name", "category")),
    "SEARCH_RERANK": ("0", "no", "0"),
    "SEARCH_RERANK_MODEL": ("", " m ", "m"),
    "MAX_FILE_BYTES": (65_536, "100", 100),
    "ALLOWED_COMMANDS": (("python", "uv", "node", "cat", "ls", "grep"), "node, cat,,cat", ("node", "cat")),
    "EXEC_TIMEOUT_SECONDS": (60.0, "1.5", 1.5),
    "EXEC_MAX_OUTPUT_BYTES": (65_536, "10", 10),
    "SKILLHUB_SANDBOX": ("bubblewrap", " Off", "off"),
    "SKILLHUB_OUTPUT_DIRS": ((), f"/srv/out{os.pathsep}/srv/more", ("/srv/out", "/srv/more")),
    "SKILLHUB_LOG_LEVEL": ("INFO", "warn", "WARN"),
    "SKILLHUB_ENABLED_SKILLS": (None, "a, b", frozenset({"a", "b"})),
    "SKILLHUB_ENABLED_CATEGORIES": (None, "Data,DOCS", frozenset({"data", "docs"})),
    "SKILLHUB_SKIP_AUTO_REINDEX": (False, "1", True),
    "SKILLHUB_STORAGE_OPTIONS": ({}, "a=1, b_c=x,y=z==,proxy=h,i", {"a": "1", "b_c": "x", "y": "z==", "proxy": "h,i"}),
    "SKILLHUB_REQUIRE_SIGNED": (False, "1", True),
    "SKILLHUB_SOURCE_TOKENS": ({}, "A.example=x==, 127.0.0.1:80=y", {"a.example": "x==", "127.0.0.1:80": "y"}),
    "SKILLHUB_READ_ONLY": (False, "yes", True),
    "SKILLHUB_REFRESH_SECONDS": (30.0, "0.5", 0.5),
    "SKILLHUB_MIRROR_DIR": (f"{HOME}/.skillhub/mirrors", "~/mirror", f"{HOME}/mirror"),
    "SKILLHUB_STRICT": (False, "yes", True),
    "SKILLHUB_ENABLE_RUN": (False, "true", True),
    "SKILLHUB_EXPOSE_PATHS": (False, "1", True),
    "SKILLHUB_SERVE_DOTFILES": (False, "1", True),
    "SKILLHUB_ERROR_STYLE": ("result", "JSONRPC", "jsonrpc"),
    "SKILLHUB_CARD": ("full", "names", "names"),
    "SKILLHUB_SKILL_CLOSING": ("en", "ja", "ja"),
    "SKILLHUB_ALLOWED_HOSTS": ((), "a.example, b.example", ("a.example", "b.example")),
    "SKILLHUB_ALLOWED_ORIGINS": ((), "https://a.example", ("https://a.example",)),
    "SKILLHUB_TOKEN": ("", "t0k3n\n", "t0k3n"),
    "SKILLHUB_TOKENS_FILE": ("", "~/tokens.json", f"{HOME}/tokens.json"),
    "SKILLHUB_JWT_ISSUER": ("", "https://i.example", "https://i.example"),
    "SKILLHUB_JWT_AUDIENCE": ("", " skills ", "skills"),
    "SKILLHUB_JWT_JWKS": ("", "https://i.example/keys", "https://i.example/keys"),
    "SKILLHUB_PUBLIC_URL": ("", "https://a.example/mcp", "https://a.example/mcp"),
    "SKILLHUB_RATE_LIMIT": (6_000, "0", 0),
    "SKILLHUB_MAX_CONNECTIONS": (512, "1000", 1_000),
    "SKILLHUB_TRUSTED_PROXIES": (None, "10.0.0.0/8, fd00::/8", ("10.0.0.0/8", "fd00::/8")),
    "SKILLHUB_WELL_KNOWN": (False, "1", True),
    "SKILLHUB_LOG_FORMAT": ("text", "JSON", "json"),
    "SKILLHUB_AUDIT_LOG": ("", "~/audit.jsonl", f"{HOME}/audit.jsonl"),
    "SKILLHUB_METRICS": ("0", "1", "1"),
    "SKILLHUB_REGISTRY_MAX_LINES": (200, "20", 20),
    "SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS": (500, "80", 80),
    "SKILLHUB_SKILLS_ENABLED": (True, "off", False),
    "SKILLHUB_CATALOGUE_MAX_ENTRIES": (200, "5", 5),
    "SKILLHUB_CATALOGUE_MAX_BYTES": (32_768, "1000", 1_000),
    "SKILLHUB_SKILL_SEARCH_LIMIT": (8, "3", 3),
    "SKILLHUB_AGENTS_CONFIG": ("", ' {"enabled": false}', '{"enabled": false}'),
    "SKILLHUB_USAGE": ("counts", "Queries", "queries"),
    "SKILLHUB_USAGE_LOG": ("", "~/usage.jsonl", f"{HOME}/usage.jsonl"),
    "SKILLHUB_AUDIT": ("warn", "block", "block"),
    "SKILLHUB_FROZEN": ("0", "only", "only"),
    "SKILLHUB_TRUST": ("limited", "ask", "ask"),
    "SKILLHUB_HOOKS": ("", "~/hooks.json", f"{HOME}/hooks.json"),
}
DEFAULTS = {name: default for name, (default, _, _) in VALUES.items()}

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
    ("SKILLHUB_ROOTS", "project,home", "must be one or more of project, user, hub, builtin, claude, plugins"),
    ("SKILLHUB_TOOLS", "core,extra", "must be one or more of core, context, agents, registry, skill"),
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
    (
        "SKILLHUB_CWD",
        "${workspaceFolder}",
        "contains ${workspaceFolder}, which was not expanded; write what the variable stands for",
    ),
    ("SKILLHUB_SKILLS_ENABLED", "perhaps", SWITCH),
    ("SKILLHUB_CATALOGUE_MAX_ENTRIES", "-1", "must be a whole number from 1 to 1000000"),
    ("SKILLHUB_CATALOGUE_MAX_BYTES", "0", "must be a whole number from 1 to 67108864"),
    ("SKILLHUB_SKILL_SEARCH_LIMIT", "0", "must be a whole number from 1 to 1000"),
    ("SKILLHUB_SKILL_SEARCH_LIMIT", "1.5", "must be a whole number from 1 to 1000"),
]
KEYS = {"openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
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
def test_each_variable_sets_only_its_own_value(name: str, at_home: None) -> None:
    _, written, expected = VALUES[name]
    settings, origins = read_settings({name: written})
    # If SKILLS_DIR is set and SKILLHUB_ROOTS is not, only the hub is searched.
    also = {"SKILLHUB_ROOTS": ("hub",)} if name == "SKILLS_DIR" else {}
    assert named(settings) == {**DEFAULTS, **also, name: expected}
    assert {o.setting.name: o.source for o in origins if o.source != "default"} == {name: f"environment ({name})"}


@pytest.mark.acceptance("S2-69")
@pytest.mark.parametrize(("name", "written", "reason"), BAD, ids=[f"{name}={text[:20]}" for name, text, _ in BAD])
def test_an_invalid_value_is_refused_with_what_is_allowed(name: str, written: str, reason: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        read_settings({name: written})
    assert caught.value.message.startswith(redacted(f"{name}={written!r} {reason}"))
    assert caught.value.facts == {"setting": name, "value": redacted(written)}


@pytest.mark.acceptance("S0-74")
@pytest.mark.parametrize(("name", "written", "reason"), FORGIVEN, ids=[name for name, _, _ in FORGIVEN])
def test_an_invalid_value_of_a_forgiving_setting_is_reported_and_replaced_by_the_default(
    name: str, written: str, reason: str, at_home: None
) -> None:
    settings, origins = read_settings({name: written})
    assert named(settings) == DEFAULTS
    (reported,) = [origin for origin in origins if origin.problem is not None]
    assert (reported.setting.name, reported.source) == (name, "default")
    assert reported.problem == f"{name}={written!r} {reason}"


def test_skills_dir_and_roots_can_be_combined() -> None:
    settings, _ = read_settings({"SKILLS_DIR": "/a", "SKILLHUB_ROOTS": "user,hub"})
    assert settings.skills.roots == ("user", "hub")


@pytest.mark.acceptance("S2-64")
@pytest.mark.parametrize(("provider", "key"), KEYS.items())
def test_a_provider_without_its_key_is_refused(provider: str, key: str) -> None:
    for environment in ({}, {key: ""}, {key: " \n"}):
        with pytest.raises(InvalidSetting, match=f"EMBEDDING_PROVIDER='{provider}' requires {key}, which is not set"):
            read_settings({"EMBEDDING_PROVIDER": provider, **environment})
        own = {"EMBEDDING_BASE_URL": "http://127.0.0.1:1/v1"}
        with pytest.raises(InvalidSetting) as caught:
            read_settings({"EMBEDDING_PROVIDER": provider, **environment, **own})
        assert "accepts any text" in (caught.value.hint or "")
    settings, _ = read_settings({"EMBEDDING_PROVIDER": provider, key: "k"})
    assert settings.embedding.provider == provider


@pytest.mark.acceptance("S2-64", "S2-69")
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"EMBEDDING_PROVIDER": "openai"}, MISSING_KEY),
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


@pytest.mark.parametrize(("alias", "name"), [(alias, one.name) for one in SETTINGS for alias in one.aliases])
def test_an_alias_counts_unless_the_name_itself_is_set(alias: str, name: str, at_home: None) -> None:
    _, written, expected = VALUES[name]
    settings, origins = read_settings({alias: written})
    assert named(settings)[name] == expected
    assert f"environment ({alias})" in {origin.source for origin in origins}
    both, _ = read_settings({name: written, alias: "ERROR"})
    assert named(both)[name] == expected


def test_a_db_path_that_is_a_file_is_ignored(tmp_path: Path, at_home: None) -> None:
    (tmp_path / "app.sqlite").write_bytes(b"SQLite format 3\0")
    settings, sources = read_settings({"DB_PATH": str(tmp_path / "app.sqlite")})
    assert settings.index.db_path == DEFAULTS["SKILLHUB_DB_PATH"]
    assert [one.problem for one in sources if one.problem] == [
        f"DB_PATH='{tmp_path}/app.sqlite' is a file of another program; SKILLHUB_DB_PATH sets the database"
    ]


def test_an_empty_variable_counts_as_unset(at_home: None) -> None:
    settings, _ = read_settings(dict.fromkeys(VALUES, ""))
    assert named(settings) == DEFAULTS


def test_an_empty_option_is_a_value(at_home: None) -> None:
    with pytest.raises(InvalidSetting, match="SKILLS_DIR='' must name at least one directory"):
        read_settings({}, {"SKILLS_DIR": ""})


def test_secrets_are_not_in_the_repr_of_settings() -> None:
    secret = {setting.name for setting in SETTINGS if setting.secret}
    assert secret == {"SKILLHUB_STORAGE_OPTIONS", "SKILLHUB_SOURCE_TOKENS", "SKILLHUB_TOKEN", *KEYS.values()}
    settings, origins = read_settings({name: f"{name}=very-secret" for name in secret})
    assert "very-secret" not in repr(settings) + repr(origins)


@pytest.mark.parametrize("written", ["very-secret", "=very-secret", "a b=very-secret"])
@pytest.mark.parametrize(
    ("name", "form"), [("SKILLHUB_STORAGE_OPTIONS", "key=value"), ("SKILLHUB_SOURCE_TOKENS", "host=token")]
)
def test_invalid_secrets_are_refused_without_showing_them(name: str, form: str, written: str) -> None:
    with pytest.raises(InvalidSetting, match=rf"'\*\*\*' must be {form}") as caught:
        read_settings({name: written})
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
def test_an_invalid_storage_endpoint_is_refused(written: str) -> None:
    with pytest.raises(InvalidSetting, match="must be a URL that starts with http"):
        read_settings({"SKILLHUB_STORAGE_OPTIONS": written})


@pytest.mark.parametrize(
    "chosen",
    [
        {"EMBEDDING_PROVIDER": "onnx", "EMBEDDING_MODEL": "s3://models/m"},
        {"SEARCH_RERANK": "local", "SEARCH_RERANK_MODEL": "s3://models/m"},
    ],
)
def test_a_local_model_is_a_local_directory(chosen: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting, match="MODEL='s3://models/m' must be a local path"):
        read_settings(chosen)


def test_serve_options_are_not_variables() -> None:
    bad = {"--workers": "0"}
    assert read_settings(bad)[0].http.workers == 1
    with pytest.raises(InvalidSetting, match="--workers='0' must be a whole number from 1 to 64"):
        read_settings({}, bad)


@pytest.mark.slow
@pytest.mark.acceptance("S2-68")
def test_by_default_everything_is_below_the_home_directory(
    write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["HOME"])
    write_skill("painter", "Paints walls.", root=home / ".skillhub" / "skills")
    with hub_of({}) as hub:
        assert [found.skill.name for found in hub.search("paint walls").hits] == ["painter"]
    assert (home / ".skillhub" / "skills.lancedb").is_dir()
    assert (home / ".skillhub" / "index_state.json").is_file()


@pytest.mark.acceptance("S2-68")
def test_search_limits_follow_the_settings(write_skill: SkillWriter, hub_environment: dict[str, str]) -> None:
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
def test_read_and_run_limits_follow_the_settings(write_skill: SkillWriter, hub_environment: dict[str, str]) -> None:
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


@pytest.mark.acceptance("S2-70", "S2-71", "S2-72")
@pytest.mark.parametrize(
    ("skills", "categories", "served"),
    [
        ("first, third,unknown", "", {"first", "third"}),
        ("", "DOCS,other", {"first"}),
        ("third", "docs", {"third"}),
        ("", "", {"first", "second", "third"}),
        (",", "docs", set()),
    ],
)
def test_a_filter_serves_what_it_names_and_names_override_categories(
    three: None, hub_environment: dict[str, str], skills: str, categories: str, served: set[str]
) -> None:
    filters = {"SKILLHUB_ENABLED_SKILLS": skills, "SKILLHUB_ENABLED_CATEGORIES": categories}
    assert visible(hub_environment, **filters) == served


@pytest.mark.parametrize("text", [",", "\u00a0"])
@pytest.mark.parametrize("setting", ["SKILLHUB_ENABLED_SKILLS", "SKILLHUB_ENABLED_CATEGORIES"])
def test_a_filter_that_names_nothing_serves_nothing_and_is_reported(
    three: None, hub_environment: dict[str, str], setting: str, text: str
) -> None:
    assert visible(hub_environment, **{setting: text}) == set()
    settings, _ = read_settings({**hub_environment, setting: text})
    with hub_of({**hub_environment, setting: text}) as hub:
        (problem,) = name_problems(settings, hub.views.snapshot())
        assert problem.subject == setting
        assert "nothing is served" in problem.sentence()
        assert any(cause.subject == setting for cause in hub.why_nothing().causes)


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        *((setting, text) for setting in ("SKILLHUB_ROOTS", "SKILLHUB_TOOLS", "SEARCH_FIELDS") for text in (",", " ")),
        *((setting, "  ") for setting in ("SKILLHUB_TOKEN", "SKILLHUB_TOKENS_FILE", "SKILLHUB_JWT_ISSUER")),
        *((setting, " ") for setting in ("SKILLHUB_HOOKS", "SKILLHUB_AUDIT_LOG")),
    ],
)
def test_a_limiting_setting_without_content_is_refused(setting: str, text: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        read_settings({setting: text})
    assert setting in raised.value.message


def test_an_allow_list_without_items_allows_nothing() -> None:
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
def test_unknown_settings_suggest_a_similar_one(written: str, near: str) -> None:
    suggestion = f": did you mean {near}?" if near else ""
    problem = f"is not a setting and has no effect{suggestion}"
    assert unknown_settings([written, "PATH", "SKILLHUB_ROOTS"]) == {written: problem}


def test_no_known_name_is_reported_as_unknown() -> None:
    own = [name for setting in SETTINGS for name in (setting.name, *setting.aliases)]
    assert unknown_settings([*own, "skills_dir", "PATH", "MYSKILLHUB_ROOT"]) == {}


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


def test_options_override_variables_the_project_file_and_the_user_file_in_that_order(tmp_path: Path) -> None:
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


def test_a_settings_file_may_hold_numbers_booleans_and_lists() -> None:
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
        ('SKILLS_DIR = "${HOME}/x"\n', "SKILLS_DIR='${HOME}/x' contains ${HOME}", "correct it in {path}"),
    ],
    ids=["value", "table", "name", "toml", "variable"],
)
def test_an_invalid_settings_file_is_refused_with_its_path(text: str, says: str, hint: str) -> None:
    path = str(write_file(home(), OWN_FILE, text))
    with pytest.raises(InvalidSetting) as caught:
        read_settings({})
    assert caught.value.message.startswith(says.replace("{path}", path))
    assert (caught.value.hint or "").startswith(hint.replace("{path}", path))


def test_a_settings_file_writable_by_others_is_refused() -> None:
    path = write_file(home(), OWN_FILE, "SEARCH_LIMIT = 7\n")
    path.chmod(0o666)
    with pytest.raises(InvalidSetting, match="others may write it") as caught:
        read_settings({})
    assert caught.value.hint == f"run chmod go-w {path}"


def test_a_project_file_sets_only_what_it_may_and_invalid_values_are_reported(tmp_path: Path) -> None:
    text = 'SKILLHUB_TRUST = "all"\nSEARCH_LIMIT = 700\nSKILLHUB_CARD = "names"\nNEWER = 1\n'
    path = write_file(tmp_path, ".skillhub/settings.toml", text)
    settings, sources = read_settings({"SKILLHUB_CWD": str(tmp_path)})
    assert (settings.policy.trust, settings.search.limit, settings.disclosure.card) == ("limited", 10, "names")
    assert {one.setting.name: one.problem for one in sources if one.problem} == {
        "SKILLHUB_TRUST": f"SKILLHUB_TRUST cannot be set by a project: {path}",
        "SEARCH_LIMIT": "SEARCH_LIMIT='700' must be a whole number from 1 to 100",
    }


def test_a_project_settings_file_that_links_outside_is_refused(tmp_path: Path) -> None:
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
def test_unexpanded_variables_and_quotes_are_refused(name: str, text: str, reason: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        read_settings({name: text})
    assert f" {reason}" in caught.value.message
    assert caught.value.message.endswith(("; write what the variable stands for", "; remove them"))


def test_there_are_at_most_seventy_settings() -> None:
    assert len(SETTINGS) <= 70
