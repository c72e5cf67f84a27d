"""Every block of README and docs is run, in the order of its page, in a folder of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODELS_PAGE = ROOT / "docs" / "models.md"
PAGES = [ROOT / "README.md", ROOT / "README.ko.md", *sorted((ROOT / "docs").glob("*.md"))]
SERVER_IN_DOCS = "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize("page", [page for page in PAGES if page != MODELS_PAGE], ids=lambda page: page.name)
def test_every_block_of_the_page_runs_and_shows_what_the_page_promises(
    page: Path, run_page: Callable[..., None]
) -> None:
    run_page(page)


@pytest.fixture
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that speaks the provider's wire format, in a process of its own."""
    script = tmp_path_factory.mktemp("server") / "turns.jsonl"
    turns = [
        {"calls": [{"name": "calculator", "arguments": {"expression": "24*7"}}]},
        {"text": "The total is $168."},
    ]
    script.write_text("\n".join(json.dumps(turn) for turn in turns), "utf-8")
    serve = [sys.executable, str(ROOT / "tests" / "fake_provider" / "serve.py"), "--port", "0", "--script", str(script)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def test_every_block_of_the_models_page_runs_against_a_real_server(
    run_page: Callable[..., None], model_server: str
) -> None:
    run_page(MODELS_PAGE, {SERVER_IN_DOCS: model_server})


def test_both_readmes_have_the_same_headings_and_blocks() -> None:
    english, korean = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.ko.md"))

    assert len(re.findall(r"^#+ ", english, re.M)) == len(re.findall(r"^#+ ", korean, re.M))
    assert re.findall(r"^```(\w*)", english, re.M) == re.findall(r"^```(\w*)", korean, re.M)
