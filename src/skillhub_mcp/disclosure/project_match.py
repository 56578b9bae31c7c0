"""Match skills to a project by keywords for its tools and languages, from the file names at its root."""

from __future__ import annotations

import fnmatch
import itertools
import os
from collections.abc import Iterable

from skillhub_mcp.skills.model import Skill

_MAX_FILES = 2_000

# A file name or pattern, in lower case, and the keywords of skills for such a project.
_MARKERS: tuple[tuple[str, str], ...] = (
    ("package.json", "javascript js node nodejs npm"),
    ("tsconfig*.json", "typescript ts"),
    ("next.config.*", "nextjs next react"),
    ("vite.config.*", "vite"),
    ("svelte.config.*", "svelte sveltekit"),
    ("nuxt.config.*", "nuxt vue"),
    ("angular.json", "angular"),
    ("astro.config.*", "astro"),
    ("tailwind.config.*", "tailwind tailwindcss"),
    ("playwright.config.*", "playwright"),
    ("bun.lock*", "bun"),
    ("deno.json*", "deno"),
    ("pyproject.toml", "python py"),
    ("setup.py", "python py"),
    ("requirements*.txt", "python py"),
    ("uv.lock", "uv"),
    ("manage.py", "django"),
    ("*.ipynb", "jupyter notebook notebooks"),
    ("cargo.toml", "rust cargo"),
    ("go.mod", "go golang"),
    ("gemfile", "ruby rails"),
    ("pom.xml", "java maven"),
    ("build.gradle*", "java kotlin gradle"),
    ("composer.json", "php composer"),
    ("*.sln", "dotnet csharp"),
    ("*.csproj", "dotnet csharp"),
    ("package.swift", "swift"),
    ("*.xcodeproj", "swift ios xcode"),
    ("pubspec.yaml", "dart flutter"),
    ("mix.exs", "elixir"),
    ("cmakelists.txt", "cmake cpp"),
    ("dockerfile*", "docker container containers"),
    ("compose.y*ml", "docker compose"),
    ("docker-compose*.y*ml", "docker compose"),
    ("*.tf", "terraform"),
    ("chart.yaml", "helm kubernetes k8s"),
    ("kustomization.yaml", "kustomize kubernetes k8s"),
    ("ansible.cfg", "ansible"),
    ("dbt_project.yml", "dbt"),
    ("wrangler.*", "cloudflare workers"),
    ("vercel.json", "vercel"),
    ("firebase.json", "firebase"),
    (".github", "github"),
    (".gitlab-ci.yml", "gitlab"),
)
# Keywords that mean something else in most names: they match a tag or a category only.
_ONLY_AS_TAGS = frozenset({"go", "next", "node", "compose", "container", "containers", "workers", "notebook", "uv"})


def project_keywords(root: str) -> frozenset[str]:
    """Return the keywords of the files in `root`; none for a directory that cannot be read."""
    try:
        with os.scandir(root) as entries:
            names = [entry.name for entry in itertools.islice(entries, _MAX_FILES)]
    except OSError:
        return frozenset()
    return keywords_of_files(names)


def keywords_of_files(names: Iterable[str]) -> frozenset[str]:
    """Return the keywords for these file names."""
    present = {name.lower() for name in names}
    return frozenset(
        keyword
        for pattern, keywords in _MARKERS
        if pattern in present or ("*" in pattern and fnmatch.filter(present, pattern))
        for keyword in keywords.split()
    )


def keyword_matches(skill: Skill, keywords: frozenset[str]) -> int:
    """Return how many of a project's `keywords` are a tag, the category or a word of the name of a skill."""
    words = skill.alias.split("-")
    in_name = keywords.intersection(words) - _ONLY_AS_TAGS
    return len(in_name | keywords.intersection(skill.tags) | keywords.intersection((skill.category or "",)))
