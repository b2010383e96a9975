"""Training on changed words: what is trained on is drawn as the deployed predictor draws it."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_models import TEXTS, t5_tokenizer, tiny_classifier, tiny_model
from tiny_training import begin, data_of, loss_of, with_copies
from unfooled.defences import RandomMask, Safer, Step, TrainingExample, make_defence
from unfooled.defences.parts.versions import Versions
from unfooled.errors import UsageError
from unfooled.models import Batch, TextModel
from unfooled.predictors import RandomWordMask, SynonymVote
from unfooled.settings import describe_settings
from unfooled.training.epoch_data import EpochData, EpochOrder

SYNONYMS = {"film": ["movie", "story"], "good": ["fine", "great", "lovely"], "war": ["love"]}
FULL = Step(done=1.0)


@pytest.fixture(scope="module")
def classifier() -> TextModel:
    return tiny_classifier("bert")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("table") / "synonyms.json"
    path.write_text(json.dumps(SYNONYMS))
    return str(path)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """The batch of every forward pass."""
    batches: list[Batch] = []
    forward = TextModel.forward

    def spy(self: TextModel, batch: Batch, **options: Any) -> Any:
        batches.append(batch)
        return forward(self, batch, **options)

    monkeypatch.setattr(TextModel, "forward", spy)
    return batches


def shown(classifier: TextModel, batch: Batch) -> list[str]:
    """The rows as text, special tokens and padding left out but for the mask."""
    names = [classifier.tokenizer.convert_ids_to_tokens(row.tolist()) for row in batch.ids]
    return [" ".join(name for name in row if name not in ("[CLS]", "[SEP]", "[PAD]")) for row in names]


def test_training_shows_the_subsets_of_words_that_the_predictor_shows(
    classifier: TextModel, seen: list[Batch]
) -> None:
    defence = make_defence("random-mask", {"kept": 0.5}).resolved(classifier)
    encoded = classifier.encode(["bold old cold war"])
    batch = classifier.batch(encoded * 300, [0] * 300)
    loss_of(defence, classifier, batch, FULL)
    trained = [text for batch in seen for text in shown(classifier, batch)]
    words = ["bold", "old", "cold", "war"]
    every = {
        " ".join(word if place in kept else "[MASK]" for place, word in enumerate(words))
        for kept in itertools.combinations(range(4), 2)
    }
    assert set(trained) == every
    assert min(trained.count(one) for one in every) > 25
    seen.clear()
    defence.predictor(classifier).sampler(classifier, encoded, seed=0, purpose="test").counts([(0, 0, 200)])
    assert {text for batch in seen for text in shown(classifier, batch)} == every


@pytest.mark.parametrize("kept", [0.3, 0.75, 2.0])
def test_hidden_words_are_one_mask_token_each(classifier: TextModel, seen: list[Batch], kept: float) -> None:
    """«zebra» falls apart into letters; hidden, it is one token all the same."""
    texts = ["a zebra is a zebra", *TEXTS]
    batch = classifier.batch(classifier.encode(texts), [0] * len(texts))
    loss_of(make_defence("random-mask", {"kept": kept}).resolved(classifier), classifier, batch, FULL)
    (trained,) = seen
    for row, text in enumerate(texts):
        total = len(text.split())
        hidden = total - RandomWordMask(kept=kept).kept_words(total)
        assert int((trained.ids[row] == classifier.mask_token_id).sum()) == hidden


def test_dropped_words_are_trained_as_they_are_deployed(classifier: TextModel, seen: list[Batch]) -> None:
    """The same tokens at the same places, in training and in the vote."""
    defence = make_defence("random-mask", {"kept": 0.5, "hidden": "dropped"}).resolved(classifier)
    encoded = classifier.encode(["bold zebra cold war"])
    loss_of(defence, classifier, classifier.batch(encoded * 200, [0] * 200), FULL)
    steps = len(seen)
    defence.predictor(classifier).sampler(classifier, encoded, seed=0, purpose="test").counts([(0, 0, 200)])

    def rows(batch: Batch) -> set[tuple[tuple[int, int], ...]]:
        assert batch.positions is not None
        every = zip(batch.ids.tolist(), batch.positions.tolist(), batch.mask.tolist(), strict=True)
        return {
            tuple((token, place) for token, place, real in zip(*row, strict=True) if real) for row in every
        }

    found = [rows(batch) for batch in seen]
    trained, deployed = set().union(*found[:steps]), set().union(*found[steps:])
    assert len(trained) == 6
    assert deployed == trained


def test_pairs_hide_words_of_both_texts(classifier: TextModel, seen: list[Batch]) -> None:
    batch = classifier.batch(classifier.encode(["bold old war"] * 40, ["a fine film"] * 40), [0] * 40)
    loss_of(make_defence("random-mask", {"kept": 3}).resolved(classifier), classifier, batch, FULL)
    masked = [batch.ids == classifier.mask_token_id for batch in seen]
    assert torch.cat(masked).sum(dim=1).tolist() == [3] * 40
    types = torch.cat([batch.type_ids[own] for batch, own in zip(seen, masked, strict=True)])
    assert 0 < int(types.sum()) < len(types)


@pytest.mark.parametrize("pairs", [False, True], ids=["one text", "pairs"])
def test_every_word_is_redrawn_from_its_set(
    classifier: TextModel, seen: list[Batch], table: str, pairs: bool
) -> None:
    text, other = "a good film", "cold war"
    encoded = classifier.encode([text] * 300, [other] * 300 if pairs else None)
    batch = classifier.batch(encoded, [0] * 300)
    loss_of(make_defence("safer", {"table": table}).resolved(classifier), classifier, batch, FULL)
    sets = [["a"], ["good", "fine", "great", "lovely"], ["film", "movie", "story"]]
    if pairs:
        sets += [["cold"], ["war", "love"]]
    every = {" ".join(words) for words in itertools.product(*sets)}
    trained = shown(classifier, seen[0])
    assert set(trained) == every
    assert min(trained.count(one) for one in every) > 300 / len(every) / 4
    assert torch.equal(seen[0].type_ids, batch.type_ids)


def test_words_are_hidden_anew_each_step_and_again_by_seed(classifier: TextModel, seen: list[Batch]) -> None:
    defence = make_defence("random-mask").resolved(classifier)
    batch = classifier.batch(classifier.encode(["a good film , good war , good love"] * 8), [0] * 8)
    for seed in (0, None, 0):
        if seed is not None:
            torch.manual_seed(seed)
        loss_of(defence, classifier, batch, FULL)
    first, second, again = (shown(classifier, one) for one in seen)
    assert first != second
    assert first == again
    assert len(set(first)) > 1, "rows are drawn independently"


def test_words_are_redrawn_in_every_epoch_by_seed_epoch_and_example(
    classifier: TextModel, seen: list[Batch], table: str
) -> None:
    batch = classifier.batch(classifier.encode(["a good film , good war , good love"] * 8), [0] * 8)
    session = begin(make_defence("safer", {"table": table}).resolved(classifier), classifier, data_of(batch))
    for epoch in (0, 1, 0):
        session.loss(batch, with_copies(session, batch, FULL, epoch))
    first, second, again = (shown(classifier, one) for one in seen)
    assert first != second
    assert first == again
    assert len(set(first)) > 1, "rows are drawn independently"
    maker = pickle.loads(pickle.dumps(session.copy_makers(0, data_of(batch))["safer"]))
    alone = [maker([TrainingExample(number, batch.encoded[number], 0)])[0] for number in (7, 3)]
    assert shown(classifier, classifier.batch(alone)) == [first[7], first[3]], "whatever batch and process"


def test_batches_of_redrawn_texts_are_put_together_by_their_own_lengths(
    classifier: TextModel, tmp_path: Path
) -> None:
    """«zebra» falls apart into letters."""
    table = str(tmp_path / "table.json")
    Path(table).write_text(json.dumps({"film": ["zebra"]}), encoding="utf-8")
    texts = ["a good film", "a film and a war", "a film and a war , a good film and a war"] * 32
    batch = classifier.batch(classifier.encode(texts), [0] * len(texts))
    data = data_of(batch)
    for name in ("safer", "infobert+safer"):
        session = begin(make_defence(name, {"table": table}).resolved(classifier), classifier, data)
        made = with_copies(session, batch, FULL, 3).copies["safer"]
        assert session.lengths(3, data) == [len(item) for item in made] != data.lengths()

    def padded(lengths: Sequence[int] | None) -> int:
        """Tokens of all batches, each as long as its longest text."""
        epoch = EpochData(data)
        epoch.lengths = lengths
        torch.manual_seed(0)
        order = list(EpochOrder(epoch, 4, None))
        assert sorted(order) == list(range(len(texts)))
        batches = [order[at : at + 4] for at in range(0, len(order), 4)]
        return sum(4 * max(len(made[number]) for number in own) for own in batches)

    assert padded(session.lengths(3, data)) < 0.95 * padded(None)
    assert begin(make_defence("standard"), classifier, data).lengths(3, data) is None


def test_a_text_without_words_can_be_trained_on(classifier: TextModel, table: str) -> None:
    batch = classifier.batch(classifier.encode(["", "dull"]), [0, 1])
    for defence in (RandomMask(), Safer(table=table)):
        assert loss_of(defence, classifier, batch, FULL).isfinite()


def test_defaults_are_those_of_the_predictors() -> None:
    for defence, predictor in ((RandomMask, RandomWordMask), (Safer, SynonymVote)):
        own = {info.name: info.default for info in describe_settings(defence)}
        theirs = {info.name: info.default for info in describe_settings(predictor)}
        training = {info.name for info in describe_settings(Versions)}
        assert {name: value for name, value in own.items() if name not in training} == {
            name: value for name, value in theirs.items() if not name.startswith("abstain")
        }


def test_settings_reach_the_predictor(classifier: TextModel, table: str) -> None:
    given: dict[str, Any] = {
        "table": table,
        "min_cosine": 0.7,
        "max_synonyms": 5,
        "expand": False,
        "votes": 9,
    }
    assert make_defence("safer", given).resolved(classifier).predictor(classifier) == SynonymVote(**given)
    made = make_defence("random-mask", {"kept": 3, "votes": 9}).resolved(classifier).predictor(classifier)
    assert made == RandomWordMask(kept=3.0, votes=9)


def test_what_cannot_be_served_is_refused_before_any_work(classifier: TextModel) -> None:
    with pytest.raises(UsageError, match=r"There is no substitution table 'thesaurus\.txt'"):
        make_defence("safer", {"table": "thesaurus.txt"}).resolved(classifier)
    with pytest.raises(UsageError, match="whole number of words"):
        make_defence("random-mask", {"kept": 1.5}).resolved(classifier)
    tokenizer = t5_tokenizer(sentinel=False)
    without_mask = TextModel(tiny_model("t5", tokenizer), tokenizer)
    with pytest.raises(UsageError, match="no mask token"):
        make_defence("random-mask").resolved(without_mask)
