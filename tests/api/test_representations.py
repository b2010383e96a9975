"""Hidden states under attack: tiny models, attacks written by hand and one made for real."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from run_folders import write_records
from tiny_attacks import Stubborn, Swap
from tiny_models import CONFIGS, tiny_model
from unfooled.api.attack import attack
from unfooled.api.jobs.attack_job import REPORT as ATTACK
from unfooled.api.jobs.attack_job import TABLE
from unfooled.api.load import load, save, wrap
from unfooled.api.represent import REPORT, represent
from unfooled.attacks.tools import Tools
from unfooled.cli.commands import app
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError, UserError
from unfooled.files import write_json
from unfooled.records.outcome import Outcome
from unfooled.records.summaries.attack_summary import attack_summary

LABELS = ("down", "up")
TEXTS = ("a gorgeous , witty film", "dull", "the story is very long and the ending was not good")


def write_model(folder: Path, family: str = "bert", *, defence: str = "standard", seed: int = 0) -> Path:
    """A random classifier as a run folder."""
    tokenizer = CONFIGS[family][1]()
    model = tiny_model(family, tokenizer, labels=2, seed=seed)
    model.config.id2label = dict(enumerate(LABELS))
    save(wrap(model, tokenizer, defence=defence), folder)
    return folder


def success(row: int, original: str | tuple[str, ...], perturbed: str | tuple[str, ...]) -> Outcome:
    texts = [text if isinstance(text, tuple) else (text,) for text in (original, perturbed)]
    return Outcome(row, "success", texts[0], truth=row % 2, perturbed=texts[1], label=1 - row % 2)


def write_attack(
    run: Path,
    outcomes: Sequence[Outcome],
    *,
    recipe: str = "swap",
    goal: str = "fickle",
    on: Path | None = None,
) -> Path:
    """An attack folder of the run, as ``unfooled attack`` leaves it behind."""
    folder = run / "attacks" / recipe
    write_json(
        folder / ATTACK,
        {
            "recipe": {"name": recipe, "goal": goal},
            "source": "texts",
            "victim": {"name": str(run), "weights": load(on or run, device="cpu").identity()["weights"]},
            "labels": list(LABELS),
            "summary": attack_summary(outcomes, goal=goal),
            "journal": write_records(folder, TABLE, [outcome.to_dict() for outcome in outcomes]),
        },
    )
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_model(tmp_path / "run")


def first_states(run: Path, *texts: str) -> list[np.ndarray[Any, Any]]:
    """The first token's states of one input by the Hugging Face model alone, embeddings left out."""
    classifier = load(run, device="cpu")
    inputs = classifier.model.tokenizer(*texts, return_token_type_ids=True, return_tensors="pt")
    with torch.no_grad():
        hidden = classifier.model.module(**inputs, output_hidden_states=True).hidden_states
    return [layer[0, 0].double().numpy() for layer in hidden[1:]]


def test_unchanged_texts_do_not_drift(run: Path) -> None:
    write_attack(run, [success(row, text, text) for row, text in enumerate(TEXTS)])
    (found,) = represent(run)["drift"]
    assert found["inputs"] == 3
    assert found["l2"] == [0.0] * 4
    assert found["cosine"] == [1.0] * 4


def test_distances_are_those_of_the_model_alone_whatever_the_lengths(run: Path) -> None:
    changed = ("a bad film", "dull and very very long", "the story is short")
    write_attack(run, [success(row, *pair) for row, pair in enumerate(zip(TEXTS, changed, strict=True))])
    report = represent(run)
    assert report["layers"] == ["embeddings", "block 1", "block 2", "block 3"]
    assert report["state"] == "first token"
    (found,) = report["drift"]
    # The embedding of the first token is the same for all texts: it only learns of them in the blocks.
    assert found["l2"][0] == 0.0
    pairs = [(first_states(run, a), first_states(run, b)) for a, b in zip(TEXTS, changed, strict=True)]
    for block in range(3):
        apart = [float(np.linalg.norm(a[block] - b[block])) for a, b in pairs]
        assert found["l2"][block + 1] == pytest.approx(np.mean(apart), rel=1e-4)
        low, high = found["l2_interval"][block + 1]
        assert high - low == pytest.approx(  # t(0.975, 2 degrees of freedom); no distance is below 0
            min(np.mean(apart), reach := 4.302653 * np.std(apart, ddof=1) / 3**0.5) + reach, rel=1e-3
        )
        alike = [
            float(a[block] @ b[block] / np.linalg.norm(a[block]) / np.linalg.norm(b[block])) for a, b in pairs
        ]
        assert found["cosine"][block + 1] == pytest.approx(np.mean(alike), rel=1e-4)


def test_pairs_are_read_as_pairs(run: Path) -> None:
    write_attack(run, [success(0, ("good film", "dull plot"), ("good film", "awful plot"))])
    (found,) = represent(run)["drift"]
    before, after = (first_states(run, "good film", second) for second in ("dull plot", "awful plot"))
    assert found["l2"][3] == pytest.approx(np.linalg.norm(before[2] - after[2]), rel=1e-4)
    assert found["l2_interval"] is None


def test_single_texts_and_pairs_are_not_mixed(run: Path) -> None:
    write_attack(run, [success(0, "good film", "bad film")])
    write_attack(run, [success(0, ("good", "film"), ("bad", "film"))], recipe="other")
    with pytest.raises(UsageError, match="differ in kind"):
        represent(run)


def test_noise_of_a_randomised_run_is_off(tmp_path: Path) -> None:
    outcomes = [success(0, "a fine film", "a flat film"), success(1, "dull", "cold")]
    found = []
    for defence in ("standard", "rsmi"):
        run = write_model(tmp_path / defence, defence=defence)
        write_attack(run, outcomes)
        found.append(represent(run)["drift"][0]["l2"])
    assert found[0] == found[1]


