"""Loading: find the project, read the layers, check, make paths absolute."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path
from pydantic import ValidationError

from daeri.errors import SettingsError
from daeri.text import Locale, locale_from_environment

from ._problems import first_of, from_validation, wrong_setting
from ._read import find_project_file, from_environment, from_overrides, read_env_file, read_toml
from ._sources import Layer, Sources
from ._tree import Settings


def load_settings(
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    """All settings as they hold in the folder `start`.

    The strongest source first: `overrides` (dotted names), the environment, `.env`, `daeri.toml`, defaults.
    `daeri.toml` is looked for in `start` (default: the working directory) and the folders above it; `.env` beside it,
    or in `start` when there is no project.

    Raises:
        SettingsError: a setting is unknown or wrong, or names a file that is not there.
    """
    start = (start or Path.cwd()).resolve()
    environ = os.environ if environ is None else environ
    overrides = overrides or {}
    locale = _locale(environ, overrides)
    sources, errors = _read_layers(start, environ, overrides, locale)
    try:
        settings = Settings(sources=sources)
    except ValidationError as error:
        errors += from_validation(error, locale)
    else:
        settings = _with_absolute_paths(settings, sources.project or start)
        errors += _missing_files(settings, sources.project or start, locale)
        if not errors:
            return settings
    raise first_of(errors, locale) from None


def _locale(environ: Mapping[str, str], overrides: Mapping[str, object]) -> Locale:
    return locale_from_environment(
        {**environ, "DAERI_LANG": str(overrides.get("lang") or environ.get("DAERI_LANG", ""))}
    )


def _read_layers(
    start: Path, environ: Mapping[str, str], overrides: Mapping[str, object], locale: Locale
) -> tuple[Sources, list[SettingsError]]:
    project_file = find_project_file(start)
    project = project_file.parent if project_file else None
    env_file = (project or start) / ".env"
    from_file = read_env_file(env_file, locale) if env_file.is_file() else dict[str, str]()
    given, errors = from_overrides(overrides, locale)
    env_values, env_errors = from_environment(environ, locale)
    env_file_values, env_file_errors = from_environment(from_file, locale)
    toml_values, toml_errors = read_toml(project_file, locale) if project_file else ({}, [])
    layers = (
        Layer(origin="override", values=given),
        Layer(origin="environment", values=env_values),
        Layer(origin="env_file", values=env_file_values),
        Layer(origin="file", values=toml_values),
    )
    sources = Sources(
        project=project,
        env_file=env_file if env_file.is_file() else None,
        environment={**from_file, **environ},
        layers=layers,
    )
    return sources, [*errors, *env_errors, *env_file_errors, *toml_errors]


def _with_absolute_paths(settings: Settings, base: Path) -> Settings:
    def absolute(path: Path) -> Path:
        return Path(os.path.normpath(base / path.expanduser()))

    def all_absolute(paths: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(absolute(path) for path in paths)

    home = absolute(settings.home)
    if settings.origin_of("home") == "default" and settings.project is None:
        home = user_data_path("daeri", appauthor=False)
    # Outside a project a folder that happens to be called `agents` is somebody else's.
    stray_agents = settings.origin_of("agents.folder") == "default" and settings.project is None
    folder = home / "agents" if stray_agents else absolute(settings.agents.folder)
    stray_policies = settings.origin_of("policy.folder") == "default" and settings.project is None
    policies = home / "policies" if stray_policies else absolute(settings.policy.folder)
    kits = settings.toolkits
    return settings.model_copy(
        update={
            "home": home,
            "policy": settings.policy.model_copy(update={"folder": policies}),
            "agents": settings.agents.model_copy(update={"folder": folder}),
            "toolkits": kits.model_copy(
                update={
                    "file_roots": all_absolute(kits.file_roots),
                    "knowledge_files": all_absolute(kits.knowledge_files),
                    "document_folders": all_absolute(kits.document_folders),
                }
            ),
        }
    )


def _missing_files(settings: Settings, base: Path, locale: Locale) -> list[SettingsError]:
    kits = settings.toolkits
    # Tool files keep their relative names: these become part of the tools' definitions, which hold on any machine.
    files = [("tools.modules", base / name) for name in settings.tools.modules if name.endswith(".py")]
    files += [("toolkits.knowledge_files", path) for path in kits.knowledge_files]
    folders = [("toolkits.file_roots", path) for path in kits.file_roots]
    folders += [("toolkits.document_folders", path) for path in kits.document_folders]
    if settings.origin_of("policy.folder") != "default":
        folders.append(("policy.folder", settings.policy.folder))
    if settings.origin_of("agents.folder") != "default":
        folders.append(("agents.folder", settings.agents.folder))
    wrong = [
        (name, path, "not_a_file" if path.exists() else "missing_file") for name, path in files if not path.is_file()
    ]
    wrong += [
        (name, path, "not_a_folder" if path.exists() else "missing_folder")
        for name, path in folders
        if not path.is_dir()
    ]
    found = [wrong_setting(name, str(path), problem, locale, fix="missing", base=base) for name, path, problem in wrong]
    if problem := _problem_of_home(settings.home):
        found.append(wrong_setting("home", str(settings.home), problem, locale, fix="home"))
    return found


def _problem_of_home(home: Path) -> str | None:
    """What keeps the folder from being used, or from being made below the nearest one that exists."""
    there = next((place for place in (home, *home.parents) if os.path.exists(place)), home)
    if not os.path.isdir(there):
        return "not_a_folder"
    return None if os.access(there, os.W_OK | os.X_OK) else "not_writable"
