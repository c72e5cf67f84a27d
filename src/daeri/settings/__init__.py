"""One typed settings tree: `daeri.toml`, `.env`, the environment; checked at start, never at the first request."""

from ._load import load_settings
from ._names import SettingRow, settings_table
from ._policy import CallLimitSettings, LoosenSettings, PolicySettings, PrincipalSettings, RuleSettings
from ._problems import MASK
from ._sources import Origin
from ._tree import (
    AgentSettings,
    CliSettings,
    LimitSettings,
    ModelSettings,
    Settings,
    ToolkitSettings,
    ToolSettings,
)

__all__ = [
    "MASK",
    "AgentSettings",
    "CallLimitSettings",
    "CliSettings",
    "LimitSettings",
    "LoosenSettings",
    "ModelSettings",
    "Origin",
    "PolicySettings",
    "PrincipalSettings",
    "RuleSettings",
    "SettingRow",
    "Settings",
    "ToolSettings",
    "ToolkitSettings",
    "load_settings",
    "settings_table",
]
