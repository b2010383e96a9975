"""Which model it is: told by its weights, code and settings, hashed again only when something changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tiny_models import tiny_classifier
from unfooled.attacks.victims.function import find_object
from unfooled.models import TensorModel, identity

FILE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, scale=1.0):
        super().__init__()
        self.scale = scale
        self.linear = nn.Linear(4, 2)

    def forward(self, values):
        return self.linear(values.flatten(1)) * self.scale

def build():
    torch.manual_seed(0)
    return Net()

def plain(values):
    return values.flatten(1)[:, :2]
"""


def test_weights_are_hashed_once_and_again_when_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_classifier("bert")
    hashed = []
    own = identity.weights_of_module
    monkeypatch.setattr(identity, "weights_of_module", lambda module: hashed.append(1) or own(module))
    first = model.identity()
    assert model.identity() == first and len(hashed) == 1
    weight = model.module.classifier.weight
    seen = {first["weights"]}
    with torch.no_grad():
        weight.add_(1e-3)
    seen.add(model.identity()["weights"])
    weight.data[0, 0] += 1.0  # PyTorch's version counter does not see this
    seen.add(model.identity()["weights"])
    weight.detach().numpy()[0, 1] += 1.0  # nor this
    seen.add(model.identity()["weights"])
    model.module.classifier.weight = nn.Parameter(weight.detach().clone() * 2)
    seen.add(model.identity()["weights"])
    assert len(seen) == len(hashed) == 5
    assert model.identity() == model.identity() and len(hashed) == 5


def test_whatever_answers_depend_on_is_in_the_identity() -> None:
    plain, other = tiny_classifier("bert"), tiny_classifier("bert", max_length=24)
    assert plain.identity()["weights"] == other.identity()["weights"]
    assert plain.identity() != other.identity()
    rough = tiny_classifier("bert")
    rough.bf16 = True
    assert rough.identity() != plain.identity() and rough.precision == "bf16"


def in_file(tmp_path: Path, text: str = FILE, name: str = "build") -> TensorModel:
    path = tmp_path / "net.py"
    path.write_text(text, encoding="utf-8")
    found = find_object(f"{path}:{name}")
    return TensorModel(found() if name == "build" else found, (2, 2))


@pytest.mark.parametrize("name", ["build", "plain"])
def test_a_model_of_a_file_is_the_same_in_another_process(tmp_path: Path, name: str) -> None:
    first = in_file(tmp_path, name=name).identity()
    assert in_file(tmp_path, name=name).identity() == first
    changed = in_file(tmp_path, FILE.replace("* self.scale", "* self.scale + 1"), name=name).identity()
    assert changed["weights"] == first["weights"] and changed["code"] != first["code"]


def test_settings_of_a_module_are_part_of_it(tmp_path: Path) -> None:
    one, two = in_file(tmp_path), in_file(tmp_path)
    two.module.scale = 3.0
    assert one.identity() != two.identity()
    assert one.identity()["weights"] == two.identity()["weights"]


def _hooked() -> nn.Module:
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    module.register_forward_hook(lambda *_: None)
    return module


def _patched() -> nn.Module:
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    module.forward = lambda values: values.flatten(1)[:, :2]  # type: ignore[method-assign]
    return module


def _closure() -> Any:
    scale = 2.0

    def scaled(values: Tensor) -> Tensor:
        return values.flatten(1)[:, :2] * scale

    return scaled


@pytest.mark.parametrize(
    "make", [_hooked, _patched, _closure, lambda: lambda values: values.flatten(1)[:, :2]]
)
def test_a_model_whose_code_no_digest_covers_is_only_itself(make: Any) -> None:
    torch.manual_seed(0)
    one = TensorModel(make(), (2, 2))
    torch.manual_seed(0)
    two = TensorModel(make(), (2, 2))
    assert one.identity() == one.identity()
    assert one.identity() != two.identity()


def test_modules_of_pytorch_go_by_structure_and_weights() -> None:
    def made(seed: int, slope: float = 0.01) -> dict[str, Any]:
        torch.manual_seed(seed)
        module = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.LeakyReLU(slope), nn.Linear(3, 2))
        return TensorModel(module, (2, 2)).identity()

    assert made(0) == made(0)
    assert made(0) != made(1)
    assert made(0) != made(0, slope=0.2)
