"""What an attack on one example has spent, and when it must stop; the same for texts and images."""

from __future__ import annotations

from unfooled.attacks.limits import Limits
from unfooled.records.outcome import LimitHit


class BudgetSpent(Exception):
    """No query is left, or the time is over."""


class Budget:
    """Counts queries and time against the limits."""

    limits: Limits
    queries: int
    seconds: float
    """This attempt's share of the work so far; the scheduler keeps it."""
    limit_hit: LimitHit
    search_over: bool
    """Something was found: what is still asked about it, the time cap does not stop."""

    def check_budget(self) -> None:
        """End the search if no query is left, or the time is over."""
        self.check_time()
        if self.queries >= self.limits.query_budget:
            self.limit_hit = "queries"
            raise BudgetSpent

    def check_time(self) -> None:
        if self.seconds > self.limits.time_cap and not self.search_over:
            self.limit_hit = "time"
            raise BudgetSpent
