"""Certifying a run: kept and resumed, refused where nothing can be promised, read as words."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import unfooled
from tiny_models import TEXTS, tiny_classifier
from unfooled.api.certify import certify
from unfooled.api.jobs.certify_job import CertifyProgress, read_certificates
from unfooled.api.load import load, save
from unfooled.certificates import certifier
from unfooled.certificates.distances import distances
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError, UserError
from unfooled.models import TextModel
from unfooled.predictors import CertifiedMasked, Classifier, Plain, RandomWordMask, SynonymVote, TwoStep, Vote

NOISY = Vote(sigma=0.3, noise_layers=("embeddings",))
QUICK: dict[str, Any] = {"sampling": Sampling(n=200), "reading": Reading(antonyms=False)}


@pytest.fixture(scope="module")
def model() -> TextModel:
    return tiny_classifier("bert", labels=2, seed=3)


def deployed(model: TextModel, predictor: Any, **changes: Any) -> Classifier:
    return Classifier(model, predictor, labels=["down", "up"], **changes)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "synonyms.json"
    path.write_text(json.dumps({"good": ["fine"], "film": ["movie", "zzz"], "dull": ["flat", "bad"]}))
    return str(path)


@pytest.fixture
def run(model: TextModel, tmp_path: Path) -> Path:
    save(deployed(model, NOISY, defence="noise-augment", task={"kind": "single"}), tmp_path / "run")
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows([[text, "up" if number % 2 else "down"] for number, text in enumerate(TEXTS)])
        writer.writerow(["who knows", "sideways"])
    return tmp_path / "run"


def test_the_verb_and_the_room_share_a_name(model: TextModel) -> None:
    report = unfooled.certify(deployed(model, NOISY), ["a good film"], threat="l2", **QUICK)
    assert report[0].threat == "l2" and len(report) == 1 and list(report) == [report[0]]
    from unfooled.statistics import bounds

    assert unfooled.statistics.bounds is bounds  # type: ignore[attr-defined]


@pytest.mark.full
@pytest.mark.parametrize(
    ("predictor", "threat", "forwards"),
    [
        (NOISY, "l2", 1),
        (NOISY, "linf", 1),
        (Vote(sigma=0.3, noise_layers=("embeddings",), kind="laplace"), "l1", 1),
        (CertifiedMasked(sigma=0.3), "l2", 2),
        (RandomWordMask(kept=1), "words", 1),
        (SynonymVote(table="TABLE"), "synonyms", 1),
    ],
)
@pytest.mark.parametrize("adaptive", [False, True])
def test_every_threat_gives_certificates_in_words(
    model: TextModel, table: str, predictor: Any, threat: str, forwards: int, adaptive: bool
) -> None:
    if isinstance(predictor, SynonymVote):
        predictor = SynonymVote(table=table)
    report = certify(
        deployed(model, predictor),
        Inputs(texts=[*TEXTS, " "], labels=["up"] * 9),
        threat=threat,
        sampling=Sampling(n=200, adaptive=adaptive),
        reading=Reading(antonyms=False),
    )
    assert [one.status for one in report][-1] == "refused" and "empty" in report[8].message
    assert report.summary["counts"]["certified"] > 0
    for one in report.certificates[:8]:
        assert one.samples <= 300 and one.forwards == forwards * one.samples
        assert one.correct is (one.label == "up")
        assert one.not_covered and one.texts
        if one.status == "certified":
            assert f"«{one.label}»" in one.sentence and one.p_top > 0.5
            assert one.votes[str(one.label)] > sum(one.votes.values()) / 2
        else:
            assert one.label is None and one.radius == 0 and "No promise" in one.sentence


@pytest.mark.full
def test_pairs_are_certified_and_their_words_counted_together(model: TextModel, table: str) -> None:
    second = list(TEXTS)[::-1]
    for predictor, threat in (
        (NOISY, "l2"),
        (RandomWordMask(kept=1), "words"),
        (SynonymVote(table=table), "synonyms"),
    ):
        clf = deployed(model, predictor, task={"kind": "pair"})
        report = certify(clf, Inputs(texts=TEXTS, pairs=second), threat=threat, **QUICK)
        assert report.summary["counts"]["refused"] == 0
        assert all(len(one.texts) == 2 for one in report)


@pytest.mark.full
def test_a_killed_run_goes_on_and_ends_with_the_same_certificates(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = str(run.parent / "rows.csv")
    whole = certify(run, inputs=Inputs(data=data), out=run.parent / "whole", **QUICK)
    seen: list[CertifyProgress] = []

    def stop(progress: CertifyProgress) -> None:
        seen.append(progress)
        if progress.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify(run, inputs=Inputs(data=data), progress=stop, **QUICK)
    partial = read_certificates(run / "certificates" / "l2")
    assert not partial.about["complete"] and len(partial) == 4

    again: list[CertifyProgress] = []
    report = certify(run, inputs=Inputs(data=data), progress=again.append, **QUICK)
    assert again[0].done == 4 and again[-1].done == again[-1].total == 9
    strip = [{**one.to_dict(), "seconds": 0} for one in report]
    assert strip == [{**one.to_dict(), "seconds": 0} for one in whole]
    kept = read_certificates(run / "certificates" / "l2")
    assert kept.certificates == report.certificates and kept.summary == report.summary

    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("sampled again")

    monkeypatch.setattr(certifier, "sample_votes", never)
    assert certify(run, inputs=Inputs(data=data), **QUICK).certificates == report.certificates


@pytest.mark.full
def test_other_conditions_are_never_mixed(run: Path) -> None:
    data = str(run.parent / "rows.csv")
    starts, names = [], []
    for changes in (
        {},
        {"seed": 1},
        {"sampling": Sampling(n=300)},
        {"sampling": Sampling(n=200, alpha=0.01)},
        {"threat": "linf"},
        {"predictor": {"sigma": 0.2}},
    ):
        seen: list[int] = []
        report = certify(
            run,
            inputs=Inputs(data=data),
            progress=lambda p, s=seen: s.append(p.done),
            **{**QUICK, **changes},
        )
        starts.append(seen[0])
        names.append(report.about["result_set"]["name"])
    assert starts == [1] * 6  # the refused row alone
    assert names == ["l2", "l2-2", "l2-3", "l2-4", "linf", "l2-5"]


def test_bad_rows_are_refused_and_the_others_certified(run: Path) -> None:
    report = certify(run, inputs=Inputs(data=str(run.parent / "rows.csv")), **QUICK)
    assert report.summary["counts"]["refused"] == 1
    assert report.summary["certified_accuracy"]["n"] == 8 and report.summary["labelled"]
    assert "sideways" in report[8].message
    (note,) = report.notes  # trained for the threat
    assert "does not say which rows it was trained on" in note


@pytest.mark.parametrize(
    ("predictor", "threat", "match"),
    [
        (
            TwoStep(sigma=0.3, noise_layers=(0, 1)),
            "l2",
            r"after blocks 0, 1 only.*no certificate at the emb.*Train",
        ),
        (Plain(), "l2", "adds no noise to the embeddings.*--defence noise-augment"),
        (Vote(sigma=0.0, noise_layers=("embeddings",)), "l2", "adds no noise"),
        (NOISY, "l1", "needs Laplace noise"),
        (Vote(sigma=0.3, noise_layers=("embeddings",), kind="laplace"), "l2", "needs Gaussian noise"),
        (CertifiedMasked(), "l1", "Gaussian noise, which has no l1 certificate"),
        (NOISY, "l3", "no threat 'l3'"),
    ],
)
def test_what_cannot_be_certified_is_refused_with_the_reason_and_the_remedy(
    model: TextModel, predictor: Any, threat: str, match: str
) -> None:
    with pytest.raises(UsageError, match=match):
        certify(deployed(model, predictor), ["a good film"], threat=threat, **QUICK)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"bounds": ["laplace"]}, "no bound for l2 'laplace'"),
        ({"inputs": Inputs(texts=["a film"], labels=["sideways"])}, "no label 'sideways'"),
        ({"inputs": Inputs(texts=["a film"], labels=["up", "up"])}, "1 texts but 2 labels"),
        ({"threat": "words", "sampling": Sampling(radius=0.5)}, "counts words"),
        ({"threat": "words", "reading": Reading(substitutes="wordnet")}, "reads an l2 radius"),
        ({"limit": 0}, "limit must be at least 1"),
    ],
)
def test_wrong_settings_are_told(model: TextModel, changes: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        certify(deployed(model, NOISY), **{"inputs": ["a good film"], **QUICK, **changes})


def test_wrong_numbers_of_draws_and_inputs_that_are_no_list_are_told(model: TextModel) -> None:
    for wrong, match in (
        ({"n": 0}, "n must be at least 1"),
        ({"alpha": 2.0}, "alpha must be at most"),
        ({"radius": float("nan")}, "finite"),
    ):
        with pytest.raises(UsageError, match=match):
            Sampling(**wrong)
    with pytest.raises(UsageError, match="put it in brackets"):
        certify(deployed(model, NOISY), "a good film", **QUICK)
    with pytest.raises(UserError, match="no text"):
        certify(deployed(model, NOISY), [], **QUICK)


def test_notes_say_what_the_certificate_is_not_about(model: TextModel) -> None:
    rsmi = deployed(model, TwoStep(sigma=0.3, noise_layers=("embeddings", 1)), defence="rsmi")
    report = certify(rsmi, ["a good film"], **QUICK)
    assert "not about this run's 'two-step'" in report.notes[0]
    assert (
        "trained with the defence 'rsmi'" in report.notes[1] and "--defence noise-augment" in report.notes[1]
    )
    assert report.about["smoothing"]["blocks"] == (1,)
    untrained = certify(deployed(model, Plain()), ["a good film"], threat="words", **QUICK)
    assert "about the predictor random-mask" in untrained.notes[0]
    trained = deployed(model, RandomWordMask(), defence="random-mask")
    assert certify(trained, ["a good film"], threat="words", **QUICK).notes == []


def test_certificates_of_a_predictor_that_is_not_deployed_say_so(model: TextModel) -> None:
    plain = deployed(model, Plain(), defence="noise-augment")
    given = {"sigma": 0.3, "noise_layers": ["embeddings"], "masking": "none"}
    report = certify(plain, ["a good film"], predictor={"name": "vote", **given}, **QUICK)
    assert "another predictor (vote, sigma=0.3" in report.notes[0] and "own 'plain'" in report.notes[0]
    assert report.about["other_predictor"].startswith("vote, sigma=0.3")
    own = deployed(model, NOISY, defence="noise-augment")
    for settings, told in (
        ({"sigma": 0.2}, "vote, sigma=0.2"),
        ({"sigma": 0.3}, ""),  # as it is
        ({"votes": 50, "abstain_below": 0.6}, ""),  # how many votes are counted is not certified
    ):
        report = certify(own, ["a good film"], predictor=settings, **QUICK)
        assert report.about["other_predictor"] == told and bool(report.notes) is bool(told)


def test_a_mean_of_scores_is_not_the_majority_that_is_certified(model: TextModel) -> None:
    mean = Vote(sigma=0.3, noise_layers=("embeddings",), output="mean-logit")
    report = certify(deployed(model, mean, defence="noise-augment"), ["a good film"], **QUICK)
    assert "the majority of votes, not about this run's mean-logit" in report.notes[0]
    assert report.about["other_predictor"] == "the plain noisy vote"


def test_words_that_nothing_replaces_are_not_certified_words(model: TextModel, table: str) -> None:
    clf = deployed(model, SynonymVote(table=table), defence="safer")
    one, two, none = certify(
        clf,
        ["this long old film", "good film", "people of war"],
        threat="synonyms",
        sampling=Sampling(n=500),
        reading=Reading(antonyms=False),
    )
    assert [found.words_substitutable for found in (one, two, none)] == [1, 2, 0]
    assert one.radius <= 1 and two.radius <= 2 and none.radius == 0
    assert none.status == "certified" and "nothing in it can be replaced" in none.sentence
    assert max(one.radius, two.radius) >= 1


@pytest.mark.full
def test_a_secret_seed_is_kept_for_those_who_go_on(run: Path) -> None:
    data, out = str(run.parent / "rows.csv"), run.parent / "out"

    def stop(progress: CertifyProgress) -> None:
        if progress.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify(run, inputs=Inputs(data=data), out=out, seed=None, progress=stop, **QUICK)
    seed = json.loads((out / "certificate.json").read_text())["seed"]
    seen: list[CertifyProgress] = []
    report = certify(run, inputs=Inputs(data=data), out=out, seed=None, progress=seen.append, **QUICK)
    assert seen[0].done == 4 and report.about["seed"] == seed
    assert read_certificates(out).certificates == report.certificates
    again = certify(run, inputs=Inputs(data=data), out=run.parent / "known", seed=seed, **QUICK)
    assert [one.votes for one in again] == [one.votes for one in report]
    other = certify(run, inputs=Inputs(data=data), out=run.parent / "other", seed=None, **QUICK)
    assert other.about["seed"] != seed


def test_certificates_of_other_code_are_not_taken_over(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, seen = str(run.parent / "rows.csv"), list[int]()
    for version in (2, 3):
        monkeypatch.setattr(certifier, "CODE_VERSION", version)
        first: list[int] = []
        certify(run, inputs=Inputs(data=data), progress=lambda p, f=first: f.append(p.done), **QUICK)
        seen.append(first[0])
    assert seen == [1, 1]  # the refused row alone


def test_the_same_weights_in_another_architecture_are_another_classifier(run: Path, model: TextModel) -> None:
    other = tiny_classifier("bert", labels=2, seed=3, num_attention_heads=2)
    other.module.load_state_dict(model.module.state_dict())
    same, changed = (deployed(one, NOISY).identity() for one in (model, other))
    assert same["weights"] == changed["weights"] and same["architecture"] != changed["architecture"]
    assert load(run, device="cpu").identity()["architecture"] == same["architecture"]


def test_all_bounds_come_from_the_same_votes(model: TextModel) -> None:
    names = ["renyi", "gaussian", "pixeldp", "composed"]
    (one,) = certify(deployed(model, NOISY), ["a good film"], bounds=names, **QUICK)
    assert list(one.radii) == names and one.bound == "renyi" and one.radius == one.radii["renyi"]
    assert one.radii["pixeldp"] < one.radii["renyi"] < one.radii["gaussian"]
    (masked,) = certify(deployed(model, CertifiedMasked(sigma=0.3)), ["dull"], **QUICK)
    assert masked.bound == "composed"
    assert max(masked.votes.values()) == sum(masked.votes.values()) == 200
    # Unanimous: the radius of plain noise σ, from the exact lower bound of 200 of 200 at 0.001.
    assert masked.radius == pytest.approx(0.3 * norm.ppf(0.001 ** (1 / 200)), rel=1e-6)


def test_a_radius_is_read_as_substitutions_with_as_many_tokens(model: TextModel, table: str) -> None:
    """«zzz» has three tokens, so it is not covered and not counted."""
    clf = deployed(model, Vote(sigma=40.0, noise_layers=("embeddings",)))
    report = certify(
        clf,
        ["a good film", "dull film", "war"],
        sampling=Sampling(n=2000),
        reading=Reading(substitutes=table, antonyms=False),
    )
    vectors = model.embedding_table()

    def ids(text: str) -> tuple[int, ...]:
        return model.encode([text])[0].ids

    for one, text, changed in (
        (report[0], "a good film", [["a fine film"], ["a good movie"]]),
        (report[1], "dull film", [["flat film", "bad film"], ["dull movie"]]),
        (report[2], "war", []),
    ):
        moves = sorted(
            (max(distances(vectors, ids(text), [ids(other) for other in own])) for own in changed),
            reverse=True,
        )
        if one.status != "certified":
            continue
        assert one.words_substitutable == len(moves)
        covered = [r for r in range(len(moves) + 1) if sum(m**2 for m in moves[:r]) <= one.radius**2]
        assert one.words_covered == max(covered)
    assert any(one.words_covered for one in report)


@pytest.mark.network
def test_antonyms_inside_the_certificate_are_counted(model: TextModel) -> None:
    texts = ["a good film", "the long day"]
    loud = certify(
        deployed(model, Vote(sigma=40.0, noise_layers=("embeddings",))), texts, sampling=Sampling(n=2000)
    )
    quiet = certify(
        deployed(model, Vote(sigma=0.01, noise_layers=("embeddings",))), texts, sampling=Sampling(n=200)
    )
    certified = [one for one in loud if one.status == "certified"]
    assert certified
    for one in certified:
        assert 0 < one.antonyms_inside <= one.antonyms_considered  # type: ignore[operator]
    assert ("good", "bad") in loud[0].antonym_examples
    assert [one.antonyms_inside for one in quiet] == [0, 0]
    assert quiet.summary["obstinacy"]["antonyms_inside"] == 0
    assert loud.summary["obstinacy"]["texts"]["count"] > 0
    # Any word may be replaced: then every antonym lies inside, whatever its tokens.
    words = certify(
        deployed(model, RandomWordMask(kept=1)),
        ["good film of the long war so bad"],
        threat="words",
        sampling=Sampling(n=500),
    )
    if words[0].radius >= 1:
        assert words[0].antonyms_inside == words[0].antonyms_considered > 0


def test_embedding_table_is_what_the_model_reads(model: TextModel) -> None:
    batch = model.batch(model.encode(["a good film"]))
    np.testing.assert_array_equal(
        model.embedding_table()[batch.ids[0].numpy()], model.start(batch)[0].detach().numpy()
    )
