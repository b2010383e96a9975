"""Own files and datasets: columns, labels, splits, and texts to predict."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unfooled.data import arriving_lines, load_files, load_hub, read_rows
from unfooled.data.own import recommended_length
from unfooled.errors import DataError, UsageError


def write_labels(path: Path, labels: list, copies: int = 10) -> Path:
    """A JSON lines file with ``copies`` texts of each label."""
    rows = [
        {"text": f"text {i} {j}", "label": label} for j in range(copies) for i, label in enumerate(labels)
    ]
    path = path / "labels.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def label_of(data, text: str) -> int:
    for split in (data.train, data.dev, data.test):
        for record in split:
            if record["text"] == text:
                return record["label"]
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("labels", "names", "ids"),
    [
        ([0, 1, 2], ("0", "1", "2"), [0, 1, 2]),
        ([5, 1, 3, 2, 4], ("1", "2", "3", "4", "5"), [4, 0, 2, 1, 3]),
        ([1.0, 3.0, 2.0], ("1", "2", "3"), [0, 2, 1]),
        ([-1, 1], ("-1", "1"), [0, 1]),
        ([10, 9], ("9", "10"), [1, 0]),
        (["10", "9"], ("9", "10"), [1, 0]),
        (["pos", "neg"], ("neg", "pos"), [1, 0]),
        ([True, False], ("False", "True"), [1, 0]),
        (["TRUE", "false"], ("False", "True"), [1, 0]),
        (
            [12345678901234567890, 12345678901234567891],
            ("12345678901234567890", "12345678901234567891"),
            [0, 1],
        ),
    ],
)
def test_labels_become_ids(tmp_path: Path, labels: list, names: tuple[str, ...], ids: list[int]) -> None:
    data = load_files(write_labels(tmp_path, labels))
    assert data.task.labels == names
    assert [label_of(data, f"text {i} 0") for i in range(len(labels))] == ids


@pytest.mark.parametrize(
    ("labels", "given", "ids"),
    [
        ([0, 1], ["neg", "pos"], [0, 1]),
        (["neg", "pos"], ["pos", "neg"], [1, 0]),
        (["1", "2"], ["2", "1"], [1, 0]),
    ],
)
def test_given_labels_name_the_ids_or_fix_the_order(
    tmp_path: Path, labels: list, given: list, ids: list
) -> None:
    data = load_files(write_labels(tmp_path, labels), labels=given)
    assert data.task.labels == tuple(given)
    assert [label_of(data, f"text {i} 0") for i in range(2)] == ids


def test_labels_given_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="different names"):
        load_files(write_labels(tmp_path, [0, 1]), labels=["a", "a"])


def test_rows_carry_their_line_number(reviews: Path) -> None:
    data = load_files(reviews)
    for split in (data.train, data.dev, data.test):
        assert split.column_names == ["text", "label", "row"]
        for record in split:
            assert record["text"] == f"film number {record['row'] - 2}"
    assert data.sizes() == {"train": 31, "dev": 4, "test": 5}
    assert (data.task.name, data.task.kind, data.task.max_length) == ("reviews", "single", 32)


def test_given_dev_and_test_files_are_used_whole(tmp_path: Path, reviews: Path) -> None:
    for name in ("dev", "test"):
        (tmp_path / f"{name}.csv").write_text("text,label\n" + f"{name} a,0\n{name} b,1\n")
    data = load_files(reviews, dev=tmp_path / "dev.csv", test=tmp_path / "test.csv")
    assert data.sizes() == {"train": 40, "dev": 2, "test": 2}


def test_numbers_in_a_csv_text_column_are_text(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("text,label\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    assert load_files(path).train[0]["text"].isdigit()


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        (("review", "stars"), "single"),
        (("Sentence", "Target"), "single"),
        (("whatever", "label"), "single"),
        (("premise", "hypothesis", "label"), "pair"),
        (("sentence1", "sentence2", "label"), "pair"),
        (("question", "sentence", "label"), "pair"),
    ],
)
def test_usual_column_names_are_guessed(tmp_path: Path, columns: tuple[str, ...], kind: str) -> None:
    path = tmp_path / "guess.csv"
    cells = [[f"{column} {i}" for column in columns[:-1]] + [str(i % 2)] for i in range(20)]
    path.write_text("\n".join(map(",".join, [list(columns), *cells])))
    data = load_files(path)
    assert data.task.kind == kind
    assert data.train[0]["text"].startswith(columns[0])
    assert data.train.column_names[: len(columns) - 1] == ["text", "text_pair"][: len(columns) - 1]


def test_pair_column_makes_a_pair_task(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,label\n" + "".join(f"left {i},right {i},{i % 2}\n" for i in range(20)))
    data = load_files(path, text_column="a", pair_column="b")
    assert data.train[0]["text_pair"] == data.train[0]["text"].replace("left", "right")


def test_class_names_of_a_parquet_file_written_by_datasets_are_kept(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["world", "art"])}
    )
    rows = {"text": [f"t {i}" for i in range(20)], "label": [i % 2 for i in range(20)]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "a.parquet")
    assert load_files(tmp_path / "a.parquet").task.labels == ("world", "art")


def test_recommended_length_covers_most_inputs() -> None:
    assert recommended_length([5] * 99 + [1000]) == 32
    assert recommended_length([60] * 10) == 128
    assert recommended_length([5000]) == 256


# --- Hugging Face datasets ------------------------------------------------------------------


@pytest.fixture
def local_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder ``datasets`` reads as it would a hub repository, with train and test."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "toy"
    folder.mkdir()
    for split, size in (("train", 40), ("test", 10)):
        rows = [{"text": f"{split} {i}", "label": i % 2} for i in range(size)]
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return str(folder)


def test_hub_dataset_uses_its_test_split_and_holds_out_dev(local_dataset: str) -> None:
    data = load_hub(local_dataset)
    assert data.sizes() == {"train": 36, "dev": 4, "test": 10}
    assert data.task.name == "toy"
    assert data.test[0]["text"] == f"test {data.test[0]['row'] - 1}"


def test_hub_split_that_is_not_there_lists_those_that_are(local_dataset: str) -> None:
    with pytest.raises(DataError, match=r"no split 'validation'.*train, test"):
        load_hub(local_dataset, test_split="validation")


def test_hub_out_of_reach_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def unreachable(*args: object, **kwargs: object) -> None:
        raise ConnectionError("Couldn't reach 'someone/something' on the Hub")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(DataError, match=r"someone/something .*out of reach.*--data FILE"):
        load_hub("someone/something")


def test_hub_dataset_that_is_a_script_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def script(*args: object, **kwargs: object) -> None:
        raise RuntimeError("Dataset scripts are no longer supported, but found x.py")

    monkeypatch.setattr(datasets, "load_dataset", script)
    with pytest.raises(DataError, match="never runs"):
        load_hub("someone/script")


def test_unlabelled_hub_split_is_recognised(tmp_path: Path, local_dataset: str) -> None:
    rows = [{"text": f"unlabelled {i}", "label": -1} for i in range(5)]
    (Path(local_dataset) / "test.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError, match=r"split test, row 1: unknown label '-1'.*choose a labelled split"):
        load_hub(local_dataset)


# --- texts to predict -----------------------------------------------------------------------


def test_text_file_gives_one_text_a_line_blank_ones_included(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes("one\r\n\ntwo \u2028 three\n".encode())
    assert read_rows(path).texts == [("one",), ("",), ("two \u2028 three",)]


def test_texts_come_from_the_text_column_or_the_only_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text\n1,one\n2,"t\nwo"\n3,\n')
    assert read_rows(tmp_path / "a.csv").texts == [("one",), ("t\nwo",), ("",)]
    assert read_rows(tmp_path / "a.csv", text_column="id").texts == [("1",), ("2",), ("3",)]
    (tmp_path / "b.jsonl").write_text('{"odd name": "one"}\n')
    assert read_rows(tmp_path / "b.jsonl").texts == [("one",)]


def test_pairs_come_from_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("premise,hypothesis\na,b\n")
    assert read_rows(path, pairs=True).texts == [("a", "b")]
    path.write_text("text,other\na,b\n")
    with pytest.raises(UsageError, match="two texts"):
        read_rows(path, pairs=True)


# --- more real data, where it is there ------------------------------------------------------


@pytest.mark.parametrize("name", ["mr", "sst2", "mrpc", "agnews"])
def test_real_files_load_with_their_own_splits(shared_data: Path, name: str) -> None:
    files = {split: shared_data / name / f"{split}.jsonl" for split in ("train", "dev", "test")}
    data = load_files(files["train"], dev=files["dev"], test=files["test"])
    lines = {split: sum(1 for line in path.open("rb") if line.strip()) for split, path in files.items()}
    assert sum(data.sizes().values()) + sum(data.dropped.values()) == sum(lines.values())
    assert data.sizes()["test"] == lines["test"]
    assert data.task.kind == ("pair" if name == "mrpc" else "single")


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8")), max_size=6), st.integers(1, 9)
)
def test_lines_arrive_whole_whatever_the_pieces(lines: list[str], size: int) -> None:
    class Pieces(io.BytesIO):
        def read1(self, _: int | None = -1, /) -> bytes:
            return self.read(size)

    for encoding in ("utf-8", "utf-16"):
        sent = "".join(f"{line}\n" for line in lines).encode(encoding)
        found = [line for group in arriving_lines(Pieces(sent), encoding=encoding, most=2) for line in group]
        assert found == lines
