"""A saved classifier: an ordinary Hugging Face folder that gives the same answers when it comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

import unfooled as uf
from tiny_models import TEXTS, bert_tokenizer, t5_tokenizer, tiny_classifier, tiny_model
from unfooled.errors import UsageError, UserError
from unfooled.models import TextModel
from unfooled.predictors import Classifier, Plain, Sequential, TwoStep

LABELS = ["bad", "fair", "good"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Classifier, Path]:
    predictor = TwoStep(sigma=0.8, noise_layers=("embeddings", 1), second_votes=9, alpha=0.9)
    classifier = Classifier(
        tiny_classifier("bert", max_length=24),
        predictor,
        labels=LABELS,
        defence="rsmi",
        settings={"sigma": 0.8},
        task={"kind": "single", "name": "films"},
    )
    folder = tmp_path_factory.mktemp("runs") / "deep" / "rsmi"
    uf.save(classifier, folder)
    return classifier, folder


def test_a_loaded_classifier_answers_as_the_saved_one(saved: tuple[Classifier, Path]) -> None:
    classifier, folder = saved
    loaded = uf.load(folder, device="cpu", precision="float32")
    assert loaded.predictor == classifier.predictor
    assert (loaded.labels, loaded.defence, loaded.settings, loaded.task) == (
        classifier.labels,
        "rsmi",
        {"sigma": 0.8},
        {"kind": "single", "name": "films"},
    )
    assert loaded.model.max_length == 24
    assert loaded.predict(TEXTS) == classifier.predict(TEXTS)


def test_plain_transformers_opens_the_folder(saved: tuple[Classifier, Path]) -> None:
    classifier, folder = saved
    assert (folder / "model.safetensors").is_file()
    assert not list(folder.glob("*.bin"))
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        found = model(**tokenizer(TEXTS[2], return_tensors="pt")).logits
        text = classifier.model
        expected = text.forward(text.batch(text.encode([TEXTS[2]]))).logits
    assert torch.allclose(found, expected, atol=1e-5)
    answer = pipeline("text-classification", model=str(folder), device="cpu")(TEXTS[0])
    assert len(answer) == 1


def test_the_marker_says_what_the_folder_is(saved: tuple[Classifier, Path]) -> None:
    marker = json.loads((saved[1] / "unfooled.json").read_text(encoding="utf-8"))
    assert marker["format"] == 1
    assert marker["labels"] == LABELS
    assert marker["predictor"]["noise_layers"] == ["embeddings", 1]
    assert marker["unfooled"] == uf.__version__


@pytest.mark.parametrize("predictor", [Plain(), Sequential(max_votes=9)])
def test_any_predictor_and_family_comes_back(tmp_path: Path, predictor: Plain) -> None:
    classifier = Classifier(tiny_classifier("t5"), predictor, labels=LABELS)
    uf.save(classifier, tmp_path)
    loaded = uf.load(tmp_path, device="cpu", precision="float32")
    assert loaded.model.mask_token_id == classifier.model.mask_token_id
    assert [(p.label, p.votes) for p in loaded.predict(TEXTS)] == [
        (p.label, p.votes) for p in classifier.predict(TEXTS)
    ]


def test_an_unfinished_run_is_told_from_a_foreign_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder saved by unfooled"):
        uf.load(tmp_path)
    with pytest.raises(UserError, match="is not a folder saved by unfooled"):
        uf.load(tmp_path / "nowhere")
    (tmp_path / "config.yaml").write_text("task: films\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"is not finished\. Run the same training command again"):
        uf.load(tmp_path)


def test_a_damaged_or_newer_marker_is_refused(tmp_path: Path) -> None:
    marker = tmp_path / "unfooled.json"
    marker.write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="not valid JSON"):
        uf.load(tmp_path)
    for damaged in ("[]", '{"format": 1}'):
        marker.write_text(damaged, encoding="utf-8")
        with pytest.raises(UserError, match="changed or cut short"):
            uf.load(tmp_path)
    marker.write_text('{"format": 99, "unfooled": "9.0"}', encoding="utf-8")
    with pytest.raises(UserError, match=r"format 99; this version .* reads format 1.*unfooled 9.0"):
        uf.load(tmp_path)


def test_pickled_weights_are_not_loaded(saved: tuple[Classifier, Path], tmp_path: Path) -> None:
    classifier, folder = saved
    for file in folder.iterdir():
        if file.name != "model.safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    torch.save(classifier.model.module.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(UserError, match="safetensors"):
        uf.load(tmp_path)


def test_saving_where_nothing_can_be_written_is_explained(plain: Classifier, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="Cannot write"):
        uf.save(plain, tmp_path / "file" / "run")


def test_a_model_of_ones_own_is_wrapped_with_its_label_names() -> None:
    tokenizer = bert_tokenizer()
    model = tiny_model("bert", tokenizer, id2label={0: "no", 1: "perhaps", 2: "yes"})
    classifier = uf.wrap(model, tokenizer, defence="rsmi", settings={"sigma": 0.25, "noise_layers": 2})
    assert classifier.labels == ("no", "perhaps", "yes")
    assert isinstance(classifier.predictor, TwoStep)
    assert (classifier.predictor.sigma, classifier.predictor.noise_layers) == (0.25, (0, 1))
    assert classifier.predict(["a bold film"])[0].label in ("no", "perhaps", "yes")
    assert uf.wrap(model, tokenizer).predictor == Plain()


def test_a_wrapped_classifier_can_be_saved(tmp_path: Path) -> None:
    tokenizer = bert_tokenizer()
    classifier = uf.wrap(tiny_model("bert", tokenizer), tokenizer, defence="rsmi", max_length=32)
    uf.save(classifier, tmp_path)
    loaded = uf.load(tmp_path, device="cpu", precision="float32")
    assert loaded.predictor == classifier.predictor
    assert loaded.predict(TEXTS) == classifier.predict(TEXTS)


def test_wrapping_under_impossible_settings_is_refused() -> None:
    tokenizer = t5_tokenizer(sentinel=False)
    model = tiny_model("t5", tokenizer)
    with pytest.raises(UsageError, match="no mask token"):
        uf.wrap(model, tokenizer, defence="rsmi")
    with pytest.raises(UsageError, match="no defence"):
        uf.wrap(model, tokenizer, defence="none at all")


def test_an_unusable_device_is_explained(saved: tuple[Classifier, Path]) -> None:
    with pytest.raises(UserError, match="device must be auto, cpu, cuda, cuda:1 or mps, got 'abacus'"):
        uf.load(saved[1], device="abacus")


def test_a_classifier_is_the_same_before_and_after_it_is_used(bert: TextModel) -> None:
    """A tokenizer remembers the truncation and padding of its last call; they are no part of it."""
    classifier = Classifier(bert, Plain(), labels=["a", "b", "c"])
    before = classifier.identity()
    classifier.predict(["a good film " * 40, "dull"])
    assert classifier.identity() == before
