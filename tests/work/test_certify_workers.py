"""Certificates by worker processes and Ray: the rows of this process, draw for draw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from journals import timeless
from tiny_models import TEXTS, tiny_classifier
from unfooled.api.certify import certify
from unfooled.api.jobs.certify_job import TABLE
from unfooled.api.load import save
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.predictors import Classifier, Vote

NOISY = Vote(sigma=0.3, noise_layers=("embeddings",))


def classifier() -> Classifier:
    model = tiny_classifier("bert", labels=2, seed=3)
    return Classifier(model, NOISY, labels=["down", "up"], task={"kind": "single"})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certified") / "run"
    save(classifier(), folder)
    texts = [f"{text} {number}" for number in range(3) for text in TEXTS]
    rows = [{"text": text, "label": "up" if number % 2 else "down"} for number, text in enumerate(texts)]
    rows.append({"text": "who knows", "label": "sideways"})
    (folder.parent / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def certified(run: Path, out: Path, **more: Any) -> dict[tuple[str, int], Any]:
    """What the journal holds, by key and row, without the time it took."""
    certify(
        run,
        Inputs(data=str(run.parent / "rows.jsonl")),
        sampling=Sampling(n=300, adaptive=True),
        reading=Reading(antonyms=False),
        device="cpu",
        limit=None,
        out=out,
        **more,
    )
    return timeless(out / "journal.sqlite", TABLE)


@pytest.fixture(scope="module")
def expected(run: Path) -> dict[tuple[str, int], Any]:
    found = certified(run, run.parent / "inline")
    statuses = [one["status"] for one in found.values() if "status" in one]  # others tell earlier draws
    assert len(statuses) == 3 * len(TEXTS) + 1
    assert statuses.count("refused") == 1 and statuses.count("certified") > 3
    return found


@pytest.mark.full
def test_processes_leave_the_rows_of_this_process(
    run: Path, tmp_path: Path, expected: dict[tuple[str, int], Any]
) -> None:
    assert certified(run, tmp_path, workers=2) == expected


@pytest.mark.ray
@pytest.mark.slow  # a cluster takes half a minute to start; two other files start one in every run
def test_ray_leaves_the_rows_of_this_process(
    run: Path, tmp_path: Path, expected: dict[tuple[str, int], Any]
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'unfooled[ray]'")
    assert certified(run, tmp_path, workers=2, ray="local") == expected


@pytest.mark.full
def test_groups_of_inputs_change_no_certificate(
    run: Path, tmp_path: Path, expected: dict[tuple[str, int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unfooled.api.jobs.certify_job.GROUP", 5)
    assert certified(run, tmp_path) == expected


def test_a_classifier_that_is_nowhere_saved_cannot_be_shared() -> None:
    with pytest.raises(UsageError, match=r"only in this process\. Save it"):
        certify(classifier(), ["a good film"], workers=2)
