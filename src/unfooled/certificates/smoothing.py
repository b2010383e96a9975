"""Which smoothing answers for a threat: the run's own where it fits, or a refusal that says why not.

A certificate holds for the transformation it was sampled with and for no other predictor. Where the run's
own predictor is not that one, or its defence was not trained for the threat, a note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from unfooled.certificates.radii import (
    BOUNDS,
    Radii,
    deletion_radii,
    masking_radii,
    noise_radii,
    synonym_radii,
)
from unfooled.certificates.threats import find_threat
from unfooled.certificates.token_ids import check_model, check_tokenizer, marker_inside
from unfooled.errors import UsageError
from unfooled.models import BlackBox, EncodedInput, Model, as_text, as_texts
from unfooled.models.windows import CONTEXT
from unfooled.predictors.randomised import Randomised
from unfooled.predictors.smoothing import (
    SELECT,
    CertifiedMasked,
    EmbeddingNoise,
    LabelSampler,
    MaskedPixels,
    RandomWordDelete,
    RandomWordMask,
    SmoothedVote,
    SynonymVote,
    Transformation,
)
from unfooled.predictors.smoothing.answer_votes import AnswerSampler
from unfooled.predictors.smoothing.drawn_contexts import DeletedContexts
from unfooled.predictors.smoothing.masked_contexts import MaskedContexts
from unfooled.predictors.smoothing.word_deletion import DeletedWordsSampler
from unfooled.predictors.smoothing.word_masking import MaskedWordsSampler
from unfooled.predictors.vote import Vote
from unfooled.settings import choose
from unfooled.words.word import WORD

if TYPE_CHECKING:
    from unfooled.lexicon.substitution import SubstitutionTable
    from unfooled.predictors import Classifier


_WORD_VOTES: dict[str, tuple[type[Any], ...]] = {
    "words": (RandomWordMask, RandomWordDelete),
    "edits": (RandomWordDelete,),
    "synonyms": (SynonymVote,),
}
"""The votes over words that certify each threat; the first stands in where the run has none of them."""

TOLD_OFTEN = (
    "Whoever may edit any word can take an answer away that stands once in its context. So a radius of 1 "
    "needs an answer that stands there at least five times (three with --two-class), or no answer, and a "
    "rate above 0.5. The place of an answer can be certified where it stands once: --defence random-mask "
    "(words) or safer (synonyms)."
)
"""Of certificates of questions by random deletion; docs/bounds.md has the argument."""


@dataclass(frozen=True)
class Chosen:
    """A transformation for a threat, and what should be known about it."""

    threat: str
    transformation: Transformation
    bounds: tuple[str, ...]
    notes: tuple[str, ...]
    instead: str = ""
    """The predictor that the certificates are about, if it is not the one of the classifier."""

    kind: str = "text"
    """What the model reads."""

    @property
    def at_start(self) -> bool:
        """Whether the noise is at the model's start, so that this alone may tell the model what it reads."""
        return isinstance(self.transformation, EmbeddingNoise | CertifiedMasked)

    def about(self, model: Model) -> str:
        """Whose answer a certificate's sentence is about."""
        if not isinstance(model, BlackBox):
            return "The smoothed classifier"
        assert isinstance(self.transformation, SmoothedVote)
        return f"The majority of {model.name} over {self.transformation.draws}"

    @property
    def keeps(self) -> str:
        """What of an answer to a question is promised; nothing need be said of a class."""
        if self.kind != "question":
            return ""
        if isinstance(self.transformation, RandomWordDelete):
            return "up to case, punctuation and articles"
        return "with the words in the same place of the context"

    @property
    def forwards_a_draw(self) -> int:
        return int(getattr(self.transformation, "forwards_a_draw", 1))

    def describe(self) -> dict[str, Any]:
        settings = asdict(self.transformation)  # type: ignore[call-overload]
        unnamed = "embedding-noise" if self.kind == "text" else "noise"
        return {"name": getattr(self.transformation, "name", unnamed), **_smoothing(settings)}

    def table(self) -> SubstitutionTable | None:
        """The substitutes of a synonym certificate."""
        return self.transformation.substitutes() if isinstance(self.transformation, SynonymVote) else None

    def sampler(self, model: Model, encoded: Sequence[EncodedInput], *, seed: int) -> LabelSampler:
        """Draws that choose the class; ``again(ESTIMATE)`` gives those that count its votes."""
        return self.transformation.sampler(model, encoded, seed=seed, purpose=SELECT)

    def radii_of(
        self, model: Model, encoded: Sequence[EncodedInput], sampler: LabelSampler
    ) -> Callable[[int], Radii]:
        """The radius functions of each input."""
        what = self.transformation
        drawn = sampler.draws if isinstance(sampler, AnswerSampler) else sampler
        if isinstance(drawn, MaskedWordsSampler | MaskedContexts):
            return lambda number: masking_radii(drawn.total[number], drawn.kept[number])
        if isinstance(drawn, DeletedWordsSampler | DeletedContexts):
            assert isinstance(what, RandomWordDelete)
            return lambda number: deletion_radii(
                self.threat,
                what.rate(drawn.total[number]),
                within_bin=what.within_bin(drawn.total[number]),
            )
        if isinstance(what, SynonymVote):
            table, texts = what.substitutes(), [item.texts for item in as_texts(encoded)]
            changed = slice(CONTEXT, None) if self.kind == "question" else slice(None)

            def of_words(number: int) -> Radii:
                words = [match[0] for text in texts[number][changed] for match in WORD.finditer(text)]
                # Words that nothing may replace are no words to certify: a radius counts the others.
                return synonym_radii([table.overlap(word) for word in words if table.allowed(word)])

            return of_words
        if isinstance(what, MaskedPixels):
            sigmas = what.steps(model)
        else:
            sigmas = what.sigmas if isinstance(what, CertifiedMasked) else (what.sigma,)  # type: ignore[attr-defined]

        def of_noise(number: int) -> Radii:
            if self.threat == "each-word":
                # Special tokens take noise but cannot be moved: no text puts others in their places.
                moving = sum(as_texts(encoded)[number].maskable)
            else:
                moving = model.coordinates(encoded[number])
            return noise_radii(self.threat, self.bounds, sigmas=sigmas, dim=max(1, moving))

        return of_noise

    def refusal(self, model: Model, encoded: EncodedInput) -> str:
        """Why nothing should be promised for this input; empty if it may."""
        if self.kind != "text":
            return ""
        (item,) = as_texts([encoded])
        what = self.transformation
        if self.at_start and (reason := marker_inside(as_text(model), item)):
            return reason
        if not isinstance(what, CertifiedMasked) or what.threat == "l2":
            return ""
        words = sum(item.maskable)
        if words > what.masked_tokens:
            return ""
        return (
            f"the mask hides all of the text's word tokens ({words}; masked_tokens is {what.masked_tokens}): "
            "an answer that looks at none of them says nothing"
        )

    def check_model(self, model: Model, encoded: EncodedInput) -> None:
        """Refuse a model that learns about its input by another way than its start, as seen on this input."""
        if self.at_start and self.kind == "text":
            check_model(as_text(model), as_texts([encoded])[0])


