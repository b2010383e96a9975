"""Models whose files do not fit together are refused by the name of the file; those that do are opened."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tiny_models import FAMILIES, tiny_classifier
from unfooled.errors import UserError
from unfooled.hub.fingerprint import weights_of_folder, weights_of_module
from unfooled.hub.pretrained import open_model, open_pair

HEAD = "AutoModelForSequenceClassification"
WEIGHTS = "model.safetensors"

Damage = Callable[[Path], object]


def write_model(folder: Path, family: str = "bert", **save: Any) -> Path:
    classifier = tiny_classifier(family)
    classifier.module.save_pretrained(folder, **save)
    classifier.tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


def change_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Damage:
    def damage(folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        change(weights)
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})

    return damage


def change_json(name: str, **values: Any) -> Damage:
    def damage(folder: Path) -> None:
        told = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(told | values), encoding="utf-8")

    return damage


def cut_off(name: str, keep: float) -> Damage:
    def damage(folder: Path) -> None:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: int(keep * len(whole))])

    return damage


def without_words(folder: Path) -> None:
    """A tokenizer with its special tokens alone, as transformers builds one where the vocabulary is gone."""
    told = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    told["model"]["vocab"] = {f"[{name}]": n for n, name in enumerate(["PAD", "UNK", "CLS", "SEP", "MASK"])}
    (folder / "tokenizer.json").write_text(json.dumps(told), encoding="utf-8")


def another_word(folder: Path) -> None:
    told = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    told["model"]["vocab"]["extraordinary"] = len(told["model"]["vocab"])
    (folder / "tokenizer.json").write_text(json.dumps(told), encoding="utf-8")


BROKEN: dict[str, tuple[Damage, str]] = {
    "no head": (
        change_weights(lambda w: [w.pop("classifier.weight"), w.pop("classifier.bias")]),
        r"model\.safetensors has no classifier\.bias, classifier\.weight: .* not a classifier.* --encoder",
    ),
    "no block": (
        change_weights(lambda w: [w.pop(name) for name in list(w) if ".layer.1." in name]),
        r"model\.safetensors lacks 16 weights \(bert\.encoder\.layer\.1\..* and 12 more\)\. Copy",
    ),
    "unknown weight": (
        change_weights(lambda w: w.update({"adapter.weight": torch.ones(2)})),
        r"model\.safetensors holds one weight for which config\.json has no place \(adapter\.weight\)",
    ),
    "other shape": (
        change_weights(lambda w: w.update({"classifier.weight": torch.ones(5, 32)})),
        r"model\.safetensors does not fit .*config\.json: classifier\.weight 5×32 instead of 3×32",
    ),
    "not a number": (
        change_weights(lambda w: w["classifier.bias"].fill_(float("nan"))),
        r"model\.safetensors holds values that are not finite numbers in classifier\.bias",
    ),
    "more classes than the head": (
        change_json("config.json", id2label={str(n): f"c{n}" for n in range(4)}),
        r"classifier\.weight 3×32 instead of 4×32",
    ),
    "a class without a name": (
        change_json("config.json", id2label={"0": "a", "1": "b", "5": "c"}),
        r"config\.json: id2label must give each class from 0 to 2 a name of its own",
    ),
    "two classes of one name": (
        change_json("config.json", id2label={"0": "a", "1": "b", "2": "a"}),
        r"config\.json: id2label must give each class from 0 to 2 a name of its own",
    ),
    "answers that are no numbers": (
        change_json("config.json", layer_norm_eps=float("nan")),
        r"gives no finite score per class: its weights do not fit .*config\.json",
    ),
    "fewer layers than weights": (
        change_json("config.json", num_hidden_layers=2),
        r"holds 16 weights for which config\.json has no place",
    ),
    "a million layers": (change_json("config.json", num_hidden_layers=10**6), r"describes 1,000,000 layers"),
    "huge vocabulary": (change_json("config.json", vocab_size=10**11), r"instead of 100000000000×32"),
    "wrong type": (change_json("config.json", hidden_size="wide"), r"Cannot load the \w+ from"),
    "nonsense type": (change_json("config.json", model_type=[1]), r"Cannot load the \w+ from"),
    "empty weights": (cut_off(WEIGHTS, 0), r"model\.safetensors is empty\. Copy the whole folder"),
    "half of the weights": (
        cut_off(WEIGHTS, 0.5),
        r"model\.safetensors is cut off or damaged \([\d,]+ bytes",
    ),
    "half of the header": (cut_off(WEIGHTS, 0.01), r"model\.safetensors is cut off or damaged"),
    "no weights": (lambda f: (f / WEIGHTS).unlink(), r"model\.safetensors is missing\. Copy"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), r"tokenizer\.json is missing: .* unknown"),
    "half a tokenizer": (cut_off("tokenizer.json", 0.5), r"Cannot load the tokenizer from"),
    "a tokenizer without words": (without_words, r"tokenizer\.json reads every word as unknown: .* 5 tokens"),
    "a larger vocabulary": (another_word, r"tokenizer\.json does not fit .* 'extraordinary' is \d+\. Copy"),
    "another padding token": (
        change_json("tokenizer_config.json", pad_token="[MASK]"),
        r"tokenizer\.json pads with id 4 \('\[MASK\]'\), and config\.json says pad_token_id 0",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_folder_whose_parts_do_not_fit_is_refused_with_the_file_and_the_remedy(
    case: str, folder: Path
) -> None:
    damage, message = BROKEN[case]
    damage(folder)
    with pytest.raises(UserError) as told:
        open_pair(HEAD, folder)
    assert re.search(message, str(told.value)), told.value
    assert str(folder) in str(told.value)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_opens_and_its_bare_encoder_only_for_training(family: str, tmp_path: Path) -> None:
    """Tied and ignored weights are no fault."""
    write_model(tmp_path, family)
    model, _ = open_pair(HEAD, tmp_path)
    model.base_model.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="an encoder without its classification head"):
        open_pair(HEAD, tmp_path)
    fresh, _ = open_pair(HEAD, tmp_path, fresh_head=True, num_labels=5)
    assert fresh.config.num_labels == 5
    open_model("AutoModel", tmp_path)


def test_training_may_replace_the_head_and_cut_layers_but_not_lack_a_block(folder: Path) -> None:
    assert open_model(HEAD, folder, fresh_head=True, num_labels=2).classifier.weight.shape == (2, 32)
    assert len(open_model(HEAD, folder, fresh_head=True, num_hidden_layers=1).bert.encoder.layer) == 1
    BROKEN["no block"][0](folder)
    with pytest.raises(UserError, match="lacks 16 weights"):
        open_model(HEAD, folder, fresh_head=True, num_labels=2)


def test_weights_of_pretraining_that_a_classifier_carries_along_are_no_fault(folder: Path) -> None:
    change_weights(lambda w: w.update({"cls.predictions.bias": torch.ones(2)}))(folder)
    open_pair(HEAD, folder)


def test_weights_in_several_files_are_opened_and_a_missing_one_is_named(tmp_path: Path) -> None:
    write_model(tmp_path, max_shard_size="30KB")
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 1
    model, _ = open_pair(HEAD, tmp_path)
    assert weights_of_folder(tmp_path) == weights_of_module(model)
    shards[1].rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=rf"{shards[1].name} is missing, which model\.safetensors\.index"):
        open_pair(HEAD, tmp_path)
