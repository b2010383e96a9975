"""Attacks, certificates, repeats and hidden states: what the page says of them, to whom they belong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_report_page import Checker, html_of, page, sections

from run_folders import (
    CONFIG,
    MakeRun,
    certificate,
    outcome,
    write_attack,
    write_certificates,
    write_everything,
    write_repeats,
    write_representations,
)
from unfooled.api.read_evidence import read_report_data
from unfooled.errors import UserError
from unfooled.hub.fingerprint import weights_of_folder, weights_of_module
from unfooled.records.evidence import Evidence
from unfooled.reports import filled_sections
from unfooled.reports.certified import certified_at, rounded_down, useful_radius
from unfooled.reports.tables import Table


def tables(data: Evidence) -> dict[str, Table]:
    found = [table for section in filled_sections(data) for table in section["content"].get("tables", ())]
    return {table.name: table for table in found}


def cells(table: Table, row: int = 0) -> dict[str, Any]:
    return {column.title: cell for column, cell in zip(table.columns, table.rows[row], strict=True)}


def outcomes(success: int, failed: int, **fresh: Any) -> list[dict[str, Any]]:
    made = [outcome(number, f"text {number} fine", "success", **fresh) for number in range(success)]
    held = range(success, success + failed)
    return made + [outcome(number, f"text {number} fine", "failed") for number in held]


def test_everything_measured_has_its_section(tmp_path: Path) -> None:
    checked = page(write_everything(tmp_path / "run"))
    expected = (
        "verdict attacks mistakes certified obstinacy costs repeats hidden examples training setup reproduce"
    )
    assert sections(checked) == [*expected.split(), "untested"]
    navigation = {attributes["href"] for attributes in checked.all("a")}
    assert {f"#{anchor}" for anchor in sections(checked)} <= navigation


def test_worst_attack_is_named_with_its_numbers(make_run: MakeRun) -> None:
    run = make_run("plain")
    write_attack(run / "attacks" / "pwws", outcomes(2, 8), recipe="pwws")
    write_attack(run / "attacks" / "textfooler", outcomes(7, 3))
    write_attack(run / "attacks" / "negation", outcomes(10, 0), recipe="negation", goal="obstinate")
    found = cells(tables(read_report_data([run]))["verdict"])
    assert found["Worst attack"].text == "textfooler"
    assert found["Right under it"].value == 0.3
    assert found["Right under it"].low < 0.3 < found["Right under it"].high
    assert found["Obstinate"].value == 1.0
    assert (
        "Of 100 texts, plain classifies 100 correctly (72 to 100; measured on 10); an attacker who replaces "
        "words by near-synonyms (textfooler) leaves 30 (11 to 60)." in page(run).text
    )


def test_every_recipe_says_what_its_attacker_does() -> None:
    from unfooled.attacks.registry import IMAGE_RECIPES, QUESTION_RECIPES, RECIPES

    ours = [one for own in (RECIPES, IMAGE_RECIPES, QUESTION_RECIPES) for one in own.values()]
    ours = [one for one in ours if one.__module__.startswith("unfooled.")]
    assert len(ours) >= 18
    for one in ours:
        assert one.does[0].islower() and one.does[-1] != ".", one.name


def test_worst_re_verified_attack_may_be_another_one(make_run: MakeRun) -> None:
    run = make_run("noisy")
    lucky = outcomes(8, 2, fresh_successes=1, fresh_total=20)
    real = outcomes(5, 5, fresh_successes=20, fresh_total=20)
    write_attack(run / "attacks" / "textfooler", lucky, randomised=True)
    write_attack(run / "attacks" / "adaptive", real, recipe="adaptive", randomised=True)
    found = cells(tables(read_report_data([run]))["verdict"])
    assert (found["Worst attack"].text, found["Right under it"].value) == ("textfooler", 0.2)
    assert found["Re-verified"].value == 0.5
    assert "by adaptive" in found["Re-verified"].note
    text = page(run).text
    assert "(textfooler) leaves 20 (6 to 51)" in text
    assert (
        "if only changes count that fool it in most repeats, 50 (24 to 76) stay right under adaptive" in text
    )


def test_models_are_ranked_by_the_attacks_that_all_met_on_the_same_inputs(make_run: MakeRun) -> None:
    strong, weak = make_run("strong"), make_run("weak")
    write_attack(strong / "attacks" / "textfooler", outcomes(5, 95))
    write_attack(weak / "attacks" / "textfooler", outcomes(95, 5))
    best = "strong holds up best: of 100 texts, 95 stay right under textfooler, against 5 for weak."
    text = page(strong, weak).text
    assert best[0].upper() + best[1:] in text and "no ranking" not in text
    write_attack(weak / "attacks" / "pwws", outcomes(100, 0), recipe="pwws")
    text = page(strong, weak).text
    assert "did not all meet the same attacks, so their worst cases are no ranking" in text
    assert f"all of them met (textfooler), {best.replace('textfooler', 'the worst of these')}" in text


@pytest.mark.parametrize("differ", ["inputs", "settings", "limits", "fewer"])
def test_models_that_met_other_inputs_or_another_attack_are_not_ranked(
    make_run: MakeRun, differ: str
) -> None:
    strong, weak = make_run("strong"), make_run("weak")
    write_attack(strong / "attacks" / "textfooler", outcomes(5, 95))
    rows, about = outcomes(95, 5), {}
    if differ == "inputs":
        rows = [{**row, "original": [f"other {row['row']}"]} for row in rows]
    elif differ == "fewer":
        rows = rows[:99]
    else:
        recipe = {"name": "textfooler", "paper": "", "goal": "fickle", "settings": {"candidates": 5}}
        about = {"recipe": recipe} if differ == "settings" else {"limits": {"query_budget": 9}}
    folder = write_attack(weak / "attacks" / "textfooler", rows)
    saved = json.loads((folder / "attack.json").read_text())
    (folder / "attack.json").write_text(json.dumps(saved | about))
    text = page(strong, weak).text
    assert "strong and weak did not meet the same attacks on the same inputs, so this is no ranking" in text
    assert "holds up best" not in text and "inputs: no ranking." in text


def test_a_gain_that_may_be_chance_is_said(make_run: MakeRun) -> None:
    first, second = make_run("first"), make_run("second")
    write_attack(first / "attacks" / "textfooler", outcomes(4, 6))
    write_attack(second / "attacks" / "textfooler", outcomes(5, 5))
    text = page(first, second).text
    assert "No model is shown to hold up best: of 100 texts, 60 stay right under textfooler for first" in text
    assert "against 50 for second; counted input by input, the gain over second may be chance." in text


def test_models_are_compared_input_by_input(make_run: MakeRun) -> None:
    """Of 100 texts 40 and 50 break, the 40 among the 50: the intervals overlap, the gain is certain."""
    defence = {"name": "rsmi", "settings": {}}
    hard, plain = make_run("hard", marker={"defence": defence}), make_run("plain")
    write_attack(
        hard / "attacks" / "one", outcomes(40, 60, fresh_successes=0, fresh_total=9), randomised=True
    )
    write_attack(plain / "attacks" / "one", outcomes(50, 50))
    data = read_report_data([hard, plain])
    gain = cells(tables(data)["gains"])
    assert (gain["Model"].value, gain["Over"].value, gain["Attack"].value) == ("hard", "plain", "textfooler")
    assert gain["Inputs"].value == 100 and gain["RAcc gained"].text == "+10.0"
    assert 0 < gain["RAcc gained"].low < 0.1 < gain["RAcc gained"].high < 0.2
    assert gain["RAcc gained, re-verified"].text == "+50.0"
    ours, theirs = (one.attacks[0].rate("racc") for one in data.models)
    assert ours["interval"][0] < theirs["interval"][1]
    assert "Hard holds up best: of 100 texts, 60 stay right" in page(hard, plain).text
    assert len(tables(data)["gains"].rows) == 1, "the plain model is not compared with itself"


@pytest.mark.parametrize("goal", ["fickle", "obstinate"])
def test_inputs_that_one_model_could_not_be_attacked_on_are_left_out_of_the_gain(
    make_run: MakeRun, goal: str
) -> None:
    first, second = make_run("first"), make_run("second")
    rows = outcomes(5, 5)
    write_attack(first / "attacks" / "one", [{**rows[0], "status": "not-attackable"}, *rows[1:]], goal=goal)
    write_attack(
        second / "attacks" / "one", [*rows[:8], {**rows[8], "status": "skipped"}, rows[9]], goal=goal
    )
    found = tables(read_report_data([first, second]))
    gain = cells(found["gains" if goal == "fickle" else "obstinate-gains"])
    assert (gain["Model"].value, gain["Inputs"].value) == ("second", 9)
    assert gain["RAcc gained"].value == pytest.approx(-1 / 9)


def test_every_class_has_its_accuracy_clean_and_under_the_worst_attack(make_run: MakeRun) -> None:
    run = make_run("noisy")
    lucky = {"fresh_successes": 1, "fresh_total": 20}
    rows = [outcome(n, f"text {n}", "success", truth=0, first_label=0, **lucky) for n in range(18)]
    rows += [outcome(n, f"text {n}", "failed", truth=0, first_label=0) for n in range(18, 20)]
    rows += [outcome(n, f"text {n}", "failed") for n in range(20, 55)]
    rows += [outcome(n, f"text {n}", "skipped", first_label=0) for n in range(55, 60)]
    write_attack(run / "attacks" / "textfooler", rows, randomised=True)
    table = tables(read_report_data([run]))["classes"]
    negative, positive = cells(table, 0), cells(table, 1)
    assert [one["True class"].text for one in (negative, positive)] == ["negative", "positive"]
    assert negative["Clean accuracy"].value == 0.862 and negative["Clean accuracy"].n == 500
    assert (negative["Before"].value, negative["Under the worst attack"].value) == (1.0, 0.1)
    assert negative["Re-verified"].value == 1.0, "luck is no success"
    assert (positive["Before"].value, positive["Under the worst attack"].value) == (0.875, 0.875)
    assert positive["Under the worst attack"].n == 40 and positive["Attacked inputs"].value == 40
    assert negative["True class"].note == "few inputs: 20 attacked" and positive["True class"].note == ""
    assert "noisy is weakest on negative: 10.0 % of its inputs stay right under textfooler" in page(run).text


def test_cost_of_a_thousand_answers_is_told_with_the_machine(make_run: MakeRun) -> None:
    cheap, dear = make_run("cheap"), make_run("dear", test={"forwards_per_example": 30.0, "seconds": 200.0})
    metrics = json.loads((dear / "metrics.json").read_text())
    (dear / "metrics.json").write_text(json.dumps(metrics | {"machine": "Abacus 3, 2 threads, float32"}))
    table = tables(read_report_data([cheap, dear]))["costs"]
    first, second = cells(table, 0), cells(table, 1)
    assert first["Forward passes per 1,000 answers"].value == 1000 and first["Measured on"].value is None
    assert second["Times the cheapest"].value == 30 and second["Time per 1,000 answers"].value == 200
    assert second["Measured on"].text == "Abacus 3, 2 threads, float32"
    told = "1,000 answers take 1,000 forward passes (4.0 s) with cheap and 30,000 (3 min 20 s) with dear."
    assert told in page(cheap, dear).text
    old = make_run("old", test={"seconds": None})
    assert "1,000 answers take 1,000 forward passes with old." in page(old).text


def test_verdict_names_the_largest_gaps(make_run: MakeRun) -> None:
    first, second = make_run("first"), make_run("second")
    write_attack(first / "attacks" / "adaptive", outcomes(1, 9), recipe="adaptive")
    write_attack(second / "attacks" / "textfooler", outcomes(1, 9))
    told = "Not tested: an attacker who knows the defence (second), changes of meaning, certificates and data"
    assert f"{told} from elsewhere." in page(first, second).text


def test_page_says_which_attacks_were_not_run(make_run: MakeRun) -> None:
    run = make_run("plain")
    write_attack(run / "attacks" / "textfooler", outcomes(1, 9))
    text = page(run).text
    assert "Only textfooler was tried" in text
    assert "The adaptive attack was not run on plain" in text
    assert "No answer was proved stable" in text
    write_attack(run / "attacks" / "adaptive", outcomes(1, 9), recipe="adaptive")
    assert "The adaptive attack was not run" not in page(run).text


def test_unfinished_attack_and_spent_budget_are_said(make_run: MakeRun) -> None:
    run = make_run("plain")
    rows = [*outcomes(1, 1), outcome(9, "long text here", "failed", budget_spent=True)]
    write_attack(run / "attacks" / "textfooler", rows, complete=False)
    text = page(run).text
    assert "the attack is not finished" in text
    assert "the attack ran out of queries or time on 1 inputs; a longer one may succeed" in text
    rows = [outcome(row, f"text {row}", "failed", budget_spent=True, limit_hit="time") for row in range(2)]
    rows += [outcome(9, "text 9", "failed", budget_spent=True, limit_hit="queries")]
    write_attack(run / "attacks" / "pwws", rows, recipe="pwws")
    assert "pwws: the attack ran out of queries on 1 inputs and out of time on 2 inputs" in page(run).text


def test_inputs_on_which_nothing_was_tried_are_said(make_run: MakeRun) -> None:
    run = make_run("plain")
    write_attack(run / "attacks" / "textfooler", outcomes(1, 1))  # from before this was written down
    assert "nothing was tried" not in page(run).text
    rows = [outcome(row, f"text {row}", "failed", tried=row > 22) for row in range(1, 26)]
    write_attack(run / "attacks" / "bae", rows, recipe="bae")
    assert (
        "plain, bae: on 22 inputs the constraints rejected every candidate, so nothing was tried; "
        "they count as right." in page(run).text
    )


def test_predictor_that_was_not_the_runs_own_is_said(make_run: MakeRun, rsmi_marker: dict[str, Any]) -> None:
    run = make_run("rsmi", marker=rsmi_marker)
    predictor = rsmi_marker["predictor"] | {"first_votes": 9}
    write_attack(run / "attacks" / "textfooler", outcomes(1, 1), victim={"predictor": predictor})
    assert "another predictor than the run's own (first_votes=9)" in page(run).text


def test_attack_kept_elsewhere_belongs_to_the_run_with_its_weights(make_run: MakeRun, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    run = make_run("plain")
    model = torch.nn.Linear(3, 2)
    save_file(model.state_dict(), run / "model.safetensors", metadata={"format": "pt"})
    assert weights_of_folder(run) == weights_of_module(model)
    mine = write_attack(tmp_path / "mine", outcomes(1, 1), victim={"weights": weights_of_folder(run)})
    other = write_attack(
        tmp_path / "other", outcomes(1, 3), victim={"weights": "0" * 64, "name": "elsewhere"}
    )
    data = read_report_data([run, mine, other])
    assert [(model.name, len(model.attacks), model.run is None) for model in data.models] == [
        ("plain", 1, False),
        ("elsewhere", 1, True),
    ]
    assert "elsewhere" in page(run, mine, other).text


def test_attack_folder_alone_is_a_report(tmp_path: Path) -> None:
    checked = page(write_attack(tmp_path / "attack", outcomes(3, 1)))
    assert "an attacker who replaces words by near-synonyms (textfooler) leaves 25" in checked.text
    assert "on movie-reviews (test)" in checked.text
    assert "setup" not in sections(checked)


def test_same_recipe_twice_is_told_apart(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run("plain")
    for name in ("textfooler", "textfooler-long"):
        write_attack(run / "attacks" / name, outcomes(1, 1))
    (model,) = read_report_data([run]).models
    assert [one.name for one in model.attacks] == ["textfooler", "textfooler (textfooler-long)"]


def test_certified_accuracy_counts_right_and_certified(make_run: MakeRun) -> None:
    run = make_run("smooth")
    made = [
        certificate(0, "a", 0.3),
        certificate(1, "b", 0.1),
        certificate(2, "c", 0.5, correct=False),
        certificate(3, "d", None),
    ]
    write_certificates(run / "certificates" / "l2", made)
    data = read_report_data([run])
    (found,) = data.models[0].certified
    assert certified_at(found, 0.0)["value"] == 0.5
    assert certified_at(found, 0.2)["value"] == 0.25
    assert certified_at(found, 0.3)["value"] == 0.25
    assert certified_at(found, 0.2, "renyi")["value"] == 0.0
    assert useful_radius(data, "l2") == 0.1
    bounds = cells(tables(data)["bounds-l2"])
    assert bounds["gaussian"].value == pytest.approx(2 * bounds["renyi"].value)
    text = page(run).text
    assert "within a Euclidean distance of R" in text
    assert "Not covered: words added." in text
    assert "50.0 % of 4 answers of smooth are right and certified for ≥ 0.1" in text


def test_verdict_counts_certificates_that_cover_a_word(make_run: MakeRun) -> None:
    run = make_run("masked")
    made = [certificate(row, "a", radius, unit="words") for row, radius in enumerate((0, 0, 1, None))]
    write_certificates(run / "certificates" / "words", made, threat="words")
    assert "25.0 % of 4 answers of masked are right and certified for ≥ 1 word" in page(run).text


@pytest.mark.parametrize(
    ("value", "shown"), [(0.1299, 0.12), (0.1, 0.1), (12.9, 12.0), (0.0, 0.0), (3.0, 3.0)]
)
def test_useful_radius_is_never_rounded_up(value: float, shown: float) -> None:
    assert rounded_down(value) == shown


def test_runs_that_differ_by_seed_are_summed_up(make_run: MakeRun) -> None:
    runs = []
    for seed, accuracy in enumerate((0.81, 0.83, 0.85)):
        test = {"accuracy": accuracy, "accuracy_interval": [accuracy - 0.02, accuracy + 0.02]}
        runs.append(make_run(f"s{seed}", test=test))
        config = yaml.safe_load(CONFIG) | {"seed": seed}
        (runs[-1] / "config.yaml").write_text(yaml.safe_dump(config))
        write_attack(runs[-1] / "attacks" / "textfooler", outcomes(5 + seed, 5 - seed))
    table = tables(read_report_data(runs))["seeds"]
    clean, attacked = cells(table), cells(table, 1)
    assert (clean["Seeds"].value, clean["Mean"].value) == (3, pytest.approx(0.83))
    assert clean["Std"].value == pytest.approx(0.02)
    assert (attacked["Measure"].text, attacked["Mean"].value) == ("RAcc, textfooler", pytest.approx(0.4))
    assert "Other seeds" not in page(*runs).text


def test_runs_with_other_settings_are_no_seeds(make_run: MakeRun) -> None:
    first, second = make_run("first"), make_run("second")
    (second / "config.yaml").write_text(
        CONFIG.replace("seed: 0", "seed: 1").replace("epochs: 1.0", "epochs: 2.0")
    )
    assert "seeds" not in tables(read_report_data([first, second]))


def benchmark(folder: Path, run: Path, cells: list[dict[str, Any]], published: Any = None) -> Path:
    (folder / "runs").mkdir(parents=True)
    run.rename(folder / "runs" / run.name)
    (folder / "benchmark.json").write_text(json.dumps({"format": 1, "name": "mini", "cells": cells}))
    (folder / "plan.yaml").write_text(yaml.safe_dump({"name": "mini", "published": published}))
    return folder


def test_runs_of_one_benchmark_go_by_what_tells_them_apart(make_run: MakeRun) -> None:
    called = "{}-rsmi-s0", "{}-rsmi-nomask-s0", "{}-rsmi-s1"
    task = read_report_data([make_run("any")]).models[0].task
    first, second, other_seed = (make_run(name.format(task)) for name in called)
    assert [one.name for one in read_report_data([first, second]).models] == ["rsmi", "rsmi-nomask"]
    assert [one.name for one in read_report_data([first, other_seed]).models] == [first.name, other_seed.name]
    assert [one.name for one in read_report_data([first]).models] == [first.name]
    mine = make_run("mine-s0")
    assert [one.name for one in read_report_data([first, mine]).models] == [first.name, "mine-s0"]


def test_benchmark_shows_its_runs_published_figures_and_what_failed(
    make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run("movie-reviews-standard-s0")
    write_attack(run / "attacks" / "textfooler", outcomes(7, 3))
    figure = {"task": "movie-reviews", "model": "BERT", "defence": "standard", "attack": "textfooler"}
    published = {
        "source": "Nobody et al. 2023, Table 1",
        "note": "BERT-base",
        "figures": [
            figure | {"sacc": 94.2, "racc": 19.4, "asr": 79.4, "avgq": 335.3},
            figure | {"defence": "rsmi", "racc": 60.0},
        ],
    }
    states = [
        {"name": "a", "kind": "train", "status": "done", "message": ""},
        {"name": "b", "kind": "attack", "status": "failed", "message": "out of <memory>"},
    ]
    folder = benchmark(tmp_path / "bench", run, states, published)
    table = tables(read_report_data([folder]))["published"]
    ours, none = cells(table), cells(table, 1)
    assert ours["RAcc theirs"].value == pytest.approx(0.194)
    assert ours["RAcc ours"].value == 0.3
    assert ours["AvgQ theirs"].value == 335.3
    assert (none["Our model"].value, none["RAcc ours"].value) == (None, None)
    text = page(folder).text
    assert "Theirs: Nobody et al. 2023, Table 1, as published (BERT-base)" in text
    assert "out of <memory>" in text


def test_every_number_has_its_command(tmp_path: Path) -> None:
    text = page(write_everything(tmp_path / "run")).text
    for command in (
        f"unfooled train --config {tmp_path}/run/config.yaml",
        "unfooled attack runs/plain --recipe textfooler",
        "unfooled certify runs/plain --threat l2",
        f"unfooled repeat {tmp_path}/run --repeats 30 --limit 4 --seed 0",
        "unfooled represent run",
    ):
        assert command in text, command
    assert "Attack textfooler, seed 7" in text


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("attacks/textfooler/attack.json", "{}", "attack.json: victim is missing"),
        ("attacks/textfooler/attack.json", "{", "not valid JSON"),
        ("attacks/textfooler/journal.sqlite", None, "journal.sqlite is missing"),
        ("attacks/textfooler/journal.sqlite", "not a database", "cannot be read"),
        ("certificates/l2/certificate.json", "{}", "certificate.json: classifier is missing"),
        ("repeats/two-step/repeat.json", "{}", "repeat.json: inputs is missing"),
        (
            "representations/all/representations.json",
            '{"layers": [], "drift": [{"attack": "a", "inputs": 1, "l2": [1], "cosine": [1]}]}',
            "does not fit",
        ),
    ],
)
def test_damaged_results_are_refused_by_name(
    tmp_path: Path, file: str, content: str | None, words: str
) -> None:
    run = write_everything(tmp_path / "run")
    (run / file).unlink()
    if content is not None:
        (run / file).write_text(content)
    with pytest.raises(UserError, match=words) as caught:
        read_report_data([run])
    assert file.rsplit("/", 1)[0] in str(caught.value)


def test_reading_changes_no_file_of_a_run(tmp_path: Path) -> None:
    run = write_everything(tmp_path / "run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    html_of(run, script=True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def payload(html: str) -> Any:
    (block,) = re.findall(
        r'<script type="application/json" id="examples-data">(.*?)</script>', html, re.DOTALL
    )
    return json.loads(block)


def test_examples_say_what_became_of_each_text(tmp_path: Path) -> None:
    found = payload(html_of(write_everything(tmp_path / "run", examples=8), script=True))
    assert found["models"] == ["run"]
    assert found["ways"] == ["antonym", "textfooler", "certificate, l2", "clean"]
    first = found["items"][0]
    assert first["text"] == ["review number 0 is fine"]
    attacked = next(record for record in first["records"] if record["way"] == "textfooler")
    assert (attacked["outcome"], attacked["fresh"]) == ("once", [3, 20])
    assert attacked["edits"] == [[0, 19, 23, "changed"]]
    assert first["text"][0][19:23] == "fine"


def test_hostile_examples_stay_data(make_run: MakeRun) -> None:
    hostile = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> & \u2028 \x00 fine"
    run = make_run("run")
    write_attack(run / "attacks" / "textfooler", [outcome(0, hostile, "success", message=hostile)])
    html = html_of(run, script=True)
    scripts = re.findall(r"<script[^>]*>", html)
    assert scripts == ['<script type="application/json" id="examples-data">', "<script>"]
    (item,) = payload(html)["items"]
    assert item["text"][0].startswith("</script><script>alert(1)")
    assert "\x00" not in html
    assert "\u2028" not in re.findall(r'id="examples-data">(.*?)</script>', html, re.DOTALL)[0]
    assert not Checker(html_of(run)).all("script")


@pytest.mark.full
def test_thousand_long_examples_stay_below_five_megabytes(make_run: MakeRun) -> None:
    run = make_run("run")
    long = "this review goes on and on and on about everything that happened " * 20
    for name in ("textfooler", "pwws"):
        rows = [outcome(number, f"{number} {long} fine", "success") for number in range(1000)]
        write_attack(run / "attacks" / name, rows, recipe=name)
    html = html_of(run, script=True, library=["x" * 900_000])
    assert len(html.encode()) < 5_000_000
    assert len(payload(html)["items"]) == 1000


def test_what_does_not_fit_is_said(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    from unfooled.reports.sections import examples

    monkeypatch.setattr(examples, "MAX_BYTES", 1000)
    run = make_run("run")
    write_attack(run / "attacks" / "textfooler", outcomes(20, 20))
    html = html_of(run, script=True)
    kept = len(payload(html)["items"])
    assert 0 < kept < 40
    assert f"The first {kept} are here" in html


def test_script_runs_only_by_its_hash_and_nothing_loads(tmp_path: Path) -> None:
    import base64
    import hashlib

    html = html_of(write_everything(tmp_path / "run"), script=True, library=["/* one */", "/* two */"])
    policy = str(Checker(html).all("meta")[1]["content"])
    assert "default-src 'none'" in policy
    assert "script-src 'unsafe-inline'" not in policy
    sources = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(sources) == 3
    for source in sources:
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_static_page_runs_no_script_and_keeps_its_charts(tmp_path: Path) -> None:
    html = html_of(write_everything(tmp_path / "run"), script=False, library=["x"])
    checked = Checker(html)
    assert not checked.all("script")
    assert "script-src" not in html
    assert len(checked.all("figure")) >= 8
    assert "became" in checked.text
    assert all("scope" in attributes for attributes in checked.all("th"))
    assert len(checked.all("caption")) == len(checked.all("table"))


def test_every_result_set_is_shown_with_its_name(make_run: MakeRun) -> None:
    run = make_run("plain")
    write_attack(run / "attacks/textfooler", outcomes(7, 3))
    write_attack(run / "attacks/textfooler-2", outcomes(1, 1))
    few = [certificate(row, f"text {row}", 0.4) for row in range(2)]
    write_certificates(run / "certificates/l2", [*few, certificate(2, "text 2", None)])
    write_certificates(run / "certificates/best-case", few)
    for name in ("two-step", "two-step-2"):
        write_repeats(run, name=name)
        write_representations(run, name)
    data = read_report_data([run])
    found = tables(data)
    first = {name: [row[0].text for row in found[name].rows] for name in ("certified-l2", "repeats", "drift")}
    assert first["certified-l2"] == ["plain (best-case)", "plain (l2)"]
    assert first["repeats"] == first["drift"] == ["plain (two-step)", "plain (two-step-2)"]
    attacks = [row[1].text for row in found["attacks"].rows]
    assert attacks[:2] == ["textfooler", "textfooler (textfooler-2)"]
    # A small set must not stand for the model because it came out better.
    proved = cells(found["verdict"])["Certified ℓ2"]
    assert proved.n == 3 and "l2" in proved.note
