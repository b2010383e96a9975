"""Settings from the command line, YAML and saved runs: right values in, a clear refusal of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from unfooled.errors import UsageError
from unfooled.settings import LARGEST_SEED, build, check_seed, describe_settings, parse_assignments, setting


@dataclass(frozen=True)
class Example:
    sigma: float | None = setting(None, "Noise (σ)", at_least=0)
    rate: float = setting(0.5, "A share", at_least=0, at_most=1)
    votes: int = setting(5, "Votes (k)", at_least=1)
    layers: int | tuple[int | Literal["embeddings"], ...] | None = setting(None, "Layers", at_least=0)
    output: Literal["vote", "mean-logit"] = setting("vote", "Output")
    switch: bool = setting(False, "A switch")
    name: str = setting("x", "A name")
    extra: dict[str, Any] | None = setting(None, "More")


def made(**values: Any) -> Example:
    return build(Example, values, owner="example")


def from_text(*assignments: str) -> Example:
    return made(**parse_assignments(assignments))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("sigma=0.3", "sigma", 0.3),
        ("sigma=1e-5", "sigma", 1e-5),
        ("sigma=1E3", "sigma", 1000.0),
        ("sigma=2", "sigma", 2.0),
        ("sigma=", "sigma", None),
        ("sigma=null", "sigma", None),
        (" rate = 0 ", "rate", 0.0),
        ("votes=7", "votes", 7),
        ("votes=7.0", "votes", 7),
        ("layers=3", "layers", 3),
        ("layers=[0, 2]", "layers", (0, 2)),
        ("layers=[embeddings, 1]", "layers", ("embeddings", 1)),
        ("layers=[]", "layers", ()),
        ("output=mean-logit", "output", "mean-logit"),
        ("switch=true", "switch", True),
        ("name=a=b", "name", "a=b"),
        ("extra={a: 1}", "extra", {"a": 1}),
    ],
)
def test_values_are_read_as_what_they_mean(text: str, name: str, value: object) -> None:
    found = getattr(from_text(text), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sigma=-1e-9", "example: sigma must be at least 0, got -1e-09"),
        ("sigma=nan", "sigma must be a finite number, got nan"),
        ("sigma=.inf", "the number inf is not finite"),
        ("sigma=loud", "sigma must be a number or empty, got 'loud'"),
        ("sigma=true", "sigma must be a number or empty, got True"),
        ("sigma=[1]", r"sigma must be a number or empty, got \[1\]"),
        ("rate=1.0001", "rate must be at most 1, got 1.0001"),
        ("rate=", "rate must be a number, got None"),
        ("votes=0", "votes must be at least 1, got 0"),
        ("votes=2.5", "votes must be a whole number, got 2.5"),
        ("votes=true", "votes must be a whole number, got True"),
        ("votes=five", "votes must be a whole number, got 'five'"),
        ("layers=-1", "layers must be at least 0"),
        ("layers=[0, top]", "layers must be .* list of .* values or empty, got"),
        ("layers=true", "layers must be"),
        ("output=votes", "output must be one of 'vote', 'mean-logit', got 'votes'"),
        ("output=[vote]", "output must be one of"),
        ("switch=1", "switch must be true or false, got 1"),
        ("name=3", "name must be text, got 3"),
        ("extra=3", "extra must be names and values or empty, got 3"),
        (f"rate=1{'0' * 400}", "a number has more than 100 characters"),
        (f"votes=-1{'0' * 30}", "a whole number has more than 64 bits"),
    ],
)
def test_wrong_values_are_refused_naming_owner_setting_and_value(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_text(text)


@pytest.mark.parametrize("text", ["sigma", "=3", " =3", "", "layers=[0", "name='x"])
def test_what_is_no_assignment_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        parse_assignments([text])


def test_the_last_of_repeated_assignments_counts() -> None:
    assert from_text("votes=3", "votes=4").votes == 4


def test_an_unknown_name_is_answered_with_the_nearest_one_and_all_others() -> None:
    with pytest.raises(
        UsageError, match=r"example has no setting 'sgima'. Did you mean 'sigma'\? Its settings: sigma, rate"
    ):
        made(sgima=0.3)
    with pytest.raises(UsageError, match=r"no setting 'qqq'. Its settings") as refusal:
        made(qqq=1)
    assert "Did you mean" not in str(refusal.value)


def test_a_class_without_settings_says_so() -> None:
    @dataclass(frozen=True)
    class Nothing:
        pass

    assert build(Nothing, {}, owner="nothing") == Nothing()
    with pytest.raises(UsageError, match="Its settings: none"):
        build(Nothing, {"sigma": 1}, owner="nothing")


def test_defaults_are_kept_and_checked() -> None:
    assert made() == Example()

    @dataclass(frozen=True)
    class Wrong:
        share: float = setting(2.0, "A share", at_most=1)

    with pytest.raises(UsageError, match="share must be at most 1, got 2"):
        build(Wrong, {}, owner="wrong")


def test_settings_are_described_for_the_user() -> None:
    described = {info.name: info for info in describe_settings(Example)}
    assert list(described)[:3] == ["sigma", "rate", "votes"]
    assert (described["votes"].default, described["votes"].help) == (5, "Votes (k)")


@pytest.mark.parametrize("value", ["vote", "mean-logit"])
def test_values_of_the_right_type_pass_unchanged(value: str) -> None:
    original = Example(sigma=0.25, layers=(0, "embeddings"), output=value, switch=True)  # type: ignore[arg-type]
    assert build(Example, vars(original), owner="example") == original


@pytest.mark.parametrize("seed", [-1, 5_000_000_000, 10**40, 0.5, "7", True])
def test_a_seed_is_a_whole_number_that_every_generator_takes(seed: object) -> None:
    with pytest.raises(UsageError, match="--seed must be"):
        check_seed(seed)  # type: ignore[arg-type]


def test_seeds_at_the_ends_of_the_range_and_secret_ones_pass() -> None:
    for seed in (None, 0, LARGEST_SEED):
        check_seed(seed)
