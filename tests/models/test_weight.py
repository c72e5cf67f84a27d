"""The provider's library is loaded by those who talk to a provider, and by nobody else."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("pydantic_ai", "openai", "httpx2", "bpe_openai")


def test_importing_the_room_and_choosing_a_model_loads_no_provider() -> None:
    code = (
        "import sys, asyncio\n"
        "from daeri.models import ModelSettings, choose_model\n"
        "asyncio.run(choose_model(ModelSettings(reference='openai:x', api_key='sk-1'), {}))\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert _run(code) == "[]"


def test_building_a_provider_model_does_load_it() -> None:
    code = (
        "import sys, asyncio\n"
        "from daeri.models import ModelSettings, build_model\n"
        "asyncio.run(build_model(ModelSettings(reference='openai:x', api_key='sk-1'), {}))\n"
        "print('pydantic_ai' in sys.modules)"
    )
    assert _run(code) == "True"


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()
