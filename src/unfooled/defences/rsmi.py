"""RSMI: randomised smoothing with masked inference (Moon, Joty, Zhao, Thakkar, Chi; ACL 2023).

Each training step ranks the tokens by the norm of the loss gradient at their embeddings, masks the M
most salient, and trains on the masked input with Gaussian noise after some of the blocks. Prediction is
the two-step vote of ``unfooled.predictors.two_step``.

Deviations. The embedding step is a multiple of each example's *own* gradient, so that it does not depend on
the batch size: ``embedding_step = β / batch size`` of the authors, whose β = 1 at batch 16 is 1/16 here.
The saliency pass runs without dropout. The paper does not state N; it is 2·M + 1 here. The noise and the
masks may rise over the first part of training (``warmup``), which short texts need. Answers to short texts
are not masked unless a setting of the masks is given: one hidden word of twenty costs more accuracy than
the paper's texts lose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from unfooled.defences.parts.base import NO_WORDS, evaluating
from unfooled.defences.parts.scale import risen
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.errors import UsageError
from unfooled.models import Batch, FreshNoise, Model, Noise, Site, as_text
from unfooled.predictors import Predictor, TwoStep
from unfooled.predictors.masking import Masking, amount
from unfooled.predictors.saliency import rank_tokens
from unfooled.predictors.tally import Output
from unfooled.predictors.two_step import SecondStage
from unfooled.settings import MOST_VOTES, setting

SHORT_TEXT = 64
"""Inputs of at most so many tokens count as short: masking one word of them hides much of what they say."""


@dataclass(frozen=True)
class FamilyDefaults:
    """σ, M and the number of noise layers for one kind of encoder and input."""

    sigma: float
    masked_tokens: int
    noise_layers: int
    late: bool = False
    """Noise after the last blocks, instead of spread evenly: the votes then share the blocks before."""
    warmup: float = 0.0
    masking: Masking = "gradient"
    """What is masked in answers."""


# Table 9 for longer inputs; docs/results/rsmi.md for short ones: the masks of their answers cost 3.4 points.
BERT = FamilyDefaults(sigma=0.2, masked_tokens=2, noise_layers=3)
ROBERTA = FamilyDefaults(sigma=0.4, masked_tokens=4, noise_layers=3)
SHORT = FamilyDefaults(sigma=1.0, masked_tokens=1, noise_layers=2, late=True, warmup=0.5, masking="none")
_FAMILIES = {"roberta": ROBERTA, "xlm-roberta": ROBERTA, "camembert": ROBERTA}


@dataclass(frozen=True)
class Rsmi:
    """Noise layers, gradient-guided masking, two-step prediction."""

    name: ClassVar[str] = "rsmi"
    summary: ClassVar[str] = "Noise layers and gradient-guided masking; two-step vote (Moon et al. 2023)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    refuses: ClassVar[dict[str, str]] = {"image": NO_WORDS}
    deployed_as: ClassVar[str] = "two-step"

    sigma: float | None = setting(
        None,
        "Noise standard deviation (σ); the paper's value for the encoder family if not given",
        at_least=0,
    )
    noise_layers: int | tuple[Site, ...] | None = setting(
        None, "How many noise layers (N_l), spread evenly, or the list of blocks, from 0", at_least=0
    )
    noise_stride: int | None = setting(
        None,
        "Noise after every n-th block, from block 0: the authors' nth_layers; instead of noise_layers",
        at_least=1,
    )
    masked_tokens: int | None = setting(None, "Masked tokens (M)", at_least=0)
    masked_share: float | None = setting(
        None,
        "Mask at most this share of a text's tokens, rounded (very short texts keep all); M is the limit",
        at_least=0,
        at_most=1,
    )
    masking: Masking | None = setting(
        None,
        "Masks in answers: gradient (the paper), random, or none (NoMask). If not given: none for short "
        "texts, unless M, N or masked_share is. Training masks M tokens anyway",
    )
    candidates: int | None = setting(
        None, "Most salient tokens to draw masks from (N); 2·M + 1 if not given", at_least=0
    )
    saliency_draws: int = setting(1, "Noise draws of the saliency pass (ν)", at_least=1, at_most=MOST_VOTES)
    embedding_step: float = setting(
        0.0625, "Step along each example's own gradient; the authors' β = 1 at batch 16 is 1/16", at_least=0
    )
    warmup: float | None = setting(
        None,
        "Share of training over which σ and M rise from nothing; 0.5 for short texts, else 0, if not given",
        at_least=0,
        at_most=1,
    )
    first_votes: int = setting(5, "Votes of the first stage (k0)", at_least=1, at_most=MOST_VOTES)
    second_votes: int = setting(50, "Votes of the second stage (k1)", at_least=1, at_most=MOST_VOTES)
    second_stage: SecondStage = setting(
        "fixed", "fixed (k1 votes), or sequential (stops when the rest would hardly change the answer)"
    )
    second_error: float = setting(
        0.03,
        "Sequential second stage: stop when the rest changes the answer with at most this probability",
        at_least=0,
        at_most=0.5,
    )
    alpha: float = setting(0.98, "Level of the first stage's test (α)", at_least=0, at_most=1)
    output: Output = setting("vote", "vote or mean-logit")

    def resolved(self, model: Model) -> Rsmi:
        text = as_text(model)
        short = text.max_length <= SHORT_TEXT
        family = _FAMILIES.get(text.module.config.model_type, BERT)
        defaults = SHORT if short else family
        masked = defaults.masked_tokens if self.masked_tokens is None else self.masked_tokens
        given = (self.masked_tokens, self.masked_share, self.candidates)
        masking: Masking = defaults.masking if given == (None, None, None) else "gradient"
        layers = self.noise_layers
        if self.noise_stride is not None:
            layers = self._strided(text.depth)
        if layers is None:
            count = min(defaults.noise_layers, text.depth)
            first = text.depth - count
            layers = tuple(range(first, text.depth)) if defaults.late else count
        result = replace(
            self,
            sigma=defaults.sigma if self.sigma is None else self.sigma,
            masked_tokens=masked,
            warmup=defaults.warmup if self.warmup is None else self.warmup,
            masking=self.masking or masking,
            noise_layers=spread(layers, text.depth) if isinstance(layers, int) else layers,
            noise_stride=None,  # said by the list of blocks
            candidates=2 * masked + 1 if self.candidates is None else self.candidates,
        )
        if masked and (reason := model.mask_refusal()):  # training masks whatever answers do
            raise UsageError(f"masked_tokens: {reason}, or set masked_tokens=0.")
        result.predictor(model).check(model)
        return result

    def _strided(self, depth: int) -> tuple[int, ...]:
        """Every so many blocks from block 0: 0, 3, 6, 9 of twelve for a stride of 3, four noise layers."""
        assert self.noise_stride is not None
        if self.noise_layers is not None:
            raise UsageError(
                "noise_layers and noise_stride both say which blocks take the noise. Give only one of them."
            )
        if self.noise_stride > depth:
            raise UsageError(
                f"noise_stride is {self.noise_stride}, but this encoder has {depth} blocks. "
                f"Choose 1 to {depth}."
            )
        return tuple(range(0, depth, self.noise_stride))

    def begin(self, training: Training) -> RsmiSession:
        return RsmiSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        assert isinstance(self.noise_layers, tuple)
        assert self.sigma is not None and self.masked_tokens is not None and self.candidates is not None
        assert self.masking is not None
        return TwoStep(
            sigma=self.sigma,
            noise_layers=self.noise_layers,
            masking=self.masking,
            masked_tokens=self.masked_tokens,
            masked_share=self.masked_share,
            candidates=self.candidates,
            saliency_draws=self.saliency_draws,
            first_votes=self.first_votes,
            second_votes=self.second_votes,
            second_stage=self.second_stage,
            second_error=self.second_error,
            alpha=self.alpha,
            output=self.output,
        )


class RsmiSession(Session[Rsmi]):
    """Cross-entropy on the input masked at its most salient tokens, with noise."""

    def loss(self, batch: Batch, step: Step) -> Losses:
        own, model = self.defence, as_text(self.model)
        assert batch.labels is not None and isinstance(own.noise_layers, tuple)
        assert own.sigma is not None and own.masked_tokens is not None and own.warmup is not None
        share = risen(step, own.warmup)
        noise = Noise(own.sigma * share, own.noise_layers)
        masked_tokens = round(own.masked_tokens * share)
        sampler = FreshNoise(noise)

        # (1) Saliency: one pass without weight gradients; (2) mask the top M.
        with evaluating(model):
            gradient, _ = model.gradient(
                batch, batch.labels, sampler=sampler, sites=noise.sites, draws=own.saliency_draws
            )
        ids = batch.ids
        if masked_tokens:
            assert model.mask_token_id is not None
            ids = _masked(model.mask_token_id, batch, gradient, masked_tokens, own.masked_share)
        # (3) The training pass: embed(masked ids) + β·G, noise on.
        masked_batch = replace(batch, ids=ids)
        embeddings = model.embed(ids) + own.embedding_step * gradient
        forward = model.forward(masked_batch, start=embeddings, sampler=sampler, sites=noise.sites)
        return Losses(self.task_loss(forward.logits, batch))


def spread(count: int, depth: int) -> tuple[int, ...]:
    """``count`` blocks spread evenly from block 0: 0, 3, 6, 9 for four of twelve, as the authors' code."""
    if count > depth:
        # Left as asked for, so that the check names the first block that does not exist.
        return tuple(range(count))
    return tuple(index * depth // count for index in range(count))


def _masked(mask_id: int, batch: Batch, gradient: Tensor, count: int, share: float | None) -> Tensor:
    """Token ids with the ``count`` most salient maskable tokens of each row replaced by the mask token.

    With a ``share``, at most that share of the row's maskable tokens.
    """
    ids = batch.ids.clone()
    words = batch.maskable.sum(dim=1).tolist()
    for row, ranked in enumerate(rank_tokens(gradient, batch.maskable, count)):
        if positions := ranked[: amount(words[row], count, share)]:
            ids[row, torch.tensor(positions, device=ids.device)] = mask_id
    return ids