def choose_smoothing(classifier: Classifier, threat: str, bounds: Sequence[str] = ()) -> Chosen:
    """The transformation behind the classifier's predictor, for this threat; refused where there is none."""
    model = classifier.model
    find_threat(threat, model.kind)
    if threat not in BOUNDS:  # the name of another package: we have no sound bound for it
        raise UsageError(
            f"The threat '{threat}' is known by name only, with no bound: nothing is certified. "
            f"Threats with a bound: {', '.join(BOUNDS)}."
        )
    if model.num_labels < 2 and model.kind != "question":
        raise UsageError(
            f"The model has {model.num_labels} output: the largest of one is always the same, and "
            "a certificate of it would say nothing. Certify a classifier of two classes or more."
        )
    if isinstance(model, BlackBox) and threat not in _WORD_VOTES:
        raise UsageError(
            f"--threat {threat} is about the embeddings of a model, and {model.name} shows only its answers. "
            f"Use --threat {', '.join(_WORD_VOTES)}."
        )
    instead, notes = "", list[str]()
    if threat in _WORD_VOTES:
        transformation, notes = _of_words(classifier, threat)
        instead = transformation.name if notes else ""
    else:
        if model.kind == "text":
            check_tokenizer(as_text(model))
        transformation, notes = _of_noise(classifier, threat)
        instead = "the plain noisy vote" if notes else ""
    known = BOUNDS[threat]
    if isinstance(transformation, CertifiedMasked | MaskedPixels):
        known = ("composed", *(name for name in known if name != "composed"))
    elif isinstance(transformation, RandomWordMask):
        known = ("masking",)
    elif isinstance(transformation, RandomWordDelete):
        known = ("deletion",)
    for name in bounds:
        choose(dict.fromkeys(known), name, kind=f"bound for {threat}")
    chosen = tuple(dict.fromkeys(bounds)) or known[:1]
    if model.kind == "question" and isinstance(transformation, RandomWordDelete):
        notes.append(TOLD_OFTEN)
    return Chosen(threat, transformation, chosen, tuple(notes), instead, model.kind)