def test_encoder_without_a_first_token_gives_the_mean_of_its_tokens(tmp_path: Path) -> None:
    run = write_model(tmp_path / "t5", "t5")
    write_attack(run, [success(0, TEXTS[1], "flat")])
    alone = represent(run)
    assert alone["state"] == "mean of tokens"
    assert "mean" in alone["map"]["method"]
    # Padding, which a longer text in the batch brings along, has no part in the mean.
    write_attack(run, [success(0, TEXTS[1], "flat"), success(1, TEXTS[2], TEXTS[2])])
    both = represent(run)
    assert both["drift"][0]["l2"] == pytest.approx([value / 2 for value in alone["drift"][0]["l2"]], rel=1e-4)


def test_map_shows_clean_fickle_and_obstinate_texts_about_the_clean_mean(run: Path) -> None:
    write_attack(run, [success(row, text, f"{text} new") for row, text in enumerate(TEXTS)], recipe="fooler")
    write_attack(run, [success(0, TEXTS[0], "a dull film")], recipe="antonym", goal="obstinate")
    found = represent(run)["map"]
    kinds = [(point["kind"], point["row"], point["attack"]) for point in found["points"]]
    assert sorted(kinds, key=str) == sorted(
        [
            *(("clean", row, None) for row in range(3)),
            *(("fickle", row, "fooler") for row in range(3)),
            ("obstinate", 0, "antonym"),
        ],
        key=str,
    )
    clean = [point for point in found["points"] if point["kind"] == "clean"]
    assert sum(point["x"] for point in clean) == pytest.approx(0.0, abs=1e-6)
    # Three points lie in a plane, so that nothing is lost: the map keeps their distances.
    assert sum(found["explained"]) == pytest.approx(1.0)
    states = [first_states(run, TEXTS[point["row"]])[-1] for point in clean[:2]]
    apart = np.hypot(clean[0]["x"] - clean[1]["x"], clean[0]["y"] - clean[1]["y"])
    assert apart == pytest.approx(np.linalg.norm(states[0] - states[1]), rel=1e-4)
    assert [point["label"] for point in clean] == [
        "down" if point["row"] % 2 == 0 else "up" for point in clean
    ]


def test_same_call_gives_the_same_report_and_leaves_it_in_the_run(run: Path) -> None:
    write_attack(run, [success(row, text, f"{text} film") for row, text in enumerate(TEXTS)])
    first, again = represent(run), represent(run)
    assert json.loads((run / "representations/all" / REPORT).read_text(encoding="utf-8")) == again
    assert {**first, "seconds": 0} == {**again, "seconds": 0}


def test_limit_takes_the_first_successes_and_only_successes(run: Path) -> None:
    failed = Outcome(0, "failed", ("good",), truth=0, perturbed=("bad",))
    write_attack(run, [failed, *(success(row + 1, text, "cold") for row, text in enumerate(TEXTS))])
    report = represent(run, limit=2, out=run / "other")
    assert report["drift"][0]["inputs"] == 2
    assert sorted(point["row"] for point in report["map"]["points"]) == [1, 1, 2, 2]
    assert (run / "other" / REPORT).is_file() and not (run / "representations").exists()
    with pytest.raises(UsageError, match="at least 1"):
        represent(run, limit=0)


def test_attack_without_success_is_named_and_draws_nothing(run: Path) -> None:
    write_attack(run, [Outcome(0, "failed", ("good",), truth=0)])
    report = represent(run)
    assert report["drift"] == []
    assert report["without_successes"] == ["swap"]
    assert report["map"]["points"] == []


def test_missing_attacks_say_how_to_make_one(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"unfooled attack {run}"):
        represent(run)
    with pytest.raises(UsageError, match="nowhere is not an attack folder"):
        represent(run, attacks=[tmp_path / "nowhere"])


def test_attack_on_other_weights_must_be_named_and_is_marked(run: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other", seed=1)
    folder = write_attack(run, [success(0, "good", "bad")], on=other)
    with pytest.raises(UserError, match="other weights"):
        represent(run)
    assert represent(run, attacks=[folder])["drift"][0]["transfer"] is True
    assert represent(other, attacks=[folder])["drift"][0]["transfer"] is False


def test_attacks_by_the_same_recipe_are_told_apart(run: Path, tmp_path: Path) -> None:
    folder = write_attack(run, [success(0, "good", "bad")])
    names = [one["attack"] for one in represent(run, attacks=[folder, folder])["drift"]]
    assert all(name.startswith("swap (") for name in names)


def test_command_shows_what_real_attacks_did(run: Path) -> None:
    answers = load(run, device="cpu").predict(list(TEXTS))
    rows = "".join(f'"{text}",{answer.label}\n' for text, answer in zip(TEXTS, answers, strict=True))
    (run / "own.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    for recipe in (Swap(replacement="awful"), Stubborn(replacement="fine")):
        attack(
            run,
            inputs=Inputs(data=str(run / "own.csv")),
            recipe=recipe,
            tools=Tools(validity=False),
            device="cpu",
        )
    result = CliRunner().invoke(app, ["represent", str(run), "--device", "cpu", "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["drift"][0]["attack"] == "stubborn" and report["drift"][0]["goal"] == "obstinate"
    assert report["command"].startswith("unfooled")
    shown = CliRunner().invoke(app, ["represent", str(run), "--attack", str(run / "attacks/stubborn")])
    assert shown.exit_code == 0, shown.output
    assert "stubborn: " in shown.output and "block 3" in shown.output
