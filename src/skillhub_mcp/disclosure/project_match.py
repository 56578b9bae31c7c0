"""Which skills fit the project? Those of a tool or language that the names of the files at its root give away.

One listing of one directory; no file is opened. A guess, which decides no more than what a card tells first.
"""

from __future__ import annotations

import fnmatch
import itertools
import os
from collections.abc import Iterable

from skillhub_mcp.skills.model import Skill

_LOOKED_AT = 2_000

# A file's name or pattern, in lower case, and the words of skills that are for such a project.
_MARKS: tuple[tuple[str, str], ...] = (
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
# Words that mean something else in most names; as a tag or a category they are meant.
_ONLY_AS_TAGS = frozenset({"go", "next", "node", "compose", "container", "containers", "workers", "notebook", "uv"})


def project_words(root: str) -> frozenset[str]:
    """Return the words that a project's files give away; none for a directory that cannot be looked into."""
    try:
        with os.scandir(root) as entries:
            names = [entry.name for entry in itertools.islice(entries, _LOOKED_AT)]
    except OSError:
        return frozenset()
    return words_of_files(names)


def words_of_files(names: Iterable[str]) -> frozenset[str]:
    """Return the words that those names of files give away."""
    there = {name.lower() for name in names}
    return frozenset(
        word
        for pattern, words in _MARKS
        if pattern in there or ("*" in pattern and fnmatch.filter(there, pattern))
        for word in words.split()
    )


def fits(skill: Skill, words: frozenset[str]) -> int:
    """Return how many of a project's `words` a skill has among its tags, as its category or in its name."""
    if not words:
        return 0
    named = words.intersection(skill.alias.split("-")) - _ONLY_AS_TAGS
    return len(named | words.intersection(skill.tags) | words.intersection((skill.category or "",)))
