"""Where settings come from: layers of values, the strongest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

Origin = Literal["override", "environment", "env_file", "file", "default"]
"""`override`: the command line or the caller. `env_file`: `.env`. `file`: `daeri.toml`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """The values of one source, nested as in `daeri.toml`."""

    origin: Origin
    values: Mapping[str, object] = field(repr=False)

    def has(self, name: str) -> bool:
        """Whether this layer sets `name` (dotted)."""
        *sections, key = name.split(".")
        table = self.values
        for section in sections:
            inner = table.get(section)
            if not isinstance(inner, dict):
                return False
            table = cast("dict[str, object]", inner)
        return key in table


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """What was found when the settings were loaded."""

    project: Path | None = None
    """The folder that holds `daeri.toml`."""
    env_file: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The environment with what `.env` adds to it. Holds secrets."""
    layers: tuple[Layer, ...] = ()
    """The strongest first."""


class LayerSource(PydanticBaseSettingsSource):
    """A layer, as pydantic-settings wants to be given it."""

    def __init__(self, settings_cls: type[BaseSettings], layer: Layer) -> None:
        super().__init__(settings_cls)
        self._layer = layer

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The value of one top-level field."""
        return self._layer.values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """All values, nested."""
        return dict(self._layer.values)
