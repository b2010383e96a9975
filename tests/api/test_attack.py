"""Running attacks: outcomes of every kind, bad rows, what is reused and what is not, export."""

from __future__ import annotations

import csv
import itertools
import json
import sqlite3
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tiny_attacks import LABELS, Fill, NoisyVictim, Peek, Stubborn, Swap, scores, write_examples
from tiny_runs import write_inputs
from unfooled.api.attack import attack
from unfooled.api.inputs.load_inputs import load_inputs
from unfooled.api.jobs.attack_job import Progress, read_attack
from unfooled.api.target import open_target
from unfooled.attacks import Answer, Asked, Limits
from unfooled.attacks.tools import Tools
from unfooled.attacks.victims import FunctionVictim, as_victim
from unfooled.data.inputs import Inputs, LabelledInputs, Reader
from unfooled.errors import DataError, UsageError, UserError
from unfooled.records.outcome import Outcome
from unfooled.records.results.attack_report import AttackReport
from unfooled.records.summaries.attack_summary import cut_short
from unfooled.storage.result_sets import SetName

PLAIN: dict[str, Any] = {"recipe": Swap(), "tools": Tools(validity=False)}


def victim(function: Callable[[Any], Any] = scores, **options: Any) -> FunctionVictim:
    return FunctionVictim(function, labels=LABELS, **options)


def timeless(report: AttackReport) -> list[Outcome]:
    return [replace(outcome, seconds=0.0) for outcome in report.outcomes]


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(write_examples(tmp_path / "examples.csv"))


def test_function_is_attacked_and_every_success_fools_it(data: str) -> None:
    report = attack(victim(), inputs=Inputs(data=data), **PLAIN)
    counts = report.summary["counts"]
    assert counts["skipped"] == 8
    assert counts["success"] > 0 and counts["failed"] > 0
    assert sum(counts.values()) == report.summary["examples"] == 40
    for outcome in report.outcomes:
        if outcome.status == "success":
            assert outcome.perturbed is not None and outcome.label is not None
            ((down, up),) = scores(list(outcome.perturbed))
            assert outcome.label == int(up > down) != outcome.truth
    assert report.labels == LABELS
    assert report.about["complete"] is True
    assert not Path("attacks").exists()


def test_bad_rows_are_refused_by_row_and_the_others_attacked(tmp_path: Path) -> None:
    lines = [
        {"text": "the film is fine", "label": "up"},
        {"text": None, "label": "up"},
        {"text": "", "label": "down"},
        {"text": "dull and flat", "label": "sideways"},
        {"text": "dull and flat", "label": None},
        {"text": 7, "label": "down"},
        {"text": "half \ud800 a character", "label": "down"},
        {"text": "an awful bore", "label": "down"},
    ]
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    out = tmp_path / "out"
    report = attack(victim(), inputs=Inputs(data=str(file)), out=out, **PLAIN)
    refused = {one.row: one for one in report.outcomes if one.status == "refused"}
    assert sorted(refused) == [2, 3, 4, 5, 6, 7]
    assert all(f"line {row}" in one.message for row, one in refused.items())
    assert "sideways" in refused[4].message
    assert refused[4].original == ("dull and flat",)
    assert report.summary["attacked"] == 2
    assert report.summary["sacc"]["n"] == 2
    assert read_attack(out).outcomes == report.outcomes
    for suffix in ("csv", "jsonl", "parquet"):
        report.export(tmp_path / f"out.{suffix}")


def test_file_without_any_usable_row_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("text,label\nfine,sideways\ndull,\n")
    with pytest.raises(DataError, match=r"no row can be used.*line 2.*sideways"):
        attack(victim(), inputs=Inputs(data=str(tmp_path / "bad.csv")), **PLAIN)


