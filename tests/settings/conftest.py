"""A project folder to load settings from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from daeri.errors import SettingsError
from daeri.settings import Settings, load_settings

Load = Callable[..., Settings]
Refuse = Callable[..., SettingsError]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load from a folder with the given `daeri.toml` and `.env`; nothing of the real environment is seen."""

    def loaded(
        toml: str | None = "",
        env_file: str = "",
        environ: Mapping[str, str] | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> Settings:
        if toml is not None:
            (tmp_path / "daeri.toml").write_text(toml, "utf-8")
        if env_file:
            (tmp_path / ".env").write_text(env_file, "utf-8")
        return load_settings(tmp_path, environ or {}, overrides)

    return loaded


@pytest.fixture
def refuse(load: Load) -> Refuse:
    """The error that loading ends with."""

    def refused(*args: str, **kwargs: object) -> SettingsError:
        with pytest.raises(SettingsError) as caught:
            load(*args, **kwargs)
        return caught.value

    return refused
