"""A plan made smaller, for a trial: fewer texts, inputs, draws and repeats; never fewer than say anything."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from unfooled.benchmarks.plan import Plan, TaskPlan

LEAST = {
    "limit": 500,
    "limit_dev": 50,
    "limit_test": 50,
    "inputs": 10,
    "n0": 20,
    "n": 200,
    "repeats": 3,
}
"""Training, dev and test texts; inputs of an attack or a measurement; draws of a certificate; repeats."""
_SPLITS = {"limit": "train", "limit_dev": "dev", "limit_test": "test"}


def scaled(plan: Plan, scale: float) -> Plan:
    """The plan with all sizes times ``scale``; data without a limit are read to know their size."""
    if scale == 1:
        return plan
    sizes = cache(lambda name: _sizes(plan, next(task for task in plan.tasks if task.name == name)))

    def less(value: int, kind: str) -> int:
        return min(value, max(LEAST[kind], round(value * scale)))

    def inputs(part: Any, **more: int) -> Any:
        limit = max(sizes(task.name)["test"] for task in plan.tasks) if part.limit is None else part.limit
        return replace(part, limit=less(limit, "inputs"), **more)

    def of_task(task: TaskPlan) -> TaskPlan:
        given = {key: task.values.get(key) or plan.train.get(key) for key in _SPLITS}
        limits = {key: less(value or sizes(task.name)[_SPLITS[key]], key) for key, value in given.items()}
        return replace(task, values={**task.values, **limits})

    return replace(
        plan,
        train={key: value for key, value in plan.train.items() if key not in _SPLITS},
        tasks=tuple(of_task(task) for task in plan.tasks),
        defences=tuple(
            replace(one, train=one.train | ({"limit": less(one.train["limit"], "limit")}))
            if one.train.get("limit")
            else one
            for one in plan.defences
        ),
        attacks=tuple(inputs(one) for one in plan.attacks),
        certificates=tuple(
            inputs(one, n0=less(one.n0, "n0"), n=less(one.n, "n")) for one in plan.certificates
        ),
        repeat=plan.repeat and inputs(plan.repeat, repeats=less(plan.repeat.repeats, "repeats")),
        representations=plan.representations and inputs(plan.representations),
        scale=round(plan.scale * scale, 9),
    )


def _sizes(plan: Plan, task: TaskPlan) -> dict[str, int]:
    """Texts of each split of a task, all of them."""
    from unfooled.api.train import load_data

    config = plan.config(task, plan.defences[0], plan.seeds[0])
    return load_data(replace(config, limit=None, limit_dev=None, limit_test=None)).sizes()
