"""The policies of a folder as a policy of the boundary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from daeri.errors import DefinitionError
from daeri.text import JsonObject
from daeri.tools import Tool

from .._policy import PolicyQuestion, people, strictest
from .._records import Decision
from ._engine import Answer, CedarEngine
from ._rules import CedarRule, rules_of
from ._text import cedar_files, read_policies
from ._types import left_out


class CedarPolicy:
    """What `*.cedar` files forbid. We permit everything else, so that a policy denies only what it names.

    Anything but an explicit Allow denies; so does a policy that fails on a call.
    """

    def __init__(self, folder: Path, tools: Callable[[], Sequence[Tool]]) -> None:
        """Load the policies of a folder over the tools there are.

        Raises:
            DefinitionError: a policy can't be used; names file, line and cause.
        """
        self._folder = folder
        self._tools = tools
        self._engine, self._texts = self._load()

    @property
    def rules(self) -> Sequence[CedarRule]:
        """The policies in force, in the order of their files."""
        return self._engine.rules

    @property
    def texts(self) -> JsonObject:
        """The policies in force by file, for the record."""
        return self._texts

    @property
    def schema_text(self) -> str:
        """The schema that policies are checked with, as Cedar writes it."""
        return self._engine.schema_text

    @property
    def unseen(self) -> Mapping[str, Sequence[str]]:
        """By tool, the arguments that Cedar has no type for."""
        missing = {tool.name: left_out(tool.input_schema) for tool in self._tools()}
        return {name: arguments for name, arguments in missing.items() if arguments}

    def reload(self) -> None:
        """Load the files and the tools anew, all or nothing.

        Raises:
            DefinitionError: a policy can't be used; those that were in force stay in force.
        """
        try:
            self._engine, self._texts = self._load()
        except DefinitionError as error:
            kept = f"{error.fix} The policies that were in force stay in force.".strip()
            raise DefinitionError(error.subject, error.problem, kept) from error

    def decide(self, question: PolicyQuestion) -> Decision:
        """Allow without a word when no policy forbids the call."""
        enforced, logged = self._engine.ask(question)
        spoken = [*_decisions(enforced), *_log_only(logged)]
        return strictest(spoken) if spoken else Decision(verdict="allow", rules=(), reasons=())

    def _load(self) -> tuple[CedarEngine, JsonObject]:
        texts = read_policies(cedar_files(self._folder))
        by_file = {file: [one.text for one in texts if one.file.name == file] for file in {t.file.name for t in texts}}
        return CedarEngine(self._tools(), rules_of(texts)), by_file


def _decisions(answer: Answer) -> Sequence[Decision]:
    if answer.failed is not None:
        return [Decision(verdict="deny", rules=("cedar.error",), reasons=(f"Cedar: {answer.failed}",))]
    return [_decision(rule) for rule in answer.forbidding]


def _decision(rule: CedarRule) -> Decision:
    rules = (f"cedar.{rule.name}",)
    if rule.approvals:
        reason = f"policy {rule.name!r} needs the approval of {people(rule.approvals)}{_words(rule)}"
        return Decision(verdict="require_approval", rules=rules, reasons=(reason,), approvals_needed=rule.approvals)
    return Decision(verdict="deny", rules=rules, reasons=(f"policy {rule.name!r} denies it{_words(rule)}",))


def _log_only(answer: Answer) -> Sequence[Decision]:
    """What would have been said; it changes nothing."""
    if answer.failed is not None:
        failed = f"Cedar: {answer.failed} (log only)"
        return [Decision(verdict="allow", rules=("log_only.cedar.error",), reasons=(failed,))]
    return [
        Decision(
            verdict="allow",
            rules=(f"log_only.cedar.{rule.name}",),
            reasons=(f"policy {rule.name!r} would {'ask' if rule.approvals else 'deny'}{_words(rule)} (log only)",),
        )
        for rule in answer.forbidding
    ]


def _words(rule: CedarRule) -> str:
    return f": {rule.reason}" if rule.reason else ""
