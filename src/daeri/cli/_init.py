"""`daeri init`: a working project to start from.

The files are those of `templates/<locale>/`; `dot-` at the start of a name stands for a dot.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from daeri.text import Locale, message

from ._exit import ExitCode, UsageError
from ._language import shell_locale


def write_project(folder: str, *, lang: Locale | None) -> int:
    """Write a project into a folder; existing files are never overwritten.

    Raises:
        UsageError: no folder is named, or a file is there already or can't be written; only then some may be written.
    """
    locale = lang or shell_locale()
    if not folder:
        raise UsageError(message("cli.error.no_folder", locale))
    return _write(Path(folder), locale)


def _write(folder: Path, locale: Locale) -> int:
    template = files("daeri.cli").joinpath("templates", locale)
    contents = {folder / place: source for place, source in _files(template)}
    _refuse_existing(folder, list(contents))
    for target, source in contents.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(source.read_bytes())
        except OSError as error:
            cause = error.strerror or error
            raise UsageError(message("cli.error.write", locale, file=target, cause=cause)) from None
    print(message("cli.init.written", locale, folder=folder))
    for target in contents:
        print(f"  {target.relative_to(folder)}")
    print(message("cli.init.next", locale, folder=shlex.quote(str(folder))))
    return ExitCode.SUCCEEDED


def _files(source: Traversable, place: Path = Path()) -> Iterator[tuple[Path, Traversable]]:
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        if entry.name == "__pycache__":
            continue
        name = f".{entry.name.removeprefix('dot-')}" if entry.name.startswith("dot-") else entry.name
        if entry.is_dir():
            yield from _files(entry, place / name)
        else:
            yield place / name, entry


def _refuse_existing(folder: Path, targets: list[Path]) -> None:
    locale = shell_locale()
    if folder.exists() and not folder.is_dir():
        raise UsageError(message("cli.error.not_a_folder", locale, folder=folder))
    there = [str(target.relative_to(folder)) for target in targets if target.exists() or target.is_symlink()]
    if there:
        raise UsageError(message("cli.error.exists", locale, folder=folder, files=", ".join(there)))
