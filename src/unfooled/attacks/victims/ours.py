"""A classifier as the victim of attacks: its deployed predictor, its gradients, its soft scores.

Answers come from the predictor that is deployed, with the noise of each query's own key. The white-box side
averages over the predictor's own randomness (expectation over transformation, Athalye et al. 2018; Chen et
al. 2020 §6.2): its noise, the masks that it would draw, or the changed texts that it votes over (SAFER,
random masking, random deletion). There a word has the gradient of the tokens that come from it, in every
version that shows it, and the embedding is the mean over what may be drawn for it. Certified masked inference
is not averaged: its gradient is that of the base classifier, its soft scores are the shares of the vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unfooled.attacks.victim import Answer, Asked, Gradients

if TYPE_CHECKING:
    from unfooled.models import Encoded, EncodedInput
    from unfooled.predictors import Classifier
    from unfooled.predictors.ballots import Ballot

DECIMALS = 6
"""Scores are rounded to this: what is left is the same in whatever batch a query was answered."""


def deployed_answers(
    classifier: Classifier, encoded: Sequence[EncodedInput], asked: Sequence[Asked[Any]]
) -> list[Answer]:
    """What the deployed predictor answers, with the noise of each query's own key."""
    decisions = classifier.decide(encoded, seed=[item.key for item in asked])
    return [
        Answer(
            scores=tuple(round(score, DECIMALS) for score in decision.scores),
            label=decision.label,
            forwards=decision.forwards,
            abstained=decision.abstained,
        )
        for decision in decisions
    ]


class DeployedVictim:
    """A classifier that shows its deployed answers and nothing else: a smoothed black box is one."""

    def __init__(self, classifier: Classifier) -> None:
        from unfooled.models import as_reader

        self.classifier = classifier
        self.labels = classifier.labels
        self.randomised = classifier.predictor.randomised
        self._reads = as_reader(classifier.model)

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        return deployed_answers(self.classifier, self._encoded(asked), asked)

    def describe(self) -> dict[str, object]:
        return {"labels": list(self.labels), "predictor": self.classifier.predictor.describe()}

    def _encoded(self, asked: Sequence[Asked]) -> Sequence[EncodedInput]:
        texts = [item.query[0] for item in asked]
        pairs = [item.query[1] for item in asked] if asked and len(asked[0].query) == 2 else None
        return self._reads.encode(texts, pairs)


