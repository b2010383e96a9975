"""``Classifier``: a model and the predictor its defence asks for.

>>> clf = unfooled.load("runs/rsmi")
>>> clf.predict(["a gorgeous, witty film"])[0].label
'positive'
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from unfooled.errors import UsageError, UserError
from unfooled.files import JsonObject
from unfooled.models import OF_TEXTS, EncodedInput, Model, Unreadable
from unfooled.predictors.predictor import Predictor, Seed
from unfooled.records.decision import Decision
from unfooled.records.metric import ACCURACY, METRICS, Metric, Truth, clean_score
from unfooled.records.prediction import Prediction
from unfooled.records.results.predictions import Predictions
from unfooled.settings import check_seed

if TYPE_CHECKING:
    import pandas

Number = TypeVar("Number", int, float)


class Classifier:
    """Answers for texts, or for tensors; see :class:`Prediction`.

    Predictions of a randomised predictor are a function of ``seed`` and the input alone: the same
    input gets the same votes in a batch of 1 or 64. ``seed=None`` draws a fresh seed for every row, copies of
    one input included, which is what a service facing an attacker wants.
    """

    def __init__(
        self,
        model: Model,
        predictor: Predictor,
        *,
        labels: Sequence[str],
        defence: str = "standard",
        settings: JsonObject | None = None,
        task: JsonObject | None = None,
        folder: Path | None = None,
    ) -> None:
        if len(labels) != model.num_labels:
            raise UsageError(
                f"{len(labels)} label names for a model with {model.num_labels} outputs: give one per output."
            )
        predictor.check(model)
        self.model = model
        self.predictor = predictor
        self.labels = tuple(labels)
        self.defence = defence
        self.settings = dict(settings or {})
        self.task = dict(task or {})
        self.folder = folder
        """The run folder it was loaded from; says what it was trained on, and results go there."""
        self.metrics: JsonObject = {}
        """Of a trained or loaded run: training, dev and test figures, versions, seed."""
        model.evaluating()

    def _facts(self) -> dict[str, str]:
        facts = {"predictor": repr(self.predictor)}
        if self.labels:
            facts["labels"] = ", ".join(map(repr, self.labels))
        if self.task:
            facts["task"] = f"{self.task.get('name')!r} ({self.task.get('kind')})"
        if tested := self._tested():
            facts["test"] = tested
        return facts | ({"folder": repr(str(self.folder))} if self.folder else {})

    def _tested(self) -> str:
        """The score on the test inputs; empty if it was not measured, or its file was changed."""
        try:
            score = clean_score(self.metrics["test"])
            inputs = f"{int(self.metrics['test']['examples']):,} inputs"
        except (KeyError, TypeError, ValueError, UserError):
            return ""
        between = f"{100 * score.low:.1f} to {100 * score.high:.1f}"
        return f"{score.metric} {100 * score.value:.1f} % ({between}), {inputs}"

    def __repr__(self) -> str:
        lines = [f"  {name:<9}  {value}" for name, value in self._facts().items()]
        return "\n".join([f"Classifier with the defence {self.defence!r}", *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th>"
            f"<td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self._facts().items()
        )
        return f"<p><b>Classifier with the defence {escape(repr(self.defence))}</b></p><table>{rows}</table>"

    def to_frame(self) -> pandas.DataFrame:
        """What was measured after training, one row per split; empty if nothing was."""
        import pandas

        splits = {name: self.metrics[name] for name in ("dev", "test") if name in self.metrics}
        plain = int | float | str
        return pandas.DataFrame(
            {"split": split, **{name: value for name, value in own.items() if isinstance(value, plain)}}
            for split, own in splits.items()
        )

    @property
    def takes_pairs(self) -> bool:
        """Whether an input is two texts: a pair, or a question and its context."""
        return self.task.get("kind") in ("pair", "qa")

    @property
    def metric(self) -> Metric:
        """How the task scores answers."""
        return METRICS.choose(str(self.task.get("metric", ACCURACY.name)))

    def identity(self) -> JsonObject:
        """Which classifier it is: whatever its answers depend on."""
        draws = getattr(self.predictor, "draws_version", None)
        return {
            **({} if draws is None else {"draws": draws}),
            "kind": "classifier",
            **self.model.identity(),
            "labels": list(self.labels),
            "predictor": self.predictor.describe(),
        }

    def with_predictor(self, predictor: Predictor) -> Classifier:
        """The same weights under another predictor."""
        return Classifier(
            self.model,
            predictor,
            labels=self.labels,
            defence=self.defence,
            settings=self.settings,
            task=self.task,
            folder=self.folder,
        )

    def predict(
        self, inputs: Any, pairs: Sequence[str] | None = None, *, seed: int | None = 0
    ) -> Predictions:
        """One :class:`Prediction` per input, in order; one that cannot be read is refused, not raised.

        ``inputs`` are texts (with ``pairs``, the second texts of pairs), or the rows of a tensor.
        """
        check_seed(seed, "seed")
        checked = self.checked(inputs, pairs)
        read = self.model.read(checked)
        kept = [number for number, item in enumerate(read) if not isinstance(item, Unreadable)]
        decisions = self.decide([read[number] for number in kept], seed=seed)
        made = {
            number: self._prediction(read[number], decision)
            for number, decision in zip(kept, decisions, strict=True)
        }
        answers = tuple(
            made.get(number) or Prediction(label=None, refused=item.reason)
            for number, item in enumerate(read)
        )
        if self.model.kind not in OF_TEXTS:
            return Predictions(answers, tuple(item.show() for item in read))
        texts = tuple(own[0] for own in checked)
        return Predictions(answers, texts, None if pairs is None else tuple(own[1] for own in checked))

    def decide(self, encoded: Sequence[EncodedInput], *, seed: Seed | None = 0) -> list[Decision]:
        """Decisions for inputs that were read (attacks, certificates and evaluation work on these).

        ``seed`` may be one for all inputs or one per input; None draws one per input.
        """
        actual: Seed = [secrets.randbits(63) for _ in encoded] if seed is None else seed
        self.model.evaluating()
        # The caller may be in inference mode, where saliency could not be differentiated.
        with torch.inference_mode(False):
            return self.predictor.decide(self.model, encoded, seed=actual)

    def checked(self, inputs: Any, pairs: Sequence[str] | None = None) -> Any:
        """The inputs as the model reads them: texts, pairs of them, or rows of a tensor."""
        made = self.model.inputs(inputs, pairs)
        if self.takes_pairs and pairs is None:
            raise UsageError(
                "This classifier was trained on pairs: give the second texts too, as pairs=[…] in Python, "
                "with --pair TEXT or --pair-column NAME on the command line."
            )
        if self.task and not self.takes_pairs and pairs is not None:
            raise UsageError("This classifier was trained on single texts: leave out pairs.")
        return made

    def answer_names(self, item: EncodedInput, decision: Decision) -> Sequence[str]:
        """The answers that a decision is about: the labels, or the texts of spans."""
        if decision.answers is None:
            return self.labels
        if decision.texts is not None:
            return decision.texts
        return self.model.answer_texts(item, decision.answers)

    def answer(self, item: EncodedInput, decision: Decision) -> Truth:
        """What the task's metric scores: the class, or the text of a span."""
        return (
            decision.label if decision.answers is None else self.answer_names(item, decision)[decision.label]
        )

    def _prediction(self, item: EncodedInput, decision: Decision) -> Prediction:
        masked = item.excerpts(decision.masked)
        names = self.answer_names(item, decision)
        leader = names[decision.label]
        return Prediction(
            label=None if decision.abstained else leader,
            scores=_by_name(names, decision.scores),
            votes=tuple(_by_name(names, stage) for stage in decision.votes),
            span=decision.span,
            stage=decision.stage,
            masked_words=tuple(word for word, _ in masked),
            masked_spans=tuple(span for _, span in masked),
            forwards=decision.forwards,
            abstained=decision.abstained,
            decided=decision.decided,
            leader=leader,
            truncated=item.truncated,
        )


def _by_name(names: Sequence[str], numbers: Sequence[Number]) -> dict[str, Number]:
    """The numbers by name; spans with the same text in several places count together."""
    found: dict[str, Number] = {}
    for name, number in zip(names, numbers, strict=True):
        found[name] = found[name] + number if name in found else number
    return found
