"""A run or a victim whose files are missing, cut off or at odds does not answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import unfooled as uf
from commands import unfooled
from tiny_models import bert_tokenizer, tiny_model
from unfooled.errors import UserError


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = bert_tokenizer()
    model = tiny_model("bert", tokenizer, id2label={0: "no", 1: "perhaps", 2: "yes"})
    folder = tmp_path_factory.mktemp("saved") / "run"
    uf.save(uf.wrap(model, tokenizer, max_length=32), folder)
    return folder


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


def with_labels(*labels: str) -> Callable[[Path], object]:
    def change(run: Path) -> None:
        marker = json.loads((run / "unfooled.json").read_text(encoding="utf-8"))
        (run / "unfooled.json").write_text(json.dumps(marker | {"labels": labels}), encoding="utf-8")

    return change


def without(name: str) -> Callable[[Path], object]:
    return lambda run: (run / name).unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("config.json"), r"config\.json is missing\. Copy"),
        (without("tokenizer.json"), r"tokenizer\.json is missing\. Copy"),
        (without("tokenizer_config.json"), r"tokenizer_config\.json is missing\. Copy"),
        (without("model.safetensors"), r"model\.safetensors is missing\. Copy"),
        (
            with_labels("yes", "perhaps", "no"),
            r"unfooled\.json names the labels yes, perhaps, no, and \S*config\.json names no, perhaps, yes\.",
        ),
        (with_labels("no", "yes"), r"unfooled\.json names the labels no, yes, and"),
    ],
)
def test_a_run_that_is_not_whole_is_refused(
    damage: Callable[[Path], object], message: str, run: Path
) -> None:
    uf.load(run)
    damage(run)
    with pytest.raises(UserError, match=message):
        uf.load(run)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors"])
def test_the_command_says_which_file_is_damaged_and_fails(name: str, run: Path) -> None:
    (run / name).write_bytes((run / name).read_bytes()[:300])
    shown = unfooled("predict", run, "a gorgeous film")
    assert shown.returncode == 1
    assert shown.stdout == b""
    assert b"Traceback" not in shown.stderr
    assert (name.partition(".")[0] if name.startswith("tok") else name).encode() in shown.stderr


def test_an_encoder_is_no_victim(tmp_path: Path) -> None:
    tokenizer = bert_tokenizer()
    tiny_model("bert", tokenizer).base_model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"has no classifier\.bias, .* an encoder without its classification"):
        uf.as_victim(f"hf:{tmp_path}")