class ClassifierVictim(DeployedVictim):
    """A white-box victim around a :class:`~unfooled.predictors.Classifier`."""

    def __init__(self, classifier: Classifier) -> None:
        from unfooled.models import as_text

        super().__init__(classifier)
        self.model = as_text(classifier.model)
        self.rough = self.model.bf16
        """Answers depend on the batch a little; :meth:`confirmed` ones do not."""

    def confirmed(self, asked: Sequence[Asked]) -> list[Answer]:
        """The answers in float32, whatever the search is done in."""
        with self.model.in_float32():
            return self.answers(asked)

    def expected(self, asked: Sequence[Asked], *, draws: int) -> list[Answer]:
        """Mean probabilities over ``draws`` ballots of the predictor: what its decision tends to."""
        import torch

        from unfooled.predictors.ballots import cast
        from unfooled.predictors.randomised import Randomised

        if not asked:
            return []
        predictor = self.classifier.predictor
        versions = self._versions(asked, draws)
        if versions is not None:
            forwards, logits = draws, _logits(self.model, versions)
        elif self.randomised and isinstance(predictor, Randomised):
            encoded = self._encoded(asked)
            with torch.inference_mode(False):
                plan, noise = predictor.planned(self.model, encoded, [item.key for item in asked])
            ballots = [ballot for owner in range(len(encoded)) for ballot in _ballots(plan, owner, draws)]
            forwards = plan.saliency_forwards + draws
            logits = np.array(cast(self.model, encoded, ballots, noise))
        else:
            return self.answers(asked)
        shares = _softmax(logits).reshape(len(asked), draws, -1).mean(axis=1)
        return [
            Answer(
                scores=tuple(round(float(share), DECIMALS) for share in row),
                label=int(row.argmax()),
                forwards=forwards,
            )
            for row in shares
        ]

    def gradients(self, asked: Sequence[tuple[Asked, int]], *, draws: int) -> list[Gradients]:
        """Gradient of −log of the mean probability of the given class at each token, in evaluation mode.

        Masks are held fixed while differentiating: a token that the predictor hides gets no gradient from
        that draw, so what is left is how much the class depends on words that stay visible.
        """
        import torch

        from unfooled.hub.batches import map_by_length, tokens_per_batch
        from unfooled.predictors.randomised import Randomised

        text, predictor = self.model, self.classifier.predictor
        versions = self._versions([item for item, _ in asked], draws)
        if versions is not None:
            return _version_gradients(text, versions, [label for _, label in asked], draws)
        encoded = self._encoded([item for item, _ in asked])
        plan: Any = None
        noise: object = None
        if self.randomised and isinstance(predictor, Randomised):
            with torch.inference_mode(False):
                plan, noise = predictor.planned(text, encoded, [item.key for item, _ in asked])
        else:
            draws = 1
        text.module.eval()

        def of_chunk(chunk: list[int]) -> list[np.ndarray]:
            ballots = [_ballots(plan, owner, draws) if plan else [] for owner in chunk]
            labels = [asked[owner][1] for owner in chunk]
            return _gradients(text, [encoded[owner] for owner in chunk], labels, ballots, noise, draws)

        lengths = [len(item) * draws for item in encoded]
        found = map_by_length(of_chunk, lengths, tokens_per_batch(text.device), text.device)
        spent = draws + (plan.saliency_forwards if plan else 0)
        return [
            Gradients(gradient, item.offsets, spent) for gradient, item in zip(found, encoded, strict=True)
        ]

    def _versions(self, asked: Sequence[Asked], draws: int) -> list[Encoded] | None:
        """Changed texts that the predictor would vote over, ``draws`` of each; None if there are none."""
        from unfooled.predictors.smoothing import ATTACK, SmoothedVote, TextVersions

        predictor = self.classifier.predictor
        if not isinstance(predictor, SmoothedVote):
            return None
        keys = [item.key for item in asked]
        sampler = predictor.sampler(self.model, self._encoded(asked), seed=keys, purpose=ATTACK)
        if not isinstance(sampler, TextVersions):
            return None
        return sampler.versions([(owner, 0, draws) for owner in range(len(asked))])

    def embedding(self, words: Sequence[str]) -> np.ndarray:
        """Sum of the word embeddings of each word's tokens, ``(words, width)``.

        Under a vote over redrawn words: the mean of what may be drawn for the word.
        """
        from unfooled.predictors.smoothing import SmoothedVote

        predictor = self.classifier.predictor
        if not isinstance(predictor, SmoothedVote):
            return self._own_embedding(words)
        drawn = [predictor.drawn_for(word) for word in words]
        number = {word: row for row, word in enumerate(dict.fromkeys(one for own in drawn for one in own))}
        vectors = self._own_embedding(list(number))
        return np.array([vectors[[number[word] for word in own]].mean(axis=0) for own in drawn])

    def _own_embedding(self, words: Sequence[str]) -> np.ndarray:
        import torch

        text = self.model
        # After a space, as nearly all words of a text stand: byte-level vocabularies write them differently.
        rows = text.tokenizer([f" {word}" for word in words], add_special_tokens=False)["input_ids"]
        table = text.architecture.embeddings
        with torch.inference_mode():
            ids = torch.tensor([token for row in rows for token in row], device=text.device)
            vectors = table(ids).float().cpu().numpy() if len(ids) else np.zeros((0, 1), np.float32)
        total = np.zeros((len(rows), vectors.shape[1]), np.float32)
        owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        np.add.at(total, owners, vectors)
        return total

    def _encoded(self, asked: Sequence[Asked]) -> Sequence[Encoded]:
        from unfooled.models import as_texts

        return as_texts(super()._encoded(asked))


