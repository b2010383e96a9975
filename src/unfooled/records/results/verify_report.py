"""The result of verifying a run: what was checked, and what came out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from unfooled.files import JsonObject
from unfooled.records.results.result import Facts, Result

CheckState = Literal["passed", "failed", "not checked"]


@dataclass(frozen=True)
class Check:
    """One thing about a run that was looked at."""

    name: str
    verdict: CheckState
    detail: str
    """What was found, and what to do if it is wrong."""


@dataclass(frozen=True, repr=False)
class VerifyReport(Result):
    """The checks of one run; ``passed`` if none failed."""

    run: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return not self.count("failed")

    def count(self, verdict: CheckState) -> int:
        return sum(check.verdict == verdict for check in self.checks)

    def to_dict(self) -> JsonObject:
        return {"run": self.run, "passed": self.passed, "checks": [asdict(check) for check in self.checks]}

    def headline(self) -> str:
        told = f"{self.run}: {self.count('passed')} checks passed, {self.count('failed')} failed"
        unknown = self.count("not checked")
        return f"{told}, {unknown} could not be made" if unknown else told

    def facts(self) -> Facts:
        return [(check.name, f"{check.verdict}: {check.detail}") for check in self.checks]

    def rows(self) -> Iterator[Mapping[str, object]]:
        return (asdict(check) for check in self.checks)
