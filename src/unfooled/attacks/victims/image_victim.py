"""A classifier of images as the victim of attacks: its deployed answers, and gradients at the pixels.

Gradients are the mean over fresh, keyed draws of the predictor's own noise and masks (expectation over
transformation, Athalye et al. 2018). All passes that are differentiated have the same number of rows, so that
a result does not depend on how many images are attacked side by side.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unfooled.attacks.victim import Answer, Asked, ImageArray, PixelGradient
from unfooled.attacks.victims.ours import DECIMALS, deployed_answers
from unfooled.errors import UsageError, needs_extra

if TYPE_CHECKING:
    from torch import Tensor

    from unfooled.predictors import Classifier

ROWS = 16
"""Rows of a differentiated pass, filled up with black images: the rounding depends on their number."""


class ImageVictim:
    """A white-box victim around a classifier of images."""

    def __init__(self, classifier: Classifier) -> None:
        from unfooled.models import as_image
        from unfooled.predictors.noisy_pixels import noisy_pixels

        self.classifier = classifier
        self.labels = classifier.labels
        self.randomised = classifier.predictor.randomised
        self.model = as_image(classifier.model)
        self._noisy = noisy_pixels(classifier.predictor, self.model)

    def describe(self) -> dict[str, object]:
        return {"labels": list(self.labels), "predictor": self.classifier.predictor.describe()}

    def check_gradients(self) -> None:
        """Refuse white-box recipes where it is not known how the predictor draws."""
        if self._noisy is None:
            raise UsageError(
                f"How the predictor '{self.classifier.predictor.describe()['name']}' draws is not known, so "
                "its gradients are not either. Choose --recipe boundary, or another --predictor."
            )

    def answers(self, asked: Sequence[Asked[ImageArray]]) -> list[Answer]:
        import torch

        from unfooled.models import EncodedImage

        encoded = [EncodedImage(torch.from_numpy(item.query)) for item in asked]
        return deployed_answers(self.classifier, encoded, asked)

    def gradients(
        self,
        asked: Sequence[tuple[Asked[ImageArray], int]],
        *,
        draws: int,
        loss: str,
        target: int | None = None,
    ) -> list[PixelGradient]:
        """The mean gradient, over ``draws`` draws, of the loss of each draw; mean probabilities and loss."""
        import torch

        from unfooled.hub.batches import map_batches

        draws = draws if self.randomised else 1
        images = _stacked(asked).repeat_interleave(draws, dim=0)
        labels = torch.tensor([label for _, label in asked]).repeat_interleave(draws)
        keys = _keys([item.key for item, _ in asked], draws)
        self.model.evaluating()

        def of_batch(rows: range) -> tuple[Tensor, Tensor, Tensor]:
            with torch.inference_mode(False), torch.enable_grad():
                own = images[rows.start : rows.stop].clone().requires_grad_()
                logits = self._logits(own, keys[rows.start : rows.stop])
                raised = _losses(logits, labels[rows.start : rows.stop].to(logits.device), loss, target)
                (gradient,) = torch.autograd.grad(raised.sum(), own)
            return gradient, logits.detach().softmax(dim=-1).cpu(), raised.detach().cpu()

        batches = [range(start, min(start + ROWS, len(images))) for start in range(0, len(images), ROWS)]
        found = map_batches(of_batch, batches, self.model.device, parallel=self.model.parallel)
        means = (torch.cat(parts).unflatten(0, (-1, draws)).mean(dim=1) for parts in zip(*found, strict=True))
        return [
            PixelGradient(
                gradient.numpy(),
                tuple(round(share, DECIMALS) for share in shares.tolist()),
                draws,
                float(height),
            )
            for gradient, shares, height in zip(*means, strict=True)
        ]

    def carlini(
        self,
        asked: Sequence[tuple[Asked[ImageArray], int]],
        *,
        draws: int,
        judges: int,
        steps: int,
        rounds: int,
        step_size: float,
        confidence: float,
        first_constant: float,
    ) -> list[ImageArray | None]:
        """Foolbox's C&W attack on mean logits; None where it found nothing.

        Of a randomised victim every step differentiates the mean over ``draws`` fresh draws; whether an image
        is wrong is decided by the mean over ``judges`` others, the same at every step.
        """
        import torch

        foolbox = load_foolbox()
        draws = draws if self.randomised else 1
        attack = foolbox.attacks.L2CarliniWagnerAttack(
            binary_search_steps=rounds,
            steps=steps,
            stepsize=step_size,
            confidence=confidence,
            initial_const=first_constant,
            abort_early=False,  # it looks at the whole batch
        )
        found: list[ImageArray | None] = []
        self.model.evaluating()
        for start in range(0, len(asked), ROWS):
            own = asked[start : start + ROWS]
            with torch.inference_mode(False):
                module = self._mean_logits([item.key for item, _ in own], draws, judges)
                model = foolbox.PyTorchModel(module, bounds=(0, 1), device="cpu")
                made = attack.run(model, _stacked(own), torch.tensor([label for _, label in own]))
            # Foolbox gives a black image where it found nothing.
            found += [one.numpy().clip(0, 1) if one.any() else None for one in made.detach()]
        return found

    def _mean_logits(self, keys: Sequence[int], draws: int, judges: int) -> Any:
        """A module that differentiates fresh draws at every call, and has the value over the same ``judges``.

        Of the values over fresh draws some would be wrong even at the original: hundreds of steps find them.
        """
        import torch
        from torch import nn

        from unfooled.models import mix

        victim = self

        class MeanLogits(nn.Module):
            calls = 0

            def forward(self, images: Tensor) -> Tensor:
                self.calls += 1
                fresh = self.mean(images, [mix(key, self.calls) for key in keys], draws)
                if not victim.randomised:
                    return fresh
                with torch.no_grad():
                    judged = self.mean(images.detach(), [mix(key, 0) for key in keys], judges)
                return fresh + (judged - fresh).detach()

            def mean(self, images: Tensor, keys: Sequence[int], draws: int) -> Tensor:
                own, rows = _keys(keys, draws), images.repeat_interleave(draws, dim=0)
                parts = [
                    victim._logits(rows[start : start + ROWS], own[start : start + ROWS])
                    for start in range(0, len(rows), ROWS)
                ]
                return torch.cat(parts).unflatten(0, (-1, draws)).mean(dim=1).cpu()

        return MeanLogits().eval()

    def _logits(self, images: Tensor, keys: Sequence[int]) -> Tensor:
        """Logits of at most ``ROWS`` images, each with the noise of its key."""
        import torch

        from unfooled.models import KeyedNoise, Noise

        assert self._noisy is not None
        count, looks = len(images), self._noisy.looks
        noise = torch.zeros((count, max(1, looks), *images.shape[1:]))
        if looks:
            noise = KeyedNoise(Noise(1.0, kind=self._noisy.kind), keys)("embeddings", noise, None)
        short = ROWS - count
        if short:
            images = torch.cat([images, images.new_zeros((short, *images.shape[1:]))])
            noise = torch.cat([noise, noise.new_zeros((short, *noise.shape[1:]))])
        device = self.model.device
        with self.model.in_float32():
            logits = self.model.answer(self._noisy.seen(images.to(device), noise.to(device)))
        return logits[:count].float()


def _stacked(asked: Sequence[tuple[Asked[ImageArray], int]]) -> Tensor:
    import torch

    return torch.from_numpy(np.stack([item.query for item, _ in asked]))


def _keys(keys: Sequence[int], draws: int) -> list[int]:
    """One key per draw of each image."""
    from unfooled.models import mix

    return [mix(key, draw) for key in keys for draw in range(draws)]


def _losses(logits: Tensor, labels: Tensor, loss: str, target: int | None) -> Tensor:
    """What an attack raises, one number per row: of one class against the true one, or of the best other."""
    import torch
    from torch.nn import functional as F

    if loss == "ce":
        return F.cross_entropy(logits, labels, reduction="none")
    own = F.one_hot(labels, logits.shape[1]).bool()
    others = logits.masked_fill(own, -torch.inf).amax(dim=1) if target is None else logits[:, target]
    margin = others - logits[own]
    if loss == "margin" or logits.shape[1] < 3:
        return margin
    ranked = logits.sort(dim=1, descending=True).values
    below = ranked[:, 2] if target is None or logits.shape[1] < 4 else ranked[:, 2:4].mean(dim=1)
    return margin / (ranked[:, 0] - below).clamp_min(1e-12)  # DLR: Croce and Hein 2020, Eq. 5 and 6


def load_foolbox() -> Any:
    """Foolbox, which an extra of the package brings."""
    # It imports GitPython for its model zoo, which fails where there is no git. Nothing here uses it.
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    return needs_extra("foolbox", "images", "makes this attack")