def _ballots(plan: Any, owner: int, draws: int) -> list[Ballot]:
    """What both stages of a masking predictor cast: the top mask, and masks drawn among the candidates."""
    return [plan.top(owner, draw) if draw % 2 == 0 else plan.sampled(owner, draw) for draw in range(draws)]


def _gradients(
    text: Any,
    encoded: Sequence[Encoded],
    labels: Sequence[int],
    ballots: Sequence[Sequence[Ballot]],
    noise: Any,
    draws: int,
) -> list[np.ndarray]:
    """Gradient of each input's own loss over its ballots, with respect to its unmasked embeddings."""
    import torch

    from unfooled.models import KeyedNoise

    with torch.enable_grad():
        batch = text.batch(encoded)
        own = text.start(batch).detach().requires_grad_(True)
        rows = torch.arange(len(encoded), device=own.device).repeat_interleave(draws)
        embeddings, sampler = own[rows], None
        if noise is not None:
            hidden = torch.zeros(embeddings.shape[:2], dtype=torch.bool, device=own.device)
            flat = [ballot for group in ballots for ballot in group]
            for row, ballot in enumerate(flat):
                hidden[row, list(ballot.masked)] = True
            if bool(hidden.any()):
                mask = text.embed(torch.tensor([[text.mask_token_id]], device=own.device)).detach()
                embeddings = torch.where(hidden.unsqueeze(-1), mask, embeddings)
            sampler = KeyedNoise(noise, [ballot.key for ballot in flat])
        forward = text.forward(
            batch.rows(rows), start=embeddings, sampler=sampler, sites=noise.sites if noise else ()
        )
        (gradient,) = torch.autograd.grad(_loss_of_the_mean(forward.logits, labels, draws), own)
    return [gradient[row, : len(item)].cpu().numpy() for row, item in enumerate(encoded)]


def _version_gradients(
    text: Any, versions: Sequence[Encoded], labels: Sequence[int], draws: int
) -> list[Gradients]:
    """Gradient of each input's own loss over its versions, at every token of every version."""
    import torch

    from unfooled.hub.batches import map_by_length, tokens_per_batch

    text.module.eval()
    of = [versions[first : first + draws] for first in range(0, len(versions), draws)]

    def of_chunk(chunk: list[int]) -> list[Gradients]:
        rows = [version for owner in chunk for version in of[owner]]
        with torch.enable_grad():
            batch = text.batch(rows)
            own = text.start(batch).detach().requires_grad_(True)
            logits = text.forward(batch, start=own).logits
            loss = _loss_of_the_mean(logits, [labels[owner] for owner in chunk], draws)
            (gradient,) = torch.autograd.grad(loss, own)
        found = [gradient[row, : len(item)].cpu().numpy() for row, item in enumerate(rows)]
        return [
            Gradients(
                np.concatenate(found[place * draws : (place + 1) * draws]),
                tuple(span for version in of[owner] for span in version.offsets),
                draws,
            )
            for place, owner in enumerate(chunk)
        ]

    lengths = [max(map(len, own)) * draws for own in of]
    return map_by_length(of_chunk, lengths, tokens_per_batch(text.device), text.device)


def _loss_of_the_mean(logits: Any, labels: Sequence[int], draws: int) -> Any:
    """The sum over inputs of −log of the mean probability of their label, up to a constant.

    ``logits``: ``(inputs × draws, classes)``.
    """
    import torch
    from torch.nn import functional as F

    log_each = F.log_softmax(logits, dim=-1).view(len(labels), draws, -1)
    log_mean = torch.logsumexp(log_each, dim=1)
    return F.nll_loss(log_mean, torch.tensor(labels, device=logits.device), reduction="sum")


def _logits(text: Any, encoded: Sequence[Encoded]) -> np.ndarray:
    """Logits of each input, ``(inputs, classes)``."""
    import torch

    from unfooled.hub.batches import map_by_length

    def of_chunk(chunk: list[int]) -> list[np.ndarray]:
        with torch.inference_mode():
            logits = text.forward(text.batch([encoded[index] for index in chunk])).logits
        return list(logits.float().cpu().numpy())

    return np.array(map_by_length(of_chunk, [len(item) for item in encoded], text.batch_size, text.device))


def _softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)
