"""The settings tree: one typed value for everything that can be set."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, InstanceOf, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from daeri.engine import Limits
from daeri.identity import Role
from daeri.text import Locale

from ._policy import PolicySettings, PrincipalSettings
from ._section import Section, TenantName
from ._sources import LayerSource, Origin, Sources

_DEFAULT_LIMITS = Limits()
_Count = Annotated[int, Field(ge=1)]
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Price = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]


class ModelSettings(Section):
    """Which model answers, and how it is reached."""

    reference: str | None = None
    """The model: `openai:NAME`, `openai-compatible:NAME`, `planner`, `script:FILE.jsonl`, `auto-local`."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server, up to and including `/v1`."""
    api_key: SecretStr | None = None
    """Key for the model's server; belongs in the environment or in `.env`."""
    timeout_s: _Seconds = 120.0
    """Seconds that one model turn may take."""
    max_output_tokens: _Count | None = None
    """Tokens of one reply; unset leaves it to the model."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Sampling temperature; unset leaves it to the model."""
    prices: dict[str, tuple[_Price, _Price]] = Field(default_factory=dict)
    """US dollars per million input and output tokens by model name, for models without a known price."""

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("not_an_address")
        if value is not None and "@" in value.split("/")[2]:
            raise ValueError("address_with_password")
        return value


class ToolSettings(Section):
    """Which tools there are."""

    modules: tuple[str, ...] = ()
    """Tool modules: files relative to the project (`pay.py`) or importable names (`company.tools`)."""
    disabled: tuple[str, ...] = ()
    """Names of tools that nobody may use."""


class ToolkitSettings(Section):
    """What the built-in tools work on; paths are relative to the project."""

    file_roots: tuple[Path, ...] = ()
    """Folders that `files.read` may read from."""
    knowledge_files: tuple[Path, ...] = ()
    """Files that `knowledge.lookup` looks up in."""
    document_folders: tuple[Path, ...] = ()
    """Folders that `documents.search` searches."""
    morphemes: bool = False
    """Search Korean by morphemes; needs the extra `ko`."""


class AgentSettings(Section):
    """Where the agents are."""

    folder: Path = Path("agents")
    """Folder with one folder per agent (`card.json`, `instructions.md`), relative to the project."""
    default: str = "default"
    """The agent that runs when none is named."""


class LimitSettings(Section):
    """Where a run stops; an agent can only go below."""

    max_steps: _Count = _DEFAULT_LIMITS.max_steps
    """Model turns of one run."""
    max_seconds: _Seconds = _DEFAULT_LIMITS.max_seconds
    """Wall time of one run."""
    max_tokens: _Count = _DEFAULT_LIMITS.max_tokens
    """Input and output tokens of one run."""
    max_cost: Annotated[Decimal, Field(gt=0, allow_inf_nan=False)] | None = _DEFAULT_LIMITS.max_cost
    """US dollars of one run; unset means no limit."""
    max_context_blocks: _Count = _DEFAULT_LIMITS.max_context_blocks
    """Newest turns, each with its results, that the model sees."""
    context_tokens: _Count = _DEFAULT_LIMITS.context_tokens
    """Tokens that the model may be given in one turn."""
    max_tool_output_chars: _Count = _DEFAULT_LIMITS.max_tool_output_chars
    """Characters of one result that the model sees."""


class ApprovalSettings(Section):
    """How long calls wait for people."""

    ttl_s: _Seconds = 604_800.0
    """Seconds after which a request for approval that nobody decided, or nobody carried out, expires."""


class WebhookSettings(Section):
    """Who is told about requests for approval."""

    url: str | None = None
    """Address that each step of a request for approval is posted to; unset tells nobody."""
    secret: SecretStr | None = None
    """Shared secret that signs what is posted; belongs in the environment or in `.env`."""
    timeout_s: _Seconds = 10.0
    """Seconds that one attempt to deliver may take."""
    max_attempts: _Count = 10
    """Attempts after which a message is given up."""

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not _is_web_address(value):
            raise ValueError("not_a_web_address")
        return value


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port  # asking for the port is what checks it
        if ":" not in host:
            host.encode("idna")
    except ValueError:
        return False
    plain = text.isprintable() and not any(character.isspace() or character in '\\^`{|}<>"' for character in text)
    return plain and parts.scheme in ("http", "https") and bool(host) and port != 0


class CliSettings(Section):
    """As whom the command line acts: the user of the operating system, with these rights."""

    scopes: tuple[str, ...] = ("documents:read", "files:read", "knowledge:read")
    """Scopes of the person at the command line."""
    roles: tuple[Role, ...] = ("auditor", "operator", "user")
    """Roles of the person at the command line."""


class Settings(BaseSettings):
    """All settings, checked, with absolute paths (but for tool files).

    Made by `load_settings`; `Settings()` holds the defaults alone.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True, str_strip_whitespace=True
    )

    tenant: TenantName = "local"
    """The organisation that every record belongs to."""
    lang: Locale | None = None
    """Language for people: `ko` or `en`; unset follows the goal and the shell."""
    home: Path = Path(".daeri")
    """Where data lives: `.daeri` in the project, else the user's data directory."""
    debug: bool = False
    """Show the traceback of an unexpected error."""
    model: ModelSettings = ModelSettings()
    tools: ToolSettings = ToolSettings()
    toolkits: ToolkitSettings = ToolkitSettings()
    agents: AgentSettings = AgentSettings()
    limits: LimitSettings = LimitSettings()
    cli: CliSettings = CliSettings()
    policy: PolicySettings = PolicySettings()
    principals: dict[Annotated[str, Field(pattern=r"^[\w.@:-]{1,64}$")], PrincipalSettings] = Field(
        default_factory=dict[str, PrincipalSettings]
    )
    """Whom a person at the command line can act as, as `[principals.NAME]` with tenant, scopes and roles."""
    approvals: ApprovalSettings = ApprovalSettings()
    webhooks: WebhookSettings = WebhookSettings()
    sources: Annotated[InstanceOf[Sources], Field(exclude=True, repr=False)] = Sources()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `sources` holds: the environment is read by `load_settings`, from where it is told to."""
        sources = init_settings().get("sources", Sources())
        return (init_settings, *(LayerSource(settings_cls, layer) for layer in sources.layers))

    @property
    def project(self) -> Path | None:
        """The folder that holds `daeri.toml`; `None` outside a project."""
        return self.sources.project

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment with what `.env` adds to it, for keys that other programs name (`OPENAI_API_KEY`)."""
        return self.sources.environment

    def origin_of(self, name: str) -> Origin:
        """Which source gave the setting `name` (dotted, as in `daeri.toml`)."""
        for layer in self.sources.layers:
            if layer.has(name):
                return layer.origin
        return "default"

    def run_limits(self) -> Limits:
        """The limits of a run, as the engine takes them."""
        return Limits(**self.limits.model_dump(), max_output_tokens=self.model.max_output_tokens)
