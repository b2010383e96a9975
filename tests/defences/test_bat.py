"""Balanced Adversarial Training: the copies, the two losses by hand, and what they do to distances."""

from __future__ import annotations

import json
import pickle
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset

import unfooled as uf
from tiny_models import FAMILIES, tiny_classifier
from tiny_runs import write_encoder
from tiny_training import ANTONYMS, FULL, TASK, begin, data_of, loss_of, with_copies
from toy_defence import Toy
from unfooled.data import TaskData
from unfooled.data.task import Task
from unfooled.defences import DEFENCES, Pass, Session, Step, TrainingExample, check_data, make_defence
from unfooled.defences.parts.bat_copies import Copies, changing_labels
from unfooled.errors import UsageError, UserError
from unfooled.models import Batch, TextModel
from unfooled.settings import parse_assignments
from unfooled.words.word import WORD

SYNONYMS = {"film": ["movie", "story"], "good": ["fine", "great"], "cold": ["bold"]}
NAMES = ("bat-pairwise", "bat-triplet")
NLI = Task("nli", "", "pair", ("entailment", "neutral", "contradiction"), max_length=48)
TOPICS = Task("topics", "", "single", ("sport", "tech"), max_length=48, meaning_decides=False)
OWN = Task("own.csv", "", "single", ("1", "2"), max_length=48)
HARD = Task("hard.csv", "", "single", ('yes, it\'s "so"', "no"), max_length=48)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("table") / "synonyms.json"
    path.write_text(json.dumps(SYNONYMS))
    return str(path)


@pytest.fixture(scope="module")
def classifier() -> TextModel:
    return tiny_classifier("bert", labels=2)


def batch_of(
    classifier: TextModel,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    labels: Sequence[int] | None = None,
) -> Batch:
    return classifier.batch(classifier.encode(texts, pairs), labels or [0] * len(texts))


def copies_of(
    classifier: TextModel, table: str, batch: Batch, *, epoch: int = 0, task: Task = TASK
) -> list[Copies]:
    session = begin(make_defence("bat-triplet", {"table": table}), classifier, data_of(batch), task=task)
    return list(with_copies(session, batch, FULL, epoch).copies["bat-triplet"])


def words(texts: tuple[str, ...]) -> list[str]:
    return [word for text in texts for word in WORD.findall(text)]


def test_a_fickle_copy_redraws_every_word_from_its_set_itself_included(
    classifier: TextModel, table: str
) -> None:
    batch = batch_of(classifier, ["A Good FILM , so good"] * 200, ["cold war"] * 200)
    drawn = [words(copy.fickle.texts) for copy in copies_of(classifier, table, batch) if copy.fickle]
    assert len(drawn) == 200
    good, film = {"good", "fine", "great"}, {"FILM", "MOVIE", "STORY"}
    sets = [{"A"}, {word.title() for word in good}, film, {"so"}, good, {"cold", "bold"}, {"war"}]
    assert [set(column) for column in zip(*drawn, strict=True)] == sets
    assert {row[1].lower() == row[4] for row in drawn} == {True, False}, "each word on its own"