def not_trained_for(chosen: Chosen, defence: str, better: Sequence[str]) -> Chosen:
    """With a note that the run's defence does not train for the threat, as the ``better`` ones do."""
    names = " or ".join(f"--defence {name}" for name in better)
    note = (
        f"This run was trained with the defence '{defence}', not for the threat {chosen.threat}: expect few "
        f"or empty certificates. Train with {names}."
    )
    return replace(chosen, notes=(*chosen.notes, note))


def of_the_majority(chosen: Chosen, model: BlackBox) -> Chosen:
    """With a note that the certificates are not about the single answers of a black box."""
    note = (
        f"The certificates are about {chosen.about(model).replace('The', 'the', 1)}, not about its single "
        f"answers: deploy the majority with unfooled.smoothed(victim, predictor={chosen.describe()!r})."
    )
    return replace(chosen, notes=(note,))


def certified_transformation(classifier: Classifier) -> Transformation:
    """What the classifier's own predictor votes over; refused if no certificate is about that vote."""
    predictor = classifier.predictor
    if isinstance(predictor, SmoothedVote):
        return predictor
    at_embeddings = isinstance(predictor, Vote) and "embeddings" in predictor.noise_layers
    if isinstance(predictor, Vote) and at_embeddings and classifier.model.kind != "question":
        threat = "l1" if predictor.noise.kind == "laplace" else "l2"
        transformation, notes = _of_noise(classifier, threat)
        if not notes:
            found: Transformation = transformation
            return found
    raise UsageError(
        f"The predictor '{predictor.describe()['name']}' of this run is not the majority over random "
        "versions of the input that certificates are about, so no answer of it is certified. Use a run of "
        "--defence random-mask, random-delete, safer, noise-augment, certified-rsmi or ars, or another "
        "--predictor."
    )


def not_its_own(chosen: Chosen, own: Classifier, opened: Classifier, given: Mapping[str, Any]) -> Chosen:
    """With a note if the settings given for the predictor make it another one than the run's ``own``."""
    before, after = (_smoothing(one.predictor.describe()) for one in (own, opened))
    if before == after:
        return chosen
    changed = [f"{key}={value}" for key, value in given.items() if before.get(key) != after.get(key)]
    told = ", ".join([str(after["name"]), *changed])
    note = (
        f"The certificates are about another predictor ({told}) than this run's own '{before['name']}': "
        "deploy it with the same --predictor and --predictor-set."
    )
    return replace(chosen, notes=(note, *chosen.notes), instead=chosen.instead or told)


