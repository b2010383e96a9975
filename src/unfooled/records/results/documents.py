"""Results that are one JSON document: a benchmark, a sweep, hidden states under attack, a written report.

Each is read like the dictionary that its file holds, ``result["rows"]``, and shows itself like every result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.results.result import Facts, Result


@dataclass(frozen=True, repr=False, eq=False)
class DocumentResult(Result, Mapping[str, Any]):
    """A result that is a JSON document."""

    document: JsonObject

    def __getitem__(self, name: str) -> Any:
        return self.document[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.document)

    def __len__(self) -> int:
        return len(self.document)

    def to_dict(self) -> JsonObject:
        """What the file holds."""
        return dict(self.document)


class BenchmarkReport(DocumentResult):
    """The cells of a benchmark and the figures they gave; a row per task and defence."""

    def headline(self) -> str:
        done, cells = self["counts"]["done"], len(self["cells"])
        return f"benchmark {self['name']} in {self['out']}: {done:,} of {cells:,} cells done"

    def facts(self) -> Facts:
        facts = []
        for row in self["rows"]:
            clean = row["clean"]
            shown = "not trained" if clean is None else _over(clean["accuracy"])
            inputs = "" if clean is None else f" on {clean['inputs']:,} inputs"
            facts.append((f"{row['task']}, {row['defence']}", f"clean accuracy {shown}{inputs}"))
            facts += [
                (f"  {name}", f"accuracy under attack {_over(found['racc'])}")
                for name, found in row["attacks"].items()
                if found["racc"] is not None
            ]
        failed = [cell["name"] for cell in self["cells"] if cell["status"] == "failed"]
        facts += [("failed", name) for name in failed]
        return facts + ([("report", self["report"])] if self["report"] else [])

    def rows(self) -> Iterator[Mapping[str, object]]:
        for row in self["rows"]:
            yield {"task": row["task"], "defence": row["defence"]} | dict(_flat(row))


class SweepReport(DocumentResult):
    """The table of a sweep: a row per cell of the grid, over its seeds."""

    def headline(self) -> str:
        done = sum(self["runs"][name] for name in ("trained", "reused"))
        return f"sweep on {self['source']}: {done:,} of {sum(self['runs'].values()):,} runs done"

    def facts(self) -> Facts:
        facts = []
        for row in self["rows"]:
            name = ", ".join(f"{key}={value}" for key, value in row["settings"].items())
            if "dev" not in row:
                facts.append((name, str(row["status"])))
                continue
            best = " (best on dev)" if row["best"] else ""
            facts.append((name, f"dev {_spread(row, 'dev')}, test {_spread(row, 'test')}{best}"))
        return facts

    def rows(self) -> Iterator[Mapping[str, object]]:
        for row in self["rows"]:
            for run in row["runs"]:
                yield {**row["settings"], **{key: value for key, value in run.items() if key != "traceback"}}


class RepresentReport(DocumentResult):
    """How far attacks move the hidden states of a run, layer by layer."""

    def headline(self) -> str:
        return f"hidden states of {self['run']} under attack ({self['state']})"

    def facts(self) -> Facts:
        facts = []
        for one in self["drift"]:
            last = len(one["cosine"]) - 1
            interval = one["cosine_interval"]
            between = "" if not interval else f" ({interval[last][0]:.3f} to {interval[last][1]:.3f})"
            value = f"cosine {one['cosine'][last]:.3f}{between} in the last layer"
            facts.append((one["attack"], f"{value}, successes: {one['inputs']:,}"))
        return facts + [(name, "no success, nothing to compare") for name in self["without_successes"]]

    def rows(self) -> Iterator[Mapping[str, object]]:
        """One per attack and layer."""
        for one in self["drift"]:
            for number, layer in enumerate(self["layers"][: len(one["l2"])]):
                yield {
                    "attack": one["attack"],
                    "layer": layer,
                    "inputs": one["inputs"],
                    "l2": one["l2"][number],
                    "cosine": one["cosine"][number],
                }


class Estimate(DocumentResult):
    """What a call would do and how long it would take; nothing was kept."""

    def headline(self) -> str:
        asked, held = self["left"], self["from_journal"]
        return f"{self['what']}: {asked:,} inputs to ask, {held:,} from the journal or refused"

    def facts(self) -> Facts:
        facts = []
        if self["left"]:
            facts = [
                ("time", f"about {timedelta(seconds=round(self['seconds']))} ({self['workers']} at work)"),
                ("measured", f"{self['seconds_per_input']:.2f} s per input, on {self['measured']:,} inputs"),
                ("loading", f"{self['loading_seconds']:.1f} s"),
            ]
        kept = self["result_set"]
        return [*facts, ("would be kept in", kept["folder"])] if kept else facts

    def rows(self) -> Iterator[Mapping[str, object]]:
        yield self.to_dict()


@dataclass(frozen=True, repr=False)
class WrittenReport(Result):
    """The file that was written, and the verdict on each run as plain values."""

    path: Path
    runs: tuple[JsonObject, ...]
    textattack: tuple[JsonObject, ...] = ()
    interactive: bool = False
    """Whether the charts are interactive."""
    not_shown: tuple[str, ...] = ()
    """Results in the folders that belong to other models."""
    format: str = "html"

    def to_dict(self) -> JsonObject:
        more: JsonObject = {"textattack": list(self.textattack)} if self.textattack else {}
        more |= {"not_shown": list(self.not_shown)} if self.not_shown else {}
        return {"report": str(self.path), "runs": list(self.runs), "interactive": self.interactive, **more}

    def headline(self) -> str:
        return f"report on {len(self.runs):,} run{'' if len(self.runs) == 1 else 's'}: {self.path}"

    def facts(self) -> Facts:
        facts = []
        for run in self.runs:
            low, high = run["accuracy_interval"]
            value = f"{100 * run['accuracy']:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
            metric = str(run.get("metric", "accuracy"))
            told = {"f1": "F1", "exact_match": "exact match"}.get(metric, metric)
            facts.append((run["name"], f"clean {told} {value}, {run['examples']:,} inputs"))
        return facts + [("note", why) for why in self.not_shown]

    def rows(self) -> Iterator[Mapping[str, object]]:
        """One per run."""
        yield from self.runs


def _over(number: JsonMapping) -> str:
    """A figure over seeds, with its interval where there is one seed and its spread where there are more."""
    text = f"{100 * number['mean']:.1f} %"
    if number.get("interval"):
        low, high = number["interval"]
        return f"{text} ({100 * low:.1f} to {100 * high:.1f})"
    return text if number.get("std") is None else f"{text} ± {100 * number['std']:.1f}"


def _spread(row: JsonMapping, split: str) -> str:
    return _over({**row[split], "interval": row[f"{split}_interval"]})


def _flat(values: JsonMapping, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif prefix or name not in ("task", "defence"):
            yield f"{prefix}{name}", value