def test_an_obstinate_copy_turns_one_word_of_either_text_into_an_antonym(
    classifier: TextModel, table: str
) -> None:
    texts = ("a long , Good film", "the old man is cold")
    batch = batch_of(classifier, [texts[0]] * 200, [texts[1]] * 200)
    changed = []
    for copy in copies_of(classifier, table, batch):
        assert copy.obstinate is not None
        before, after = words(texts), words(copy.obstinate.texts)
        (place,) = [n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
        assert after[place].lower() in ANTONYMS[before[place].lower()]
        changed.append((place, after[place]))
    assert {before[place] for place, _ in changed} == {"long", "Good", "old", "man", "cold"}
    assert 70 < sum(place > 3 for place, _ in changed) < 130, "a random text first, then one of its words"
    assert "Bad" in {word for place, word in changed if place == 2}, "in the case of the word"


@pytest.mark.full
def test_antonyms_are_those_of_wordnet_and_stop_words_have_none(classifier: TextModel, table: str) -> None:
    batch = batch_of(classifier, ["up and down"] * 5 + ["Old"] * 30)
    found = [copy.obstinate for copy in copies_of(classifier, table, batch)]
    assert found[:5] == [None] * 5
    assert {one.texts[0] for one in found[5:] if one is not None} == {"Young", "New"}


def test_the_other_text_is_changed_where_one_has_no_antonym(classifier: TextModel, table: str) -> None:
    batch = batch_of(classifier, ["the film"] * 20 + ["a good film"] * 20, ["the plot"] * 40)
    copies = copies_of(classifier, table, batch)
    assert [copy.obstinate is None for copy in copies] == [True] * 20 + [False] * 20


def test_words_that_the_model_does_not_read_are_not_made_obstinate(table: str) -> None:
    classifier = tiny_classifier("bert", labels=2, max_length=6)
    batch = batch_of(classifier, ["the film was good", "the film and plot , good"])
    first, second = copies_of(classifier, table, batch)
    assert first.obstinate is not None and first.obstinate.ids != batch.encoded[0].ids
    assert second.obstinate is None
    assert second.fickle is not None
    classifier.tokenizer.truncation_side = "left"
    batch = batch_of(classifier, ["good was the film", "good , the film and plot"])
    first, second = copies_of(classifier, table, batch)
    assert first.obstinate is not None and second.obstinate is None


def test_a_text_without_words_to_change_has_no_copies(classifier: TextModel, table: str) -> None:
    batch = batch_of(classifier, ["the plot", "!", "a good film"])
    assert [(c.fickle is None, c.obstinate is None) for c in copies_of(classifier, table, batch)] == [
        (True, True),
        (True, True),
        (False, False),
    ]


def test_neutral_pairs_and_non_paraphrases_get_no_obstinate_copy(table: str) -> None:
    classifier = tiny_classifier("bert", labels=3)
    batch = batch_of(classifier, ["a good film"] * 3, ["a good film"] * 3, [0, 1, 2])
    copies = copies_of(classifier, table, batch, task=NLI)
    assert [copy.obstinate is None for copy in copies] == [False, True, False]
    assert all(copy.fickle is not None for copy in copies)
    assert changing_labels(
        "bat-triplet", Task("pairs", "", "pair", ("no", "Duplicate"), max_length=48), None
    ) == {1}
    assert changing_labels("bat-triplet", NLI, ["neutral"]) == {1}, "what the user says goes first"


def test_labels_of_inference_tell_which_are_changed_by_an_antonym() -> None:
    def of(*labels: str) -> frozenset[int]:
        return changing_labels("bat-triplet", Task("own.csv", "", "pair", labels, max_length=48), None)

    assert of("entailment", "not_entailment") == {0}
    for other in ("Not entailment", "not-entailment", "no_entailment", "NonEntailment", "non entailment"):
        assert of(other, "Entailment") == {1}
    assert of("entailment", "contradiction") == {0, 1}
    for labels in (("yes", "no"), ("negative", "neutral", "positive")):
        with pytest.raises(
            UsageError, match="bat-triplet trains on antonyms, and nothing says for which lab"
        ):
            of(*labels)


def test_texts_that_another_part_added_get_copies_too(classifier: TextModel, table: str) -> None:
    """Their words may have antonyms that no word of the original data has."""
    before, after = batch_of(classifier, ["the long film"]), batch_of(classifier, ["the cold war"])
    session = begin(make_defence("bat-triplet", {"table": table}), classifier, data_of(before))
    maker = session.copies(0, data_of(after))
    assert maker is not None
    ((_, obstinate),) = maker([TrainingExample(0, after.encoded[0], 0)])
    assert obstinate is not None and obstinate.texts == ("the warm war",)


def test_pairs_that_push_nothing_away_need_no_antonyms(classifier: TextModel, table: str) -> None:
    own = make_defence("bat-pairwise", {"table": table, "beta": 0, "warmup": 0})
    check_data(own, rows_of(TOPICS, "the good plot", "the good film"))
    batch = batch_of(classifier, ["a good film", "a cold film"])
    session = begin(own, classifier, data_of(batch), task=TOPICS)
    (first, second) = with_copies(session, batch, FULL).copies["bat-pairwise"]
    assert first.obstinate is None and second.obstinate is None and first.fickle is not None
    with pytest.raises(UsageError, match="opposite meaning does not get another label"):
        check_data(make_defence("bat-pairwise", {"table": table}), rows_of(TOPICS, "the good plot"))


def test_copies_depend_on_seed_epoch_and_example_alone(classifier: TextModel, table: str) -> None:
    batch = batch_of(classifier, ["a good , good film , long and cold"] * 12)
    first, again, later = (copies_of(classifier, table, batch, epoch=epoch) for epoch in (0, 0, 1))
    assert first == again
    assert first != later
    assert len({copy.fickle for copy in first}) > 3, "examples with the same text are drawn on their own"
    session = begin(make_defence("bat-triplet", {"table": table}), classifier, data_of(batch))
    maker = pickle.loads(pickle.dumps(session.copy_makers(0, data_of(batch))["bat-triplet"]))
    alone = [maker([TrainingExample(number, batch.encoded[number], 0)])[0] for number in (7, 3)]
    assert alone == [first[7], first[3]], "whatever the batch, the order and the process"


@pytest.mark.parametrize(
    ("task", "told"),
    [(TOPICS, "says that the opposite"), (OWN, "nothing says"), (HARD, "nothing says")],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_task_without_antonyms_is_refused_with_what_to_set(
    name: str, task: Task, told: str, table: str
) -> None:
    rows = rows_of(task, "a film", "a good film")
    with pytest.raises(UsageError, match=told) as refused:
        check_data(make_defence(name), rows)
    words = shlex.split(str(refused.value).split("for example ")[1].split(". Otherwise")[0])
    proposed = parse_assignments(words[1:])
    assert words[0] == "--set" and proposed == {"obstinate_labels": list(task.labels)}
    check_data(make_defence(name, {"table": table, **proposed}), rows)
    check_data(make_defence(name, {"table": table, "obstinate_labels": [task.labels[1]]}), rows)
    with pytest.raises(
        UsageError, match=r"has no label 'good'\. Its labels: .*, for example --set obstinate_"
    ):
        check_data(make_defence(name, {"obstinate_labels": ["good"]}), rows)


@pytest.mark.parametrize("name", ["safer", "bat-pairwise", "bat-triplet", "infobert+safer"])
def test_texts_without_any_substitute_are_refused(name: str, table: str, tmp_path: Path) -> None:
    """They would train as if the defence were not there."""
    empty = tmp_path / "empty.json"
    empty.write_text("{}")
    part = name.rpartition("+")[2]
    where = f"{part}.table" if "+" in name else "table"
    rows = rows_of(TASK, "a cold film", "a good film")
    with pytest.raises(
        UserError, match=rf"{part} found no substitute of any word .*empty\.json.*Name another"
    ):
        check_data(make_defence(name, {where: str(empty)}), rows)
    check_data(make_defence(name, {where: table}), rows)


def test_pairs_that_draw_nothing_near_need_no_substitutes(tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text("{}")
    rows = rows_of(TASK, "a cold film", "a good film")
    check_data(make_defence("bat-pairwise", {"table": str(empty), "alpha": 0}), rows)


def test_texts_without_any_antonym_are_refused(table: str) -> None:
    given = {"table": table}
    for defence in (make_defence("bat-triplet", given), make_defence("infobert+bat-triplet", given)):
        with pytest.raises(
            UserError, match=r"no antonym of any word in the training examples \(labels bad, good"
        ):
            check_data(defence, rows_of(TASK, "das kleine Haus"))
        check_data(defence, rows_of(TASK, "das kleine Haus", "a good film"))
    neutral = {"text": ["a good film"], "text_pair": ["a film"], "label": [1]}
    with pytest.raises(UserError, match=r"\(labels entailment, contradiction\)"):
        check_data(make_defence("bat-pairwise"), splits_of(NLI, neutral))
    second = {"text": ["a film"], "text_pair": ["a good film"], "label": [0]}
    check_data(make_defence("bat-pairwise"), splits_of(NLI, second))


@pytest.mark.full
@pytest.mark.parametrize(
    ("defence", "settings", "told"),
    [
        ("bat-triplet", {"obstinate_labels": ["bad", "good"]}, "no antonym of any word"),
        ("bat-triplet", {}, "nothing says for which labels"),
        ("freelb+toy", {"passes": 2}, "freelb and toy each make the passes"),
        ("safer+rsmi+bat-pairwise", {}, "each bring a predictor"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_there_is_a_folder(
    defence: str,
    settings: dict[str, Any],
    told: str,
    tmp_path: Path,
    table: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(DEFENCES, "toy", Toy)
    rows = "".join(f"das kleine Haus {number},{'good' if number % 2 else 'bad'}\n" for number in range(40))
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    if defence == "bat-triplet":
        settings = settings | {"table": table}
    with pytest.raises(UserError, match=told):
        uf.train(
            tmp_path / "run",
            data=str(tmp_path / "rows.csv"),
            encoder=str(write_encoder(tmp_path / "encoder")),
            defence=defence,
            settings=settings,
        )
    assert not (tmp_path / "run").exists()


def rows_of(task: Task, *texts: str) -> TaskData:
    """Data whose training rows are these texts, with the labels in turn."""
    return splits_of(
        task, {"text": list(texts), "label": [place % len(task.labels) for place in range(len(texts))]}
    )


def splits_of(task: Task, columns: dict[str, list[Any]]) -> TaskData:
    rows = Dataset.from_dict(columns)
    return TaskData(task, rows, rows, rows)


def cosine_distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return 1 - float(a @ b / (a.norm() * b.norm()))


def by_hand(classifier: TextModel, copies: Sequence[Copies], batch: Batch) -> list[tuple[float | None, ...]]:
    """(d(x, x_f), d(x, x_o)) of each row: [CLS] of BERT's last hidden state, one text at a time."""
    states = []
    for row, pair in enumerate(copies):
        found = []
        for item in (batch.encoded[row], *pair):
            if item is None:
                found.append(None)
                continue
            ids, types = torch.tensor([item.ids]), torch.tensor([item.type_ids])
            output = classifier.module.bert(input_ids=ids, token_type_ids=types)
            found.append(output.last_hidden_state[0, 0].detach())
        own, *others = found
        states.append(tuple(None if one is None else cosine_distance(own, one) for one in others))
    return states


TEXTS = ["a good film", "the cold war", "the plot", "a long story"]
"""Both copies; both; none; both for label 0, the fickle one for label 1."""


def contrast_of(session: Session, batch: Batch) -> torch.Tensor | None:
    step = with_copies(session, batch, FULL)
    seen: Pass = session.look(batch, [session])
    return session.terms(seen, step)


def test_the_losses_are_those_of_the_paper(classifier: TextModel, table: str) -> None:
    """d1, d2, d4 to the fickle copies, o1, o2 to the obstinate ones: row 3 has no copy, row 4 one of them."""
    own = {"table": table, "obstinate_labels": ["bad"], "margin": 0.9}
    batch = batch_of(classifier, TEXTS, labels=[0, 0, 0, 1])
    pairwise = begin(make_defence("bat-pairwise", own), classifier, data_of(batch))
    triplet = begin(make_defence("bat-triplet", {**own, "weight": 0.5}), classifier, data_of(batch))
    copies = with_copies(pairwise, batch, FULL).copies["bat-pairwise"]
    assert copies == with_copies(triplet, batch, FULL).copies["bat-triplet"]
    (d1, o1), (d2, o2), nothing, (d4, missing) = by_hand(classifier, copies, batch)
    assert nothing == (None, None) and missing is None
    assert d1 is not None and d2 is not None and d4 is not None and o1 is not None and o2 is not None
    near = (max(0.0, 0.9 - o1) + max(0.0, 0.9 - o2)) / 2
    assert near > 0.01
    found = contrast_of(pairwise, batch)
    assert found is not None
    assert found.item() == pytest.approx(1.0 * (d1 + d2 + d4) / 3 + 1.2 * near, rel=1e-4)
    parts = [max(0.0, d1 + 0.9 - o1), max(0.0, d2 + 0.9 - o2), d4]
    found = contrast_of(triplet, batch)
    assert found is not None
    assert found.item() == pytest.approx(0.5 * sum(parts) / 3, rel=1e-4)
    losses = pairwise.loss(batch, with_copies(pairwise, batch, FULL))
    plain = loss_of(make_defence("standard"), classifier, batch, FULL)
    assert losses.plain and losses.task.item() == pytest.approx(plain.item(), rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_without_a_fickle_copy_keeps_its_obstinate_part(
    name: str, classifier: TextModel, tmp_path: Path
) -> None:
    """Row 1 has both copies, row 2 the obstinate one alone, row 3 none."""
    (tmp_path / "synonyms.json").write_text(json.dumps({"film": ["movie", "story"]}))
    defence = make_defence(name, {"table": str(tmp_path / "synonyms.json"), "margin": 0.9})
    batch = batch_of(classifier, ["a good film", "the cold war", "the plot"])
    session = begin(defence, classifier, data_of(batch))
    (d1, o1), (fickle, o2), nothing = by_hand(
        classifier, with_copies(session, batch, FULL).copies[name], batch
    )
    assert nothing == (None, None) and fickle is None
    assert d1 is not None and o1 is not None and o2 is not None and o2 < 0.8
    found = contrast_of(session, batch)
    assert found is not None
    near = [max(0.0, 0.9 - o1), max(0.0, 0.9 - o2)]
    expected = {
        "bat-pairwise": d1 + 1.2 * sum(near) / 2,
        "bat-triplet": (max(0.0, d1 + 0.9 - o1) + near[1]) / 2,
    }
    assert found.item() == pytest.approx(expected[name], rel=1e-4)


def test_the_weight_of_the_terms_rises_from_nothing(classifier: TextModel, table: str) -> None:
    batch = batch_of(classifier, TEXTS)
    for name in NAMES:
        session = begin(make_defence(name, {"table": table, "warmup": 0.4}), classifier, data_of(batch))
        seen = session.look(batch, [session])
        shares = [0.0, 0.1, 0.4, 0.9]
        first, early, *late = (
            session.terms(seen, with_copies(session, batch, Step(done=share))) for share in shares
        )
        assert first is None and early is not None and late[0].item() > 0.1
        assert early.item() == pytest.approx(0.25 * late[0].item(), rel=1e-5)
        assert late[1].item() == late[0].item()


@pytest.mark.parametrize("name", ["bat-triplet", "bat-triplet+infobert"])
def test_epochs_of_rising_weight_are_not_kept(name: str, classifier: TextModel, table: str) -> None:
    own = {"table": table, "warmup": 0.7}
    settings = own if "+" not in name else {f"bat-triplet.{key}": value for key, value in own.items()}
    assert begin(make_defence(name, settings).resolved(classifier), classifier).whole_from == 0.7


def test_the_hinge_stops_at_the_margin(classifier: TextModel, table: str) -> None:
    own = {"table": table, "margin": 0.0}
    batch = batch_of(classifier, ["a long life", "an old life"])
    for name in NAMES:
        found = contrast_of(begin(make_defence(name, own), classifier, data_of(batch)), batch)
        assert found is not None and found.item() == 0, "no fickle copy, and obstinate ones far enough"


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_without_copies_is_plain_training(name: str, classifier: TextModel, table: str) -> None:
    data = batch_of(classifier, ["a good film", "the plot"])
    session = begin(make_defence(name, {"table": table}), classifier, data_of(data))
    batch = batch_of(classifier, ["the plot", "the director"], labels=[0, 1])
    found = session.loss(batch, with_copies(session, batch, FULL))
    assert found.extra is None
    assert found.total.isfinite()


@pytest.mark.parametrize("precision", ["float32", pytest.param("bf16", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", NAMES)
def test_fickle_copies_come_near_and_obstinate_ones_go_away(name: str, precision: str, table: str) -> None:
    torch.manual_seed(0)
    classifier = tiny_classifier("bert", labels=2, num_hidden_layers=2)
    classifier.bf16 = precision == "bf16"
    batch = batch_of(classifier, ["a good film", "a cold story", "a long night"] * 4, labels=[0, 1, 0] * 4)
    session = begin(make_defence(name, {"table": table}).resolved(classifier), classifier, data_of(batch))

    def distances() -> tuple[float, float]:
        copies = with_copies(session, batch, FULL, epoch=100).copies[name]
        found = by_hand(classifier, copies, batch)
        fickle = [one for one, _ in found if one is not None]
        obstinate = [one for _, one in found if one is not None]
        return sum(fickle) / len(fickle), sum(obstinate) / len(obstinate)

    before = distances()
    optimizer = torch.optim.AdamW(classifier.module.parameters(), lr=2e-3)
    for epoch in range(25):
        with classifier.autocast():  # around the whole pass, as the trainer has it
            losses = session.loss(batch, with_copies(session, batch, FULL, epoch))
        assert losses.extra is not None and losses.total.isfinite()
        optimizer.zero_grad()
        losses.total.backward()
        assert all(w.grad is None or w.grad.isfinite().all() for w in classifier.module.parameters())
        optimizer.step()
    after = distances()
    assert after[1] > before[1] + 0.2, "obstinate copies went away"
    assert after[1] - after[0] > before[1] - before[0] + 0.2
    if name == "bat-pairwise":  # the triplet asks for the difference only
        assert after[0] < before[0], "fickle copies came near"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_gives_what_its_head_reads(family: str, table: str) -> None:
    classifier = tiny_classifier(family, labels=2)
    batch = batch_of(classifier, ["a good film", "cold war and love"], ["so cold", "!"], [0, 1])
    session = begin(make_defence("bat-pairwise", {"table": table}), classifier, data_of(batch))
    found = contrast_of(session, batch)
    assert found is not None and 0 < found.item() < 5
    found.backward()
    grads = [weight.grad for weight in classifier.architecture.blocks[0].parameters()]
    assert any(grad is not None and grad.abs().max() > 0 for grad in grads)