def _smoothing(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Without how many votes are counted when it is deployed: that is no part of what is certified."""
    drop = ("votes", "abstain_below", "abstain_error_rate")
    return {key: value for key, value in settings.items() if key not in drop}


def _of_words(classifier: Classifier, threat: str) -> tuple[Any, list[str]]:
    kinds, predictor, model = _WORD_VOTES[threat], classifier.predictor, classifier.model
    if isinstance(predictor, kinds):
        return predictor, []
    closed = isinstance(model, BlackBox) and bool(model.mask_refusal())
    kind = next(kind for kind in kinds if not (closed and kind is RandomWordMask))
    made = kind()
    made.check(model)
    return made, [
        f"The certificates are about the predictor {kind.name}, not about this run's "
        f"'{predictor.describe()['name']}': deploy it with --predictor {kind.name}."
    ]


def _of_noise(classifier: Classifier, threat: str) -> tuple[Any, list[str]]:
    predictor, wanted = classifier.predictor, "laplace" if threat == "l1" else "gaussian"
    if isinstance(predictor, MaskedPixels):
        if threat != "linf":
            raise UsageError(
                f"The predictor '{predictor.name}' adds less noise behind its mask: enough where no pixel "
                f"moves far, not where one moves by all of an {threat} radius. Use --threat linf, or another "
                "predictor: --predictor vote --predictor-set 'noise_layers=[embeddings]'."
            )
        return predictor, []
    if isinstance(predictor, CertifiedMasked):
        if threat == "l1":
            raise UsageError(
                "certified-masked adds Gaussian noise, which has no l1 certificate. Use --threat l2, or a "
                "run with Laplace noise: --defence noise-augment --set kind=laplace."
            )
        if threat == "l2" and predictor.threat == "each-word":
            raise UsageError(
                "The second look of this run has less noise behind its mask (threat=each-word): enough where "
                "every word moves a little, not where one word moves by all of an l2 radius. Use --threat "
                "each-word or linf, or restore the full noise: --predictor-set threat=l2."
            )
        return predictor, []
    image = classifier.model.kind == "image"
    other = "stability" if image else "stability, certified-rsmi"
    remedy = (
        f"Train with --defence noise-augment (or {other}), or try this run with --predictor "
        "vote --predictor-set sigma=0.1 --predictor-set 'noise_layers=[embeddings]' "
        "--predictor-set masking=none" + (" --predictor-set kind=laplace." if threat == "l1" else ".")
    )
    name = predictor.describe()["name"]
    if not isinstance(predictor, Randomised) or predictor.sigma == 0:
        raise UsageError(
            f"The predictor '{name}' adds no noise to the {'pixels' if image else 'embeddings'}, so there is "
            f"nothing to certify against --threat {threat}. {remedy}"
        )
    if "embeddings" not in predictor.noise_layers:
        blocks = ", ".join(map(str, predictor.noise_layers))
        raise UsageError(
            f"The predictor '{name}' adds its noise after blocks {blocks} only. What the blocks before them "
            "do to a small change of the input is not bounded, so noise there gives no certificate at the "
            f"embeddings (nor does Theorem 1 of the RSMI paper; see docs/bounds.md). {remedy}"
        )
    kind = predictor.noise.kind
    if kind != wanted:
        raise UsageError(
            f"--threat {threat} needs {wanted.capitalize()} noise, and this run's is {kind}. Use --threat "
            f"{'l1' if kind == 'laplace' else 'l2'}, or a run trained with --set kind={wanted}."
        )
    notes = []
    masks = predictor.masking != "none" and predictor.masked_tokens > 0
    if masks or not isinstance(predictor, Vote):
        notes.append(
            f"The certificates are about the plain noisy vote, not about this run's '{name}', whose masks "
            "and stages look at the input more than once: deploy it with --predictor vote "
            "--predictor-set masking=none."
        )
    elif predictor.output != "vote":
        notes.append(
            f"The certificates are about the majority of votes, not about this run's {predictor.output}, "
            "which a few large scores can decide: deploy it with --predictor-set output=vote."
        )
    blocks_too = tuple(site for site in predictor.noise_layers if site != "embeddings")
    return EmbeddingNoise(predictor.sigma, kind, blocks_too), notes
