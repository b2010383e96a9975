"""``Certifier``: one classifier and one threat, checked once, then certificates for any number of inputs.

>>> certifier = Certifier(classifier, "words", sampling=Sampling(n=1000))
>>> for number, certificate in certifier.certify(["a gorgeous, witty film", "dull"]):
...     print(number, certificate.label, certificate.radius)

What a service holds on to, and what ``unfooled.certify`` is made of.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from unfooled import __version__
from unfooled.certificates.from_votes import make_certificate
from unfooled.certificates.procedure import Smoother, check_sampling, sample_votes
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.certificates.smoothing import choose_smoothing
from unfooled.certificates.threats import find_threat
from unfooled.certificates.word_reader import WordReader
from unfooled.errors import UsageError
from unfooled.models import OF_TEXTS, EncodedInput, Unreadable
from unfooled.predictors.smoothing import DRAWS_VERSION, ESTIMATE
from unfooled.predictors.smoothing.answer_votes import AnswerSampler, answer_names
from unfooled.predictors.smoothing.model_check import ModelCheck
from unfooled.records.certificate import REFUSED, Certificate
from unfooled.records.input_kind import NOUN

if TYPE_CHECKING:
    from unfooled.lexicon.substitution import SubstitutionTable
    from unfooled.predictors import Classifier

CODE_VERSION = 5
"""Raise it when the same votes, or the same settings, would give another certificate."""
IN_FLIGHT = 16
"""Inputs that are drawn for together: memory, not results, depend on it."""


class Certifier:
    """Certificates of one classifier against one threat.

    Guarantee, for each certified input that was not chosen with the seed in hand: its sentence, that the
    smoothed classifier keeps its answer inside the radius, is wrong with probability at most
    ``sampling.alpha`` over the draws. An input that cannot be decided is an abstention, one that cannot be
    read a refusal; neither promises anything.

    ``reading`` says what is told about the words inside a certified radius of a text. ``seed=None`` draws a
    secret seed.
    A classifier that the threat cannot be certified for is refused here, before any work; one whose answers
    depend on chance or on the other rows of a batch, when it is sampled (:class:`ModelCheck`).
    """

    def __init__(
        self,
        classifier: Classifier,
        threat: str = "l2",
        *,
        sampling: Sampling = Sampling(),
        bounds: Sequence[str] = (),
        reading: Reading = Reading(),
        seed: int | None = 0,
    ) -> None:
        self.classifier = classifier
        self.chosen = choose_smoothing(classifier, threat, bounds)
        check_sampling(sampling, self.chosen.bounds)
        self.sampling = sampling
        self.seed = secrets.randbits(63) if seed is None else seed
        self.threat = replace(find_threat(threat, classifier.model.kind), keeps=self.chosen.keeps)
        self._antonyms = reading.antonyms and classifier.model.kind == "text"
        self._table = self._substitutes(reading.substitutes)
        self._reader = self._word_reader()

    def with_seed(self, seed: int) -> Certifier:
        """The same certifier with other draws."""
        other = object.__new__(Certifier)
        other.__dict__.update(self.__dict__, seed=seed)
        return other

    def conditions(self) -> dict[str, object]:
        """What a certificate depends on besides the input and the seed, as JSON: for the journal's key."""
        return {
            "unfooled": __version__,
            "code": CODE_VERSION,
            "draws": DRAWS_VERSION,
            "classifier": self.classifier.identity() | {"predictor": None},
            **self._settings(),
        }

    def describe(self) -> dict[str, object]:
        """What a report says about the certificates: conditions without the weights, notes, limits."""
        return {
            "reads": self.chosen.kind,
            "notes": list(self.chosen.notes),
            "other_predictor": self.chosen.instead,
            "not_covered": self.threat.not_covered,
            "unfooled": __version__,
            "code": CODE_VERSION,
            "draws": DRAWS_VERSION,
            **self._settings(),
        }

    def certify(self, inputs: Any, *, in_flight: int = IN_FLIGHT) -> Iterator[tuple[int, Certificate]]:
        """(number, certificate) of each input as it is finished; the number is the input's place.

        ``inputs`` are texts, (text, pair) tuples, or the rows of a tensor. Draws are keyed by (seed, input,
        draw), so a certificate does not depend on which inputs are certified together.
        """
        model, chosen = self.classifier.model, self.chosen
        model.evaluating()
        encoded: list[EncodedInput] = []
        numbers: list[int] = []
        for number, item in enumerate(model.read(inputs)):
            reason = item.reason if isinstance(item, Unreadable) else chosen.refusal(model, item)
            if reason:
                told = self._told(inputs[number], item)
                yield number, Certificate(number, REFUSED, self.threat.name, message=reason, **told)
            else:
                encoded.append(item)
                numbers.append(number)
        if not encoded:
            return
        check = ModelCheck(model)
        check.twice(model, encoded[0])
        chosen.check_model(model, encoded[0])
        select = chosen.sampler(model, encoded, seed=self.seed)
        select.check = check
        smoother = Smoother(select, select.again(ESTIMATE), model.num_labels, len(encoded))
        radii = cache(chosen.radii_of(model, encoded, select))
        started = time.perf_counter()
        for place, votes in sample_votes(smoother, self.sampling, radii, in_flight=in_flight):
            found = select.answers(place) if isinstance(select, AnswerSampler) else None
            made = make_certificate(
                numbers[place],
                votes,
                radii(place),
                self.threat,
                labels=self.classifier.labels if found is None else answer_names(found),
                answer=None if found is None else found[votes.leader],
                alpha=self.sampling.alpha,
                asked_radius=self.sampling.radius,
                forwards_a_draw=chosen.forwards_a_draw * len(model.parts(encoded[place])),
                about=chosen.about(model),
                thing=NOUN[model.kind],
            )
            if self._reader is not None:
                made = self._reader.read(made, encoded[place])
            now = time.perf_counter()
            told = self._told(inputs[numbers[place]], encoded[place])
            yield numbers[place], replace(made, **told, seconds=now - started)
            started = now

    def _told(self, own: Any, item: EncodedInput | Unreadable) -> dict[str, Any]:
        """Which input it was: its texts, or a line that names it."""
        if self.chosen.kind not in OF_TEXTS:
            return {"shown": item.show()}
        texts = (own,) if isinstance(own, str) else tuple(own)
        return {"texts": texts, "truncated": not isinstance(item, Unreadable) and item.truncated}

    def _settings(self) -> dict[str, object]:
        return {
            "threat": self.threat.name,
            "smoothing": self.chosen.describe(),
            "bounds": list(self.chosen.bounds),
            "sampling": asdict(self.sampling),
            "substitutes": None if self._table is None else self._table.fingerprint(),
            "antonyms": self._antonyms,
        }

    def _substitutes(self, named: str | None) -> SubstitutionTable | None:
        """The table of the threat, or the one that reads an l2 radius as words."""
        own = self.chosen.table()
        if named is None or own is not None:
            if named is not None:
                raise UsageError("--substitutes is for l2; the threat synonyms has --predictor-set table=….")
            return own
        if self.chosen.threat != "l2" or self.chosen.kind != "text":
            raise UsageError(
                f"--substitutes reads an l2 radius of texts as words; --threat {self.chosen.threat} of this "
                "model has none."
            )
        from unfooled.lexicon.substitution import load_table

        return load_table(named)

    def _word_reader(self) -> WordReader | None:
        if self.chosen.kind != "text":
            return None
        from unfooled.lexicon import wordnet

        return WordReader(
            self.classifier.model,
            substitutes=self._table,
            antonyms=wordnet.antonyms if self._antonyms else None,
        )
