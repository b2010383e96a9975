"""A run of each certifiable defence: trained by the Trainer, saved, opened, certified against its threat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from tiny_runs import write_inputs
from unfooled.certificates.sampling import Reading, Sampling

SYNONYMS = {"fine": ["good", "great"], "bad": ["poor", "dull"], "film": ["story", "plot"]}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "noise-augment": ("l2", {"sigma": 0.02}),
    "stability": ("l1", {"kind": "laplace", "sigma": 0.01}),
    "certified-rsmi": ("l2", {"sigma": 0.02, "masked_tokens": 1}),
    "random-mask": ("words", {"kept": 0.8}),
    "safer": ("synonyms", {}),
}
"""The threat of each, and settings that a model of 32 dimensions can learn under in seconds."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "synonyms.json").write_text(json.dumps(SYNONYMS))
    return write_inputs(folder) | {"lr": 3e-3, "epochs": 5.0, "limit": 200}


@pytest.mark.full
@pytest.mark.parametrize("name", RUNS)
def test_a_trained_run_gives_certificates_of_its_own_predictor(
    name: str, inputs: dict[str, Any], tmp_path: Path
) -> None:
    threat, settings = RUNS[name]
    if name == "safer":
        settings = {"table": str(Path(inputs["data"]).with_name("synonyms.json"))}
    uf.train(tmp_path / "run", defence=name, settings=settings, **inputs)
    opened = uf.load(tmp_path / "run")
    assert opened.defence == name
    texts = ["the film is fine and lovely", "this plot is awful and dull"]  # one telling word may be masked
    assert [answer.label for answer in opened.predict(texts)] == ["up", "down"]
    report = uf.certify(
        opened, texts, threat=threat, sampling=Sampling(n=200), reading=Reading(antonyms=False)
    )
    assert report.notes == [], "the deployed predictor is what is certified"
    assert [certificate.label for certificate in report] == ["up", "down"]
    if threat != "words":  # few words tell the label: whoever replaces one of so few may change the answer
        assert all(certificate.radius > 0 for certificate in report)
