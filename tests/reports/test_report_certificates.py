"""What the report says of certificates: whose they are, at which error rate, and of how many answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_report_page import page
from test_report_results import cells, tables

from run_folders import MakeRun, certificate, write_certificates
from unfooled.api.read_evidence import read_report_data
from unfooled.reports.sentences import spoken

OWN = {"name": "vote", "sigma": 0.2, "noise_layers": ["embeddings"], "masking": "none", "output": "vote"}


def certified(run: Path, **about: Any) -> None:
    write_certificates(
        run / "certificates" / "l2", [certificate(0, "a", 0.3), certificate(1, "b", 0.1)], **about
    )


def test_certificates_of_another_predictor_are_marked_wherever_they_are_credited(make_run: MakeRun) -> None:
    run, own = make_run("plain"), make_run("own")
    certified(run, other_predictor="vote, sigma=0.3")
    certified(own)
    data = read_report_data([run])
    found = cells(tables(data)["verdict"])
    assert "another predictor: vote, sigma=0.3" in found["Certified ℓ2"].note
    assert "not the predictor of the run" in cells(tables(data)["certified-l2"])["Model"].note
    assert "answers of plain under another predictor (vote, sigma=0.3) are right" in spoken(data)[0]
    assert "another predictor" not in page(own).text


@pytest.mark.parametrize(
    ("predictor", "notes", "marked"),
    [
        (OWN, [], False),
        ({**OWN, "sigma": 0.3}, [], True),
        ({**OWN, "noise_layers": [0]}, [], True),
        ({**OWN, "output": "mean-logit"}, [], True),
        ({"name": "plain"}, [], True),
    ],
)
def test_folders_of_before_are_read_and_told_by_what_was_smoothed(
    make_run: MakeRun, predictor: dict[str, Any], notes: list[str], marked: bool
) -> None:
    run = make_run("old", marker={"predictor": predictor})
    certified(run, notes=notes)
    path = run / "certificates" / "l2" / "certificate.json"
    saved = json.loads(path.read_text())
    del saved["other_predictor"]
    path.write_text(json.dumps(saved))
    assert ("under another predictor (embedding-noise)" in page(run).text) is marked


def test_models_certified_at_different_error_rates_are_told_apart(make_run: MakeRun) -> None:
    one, two = make_run("one"), make_run("two")
    certified(one, sampling={"n0": 100, "n": 1000, "alpha": 0.001})
    certified(two, sampling={"n0": 100, "n": 1000, "alpha": 0.05})
    assert "a probability of at most 0.001 (one), 0.05 (two)." in page(one, two).text
    assert "a probability of at most 0.05." in page(two).text


def test_nothing_is_called_right_where_the_truth_is_unknown(make_run: MakeRun) -> None:
    run = make_run("loose")
    made = [replace(certificate(n, "a", r), truth=None, correct=None) for n, r in enumerate((0.3, 0.1))]
    write_certificates(run / "certificates" / "l2", made)
    data = read_report_data([run])
    for table in (tables(data)["verdict"], tables(data)["certified-l2"]):
        for column in table.columns:
            if column.title.startswith("Certified"):
                assert "right" not in column.meaning
    text = page(run).text
    assert "whether it is right is not known" in text and "Right and provably so" not in text
    assert "Certified share, ℓ2" in text


def test_shares_stand_beside_the_number_of_answered_inputs(make_run: MakeRun) -> None:
    from unfooled.records.certificate import Certificate

    run = make_run("some")
    refused = Certificate(9, "refused", "l2", texts=("",), message="empty")
    write_certificates(run / "certificates" / "l2", [certificate(0, "a", 0.3), refused])
    inputs = cells(tables(read_report_data([run]))["certified-l2"])["Inputs"]
    assert inputs.value == 1 and "1 more refused" in inputs.note


def test_a_covered_word_is_one_by_substitutes_with_as_many_tokens(make_run: MakeRun) -> None:
    run = make_run("words")
    made = [certificate(0, "a", 0.3, words_covered=1, words_substitutable=2)]
    write_certificates(run / "certificates" / "l2", made)
    (column,) = [
        one for one in tables(read_report_data([run]))["certified-l2"].columns if one.title == "Covers a word"
    ]
    assert "with as many tokens" in column.meaning


def test_ignored_negations_are_counted_beside_ignored_antonyms(make_run: MakeRun) -> None:
    run = make_run("deaf")
    guard = {"antonyms_inside": 1, "antonyms_considered": 2}
    made = [
        certificate(0, "a", 2.0, **guard, negations_inside=2),
        certificate(1, "b", 1.0, **guard, negations_inside=1),
    ]
    rates = {"name": "random-delete", "rates": [0.6, 0.9], "bins": [12]}
    write_certificates(run / "certificates" / "l2", made, smoothing=rates)
    found = cells(tables(read_report_data([run]))["certified-l2"])
    assert found["Ignored negations"].value == 3
    assert found["Model"].note == "random-delete, rates 0.6, 0.9, bins 12"
