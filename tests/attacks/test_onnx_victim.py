"""ONNX models as victims: answers as computed by hand, and folders that do not fit are refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unfooled as uf
from tiny_models import bert_tokenizer
from unfooled.attacks import Asked
from unfooled.attacks.victims import open_victim
from unfooled.errors import UsageError, UserError

TEXTS = ["a good film", "a dull story with a bad plot", "good"]


def write_model(
    folder: Path, *, inputs: tuple[str, ...] = ("input_ids", "attention_mask"), output: str = "logits"
) -> np.ndarray:
    """A mean of token embeddings, masked, as the logits of two classes; gives the embedding table."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    tokenizer = bert_tokenizer()
    table = np.random.default_rng(3).normal(0, 2, (len(tokenizer), 2)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["vectors"])]
    if "attention_mask" in inputs:
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["weights"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["weights", "last"], ["weight"]),
            helper.make_node("Mul", ["vectors", "weight"], ["shown"]),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["vectors"], ["shown"]))
    nodes.append(helper.make_node("ReduceSum", ["shown", "middle"], [output], keepdims=0))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["texts", 2])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array([-1]), "last"),
            numpy_helper.from_array(np.array([1]), "middle"),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, str(folder / "model.onnx"))
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(
        json.dumps({"id2label": {"0": "bad", "1": "good"}, "pad_token_id": 0, "max_position_embeddings": 64})
    )
    return table


def asked(*texts: str) -> list[Asked]:
    return [Asked((text,)) for text in texts]


def test_answers_are_those_of_the_model_whatever_is_asked_together(tmp_path: Path) -> None:
    table = write_model(tmp_path)
    victim: Any = open_victim(f"onnx:{tmp_path}")
    assert victim.labels == ("bad", "good") and victim.mask_token == "[MASK]"
    found = np.array([one.scores for one in victim.answers(asked(*TEXTS, ""))])
    for text, row in zip([*TEXTS, ""], found, strict=True):
        logits = table[bert_tokenizer()(text)["input_ids"]].sum(axis=0)
        assert row == pytest.approx(np.exp(logits) / np.exp(logits).sum(), abs=1e-5)
        assert np.array(victim.answers(asked(text))[0].scores) == pytest.approx(row, abs=1e-6)
    assert len(victim.describe()["files"]) == 3
    assert len(victim.answers(asked("good " * 500))) == 1


def test_it_is_certified_and_a_model_that_sees_its_padding_is_refused(tmp_path: Path) -> None:
    few = uf.Sampling(n0=20, n=300)
    write_model(tmp_path)
    (found,) = uf.certify(
        f"onnx:{tmp_path}", ["a good film"], threat="edits", sampling=few, reading=uf.Reading(antonyms=False)
    )
    assert f"The majority of onnx:{tmp_path} over random deletions" in found.sentence or found.label is None
    write_model(tmp_path, inputs=("input_ids",))
    with pytest.raises(UsageError, match="in a batch than alone"):
        uf.certify(
            f"onnx:{tmp_path}",
            [" ".join(TEXTS * 3)],
            threat="edits",
            sampling=few,
            reading=uf.Reading(antonyms=False),
        )


def test_folders_that_do_not_fit_are_refused_with_the_file(tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(UserError, match=r"has no model\.onnx, tokenizer\.json, config\.json"):
        open_victim(f"onnx:{tmp_path}")
    write_model(tmp_path)
    config = tmp_path / "config.json"
    config.write_text("{}")
    with pytest.raises(UserError, match=r"does not name the labels.*--labels"):
        open_victim(f"onnx:{tmp_path}")
    assert open_victim(f"onnx:{tmp_path}", labels=["no", "yes"]).labels == ("no", "yes")
    with pytest.raises(UserError, match=r"the shape must be \(texts, 3\)"):
        open_victim(f"onnx:{tmp_path}", labels=["a", "b", "c"])
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=r"tokenizer\.json cannot be read"):
        open_victim(f"onnx:{tmp_path}", labels=["no", "yes"])
    write_model(tmp_path, inputs=("input_ids", "pixel_values"))
    with pytest.raises(UserError, match=r"takes input_ids, pixel_values"):
        open_victim(f"onnx:{tmp_path}")
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"model\.onnx cannot be opened"):
        open_victim(f"onnx:{tmp_path}")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UserError, match=r"pip install 'unfooled\[onnx\]'"):
        open_victim(f"onnx:{tmp_path}")
