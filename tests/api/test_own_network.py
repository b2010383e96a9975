"""A network of the user's: trained under a defence, saved without pickle, opened again, certified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import unfooled as uf
from unfooled.certificates.sampling import Sampling
from unfooled.errors import UsageError, UserError

pytest.importorskip("sklearn")
TRAIN: dict[str, Any] = {
    "task": "digits",
    "epochs": 8.0,
    "batch_size": 64,
    "lr": 1e-2,
    "limit": 400,
    "limit_dev": 40,
    "limit_test": 60,
    "device": "cpu",
}


class Dense(nn.Module):
    """What a user may have: any layers, any names."""

    def __init__(self, hidden: int = 24, classes: int = 10) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(64, hidden), nn.Linear(hidden, classes)

    def forward(self, images: Tensor) -> Tensor:
        found: Tensor = self.out(self.hidden(images.flatten(1)).relu())
        return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("own") / "run"
    torch.manual_seed(0)
    trained = uf.train(folder, **TRAIN, model=Dense(), defence="static-mask", settings={"sigma": 0.1})
    return folder, trained


@pytest.mark.full
def test_a_network_of_the_users_is_trained_saved_and_opened_again(run: tuple[Path, Any]) -> None:
    folder, trained = run
    assert trained.metrics["test"]["accuracy"] > 0.6
    saved = json.loads((folder / "unfooled.json").read_text())["images"]["architecture"]
    assert saved["name"] == "own:Dense" and saved["mask"]["name"] == "static"
    again = uf.load(folder, model=Dense(), device="cpu")
    images = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 1), dtype=np.uint8)
    assert again.predict(images, seed=1) == trained.predict(images, seed=1)
    assert not [path for path in folder.rglob("*") if path.suffix in (".pt", ".bin", ".pkl", ".pth")]


@pytest.mark.full
def test_it_is_certified_on_the_test_rows_of_its_run(run: tuple[Path, Any]) -> None:
    again = uf.load(run[0], model=Dense(), device="cpu")
    report = uf.certify(again, threat="linf", limit=10, sampling=Sampling(n=200, n0=20))
    assert report.summary["inputs"] == 10 and report.summary["certified_accuracy"]["value"] > 0
    with pytest.raises(UsageError, match="exists only in this process"):
        uf.certify(again, threat="linf", limit=4, sampling=Sampling(n=200, n0=20), workers=2)


@pytest.mark.full
def test_what_no_name_can_make_again_is_said(run: tuple[Path, Any]) -> None:
    with pytest.raises(
        UserError, match=r"weights of Dense, a network of your own.*unfooled\.load\(folder, mo"
    ):
        uf.load(run[0])
    with pytest.raises(UserError, match=r"does not hold the weights of own:Dense"):
        uf.load(run[0], model=Dense(hidden=8), device="cpu")

    class Other(Dense):
        def forward(self, images: Tensor) -> Tensor:
            return -super().forward(images)

    with pytest.warns(UserWarning, match="code of .*Other is not the code that"):
        uf.load(run[0], model=Other(), device="cpu")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Dense(classes=7), r"\(images, 1, 8, 8\) to 10 scores; it gives 7 scores"),
        (nn.Conv2d(3, 4, 3), r"fails on such images with RuntimeError"),
    ],
)
def test_a_network_that_does_not_fit_the_images_is_refused(
    model: nn.Module, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        uf.train(tmp_path / "run", **TRAIN, model=model)
    assert not (tmp_path / "run").exists()


def test_a_model_is_for_images_and_excludes_an_encoder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="encoder or model, not both"):
        uf.train(tmp_path / "run", **TRAIN, model=Dense(), encoder="small-cnn")
    with pytest.raises(UsageError, match="model is for images"):
        uf.train(tmp_path / "run", task="spam", model=Dense())
    with pytest.raises(UsageError, match="model must be"):
        uf.train(tmp_path / "run", **TRAIN, model="Dense")  # type: ignore[arg-type]
