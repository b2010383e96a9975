"""Files of questions: what is read, what is refused with its id, and splits that share no paragraph."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tiny_questions import qa, squad, tiny_records, write_squad
from unfooled.data.qa import has_questions, load_questions, original_id, read_questions
from unfooled.errors import DataError

CONTEXT = "Zoë 👩🏽‍🚀 flew to Αθήνα on the 7th of May."


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def test_squad_json_and_json_lines_hold_the_same_questions(tmp_path: Path) -> None:
    records = [qa("1", "Who flew?", CONTEXT, "Zoë 👩🏽‍🚀"), qa("2", "Where to?", CONTEXT, "Αθήνα")]
    one = read_questions(write_squad(tmp_path / "q.json", records)).rows
    other = read_questions(write_lines(tmp_path / "q.jsonl", records)).rows
    assert one.questions == other.questions
    assert one[1].truth == ("Αθήνα",)
    assert CONTEXT[one[1].answers[0].start : one[1].answers[0].end] == "Αθήνα"


def test_hugging_face_rows_and_zipped_files_are_read(tmp_path: Path) -> None:
    record = {
        "id": "1",
        "question": "Who flew?",
        "context": CONTEXT,
        "answers": {"text": ["Zoë", "Zoë"], "answer_start": [0, 0]},
    }
    (found,) = read_questions(write_lines(tmp_path / "q.jsonl", [record])).rows
    assert found.truth == ("Zoë",)
    (tmp_path / "q.json.gz").write_bytes(
        gzip.compress(json.dumps(squad([qa("1", "Who?", "Ann", "Ann")])).encode())
    )
    assert has_questions(tmp_path / "q.json.gz")
    assert len(read_questions(tmp_path / "q.json.gz").rows) == 1


@pytest.mark.full
def test_a_hugging_face_dataset_is_read_and_split(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {**one, "answers": {key: [a[key] for a in one["answers"]] for key in ("text", "answer_start")}}
        for one in tiny_records(12)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train-0.parquet")
    assert has_questions(tmp_path / "train-0.parquet")
    assert sum(map(len, load_questions(f"hub:{tmp_path}").rows.values())) == 24


def bad(change: dict[str, Any]) -> dict[str, Any]:
    return {**qa("bad-one", "Who?", "Ann sat.", "Ann"), **change}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"answers": [{"text": "sat", "answer_start": 3}]}, "'sat' is not at offset 3.*occurs at 4"),
        ({"answers": [{"text": "Bob", "answer_start": -1}]}, "'Bob' is not at offset -1"),
        ({"answers": [{"text": "", "answer_start": 0}]}, "an answer is empty"),
        ({"answers": [{"text": "Ann"}]}, "needs text and answer_start"),
        ({"answers": "Ann"}, "answers is str"),
        ({"answers": {"text": ["Ann"], "answer_start": []}}, "as many text as answer_start"),
        ({"question": " \n"}, "the question is empty"),
        ({"question": 7}, "the question is int"),
        ({"context": None}, "there is no context"),
        ({"context": "Ann \ud800"}, "half a character"),
        ({"is_impossible": True}, "is_impossible is true, but"),
        ({"is_impossible": False, "answers": []}, "is_impossible is false, but"),
        ({"id": "good"}, "the id occurs twice"),
    ],
)
def test_a_bad_record_is_named_by_its_id_or_left_out_and_counted(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    records = [qa("good", "Who?", "Bob sat.", "Bob"), bad(change), qa("last", "Who?", "Eve sat.", "Eve")]
    path = write_lines(tmp_path / "q.jsonl", records)
    with pytest.raises(DataError, match=told) as caught:
        read_questions(path)
    assert f"id '{records[1]['id']}'" in str(caught.value)
    assert "--lenient" in str(caught.value)
    found = read_questions(path, lenient=True)
    assert [one.id for one in found.rows] == ["good", "last"]
    assert list(found.dropped.values()) == [1]


def test_a_record_without_an_id_is_refused_in_squad_files(tmp_path: Path) -> None:
    document = squad([qa("1", "Who?", "Ann sat.", "Ann")])
    del document["data"][0]["paragraphs"][0]["qas"][0]["id"]
    (tmp_path / "q.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DataError, match="paragraph 1, question 1: there is no id"):
        read_questions(tmp_path / "q.json")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"version": "1.1", "data": [', "line 1: not valid JSON"),
        ('{"version": "1.1", "data": {}}', "no list 'data'"),
        ('{"data": [{"paragraphs": [{"context": "a"}]}]}', "article 1, paragraph 1: there is no list 'qas'"),
        ('{"data": [7]}', "article 1: there is no list 'paragraphs'"),
        ('{"version": "1.1", "data": []}', "no question that can be used"),
    ],
)
def test_a_malformed_file_is_refused_with_the_place(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "q.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=told):
        read_questions(tmp_path / "q.json")


def test_files_of_questions_are_told_from_tables_with_labels(tmp_path: Path) -> None:
    assert has_questions(write_squad(tmp_path / "q.json", [qa("1", "Who?", "Ann", "Ann")]))
    assert has_questions(write_lines(tmp_path / "q.jsonl", [qa("1", "Who?", "Ann", "Ann")]))
    assert not has_questions(write_lines(tmp_path / "t.jsonl", [{"text": "good", "label": 1}]))
    (tmp_path / "t.json").write_text('[{"text": "good", "label": 1}]', encoding="utf-8")
    assert not has_questions(tmp_path / "t.json")
    assert not has_questions(tmp_path / "none.json")
    (tmp_path / "t.csv").write_text("question,context,answers\n", encoding="utf-8")
    assert not has_questions(tmp_path / "t.csv")


def test_unanswerable_questions_are_recognised(tmp_path: Path) -> None:
    data = load_questions(write_squad(tmp_path / "q.json", tiny_records(20, unanswerable=True), "v2.0"))
    assert data.unanswerable
    share = sum(not one.answers for one in data.train) / len(data.train)
    assert 0.3 < share < 0.37
    first = list(data.train)[:6]
    assert sum(not one.answers for one in first) == 2  # every prefix has its share
    assert data.task.kind == "qa" and data.task.metric == "f1"


def test_no_paragraph_of_one_split_is_in_another_nor_is_a_copy_of_it(tmp_path: Path) -> None:
    records = tiny_records(30)
    copies = [
        {**one, "id": f"{one['id']}-high-conf-turk{n}", "context": f"{one['context']} . Bob is {n}"}
        for one in records[:40]
        for n in range(2)
    ]
    data = load_questions(write_squad(tmp_path / "q.json", [*records, *copies]))
    ids = {name: {original_id(one.id) for one in rows} for name, rows in data.rows.items()}
    assert all(ids.values())
    assert not ids["train"] & ids["dev"] and not ids["train"] & ids["test"] and not ids["dev"] & ids["test"]
    paragraphs = [set(rows.paragraphs) for rows in data.rows.values()]
    assert sum(map(len, paragraphs)) == 30
    assert len(data.rows["train"]) + len(data.rows["dev"]) + len(data.rows["test"]) == 140
    assert 10 <= len(data.rows["test"]) <= 25 and 8 <= len(data.rows["dev"]) <= 22


def test_test_is_the_same_for_every_seed_and_training_keeps_off_given_paragraphs(tmp_path: Path) -> None:
    records = tiny_records(20)
    path = write_squad(tmp_path / "q.json", records)
    one, two = load_questions(path, seed=1), load_questions(path, seed=2)
    assert one.test.questions == two.test.questions
    assert one.dev.questions != two.dev.questions
    held = write_squad(tmp_path / "test.json", records[:6])
    data = load_questions(path, test=held)
    assert data.dropped["training questions on paragraphs of dev or test"] == 6
    assert not set(data.train.paragraphs) & set(data.test.paragraphs)


def test_too_few_paragraphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="too few paragraphs are left for training: 2, and 3 are needed"):
        load_questions(write_squad(tmp_path / "q.json", tiny_records(2)))


def test_ids_that_only_look_like_copies_keep_their_own_paragraph(tmp_path: Path) -> None:
    records = [
        qa("5", "Who sat?", "Ann sat.", "Ann"),
        qa("5-1", "Who ran?", "Bob ran.", "Bob"),
        qa("5-2", "Who sat?", "Ann sat. Eve ran.", "Ann"),
    ]
    rows = read_questions(write_squad(tmp_path / "q.json", records)).rows
    assert rows.paragraphs[0] == rows.paragraphs[2] != rows.paragraphs[1]


def test_the_original_of_a_copy_is_told_by_its_id() -> None:
    assert original_id("56be4db0-high-conf-turk0") == "56be4db0"
    assert original_id("q7-addsent3") == "q7"
    assert original_id("qamr-test-0") == "qamr-test-0"
    assert original_id("qamr-test-0-x", {"qamr-test-0"}) == "qamr-test-0"
    assert original_id("qamr-test-0", {"qamr-test-0"}) == "qamr-test-0"


@pytest.mark.full
def test_questions_with_equal_text_and_context_are_kept_once(tmp_path: Path) -> None:
    records = tiny_records(12)
    again = [{**records[0], "id": "again"}, {**records[1], "id": "other", "answers": records[0]["answers"]}]
    data = load_questions(write_squad(tmp_path / "q.json", [*records, *again]))
    assert data.dropped == {"duplicate questions": 1, "duplicate questions with other answers": 1}
