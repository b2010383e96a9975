"""Attacks on images, on a linear classifier whose distances are known, and beside Foolbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from unfooled.attacks import Answer, Asked, Limits, Outcome, any_recipe
from unfooled.attacks.image.ball import Ball
from unfooled.attacks.image.image_attempt import ImageAttempt, ImageExample
from unfooled.attacks.image.image_story import run_image_attacks
from unfooled.attacks.victim import PixelGradient
from unfooled.attacks.victims.image_victim import ImageVictim
from unfooled.errors import UsageError
from unfooled.models import ImageModel, KeyedNoise, Noise, mix, new_image_model
from unfooled.models.images.mask import make_mask
from unfooled.predictors import Ars, Classifier, Plain, StaticMaskVote, Vote

SHAPE = (1, 6, 6)
WEIGHTS = torch.where(torch.arange(36) % 2 == 0, 1.0, -1.0) * torch.linspace(0.5, 2, 36)
NOISY = Vote(sigma=0.2, noise_layers=("embeddings",), masking="none", masked_tokens=0, votes=9)


class Weighted(nn.Module):
    """Class 1 where the weighted pixels sum to more than those of grey."""

    def forward(self, values: Tensor) -> Tensor:
        score = ((values - 0.5).flatten(1) * WEIGHTS).sum(dim=1)
        return torch.stack([-score, score], dim=1)


IMAGE = (0.5 + 0.1 * torch.rand(36, generator=torch.Generator().manual_seed(0)) * WEIGHTS.sign()).reshape(
    SHAPE
)
SCORE = float(((IMAGE - 0.5).flatten() * WEIGHTS).sum())
TRUE = {"linf": SCORE / float(WEIGHTS.abs().sum()), "l2": SCORE / float(WEIGHTS.norm())}
"""The exact distance to the other class; no pixel gets near 0 or 1 on the way."""


def victim_of(predictor: Any = Plain(), network: nn.Module | None = None) -> ImageVictim:
    return ImageVictim(Classifier(ImageModel(network or Weighted(), SHAPE), predictor, labels=["0", "1"]))


def services(victim: ImageVictim) -> dict[str, Any]:
    return {
        "victim": victim.answers,
        "gradients": victim.gradients,
        "carlini": victim.carlini,
        "source": victim.gradients,
    }


def attacked(
    name: str,
    settings: dict[str, Any],
    size: float,
    victim: ImageVictim | None = None,
    own: dict[str, Any] | None = None,
    **limits: Any,
) -> Outcome:
    victim = victim or victim_of()
    example = ImageExample(0, IMAGE.numpy(), 1, size, "an image")
    (outcome,) = run_image_attacks(
        [example],
        any_recipe(name, settings),  # type: ignore[arg-type]
        services(victim) | (own or {}),
        limits=Limits(**limits),
        randomised=victim.randomised,
    )
    return outcome


@pytest.mark.parametrize(("name", "norm"), [("pgd-linf", "linf"), ("pgd-l2", "l2")])
@pytest.mark.parametrize("loss", ["ce", "margin"])
def test_pgd_succeeds_exactly_where_the_ball_reaches_the_other_class(name: str, norm: str, loss: str) -> None:
    for share, status in ((0.999, "failed"), (1.001, "success")):
        size = share * TRUE[norm]
        given = {"loss": loss, "steps": 40, "step_size": size / (10 if norm == "linf" else 1)}
        outcome = attacked(name, given, size)
        assert outcome.status == status, outcome.message
        assert outcome.image and outcome.image.gradients <= 40


@pytest.mark.parametrize("name", ["apgd-ce", "apgd-t"])
@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_apgd_succeeds_exactly_where_the_ball_reaches_the_other_class(name: str, norm: str) -> None:
    for share, status in ((0.999, "failed"), (1.001, "success")):
        outcome = attacked(name, {"norm": norm, "steps": 30}, share * TRUE[norm])
        assert outcome.status == status, outcome.message
        assert outcome.image and outcome.image.gradients <= 31


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_square_never_leaves_what_is_possible_and_fools_in_a_larger_ball(norm: str) -> None:
    assert attacked("square", {"norm": norm, "queries": 60}, 0.999 * TRUE[norm]).status == "failed"
    outcome = attacked("square", {"norm": norm, "queries": 400}, 2.5 * TRUE[norm])
    assert outcome.status == "success" and outcome.image and outcome.image.gradients == 0


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_square_lowers_the_lead_of_the_true_class(norm: str) -> None:
    asked: list[Any] = []
    answers = victim_of().answers

    def watched(queries: Sequence[Asked[Any]]) -> list[Answer]:
        asked.extend(one.query for one in queries)
        return answers(queries)

    attacked("square", {"norm": norm, "queries": 150}, 0.8 * TRUE[norm], own={"victim": watched})
    leads = [float(((torch.from_numpy(one) - 0.5).flatten() * WEIGHTS).sum()) for one in asked]
    assert 0 < min(leads[-20:]) < 0.9 * leads[0]


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_apgd_ends_at_the_best_point_of_a_linear_loss(norm: Any) -> None:
    asked: list[Any] = []
    size = 0.5 * TRUE[norm]
    attacked("apgd-ce", {"norm": norm, "steps": 40}, size, own={"victim": never_fooled(asked)})
    signs, along = WEIGHTS.sign(), WEIGHTS / WEIGHTS.norm()
    best = IMAGE - size * (signs if norm == "linf" else along).reshape(SHAPE)
    assert np.allclose(asked[-1], best.numpy(), atol=1e-6 if norm == "linf" else 1e-3)


def test_apgd_gets_no_less_far_than_pgd_where_the_gradient_turns() -> None:
    torch.manual_seed(1)
    layers = [nn.Flatten(), nn.Linear(36, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 2)]
    network = nn.Sequential(*layers)
    with torch.no_grad():
        for weight in network.parameters():
            weight *= 3
        network[5].bias += torch.tensor([-9.0, 9.0])  # class 1, and no attack of this size changes it
    height = {}
    for name in ("pgd-linf", "apgd-ce"):
        asked: list[Any] = []
        victim = victim_of(network=network)
        attacked(name, {"steps": 40}, 0.15, victim, {"victim": never_fooled(asked)})
        logits = network(torch.from_numpy(asked[-1])[None]).detach()
        height[name] = float(logits[0, 0] - logits[0, 1])
    start = network(IMAGE[None]).detach()
    assert height["apgd-ce"] >= height["pgd-linf"] - 1e-3 > float(start[0, 0] - start[0, 1]) + 1


class Affine(nn.Module):
    def __init__(self, matrix: Tensor, shift: float) -> None:
        super().__init__()
        self.matrix, self.shift = matrix, shift

    def forward(self, values: Tensor) -> Tensor:
        return values.flatten(1) @ self.matrix + self.shift


@pytest.mark.parametrize("classes", [2, 3, 4, 7])
@pytest.mark.parametrize("target", [None, 1])
def test_difference_of_logits_ratio_ignores_scale_and_shift(classes: int, target: int | None) -> None:
    torch.manual_seed(classes)
    matrix = torch.randn(36, classes)

    def height(scale: float, shift: float) -> float:
        model = ImageModel(Affine(scale * matrix, shift), SHAPE)
        victim = ImageVictim(Classifier(model, Plain(), labels=[str(n) for n in range(classes)]))
        (found,) = victim.gradients([(Asked(IMAGE.numpy()), 0)], draws=1, loss="dlr", target=target)
        return found.loss

    own = IMAGE.flatten() @ matrix
    ranked = own.sort(descending=True).values
    lead = float((own[1:].max() if target is None else own[target]) - own[0])
    if classes == 2:
        assert height(1, 0) == pytest.approx(lead, rel=1e-4)
        return
    below = ranked[2:4].mean() if target is not None and classes > 3 else ranked[2]
    ratio = lead / float(ranked[0] - below)
    assert height(1, 0) == pytest.approx(ratio, rel=1e-4)
    assert height(50, 3) == pytest.approx(ratio, rel=1e-3)


def never_fooled(asked: list[Any]) -> Any:
    def answers(queries: Sequence[Asked[Any]]) -> list[Answer]:
        asked.extend(one.query for one in queries)
        return [Answer((0.0, 1.0), 1) for _ in queries]

    return answers


def test_pgd_ends_at_the_corner_of_the_ball_where_a_linear_loss_is_largest() -> None:
    asked: list[Any] = []
    attacked("pgd-linf", {}, 0.05, own={"victim": never_fooled(asked)})
    corner = IMAGE - 0.05 * WEIGHTS.sign().reshape(SHAPE)
    assert np.allclose(asked[-1], corner.numpy(), atol=1e-6)
    attacked("pgd-l2", {"step_size": 0.3}, 0.3, own={"victim": never_fooled(asked)})
    nearest = IMAGE - 0.3 * (WEIGHTS / WEIGHTS.norm()).reshape(SHAPE)
    assert np.allclose(asked[-1], nearest.numpy(), atol=1e-3)


@pytest.mark.parametrize(("name", "of_foolbox"), [("pgd-linf", "LinfPGD"), ("pgd-l2", "L2PGD")])
def test_pgd_without_random_starts_is_that_of_foolbox(name: str, of_foolbox: str) -> None:
    foolbox = pytest.importorskip("foolbox")
    torch.manual_seed(0)
    model = new_image_model("small-cnn:width=4", SHAPE, 2)
    network, size = model.module, 0.1 if name == "pgd-linf" else 0.5
    asked: list[Any] = []
    given = {"steps": 7, "step_size": size / 4, "random_start": False}
    victim = ImageVictim(Classifier(model, Plain(), labels=["0", "1"]))
    attacked(name, given, size, victim, {"victim": never_fooled(asked)})
    theirs = getattr(foolbox.attacks, of_foolbox)(abs_stepsize=size / 4, steps=7, random_start=False)
    found = theirs.run(
        foolbox.PyTorchModel(network, bounds=(0, 1), device="cpu"),
        IMAGE[None],
        torch.tensor([1]),
        epsilon=size,
    )
    assert np.abs(asked[-1] - IMAGE.numpy()).max() > 0.01
    assert np.allclose(asked[-1], found[0].numpy(), atol=1e-5)


@pytest.mark.full
def test_cw_finds_the_distance_to_the_other_class() -> None:
    pytest.importorskip("foolbox")
    outcome = attacked("cw-l2", {"steps": 100, "rounds": 5}, 2.0)
    assert outcome.status == "success" and outcome.image and outcome.image.distance
    assert TRUE["l2"] <= outcome.image.distance < 1.02 * TRUE["l2"]


@pytest.mark.parametrize("eot", [1, 4])
def test_cw_on_a_randomised_victim_ends_where_fresh_noise_agrees(eot: int) -> None:
    """Of hundreds of noisy passes some are wrong near the original, and the nearest of them is no success."""
    pytest.importorskip("foolbox")
    settings = {"steps": 60, "rounds": 3, "eot": eot}
    outcome = attacked("cw-l2", settings, 4 * TRUE["l2"], victim_of(NOISY))
    assert outcome.status == "success" and outcome.image and outcome.image.distance
    assert TRUE["l2"] < outcome.image.distance < 2 * TRUE["l2"]
    assert (outcome.fresh_successes or 0) >= 15
    near = attacked("cw-l2", settings, 0.5 * TRUE["l2"], victim_of(NOISY))
    assert near.status == "failed", "half the way to the boundary most of 9 votes are right"


def test_cw_walks_along_the_gradient_where_foolbox_finds_nothing() -> None:
    victim = victim_of()

    def nothing(asked: Sequence[Any], **given: Any) -> list[None]:
        return [None] * len(asked)

    outcome = attacked("cw-l2", {}, 3 * TRUE["l2"], victim, {"carlini": nothing})
    assert outcome.status == "success" and outcome.image and outcome.image.distance
    assert TRUE["l2"] <= outcome.image.distance < 1.5 * TRUE["l2"]
    assert attacked("cw-l2", {}, 0.9 * TRUE["l2"], victim, {"carlini": nothing}).status == "failed"


def test_untouched_image_is_no_success_however_often_it_is_wrong() -> None:
    victim, image = victim_of(NOISY), IMAGE.numpy()

    def wrong_now_and_then(asked: Sequence[Asked[Any]]) -> list[Answer]:
        if len(asked) > 1 or next(first):
            return [Answer((0.0, 1.0), 1) for _ in asked]
        return [Answer((1.0, 0.0), 0) for _ in asked]

    def unchanged(asked: Sequence[Any], **given: Any) -> list[Any]:
        return [image.copy() for _ in asked]

    def flat(asked: Sequence[Any], **given: Any) -> list[PixelGradient]:
        return [PixelGradient(np.zeros_like(image), (0.0, 1.0)) for _ in asked]

    first = iter([True] + [False] * 100)  # the first answer of the attack is right
    own = {"victim": wrong_now_and_then, "carlini": unchanged, "gradients": flat}
    assert attacked("cw-l2", {}, 1.0, victim, own).status == "failed"
    first = iter([True] + [False] * 100)
    given = {"steps": 3, "random_start": False}
    assert attacked("pgd-l2", given, 1.0, victim, own).status == "failed"


@pytest.mark.full
def test_boundary_only_comes_nearer_and_ends_near_the_boundary() -> None:
    starts = attacked("boundary", {"steps": 0}, 5.0)
    ends = attacked("boundary", {"steps": 800}, 5.0)
    assert starts.image and ends.image and starts.image.distance and ends.image.distance
    assert TRUE["l2"] <= ends.image.distance < starts.image.distance
    assert ends.image.distance < 1.15 * TRUE["l2"] and ends.image.gradients == 0


def test_boundary_gives_what_it_has_when_the_budget_ends() -> None:
    outcome = attacked("boundary", {}, 5.0, query_budget=40)
    assert outcome.status == "success" and outcome.limit_hit == "queries" and outcome.queries == 40


def test_minimal_attack_beyond_the_ball_has_failed_and_says_how_far_it_got() -> None:
    outcome = attacked("boundary", {"steps": 50}, 0.9 * TRUE["l2"])
    assert outcome.status == "failed" and outcome.image and outcome.image.distance
    assert outcome.image.distance > TRUE["l2"] and not outcome.image.adversarial


SIZED: dict[str, dict[str, Any]] = {
    "pgd-linf": {},
    "pgd-l2": {},
    "transfer": {"source": "x", "norm": "l2"},
    "apgd-ce": {"norm": "l2", "steps": 20},
    "apgd-t": {"steps": 20},
    "square": {"norm": "l2", "queries": 200},
    "boundary": {"steps": 30},
    "worst": {"norm": "l2", "attacks": ["pgd-l2", "boundary"]},
}


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("predictor", [Plain(), NOISY])
def test_success_is_a_valid_image_in_its_ball(name: str, predictor: Any) -> None:
    size = 2.5 if name not in ("pgd-linf", "apgd-t") else 0.45
    outcome = attacked(name, SIZED[name], size, victim_of(predictor), fresh_predictions=3)
    assert outcome.status == "success" and outcome.image, outcome.message
    before, after = outcome.image.pixels()
    assert np.array_equal(before, IMAGE.numpy()) and after.dtype == np.float32
    assert after.min() >= 0 and after.max() <= 1
    ball = Ball(outcome.image.norm, size)
    assert ball.holds(before, after) and ball.distance(before, after) == outcome.image.distance


def test_image_outside_its_ball_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ball, "nearest", lambda self, original, other: other)
    monkeypatch.setattr("unfooled.models.ascent.Ascent.within", lambda self, delta: delta)
    outcome = attacked("pgd-linf", {"step_size": 0.2}, 0.05)
    assert outcome.status == "error" and "left its ball" in outcome.message


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_nearest_image_of_a_ball_is_in_it_to_the_last_bit(norm: Any) -> None:
    random = np.random.default_rng(0)
    for radius in (1e-6, 0.003, 0.1, 0.7):
        for _ in range(50):
            own = random.uniform(size=(3, 5, 5)).astype(np.float32)
            other = (own + random.normal(size=own.shape)).astype(np.float32)
            ball = Ball(norm, radius)
            found = ball.nearest(own, other)
            assert ball.holds(own, found)
            assert radius < 1e-5 or ball.distance(own, found) > 0.99 * radius


def test_gradient_is_the_mean_over_fresh_draws_of_the_victims_noise() -> None:
    torch.manual_seed(0)
    model = new_image_model("small-cnn:width=4", SHAPE, 2)
    victim = ImageVictim(Classifier(model, NOISY, labels=["0", "1"]))
    asked = (Asked(IMAGE.numpy(), 7), 1)
    (found,) = victim.gradients([asked], draws=6, loss="ce")
    noise = KeyedNoise(Noise(0.2), [mix(7, draw) for draw in range(6)])
    each = []
    for one in noise("embeddings", torch.zeros(6, 1, *SHAPE), None)[:, 0]:
        start = IMAGE.clone().requires_grad_()
        loss = nn.functional.cross_entropy(model.module((start + one)[None]), torch.tensor([1]))
        each.append(torch.autograd.grad(loss, start)[0])
    assert found.forwards == 6
    assert np.allclose(found.gradient, torch.stack(each).mean(dim=0).numpy(), atol=1e-6)
    assert not np.allclose(found.gradient, each[0].numpy(), atol=1e-3)
    (other,) = victim.gradients([(Asked(IMAGE.numpy(), 8), 1)], draws=6, loss="ce")
    assert not np.allclose(found.gradient, other.gradient, atol=1e-4)


@pytest.mark.parametrize("name", ["pgd-linf", "pgd-l2", "apgd-ce", "apgd-t", "transfer"])
def test_every_step_averages_over_as_many_draws_as_the_recipe_says(name: str) -> None:
    victim, drawn, keys = victim_of(NOISY), [], []

    def gradients(asked: Any, **given: Any) -> Any:
        drawn.append(given["draws"])
        keys.extend(one.key for one, _ in asked)
        return victim.gradients(asked, **given)

    steps = 3 if name.startswith("apgd") else 4  # APGD has a gradient at its start too
    attacked(name, {"eot": 3, "steps": steps}, 0.01, victim, {"gradients": gradients, "source": gradients})
    assert drawn == [3, 3, 3, 3] and len(set(keys)) == 4


@pytest.mark.parametrize("predictor", [StaticMaskVote(sigma=0.2), Ars(sigma=0.2)])
def test_gradients_go_through_the_masks_of_the_victim(predictor: Any) -> None:
    """Against finite differences of the loss under the same draws."""
    torch.manual_seed(0)
    model = ImageModel(Weighted(), SHAPE)
    model.module.mask = make_mask("static" if isinstance(predictor, StaticMaskVote) else "unet", {}, SHAPE)
    model.evaluating()
    victim = ImageVictim(Classifier(model, predictor, labels=["0", "1"]))

    def score(image: Tensor) -> float:
        (found,) = victim.gradients([(Asked(image.numpy(), 3), 1)], draws=1, loss="margin")
        return float(np.log(found.scores[0] / found.scores[1]))

    (found,) = victim.gradients([(Asked(IMAGE.numpy(), 3), 1)], draws=1, loss="margin")
    up = torch.from_numpy(found.gradient)
    step = 0.01 * up / up.norm()
    slope = (score(IMAGE + step) - score(IMAGE - step)) / 0.02
    assert slope == pytest.approx(float(up.norm()), rel=0.03)


def test_randomised_success_is_verified_on_fresh_noise() -> None:
    """In a ball that hardly reaches the boundary fresh votes are undecided; in a larger one they agree."""
    near = attacked("pgd-l2", {}, 1.02 * TRUE["l2"], victim_of(NOISY))
    far = attacked("pgd-l2", {}, 4 * TRUE["l2"], victim_of(NOISY))
    assert far.status == "success" and far.fresh_total == 20 and far.fresh_successes is not None
    assert near.status == "failed" or (near.fresh_successes or 0) < far.fresh_successes
    assert far.verified


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("pgd-l2", {"step_size": 0.02, "steps": 60}),
        ("apgd-ce", {"norm": "l2", "steps": 30}),
        ("boundary", {"steps": 300}),
    ],
)
def test_search_goes_on_until_a_randomised_victim_is_surely_wrong(name: str, given: dict[str, Any]) -> None:
    """Beyond the boundary most fresh votes agree with a success, wherever the search crossed it."""
    limits = {"fresh_predictions": 200, "query_budget": 50_000}
    outcome = attacked(name, given, 4 * TRUE["l2"], victim_of(NOISY), **limits)
    assert outcome.status == "success" and outcome.fresh_successes is not None
    assert outcome.fresh_successes > 130


def test_targets_of_a_randomised_victim_come_by_mean_probability() -> None:
    """All votes go to class 0; of the others 3 is nearest, then 1, then 2."""

    class Fixed(nn.Module):
        def forward(self, values: Tensor) -> Tensor:
            return torch.tensor([5.0, 1.0, 0.0, 2.0]).expand(len(values), 4) + 0 * values.flatten(1)[:, :4]

    model = ImageModel(Fixed(), SHAPE)
    victim = ImageVictim(Classifier(model, NOISY, labels=["0", "1", "2", "3"]))
    targets: list[int | None] = []

    def gradients(asked: Any, **given: Any) -> Any:
        targets.append(given.get("target"))
        return victim.gradients(asked, **given)

    example = ImageExample(0, IMAGE.numpy(), 0, 0.1)
    recipe: Any = any_recipe("apgd-t", {"steps": 1, "eot": 1})
    own = services(victim) | {"gradients": gradients}
    list(run_image_attacks([example], recipe, own, limits=Limits(), randomised=True))
    assert list(dict.fromkeys(targets)) == [None, 3, 1, 2]


def test_lucky_answer_is_a_success_as_attacked_and_none_re_verified() -> None:
    answers = iter([1] + [1] * 20)  # the first answer, and all later ones, are right

    def lucky(queries: Sequence[Asked[Any]]) -> list[Answer]:
        label = 0 if len(queries) == 1 and lucky_at.pop(0) else next(answers, 1)
        return [Answer((1.0 - label, float(label)), label) for _ in queries]

    lucky_at = [False, True, *[False] * 50]
    outcome = attacked("pgd-linf", {"steps": 3}, 0.01, victim_of(NOISY), {"victim": lucky})
    assert outcome.status == "success" and outcome.fresh_successes == 0 and not outcome.verified


def test_worst_stops_at_the_first_success_and_tries_the_cheapest_first() -> None:
    recipe: Any = any_recipe("worst", {"norm": "l2", "source": "x"})
    costs = [member.cost() for member in recipe.members()]
    assert costs == sorted(costs) and recipe.members()[0].name == "transfer" and len(costs) == 7
    outcome = attacked("worst", {"norm": "l2"}, 2 * TRUE["l2"])
    assert outcome.image and outcome.image.found_by == "pgd-l2" and outcome.image.gradients < 20
    given = {"steps": 10, "attacks": ["pgd-linf", "apgd-ce", "apgd-t"]}
    held = attacked("worst", given, 0.9 * TRUE["linf"])
    assert held.status == "failed" and held.image and held.image.gradients == 10 + 11 + 11
    by_norm = {member.name for member in any_recipe("worst", {}).members()}  # type: ignore[union-attr]
    assert by_norm == {"pgd-linf", "apgd-ce", "apgd-t", "square"}


def test_worst_counts_a_minimal_attack_only_within_its_ball() -> None:
    given = {"norm": "l2", "attacks": ["boundary"]}
    assert attacked("worst", given, 0.9 * TRUE["l2"]).status == "failed"
    assert attacked("worst", given, 3 * TRUE["l2"]).status == "success"


@pytest.mark.parametrize("share", [0.02, 0.08, 0.15])
def test_worst_forgets_lucky_answers_outside_its_ball(share: float) -> None:
    """The walk begins far away, where a noisy victim errs now and then."""
    given = {"norm": "l2", "attacks": ["boundary"]}
    victim = victim_of(NOISY)
    outcome = attacked("worst", given, share * TRUE["l2"], victim)
    assert outcome.status == "failed", outcome.message


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("pgd-linf", {"eot": 3, "steps": 5}),
        pytest.param("apgd-ce", {"eot": 2, "steps": 4}, marks=pytest.mark.full),
        pytest.param("apgd-t", {"eot": 2, "steps": 4, "norm": "l2"}, marks=pytest.mark.full),
        pytest.param("square", {"queries": 10}, marks=pytest.mark.full),
        pytest.param("square", {"queries": 10, "norm": "l2"}, marks=pytest.mark.full),
    ],
)
def test_outcome_does_not_depend_on_the_images_beside_it(name: str, given: dict[str, Any]) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 2))
    network[3].bias.data = torch.tensor([0.0, -0.08])
    victim = victim_of(NOISY, network)
    random = np.random.default_rng(0)
    images = random.uniform(size=(20, *SHAPE)).astype(np.float32)
    labels = [answer.label for answer in victim.answers([Asked(image) for image in images])]
    size = 0.3 if given.get("norm") == "l2" else 0.05
    examples = [ImageExample(n, image, labels[n], size) for n, image in enumerate(images)]
    recipe: Any = any_recipe(name, given)
    alone, together = (
        sorted(
            run_image_attacks(
                examples,
                recipe,
                services(victim),
                limits=Limits(fresh_predictions=2),
                randomised=True,
                in_flight=n,
            ),
            key=lambda one: one.row,
        )
        for n in (1, 13)
    )
    timeless = [[{**one.to_dict(), "seconds": 0} for one in found] for found in (alone, together)]
    assert timeless[0] == timeless[1]
    assert {"success", "failed"} <= {one.status for one in alone}


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("pgd-linf", {"eps": 0}, "eps must be above 0"),
        ("pgd-linf", {"stepps": 3}, "Did you mean 'steps'"),
        ("pgd-l2", {"steps": 0}, "steps must be at least 1"),
        ("pgd-lin", {}, "Did you mean 'pgd-linf'"),
        ("worst", {"attacks": ["pgd-l2"]}, "pgd-l2 is for another norm than linf"),
        ("worst", {"attacks": ["textfooler"]}, "There is no attack to take the worst of 'textfooler'"),
        ("transfer", {"norm": "l1"}, "norm must be one of"),
    ],
)
def test_bad_settings_are_refused(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        any_recipe(name, settings)


def test_more_gradients_than_the_budget_allows_are_refused_at_once() -> None:
    with pytest.raises(UsageError, match="asks for 1,200 gradients per image"):
        attacked("cw-l2", {}, 1.0, query_budget=1000)


def test_missing_foolbox_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from unfooled.attacks.victims.image_victim import load_foolbox
    from unfooled.errors import UserError

    monkeypatch.setitem(sys.modules, "foolbox", None)
    with pytest.raises(UserError, match=r"pip install 'unfooled\[images\]'"):
        load_foolbox()


def test_attempts_of_all_sizes_draw_the_same_numbers() -> None:
    keys = [
        ImageAttempt(ImageExample(4, IMAGE.numpy(), 1, size), Limits(), 0, True)._asked(IMAGE.numpy()).key
        for size in (0.1, 0.2)
    ]
    assert keys[0] == keys[1]
