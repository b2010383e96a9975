"""Opening weights: safetensors only, and failures that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers.utils import logging

from tiny_models import tiny_classifier
from unfooled.errors import UsageError, UserError
from unfooled.hub.devices import device_and_bf16, device_named
from unfooled.hub.pretrained import longest_input, open_model, open_tokenizer, position_limit, quiet

HEAD = "AutoModelForSequenceClassification"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    classifier = tiny_classifier("bert")
    classifier.module.save_pretrained(folder)
    classifier.tokenizer.save_pretrained(folder)
    return folder


def test_weights_are_float32_and_the_configuration_can_be_changed(folder: Path) -> None:
    model = open_model(HEAD, folder, num_hidden_layers=1)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert len(model.bert.encoder.layer) == 1


def test_pickled_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    model = open_model(HEAD, folder)
    for file in folder.glob("*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"model\.safetensors is missing\. .* Only safetensors weights"):
        open_model(HEAD, tmp_path)


@pytest.mark.parametrize("what", ["tokenizer", "model"])
def test_a_missing_folder_is_named(what: str, tmp_path: Path) -> None:
    nowhere = tmp_path / "no such folder"
    with pytest.raises(UserError, match=r"no such folder'.* Name an asset, a folder or a reachable"):
        open_tokenizer(nowhere) if what == "tokenizer" else open_model(HEAD, nowhere)


def test_longest_input_is_the_shorter_of_positions_and_tokenizer(folder: Path) -> None:
    model, tokenizer = open_model(HEAD, folder), open_tokenizer(folder)
    assert position_limit(model) == 64
    tokenizer.model_max_length = 20
    assert longest_input(model, tokenizer) == 20
    tokenizer.model_max_length = int(1e30)
    assert longest_input(model, tokenizer) == 64


def test_quiet_restores_what_the_user_had_set() -> None:
    before = logging.get_verbosity()
    logging.set_verbosity_info()
    try:
        with quiet():
            assert logging.get_verbosity() == logging.ERROR
        assert logging.get_verbosity() == logging.INFO
    finally:
        logging.set_verbosity(before)


def test_a_device_or_precision_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match=r"device must be auto, cpu, .* got 'abacus'"):
        device_named("abacus")
    with pytest.raises(UsageError, match="precision must be auto, float32 or bf16"):
        device_and_bf16("cpu", "float64")
    assert device_and_bf16("cpu", "float32") == (torch.device("cpu"), False)
    assert device_and_bf16("cpu", "bf16") == (torch.device("cpu"), True)
