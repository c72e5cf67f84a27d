"""What the toolkits may use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from daeri.errors import SettingsError

from ._facts import FACT_FILES, load_facts


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolkitConfig:
    """Where the toolkits find what they read; a toolkit without anything to read offers no tools."""

    file_roots: tuple[Path, ...] = ()
    """Folders below which `files.read` reads."""
    knowledge_files: tuple[Path, ...] = ()
    """TOML, JSON and CSV files of `knowledge.lookup`."""
    document_folders: tuple[Path, ...] = ()
    """Folders of Markdown and text files that `documents.search` searches."""
    morphemes: bool = False
    """Search Korean documents by morphemes; needs the extra `ko`."""


def check(config: ToolkitConfig) -> None:
    """Make sure that everything configured is there and can be understood.

    Raises:
        SettingsError: it names the field, the path, and what to do.
    """
    for field, folder in _folders(config):
        if not folder.is_dir():
            raise SettingsError(f"toolkits.{field}", str(folder), "no such folder", "Create it or correct the path.")
    for file in config.knowledge_files:
        try:
            load_facts(file)
        except FileNotFoundError:
            fix = "Create it or correct the path."
            raise SettingsError("toolkits.knowledge_files", str(file), "no such file", fix) from None
        except (OSError, ValueError) as error:
            fix = f"Correct the file; facts are read from {', '.join(FACT_FILES)}."
            raise SettingsError("toolkits.knowledge_files", str(file), f"can't be read: {error}", fix) from error
    if config.morphemes and find_spec("kiwipiepy") is None:
        fix = 'Run: pip install "daeri[ko]", or set it to false.'
        raise SettingsError("toolkits.morphemes", True, "the package kiwipiepy is not installed", fix)


def _folders(config: ToolkitConfig) -> Iterator[tuple[str, Path]]:
    for folder in config.file_roots:
        yield "file_roots", folder
    for folder in config.document_folders:
        yield "document_folders", folder
