"""Whether a file is still the one that was read."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = tuple[int, int, int]


def stamp(path: Path) -> Stamp:
    """When the file changed last, its size and its inode.

    Raises:
        OSError: it isn't there.
    """
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino
