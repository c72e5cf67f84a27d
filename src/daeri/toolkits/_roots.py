"""Folders that may be read, and nothing beside them."""

from __future__ import annotations

import difflib
import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

_MOST_LISTED = 5_000
"""Names that one search for suggestions looks at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A file or folder inside a root, with no symbolic link left in its path."""

    root: Path
    parts: tuple[str, ...]
    name: str
    """The path below the root, with `/` between its parts; it starts with the root's name when there are several."""

    def open(self) -> int:
        """A descriptor of it, opened for reading.

        Every part is opened below the one before and never through a link: what was swapped for a link after the
        path had been checked is refused.

        Raises:
            OSError: it isn't there, or is a link by now, or may not be read.
        """
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for at, part in enumerate(self.parts, 1):
            kind = os.O_DIRECTORY if at < len(self.parts) else os.O_NONBLOCK
            try:
                below = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | kind, dir_fd=folder)
            finally:
                os.close(folder)
            folder = below
        return folder


class Roots:
    """The folders of one toolkit, as they were when it was set up."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(Path(os.path.realpath(folder)) for folder in folders)

    def find(self, path: str) -> Place | None:
        """The place that `path` means, or None when there is none inside the roots.

        A relative path counts from each root in turn, with or without the root's own name before it. What lies
        outside looks the same as what doesn't exist, and so does what is hidden (`.env`, `.git/`): secrets live there.
        """
        for place in self._candidates(path):
            try:
                os.close(place.open())
            except PermissionError:
                return place
            except OSError:
                continue
            return place
        return self._same_letters(path)

    def closest(self, path: str, limit: int = 5) -> list[str]:
        """Names of files inside the roots that look like the last part of `path`."""
        wanted = _letters(path.replace("\\", "/").rstrip("/").rpartition("/")[2])
        names = {place.name: _letters(place.parts[-1]) for place in islice(self.files(), _MOST_LISTED)}
        close = set(difflib.get_close_matches(wanted, names.values(), n=limit, cutoff=0.5))
        close |= {name for name in names.values() if len(wanted) > 1 and wanted in name}
        return sorted(name for name, letters in names.items() if letters in close)[:limit]

    def files(self, suffixes: Sequence[str] = ()) -> Iterator[Place]:
        """Ordinary files inside the roots, without links and hidden ones."""
        for root in self._folders:
            for path in _files_below(root, tuple(suffixes)):
                yield self._place(root, path)

    def _candidates(self, path: str) -> Iterator[Place]:
        for root in self._folders:
            tries = [root / path]
            head, _, rest = path.replace("\\", "/").partition("/")
            if head == root.name:
                tries.append(root / rest)
            for candidate in tries:
                try:
                    real = Path(os.path.realpath(candidate))
                except (OSError, ValueError):
                    continue
                if real.is_relative_to(root) and not any(_is_hidden(part) for part in real.relative_to(root).parts):
                    yield self._place(root, real)

    def _place(self, root: Path, path: Path) -> Place:
        parts = path.relative_to(root).parts
        shown = parts if len(self._folders) == 1 else (root.name, *parts)
        return Place(root=root, parts=parts, name="/".join(shown) or ".")

    def _same_letters(self, path: str) -> Place | None:
        # Archives packed on macOS carry Hangul names in decomposed form; people type the composed one.
        wanted = unicodedata.normalize("NFC", path)
        if wanted.isascii():
            return None
        files = islice(self.files(), _MOST_LISTED)
        return next((place for place in files if unicodedata.normalize("NFC", place.name) == wanted), None)


def listing(place: Place, limit: int = 20) -> list[str]:
    """Names in a folder, folders marked by `/`, hidden ones left out.

    Raises:
        OSError: it is no folder, or can't be read.
    """
    folder = place.open()
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name + ("/" if entry.is_dir(follow_symlinks=False) else "")
                for entry in entries
                if not _is_hidden(entry.name)
            ]
    finally:
        os.close(folder)
    return sorted(names)[:limit]


def read_head(place: Place, limit: int) -> tuple[bytes, int] | None:
    """At most `limit` bytes of an ordinary file, and its size; None when it isn't an ordinary file.

    Raises:
        OSError: it can't be opened or read.
    """
    descriptor = place.open()
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        data = file.read(limit)
    return data, max(status.st_size, len(data))


def _files_below(root: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if not _is_hidden(name) and name.lower().endswith(suffixes or "") and _is_ordinary(path):
                yield path


def _is_ordinary(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _letters(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
