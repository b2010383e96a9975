"""Tensors on the path of texts: the journal, the report, the command, and a certifier that is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from typer.testing import CliRunner

import unfooled as uf
from tiny_models import TEXTS, tiny_classifier
from unfooled.api.jobs.certify_job import read_certificates
from unfooled.certificates import certifier
from unfooled.certificates.certifier import Certifier
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.cli.commands import app
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError, UserError
from unfooled.models import TensorModel
from unfooled.predictors import CertifiedMasked, Classifier, Plain, RandomWordMask, SynonymVote, Vote

FILE = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
"""
QUICK: dict[str, Any] = {"sampling": Sampling(n0=20, n=200), "sigma": 0.2}


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def values(count: int = 6) -> Tensor:
    return torch.randn(count, 2, 3, generator=torch.Generator().manual_seed(1))


def plain(report: Any) -> list[dict[str, Any]]:
    return [{**one.to_dict(), "seconds": 0} for one in report]


@pytest.mark.parametrize("threat", ["l2", "l1", "linf"])
def test_a_module_is_certified_resumed_and_reported(
    threat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = values()
    inputs[2, 0, 0] = float("nan")
    which = Inputs(tensors=inputs, labels=[0, 1, 2, 0, 1, 2])
    whole = uf.certify(network(), which, threat=threat, **QUICK)
    assert {one.status for one in whole} >= {"certified", "refused"} and len(whole) == 6
    assert whole[0].shown.startswith("tensor 2×3, float32, ") and whole[0].texts == ()
    assert whole[2].message == "the input holds NaN or infinite values"

    class Stop(Exception):
        pass

    def stop(progress: Any) -> None:
        if progress.done >= 3:
            raise Stop

    with pytest.raises(Stop):
        uf.certify(network(), which, threat=threat, out=tmp_path, progress=stop, **QUICK)
    drawn: list[int] = []
    own = certifier.sample_votes

    def counted(smoother: Any, *args: Any, **options: Any) -> Any:
        drawn.append(smoother.inputs)
        return own(smoother, *args, **options)

    monkeypatch.setattr(certifier, "sample_votes", counted)
    resumed = uf.certify(network(), which, threat=threat, out=tmp_path, **QUICK)
    assert plain(resumed) == plain(whole)
    assert sum(drawn) < 5  # three of six were in the journal
    drawn.clear()
    assert plain(uf.certify(network(), which, threat=threat, out=tmp_path, **QUICK)) == plain(whole)
    assert drawn == []
    assert plain(read_certificates(tmp_path)) == plain(whole)
    assert "certified" in repr(resumed)


def test_other_weights_values_or_precision_are_other_results(tmp_path: Path) -> None:
    first = uf.certify(network(), values(2), out=tmp_path, **QUICK)
    kept = (tmp_path / "certificate.json").read_bytes()
    for model, inputs in (
        (network(1), values(2)),
        (network(), values(2) + 1e-4),
        (network().double(), values(2).double()),
    ):
        with pytest.raises(UsageError, match="another question"):
            uf.certify(model, inputs, out=tmp_path, **QUICK)
        assert (tmp_path / "certificate.json").read_bytes() == kept
    again: list[int] = []
    same = uf.certify(network(), values(2), out=tmp_path, progress=lambda p: again.append(p.done), **QUICK)
    assert again[0] == 2 and plain(same) == plain(first)


def test_the_command_and_the_report_page(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(FILE, encoding="utf-8")
    np.savez(tmp_path / "inputs.npz", inputs=values().numpy(), labels=np.array([0, 1, 2, 0, 1, 2]))
    out = tmp_path / "certified"
    command = ["certify", f"python:{tmp_path / 'net.py'}:build", "--tensors", str(tmp_path / "inputs.npz")]
    command += ["--sigma", "0.2", "--n0", "20", "--n", "200", "--out", str(out)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "inputs of tensors" in done.output and "certified accuracy" in done.output
    found = CliRunner().invoke(app, [*command, "--json"])
    certificates = json.loads(found.stdout)["certificates"]
    expected = uf.certify(network(), Inputs(tensors=values(), labels=[0, 1, 2, 0, 1, 2]), **QUICK)
    assert [one["votes"] for one in certificates] == [one.votes for one in expected]
    assert any(one["status"] == "certified" for one in certificates)
    page = tmp_path / "report.html"
    made = CliRunner().invoke(app, ["report", str(out), "--out", str(page)])
    assert made.exit_code == 0, made.output
    text = page.read_text(encoding="utf-8")
    assert "every input within a Euclidean distance of R" in text
    assert "ℓ2 changes of the values" in text and "tensor 2×3, float32" in text


def test_wrong_use_of_the_command_is_told(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(FILE, encoding="utf-8")
    np.save(tmp_path / "inputs.npy", values().numpy())
    np.save(tmp_path / "whole.npy", np.arange(12).reshape(2, 2, 3))
    (tmp_path / "broken.npz").write_bytes(b"not an archive")
    spec = f"python:{tmp_path / 'net.py'}:build"

    def told(*arguments: object) -> str:
        done = CliRunner().invoke(app, ["certify", *map(str, arguments)])
        assert done.exit_code != 0 and done.exception is not None
        return str(done.exception) + done.output

    good = tmp_path / "inputs.npy"
    assert "Give the noise" in told(spec, "--tensors", good)
    assert "floating-point" in told(spec, "--tensors", tmp_path / "whole.npy", "--sigma", 0.1)
    assert "cannot be read" in told(spec, "--tensors", tmp_path / "broken.npz", "--sigma", 0.1)
    assert "no file" in told(spec, "--tensors", tmp_path / "none.npz", "--sigma", 0.1)
    assert "no threat 'words'" in told(spec, "--tensors", good, "--sigma", 0.1, "--threat", "words")
    assert "There is no 'other'" in told(
        f"python:{tmp_path / 'net.py'}:other", "--tensors", good, "--sigma", 0.1
    )
    assert "certified for tensors" in told(spec, "a text", "--sigma", 0.1)


def test_texts_and_tensors_are_not_mixed_up() -> None:
    text = Classifier(tiny_classifier("bert"), Plain(), labels=["a", "b", "c"])
    with pytest.raises(UsageError, match="sigma is for a module"):
        uf.certify(text, ["fine"], sigma=0.1)
    noisy = Vote(sigma=0.2, noise_layers=("embeddings",), masking="none", masked_tokens=0)
    with pytest.raises(UsageError, match="reads texts, and was given tensors"):
        uf.certify(Classifier(tiny_classifier("bert"), noisy, labels=["a", "b", "c"]), values())
    with pytest.raises(UsageError, match="reads tensors, and was given texts"):
        uf.certify(Classifier(TensorModel(network(), (2, 3)), noisy, labels=["a", "b", "c"]), ["fine"])
    with pytest.raises(UsageError, match="labels: give one label per tensor"):
        uf.certify(network(), Inputs(tensors=values(), labels=[1]), **QUICK)
    with pytest.raises(UsageError, match="of texts as words"):
        uf.certify(network(), values(), reading=Reading(substitutes="wordnet"), **QUICK)
    broken = network()
    with torch.no_grad():
        broken[3].bias[0] = float("inf")
    with pytest.raises(UserError, match="not a finite number"):
        uf.certify(broken, values(), **QUICK)


NOISY = Vote(sigma=0.3, noise_layers=("embeddings",), masking="none", masked_tokens=0)
CASES = {
    "l2": (NOISY, "l2"),
    "each-word": (CertifiedMasked(sigma=0.3), "each-word"),
    "words": (RandomWordMask(kept=0.5), "words"),
    "synonyms": (None, "synonyms"),
    "tensor": (NOISY, "linf"),
}


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_a_certifier_used_twice_gives_what_two_calls_give(case: str, tmp_path: Path) -> None:
    predictor, threat = CASES[case]
    if predictor is None:
        table = tmp_path / "table.json"
        table.write_text(json.dumps({"good": ["great", "fine"], "film": ["movie"], "dull": ["flat"]}))
        predictor = SynonymVote(table=str(table))
    inputs: Any = values() if case == "tensor" else [*TEXTS, ""]
    model: Any = TensorModel(network(), (2, 3)) if case == "tensor" else tiny_classifier("bert")
    classifier = Classifier(model, predictor, labels=["a", "b", "c"])
    sampling, reading = Sampling(n0=20, n=100), Reading(antonyms=False)
    kept = Certifier(classifier, threat, sampling=sampling, reading=reading, seed=4)
    parts = [inputs[:3], inputs[3:]]
    for part in parts:
        found = dict(kept.certify(part))
        assert sorted(found) == list(range(len(part)))
        once = uf.certify(classifier, part, threat=threat, sampling=sampling, reading=reading, seed=4)
        assert plain(found[number] for number in range(len(part))) == plain(once)
    together = dict(kept.certify(inputs))
    assert [together[number].votes for number in range(3)] == [
        one.votes
        for one in uf.certify(classifier, parts[0], threat=threat, sampling=sampling, reading=reading, seed=4)
    ]
    assert any(one.status == "certified" for one in together.values())


@pytest.mark.full
def test_words_are_tokenised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_classifier("bert")
    classifier = Classifier(model, RandomWordMask(kept=0.5), labels=["a", "b", "c"])
    seen: list[str] = []
    own = type(model.tokenizer).__call__

    def counted(tokenizer: Any, texts: Any, *args: Any, **options: Any) -> Any:
        if options.get("add_special_tokens") is False:
            seen.extend(texts)
        return own(tokenizer, texts, *args, **options)

    monkeypatch.setattr(type(model.tokenizer), "__call__", counted)
    found = Certifier(classifier, "words", sampling=Sampling(n0=10, n=50)).certify(list(TEXTS))
    assert len(dict(found)) == len(TEXTS)
    assert seen and len(seen) == len(set(seen))


def test_what_cannot_be_certified_is_refused_when_the_certifier_is_built() -> None:
    plain_one = Classifier(tiny_classifier("bert"), Plain(), labels=["a", "b", "c"])
    with pytest.raises(UsageError, match="adds no noise"):
        Certifier(plain_one, "l2")
    with pytest.raises(UsageError, match="no threat 'l3'"):
        Certifier(plain_one, "l3")
    with pytest.raises(UsageError, match="whole number"):
        Certifier(plain_one, "words", sampling=Sampling(radius=0.5))
    assert Certifier(plain_one, "words", seed=None).seed != Certifier(plain_one, "words", seed=None).seed