def test_labels_may_be_numbers_and_a_bad_one_among_them_is_refused(tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("text,label\nso fine,1\nso dull,0\nso flat,9\nso witty,1.0\n")
    report = attack(victim(), inputs=Inputs(data=str(tmp_path / "numbers.csv")), **PLAIN)
    assert {one.row: one.truth for one in report.outcomes} == {2: 1, 3: 0, 4: None, 5: 1}


def test_victim_without_label_names_takes_numbers_and_asks_for_names(tmp_path: Path, data: str) -> None:
    (tmp_path / "numbers.csv").write_text("text,label\nso fine,1\nso dull,0\n")
    nameless = FunctionVictim(scores)
    assert (
        attack(nameless, inputs=Inputs(data=str(tmp_path / "numbers.csv")), **PLAIN).summary["sacc"]["value"]
        == 1
    )
    with pytest.raises(UsageError, match="--labels"):
        attack(FunctionVictim(scores), inputs=Inputs(data=data), **PLAIN)


def test_number_that_no_class_of_a_nameless_victim_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("text,label\nso fine,1\nso dull,0\nso flat,2\nso witty,999\n")
    report = attack(FunctionVictim(scores), inputs=Inputs(data=str(tmp_path / "numbers.csv")), **PLAIN)
    refused = {one.row: one.message for one in report.outcomes if one.status == "refused"}
    assert sorted(refused) == [4, 5]
    assert "label 999 " in refused[5] and "2 classes" in refused[5]
    assert report.summary["sacc"]["n"] == 2
    report.export(tmp_path / "out.csv")


def test_one_broken_example_is_recorded_and_tried_again_later(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("text,label\nso fine,up\nwill explode,down\nso dull,down\n")
    out = tmp_path / "out"
    broken = attack(victim(spec="test"), inputs=Inputs(data=str(file)), out=out, **PLAIN)
    assert {one.row: one.status for one in broken.outcomes if one.status == "error"} == {3: "error"}
    (error,) = (one for one in broken.outcomes if one.row == 3)
    assert "ValueError: boom" in error.message
    assert broken.summary["examples"] == 3 and broken.summary["sacc"]["n"] == 2

    asked: list[str] = []

    def mended(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return scores([text.replace("explode", "bore") for text in texts])

    again = attack(victim(mended, spec="test"), inputs=Inputs(data=str(file)), out=out, **PLAIN)
    assert again.summary["counts"]["error"] == 0
    assert asked[0] == "will explode" and not {"so fine", "so dull"} & set(asked)
    assert read_attack(out).summary == again.summary


@pytest.mark.parametrize(
    ("limits", "hit", "left"),
    [
        (Limits(time_cap=5), {"queries": 0, "time": 32}, 32),
        (Limits(query_budget=3), {"queries": 32, "time": 0}, 0),
    ],
    ids=["time", "queries"],
)
def test_what_the_time_ended_is_tried_again_and_what_the_queries_ended_is_not(
    tmp_path: Path,
    data: str,
    monkeypatch: pytest.MonkeyPatch,
    limits: Limits,
    hit: dict[str, int],
    left: int,
) -> None:
    clock = itertools.count()
    monkeypatch.setattr("unfooled.attacks.scheduler.time.perf_counter", lambda: float(next(clock)))
    wanted: dict[str, Any] = {"inputs": Inputs(data=data), "limits": limits, **PLAIN}
    out = tmp_path / "out"
    slow = attack(victim(spec="test"), out=out, **wanted, in_flight=1)
    assert slow.summary["limits_hit"] == hit
    monkeypatch.setattr("unfooled.attacks.scheduler.time.perf_counter", lambda: 0.0)
    seen: list[Progress] = []
    quick = attack(victim(spec="test"), out=out, progress=seen.append, **wanted)
    assert seen[0].done == 40 - left
    assert quick.summary["limits_hit"]["time"] == 0
    assert read_attack(out).outcomes == quick.outcomes
    assert timeless(quick) == timeless(attack(victim(), **wanted))


def test_outcome_of_a_journal_that_does_not_say_which_limit_ended_it_is_kept(
    tmp_path: Path, data: str
) -> None:
    out = tmp_path / "out"
    wanted: dict[str, Any] = {
        "inputs": Inputs(data=data),
        "out": out,
        "limits": Limits(query_budget=3),
        **PLAIN,
    }
    first = attack(victim(spec="test"), **wanted)
    with sqlite3.connect(out / "journal.sqlite") as connection:
        connection.execute("UPDATE outcomes SET result = json_remove(result, '$.limit_hit')")
    connection.close()
    old = read_attack(out)
    assert old.outcomes == tuple(replace(one, limit_hit="") for one in first.outcomes)
    seen: list[Progress] = []
    again = attack(victim(spec="test"), progress=seen.append, **wanted)
    assert seen[0].done == seen[-1].total
    assert cut_short(first.summary) != cut_short(again.summary)
    assert "queries or time" in cut_short(again.summary)


def test_unavailable_victim_ends_the_run_and_the_journal_is_kept(tmp_path: Path, data: str) -> None:
    left = 60

    def failing(texts: list[str]) -> list[list[float]]:
        nonlocal left
        left -= len(texts)
        if left < 0:
            raise UserError("The victim is gone. Start it again.")
        return scores(texts)

    out = tmp_path / "out"
    with pytest.raises(UserError, match="gone"):
        attack(victim(failing, spec="test"), inputs=Inputs(data=data), out=out, in_flight=4, **PLAIN)
    partial = read_attack(out)
    assert partial.about["complete"] is False
    assert 0 < len(partial.outcomes) < 40
    seen: list[Progress] = []
    resumed = attack(victim(spec="test"), inputs=Inputs(data=data), out=out, progress=seen.append, **PLAIN)
    assert seen[0].done == len(partial.outcomes)
    assert seen[-1].done == seen[-1].total == 40
    assert timeless(resumed) == timeless(attack(victim(), inputs=Inputs(data=data), **PLAIN))


def test_larger_limit_reuses_finished_examples(tmp_path: Path, data: str) -> None:
    asked: list[str] = []

    def counted(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return scores(texts)

    out = tmp_path / "out"
    first = attack(victim(counted, spec="test"), inputs=Inputs(data=data), out=out, limit=10, **PLAIN)
    assert len(first.outcomes) == 10
    asked.clear()
    more = attack(victim(counted, spec="test"), inputs=Inputs(data=data), out=out, limit=25, **PLAIN)
    assert len(more.outcomes) == 25
    assert not {one.original[0] for one in first.outcomes} & set(asked)
    assert more.outcomes[:10] == first.outcomes
    asked.clear()
    assert (
        attack(victim(counted, spec="test"), inputs=Inputs(data=data), out=out, limit=10, **PLAIN).outcomes
        == first.outcomes
    )
    assert asked == []


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"limits": Limits(max_changed=0.2)},
        {"recipe": Swap(replacement="stuff")},
        {"victim": victim(spec="other")},
    ],
    ids=["seed", "limits", "settings", "victim"],
)
def test_a_folder_with_results_of_other_conditions_is_refused(
    tmp_path: Path, data: str, changed: dict[str, Any]
) -> None:
    out = tmp_path / "out"
    attack(victim(spec="test"), inputs=Inputs(data=data), out=out, limit=5, **PLAIN)
    kept = (out / "attack.json").read_bytes()
    arguments = {"victim": victim(spec="test"), **PLAIN, **changed}
    with pytest.raises(UsageError, match=r"another question .* → .*choose another --out"):
        attack(arguments.pop("victim"), inputs=Inputs(data=data), out=out, limit=5, **arguments)
    assert (out / "attack.json").read_bytes() == kept


def test_edited_row_is_attacked_anew_and_the_others_are_reused(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("text,label\nso fine,up\nso dull,down\nso witty,up\n")
    known = replace(open_target(victim(spec="test")), results=tmp_path / "sets")
    attack(known, inputs=Inputs(data=str(file)), **PLAIN)
    file.write_text("text,label\nso fine,up\nso awful,down\nso witty,up\n")
    seen: list[Progress] = []
    arguments: dict[str, Any] = {"inputs": Inputs(data=str(file)), "progress": seen.append, **PLAIN}
    with pytest.raises(UsageError, match="other inputs"):
        attack(known, out=SetName("swap"), **arguments)
    report = attack(known, **arguments)
    assert report.about["result_set"]["name"] == "swap-2"
    assert seen[0].done == 2 and report.about["reuse"] == {"from_journal": 2, "asked": 1}
    assert {one.original for one in report.outcomes} == {("so fine",), ("so awful",), ("so witty",)}


def test_victim_that_cannot_be_told_apart_is_never_resumed(tmp_path: Path, data: str) -> None:
    class Nameless:
        labels = LABELS
        randomised = False

        def answers(self, asked: list[Asked]) -> list[Answer]:
            return [Answer(tuple(row), int(row[1] > 0.5)) for row in scores([a.query[0] for a in asked])]

    for number, unknown in enumerate((Nameless(), victim(lambda texts: scores(texts)))):
        arguments: dict[str, Any] = {"inputs": Inputs(data=data), "out": tmp_path / str(number), **PLAIN}
        attack(unknown, limit=3, **arguments)
        with pytest.raises(UsageError, match="may be another one"):
            attack(unknown, limit=3, **arguments)


class Holder:
    """A model of the caller's own."""

    def __init__(self, up: float) -> None:
        self.up = up

    def scores(self, texts: list[str]) -> list[list[float]]:
        return [[1 - self.up, self.up] for _ in texts]


def in_notebook(up: float) -> Callable[[Any], Any]:
    """What a cell of a notebook defines, under the same name each time."""
    import __main__

    exec(f"def cell(texts): return [[{1 - up}, {up}] for _ in texts]", __main__.__dict__)
    return __main__.__dict__.pop("cell")  # type: ignore[no-any-return]


def in_module(up: float, name: str = "a_module_of_the_user") -> Callable[[Any], Any]:
    """A function that was put into its module by hand, in no file."""
    module = sys.modules.setdefault(name, types.ModuleType(name))
    exec(f"def cell(texts): return [[{1 - up}, {up}] for _ in texts]", module.__dict__)
    return module.__dict__.pop("cell")  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "make",
    [
        Holder,
        lambda up: Holder(up).scores,
        lambda up: partial(Holder.scores, Holder(up)),
        in_notebook,
        in_module,
    ],
    ids=["object", "method", "partial", "notebook", "module"],
)
def test_function_redefined_under_its_name_does_not_get_the_old_results(
    tmp_path: Path, make: Callable[[float], Any]
) -> None:
    (tmp_path / "numbers.csv").write_text("text,label\nso fine,1\nso dull,1\n")
    arguments: dict[str, Any] = {"inputs": Inputs(data=str(tmp_path / "numbers.csv")), **PLAIN}
    names, answers = [], []
    for up in (0.9, 0.2):
        report = attack(replace(open_target(make(up)), results=tmp_path / "sets"), **arguments)
        names.append(report.about["result_set"]["name"])
        answers.append([one.first_label for one in report.outcomes])
    assert answers == [[1, 1], [0, 0]] and names == ["swap", "swap-2"]
    # Whoever vouches for it by a name has the results back.
    arguments["out"] = tmp_path / "out"
    first, second = (attack(as_victim(make(up), spec="my model"), **arguments) for up in (0.9, 0.2))
    assert first.outcomes == second.outcomes


def test_function_of_a_module_is_known_by_the_text_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "numbers.csv").write_text("text,label\nso fine,1\nso dull,1\n")
    (tmp_path / "front_of_victim.py").write_text("from back_of_victim import scores\n")
    arguments: dict[str, Any] = {"inputs": Inputs(data="numbers.csv"), **PLAIN}
    done = []

    def attacked(what: Any, progress: Callable[[Progress], None]) -> None:
        attack(replace(open_target(what), results=tmp_path / "sets"), progress=progress, **arguments)

    for up in (0.75, 0.75, 0.25):
        (tmp_path / "back_of_victim.py").write_text(
            f"def scores(texts): return [[{1 - up}, {up}] for _ in texts]\n"
        )
        for name in ("front_of_victim", "back_of_victim"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        for spec in ("front_of_victim:scores", "back_of_victim:scores"):
            seen: list[Progress] = []
            attacked(spec, seen.append)
            done.append(seen[0].done)
        # The function itself is the one that the name points to.
        seen = []
        attacked(sys.modules["back_of_victim"].scores, seen.append)
        assert seen[0].done == 2
    assert done == [0, 0, 2, 2, 0, 0]


def test_numbers_of_nameless_classes_stay_when_nothing_is_left_to_do(tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("text,label\nso fine,1\nso dull,0\n")
    for _ in range(2):
        again = attack(
            FunctionVictim(scores, spec="scores"),
            inputs=Inputs(data=str(tmp_path / "numbers.csv")),
            out=tmp_path / "out",
            **PLAIN,
        )
        assert again.labels == ("0", "1") == read_attack(tmp_path / "out").labels


@pytest.mark.parametrize("noisy", [False, True], ids=["fixed", "randomised"])
def test_number_in_flight_changes_nothing(data: str, noisy: bool) -> None:
    reports = [
        attack(NoisyVictim() if noisy else victim(), inputs=Inputs(data=data), in_flight=number, **PLAIN)
        for number in (1, 3, 64)
    ]
    assert timeless(reports[0]) == timeless(reports[1]) == timeless(reports[2])


def test_success_against_a_randomised_victim_is_asked_for_again_with_fresh_keys(data: str) -> None:
    noisy = NoisyVictim()
    report = attack(noisy, inputs=Inputs(data=data), limits=Limits(fresh_predictions=25), **PLAIN)
    successes = [one for one in report.outcomes if one.status == "success"]
    assert successes and all(one.fresh_total == 25 for one in successes)
    assert len({one.key for one in noisy.asked}) == len(noisy.asked)
    for one in successes:
        assert sum(asked.query == one.perturbed for asked in noisy.asked) >= 26
    summary = report.summary
    assert summary["asr_verified"]["count"] == sum(one.verified for one in successes) < len(successes)
    assert summary["racc_verified"]["value"] > summary["racc"]["value"]


def test_interrupt_leaves_a_report_of_what_is_done(tmp_path: Path, data: str) -> None:
    def stop(progress: Progress) -> None:
        if progress.done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attack(victim(), inputs=Inputs(data=data), out=tmp_path / "out", progress=stop, **PLAIN)
    partial = json.loads((tmp_path / "out/attack.json").read_text())
    assert partial["complete"] is False
    assert partial["summary"]["examples"] == 7


def test_report_says_how_to_make_it_again(tmp_path: Path, data: str) -> None:
    attack(
        victim(spec="test"),
        inputs=Inputs(data=data),
        out=tmp_path,
        seed=3,
        limits=Limits(protect=["film"]),
        **PLAIN,
    )
    saved = json.loads((tmp_path / "attack.json").read_text())
    assert saved["seed"] == 3
    assert saved["recipe"]["settings"] == {"replacement": "thing"}
    assert saved["limits"]["protect"] == ["film"]
    assert saved["victim"]["spec"] == "test"
    assert {"unfooled", "python", "torch"} <= saved["versions"].keys()
    assert saved["source"] == data
    changed = [one.perturbed[0] for one in read_attack(tmp_path).outcomes if one.perturbed]
    assert changed and all("film" in text for text in changed)


def test_obstinate_success_is_an_unchanged_answer(data: str) -> None:
    report = attack(victim(), inputs=Inputs(data=data), recipe=Stubborn(), tools=Tools(validity=False))
    successes = [one for one in report.outcomes if one.status == "success"]
    assert successes and all(one.label == one.truth for one in successes)
    assert "unchanged" in report.summary["asr"]["meaning"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "--limit"),
        ({"in_flight": 0}, "--in-flight"),
        ({"recipe": "textfoler"}, "textfooler"),
        ({"recipe": Peek()}, "gradients"),
        ({"limits": Limits(max_changed=2)}, "at most 1"),
        ({"limits": Limits(sentence="second")}, "pairs"),
        ({"tools": Tools(similarity="word2vec")}, "minilm"),
        ({"predictor": "vote"}, "needs more of"),
        ({"inputs": Inputs()}, "--task NAME or --data FILE"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_asked(
    tmp_path: Path, data: str, options: dict[str, Any], said: str
) -> None:
    def never(texts: list[str]) -> list[list[float]]:
        raise AssertionError("asked")

    with pytest.raises(UsageError, match=said):
        attack(victim(never), **{"inputs": Inputs(data=data), "out": tmp_path / "out", **PLAIN, **options})
    assert not (tmp_path / "out").exists()


def test_export_has_one_row_an_example_in_every_format(tmp_path: Path, data: str) -> None:
    import pyarrow.parquet as parquet

    report = attack(NoisyVictim(), inputs=Inputs(data=data), **PLAIN)
    for suffix in ("csv", "jsonl", "parquet"):
        report.export(tmp_path / f"results.{suffix}")
    with (tmp_path / "results.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    rows = parquet.read_table(tmp_path / "results.parquet").to_pylist()
    assert rows == lines
    assert len(table) == len(lines) == 40
    assert report.summary["counts"]["success"] > 0
    for row, line, outcome in zip(table, lines, report.outcomes, strict=True):
        assert row["text"] == line["text"] == outcome.original[0]
        assert row["status"] == line["status"] == outcome.status
        assert line["label"] == LABELS[outcome.truth or 0]
        assert json.loads(row["changes"]) == [[c.before, c.after] for c in outcome.changes]
        if outcome.status == "success":
            assert line["perturbed"] == (outcome.perturbed or ("",))[0]
            assert line["answer"] != line["label"]
            assert row["verified"] == str(outcome.verified)
    with pytest.raises(UsageError, match=r"\.csv, \.jsonl, \.parquet"):
        report.export(tmp_path / "results.xlsx")


@pytest.mark.network
def test_every_success_is_judged_by_similarity_and_part_of_speech(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("text,label\na fine romance that rewards patience,up\na witty and lovely film,up\n")
    report = attack(victim(), inputs=Inputs(data=str(file)), recipe="pwws")
    successes = [one for one in report.outcomes if one.status == "success"]
    assert successes
    for one in successes:
        assert one.similarity is not None and 0.3 < one.similarity < 1
        assert one.similarity == round(one.similarity, 6)
        assert one.pos_valid is not None
    assert report.summary["similarity"]["n"] == report.summary["pos_valid"]["n"] == len(successes)


@pytest.mark.network
def test_task_labels_are_matched_by_name_or_by_number() -> None:
    def inputs(*labels: str) -> LabelledInputs:
        return load_inputs(Reader(labels), None, Inputs(task="spam"), limit=20)

    named = inputs("ham", "spam")
    assert named.names == ("ham", "spam") and 0 < sum(named.labels) < 20
    assert inputs("LABEL_0", "LABEL_1") == inputs() == named
    turned = inputs("spam", "ham")
    assert turned.names == ("spam", "ham")
    assert [1 - label for label in turned.labels] == named.labels
    for labels in (("positive", "negative"), ("1", "2")):
        with pytest.raises(UserError, match="ham, spam"):
            inputs(*labels)


def test_masked_language_model_is_fitted_to_the_attacked_texts_or_taken_by_name(
    data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unfooled.lexicon import masked_lm

    class Model:
        def fill(self, spans: list[tuple[str, int, int]], count: int) -> list[tuple[tuple[str, float], ...]]:
            return [(("word", 0.5), ("other", 0.2))[:count] for _ in spans]

    fitted: list[Any] = []
    named: list[Any] = []
    monkeypatch.setattr(masked_lm, "fit_masked_lm", lambda texts, **_: fitted.append(texts) or Model())
    monkeypatch.setattr(masked_lm, "load_masked_lm", lambda name, **_: named.append(name) or Model())
    report = attack(victim(), inputs=Inputs(data=data), recipe=Fill(), limit=4, tools=Tools(validity=False))
    assert {change.after for one in report.outcomes for change in one.changes} == {"word"}
    assert len(fitted) == 1 and len(fitted[0]) == 40 and not named
    tools = Tools(validity=False, masked_lm="some/model")
    attack(victim(), inputs=Inputs(data=data), recipe=Fill(), limit=4, tools=tools)
    assert named == ["some/model"] and len(fitted) == 1


@pytest.mark.full
def test_run_folder_is_attacked_on_its_own_test_split(tmp_path: Path) -> None:
    import unfooled as uf

    folder = tmp_path / "run"
    settings = {"epochs": 3.0, "lr": 3e-3, "limit": 128, "limit_dev": 8, "limit_test": 8}
    classifier = uf.train(folder, **write_inputs(tmp_path), defence="standard", **settings)
    report = uf.attack(folder, limit=12, device="cpu", **PLAIN)
    assert (folder / "attacks/swap/attack.json").is_file()
    assert report.about["source"] == "reviews (test)"
    assert len(report.outcomes) == 12
    answers = classifier.predict([one.original[0] for one in report.outcomes])
    for outcome, answer in zip(report.outcomes, answers, strict=True):
        right = answer.label == report.labels[outcome.truth or 0]
        assert (outcome.status == "skipped") is not right
    # A search in bfloat16 starts from the same first answers, and what it finds holds in float32.
    searched = uf.load(folder, device="cpu", precision="bf16")
    rough = uf.attack(searched, limit=12, device="cpu", out=tmp_path / "rough", **PLAIN)
    assert (report.about["victim"]["bf16"], rough.about["victim"]["bf16"]) == (False, True)
    firsts = [[(one.row, one.first_label, one.first_scores) for one in r.outcomes] for r in (report, rough)]
    assert firsts[0] == firsts[1]
    changed = [one for one in rough.outcomes if one.perturbed]
    assert changed
    for outcome in changed:
        (answer,) = uf.load(folder, device="cpu", precision="float32").predict(list(outcome.perturbed))
        assert answer.label == report.labels[outcome.label or 0] != report.labels[outcome.truth or 0]
    with pytest.raises(UsageError, match="precision must be auto, float32 or bf16"):
        uf.load(folder, precision="half")
    # The same weights in memory are the same victim.
    seen: list[Progress] = []
    uf.attack(
        uf.load(folder, device="cpu", precision="float32"),
        Inputs(data=str(tmp_path / "reviews.csv"), text_column="review", label_column="stars"),
        limit=320,
        progress=seen.append,
        **PLAIN,
    )
    assert seen[0].done == 12  # taken over from the other result set
    predicted = uf.attack(folder, limit=4, predictor={"name": "vote", "sigma": 0.5}, **PLAIN)
    assert predicted.summary["randomised"] is True
