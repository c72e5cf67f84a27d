"""The page of settings says what the settings say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_its_script_writes() -> None:
    script = "from write_settings_page import page; import sys; sys.stdout.write(page())"
    printed = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "scripts", capture_output=True, text=True, check=True, timeout=60
    )

    assert (ROOT / "docs" / "settings.md").read_text("utf-8") == printed.stdout
