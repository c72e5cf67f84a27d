"""The one composition root: everything wired together from settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from daeri.boundary import Boundary, check_fallbacks
from daeri.engine import Agent, Engine, Limits, RetryPolicy, Run, RunResult
from daeri.errors import NotFoundError, SettingsError
from daeri.identity import Principal
from daeri.models import Model, ModelChoice, ModelSettings, build_model
from daeri.settings import Settings, load_settings
from daeri.store import SqliteStore
from daeri.text import Locale
from daeri.tools import FunctionTool, ToolRegistry

from ._agents import load_agents
from ._approvals import allow_list_of, delivering, webhook_of
from ._audit import AuditKeeper
from ._orphans import present
from ._policy import Policies
from ._principals import local_principal
from ._tools import registry_of

DATABASE = "daeri.db"
DEFAULT_AGENT = "default"


class Daeri:
    """An open Daeri: agents that run, tools behind the boundary, and the record of it all. Made by `Daeri.open`."""

    def __init__(
        self,
        *,
        settings: Settings,
        registry: ToolRegistry,
        store: SqliteStore,
        policies: Policies,
        boundary: Boundary,
        engine: Engine,
        agents: Mapping[str, Agent],
        known: dict[str, Agent],
    ) -> None:
        self.settings = settings
        self.registry = registry
        self.store = store
        self.policies = policies
        self.boundary = boundary
        self.agents = agents
        self.principal = local_principal(settings)
        """The user of the operating system, with the rights that the settings grant."""
        self._known = known
        """Agents as they were last started here, else as their files say: approved calls are held to what they may."""
        self._engine = engine
        self._models: dict[str | None, tuple[Model, ModelChoice]] = {}
        self._building = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings | None = None,
        *,
        tools: Iterable[FunctionTool[..., Any]] = (),
        tool_modules: Sequence[str] = (),
        retry: RetryPolicy | None = None,
    ) -> AsyncGenerator[Daeri]:
        """Build everything from `settings` (those of the working directory unless given), and close it again.

        `tools` and `tool_modules` (FILE.py or package.module) come on top of the tools that the settings name.

        Raises:
            SettingsError: a setting is missing or wrong.
            DefinitionError: a tool, an agent or a policy can't be used.
            StoreError: the database can't be opened.
        """
        settings = settings or load_settings()
        async with AsyncExitStack() as stack:
            registry = await registry_of(settings, tools, tool_modules)
            stack.push_async_callback(registry.aclose)
            check_fallbacks(registry)
            known = dict(agents := _agents(settings))
            policies = Policies(settings, registry)
            presence = await stack.enter_async_context(present(settings.home))
            store = await stack.enter_async_context(await SqliteStore.open(settings.home / DATABASE))
            await presence.settle(store)
            tenant, actor = settings.tenant, local_principal(settings).subject
            keeper = AuditKeeper(store, settings.home, tenant=tenant, actor=actor)
            await stack.enter_async_context(keeper.keeping())
            await store.record_definitions(registry.tools(), tenant=tenant, actor=actor)
            await policies.load(store, tenant=tenant, actor=actor)
            webhook = webhook_of(settings)
            boundary = Boundary(
                registry=registry,
                store=store,
                policy=policies,
                floor=policies.floor,
                limits=policies.limits,
                approval_ttl=timedelta(seconds=settings.approvals.ttl_s),
                allow_list=allow_list_of(known),
                notify=webhook is not None,
            )
            if webhook is not None:
                await stack.enter_async_context(delivering(store, webhook))
            stack.push_async_callback(boundary.aclose)
            engine = Engine(boundary=boundary, store=store, retry=retry)
            daeri = cls(
                settings=settings,
                registry=registry,
                store=store,
                policies=policies,
                boundary=boundary,
                engine=engine,
                agents=agents,
                known=known,
            )
            stack.push_async_callback(daeri.close_models)
            stack.push_async_callback(engine.aclose)
            yield daeri

    async def start(
        self,
        goal: str,
        *,
        agent: str | Agent | None = None,
        model: str | Model | None = None,
        principal: Principal | None = None,
        locale: Locale | None = None,
        max_steps: int | None = None,
    ) -> Run:
        """Begin a run; it is on record when this returns.

        The model is the one named here, else the agent's, else the configured one, else chosen from what is there.

        Raises:
            NotFoundError: no such agent.
            SettingsError: the model can't be used, or `max_steps` is below 1.
            StoreError: the run could not be written down, so it does not begin.
        """
        chosen = agent if isinstance(agent, Agent) else self.agent(agent)
        built, choice = await self._model(model if model is not None else chosen.model)
        self._known[chosen.name] = chosen
        return await self._engine.start(
            goal,
            agent=chosen,
            model=built,
            choice=choice,
            principal=principal or self.principal,
            locale=locale or self.settings.lang,
            limits=_with_max_steps(chosen.limits, max_steps),
        )

    async def ask(self, goal: str, **options: Any) -> RunResult:
        """Run to the end and give the result; takes the options of `start`. Cancelling it cancels the run."""
        async with await self.start(goal, **options) as run:
            return await run.result()

    def agent(self, name: str | None = None) -> Agent:
        """The agent of this name; the default one without.

        Raises:
            NotFoundError: there is none.
        """
        wanted = name or self.settings.agents.default
        if wanted not in self.agents:
            raise NotFoundError("agent", wanted, f"There are: {', '.join(sorted(self.agents))}.")
        return self.agents[wanted]

    async def _model(self, model: str | Model | None) -> tuple[Model, ModelChoice | None]:
        if model is not None and not isinstance(model, str):
            return model, None
        reference = model or self.settings.model.reference
        if reference is not None and reference.startswith("script:"):
            return await build_model(self._model_settings(reference), self.settings.environment)
        async with self._building:
            if reference not in self._models:
                settings = self._model_settings(reference)
                self._models[reference] = await build_model(settings, self.settings.environment)
        return self._models[reference]

    def _model_settings(self, reference: str | None) -> ModelSettings:
        own = self.settings.model
        return ModelSettings(
            reference=reference,
            base_url=own.base_url,
            api_key=own.api_key.get_secret_value() if own.api_key else None,
            timeout_s=own.timeout_s,
            max_output_tokens=own.max_output_tokens,
            temperature=own.temperature,
            prices=own.prices,
        )

    async def close_models(self) -> None:
        """Give the connections of all models back; one that fails doesn't keep the others open."""
        async with AsyncExitStack() as stack:
            for model, _ in self._models.values():
                stack.push_async_callback(model.close)


def _agents(settings: Settings) -> Mapping[str, Agent]:
    ceiling = settings.run_limits()
    built_in = {DEFAULT_AGENT: Agent(name=DEFAULT_AGENT, limits=ceiling)}
    agents = {**built_in, **load_agents(settings.agents.folder, ceiling)}
    if settings.agents.default not in agents:
        there = f"There are: {', '.join(sorted(agents))}."
        raise SettingsError("agents.default", settings.agents.default, "there is no agent of this name", there)
    return agents


def _with_max_steps(limits: Limits, max_steps: int | None) -> Limits:
    if max_steps is None:
        return limits
    if max_steps < 1:
        raise SettingsError("max_steps", max_steps, "is below 1", "Use 1 or more.")
    return replace(limits, max_steps=max_steps)
