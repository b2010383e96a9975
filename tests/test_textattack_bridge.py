"""A run as a TextAttack model: the same answers here and in a process of its own, and clean failures."""

from __future__ import annotations

import ast
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import unfooled.textattack
from tiny_models import tiny_classifier
from unfooled.api.load import save
from unfooled.predictors import Classifier, make_predictor
from unfooled.textattack import ModelWrapper, WrapperError

FILE = Path(unfooled.textattack.__file__)
TEXTS = ["a gorgeous , witty film", "dull", "poor plot , flat actor"]


def write(folder: Path, predictor: str, *, kind: str = "single", **settings: Any) -> Path:
    classifier = Classifier(
        tiny_classifier("bert"),
        make_predictor(predictor, settings),
        labels=["bad", "fine", "good"],
        task={"name": "own", "kind": kind},
    )
    save(classifier, folder)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("runs") / "plain", "plain")


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(
        tmp_path_factory.mktemp("runs") / "noisy", "two-step", sigma=2.0, first_votes=5, second_votes=7
    )


@pytest.fixture(scope="module")
def remote(plain: Path) -> Iterator[ModelWrapper]:
    wrapper = ModelWrapper(plain, python=sys.executable, device="cpu")
    yield wrapper
    process = wrapper._run._process
    wrapper.close()
    assert process.returncode == 0


def test_scores_are_those_of_the_classifier_and_sum_to_one(plain: Path) -> None:
    wrapper = ModelWrapper(plain, device="cpu")
    scores = wrapper(TEXTS)
    expected = [list(answer.scores.values()) for answer in unfooled.load(plain, device="cpu").predict(TEXTS)]
    assert scores == pytest.approx(np.array(expected), abs=1e-6)
    assert abs(scores.sum(axis=1) - 1).max() < 1e-12
    assert wrapper([]).shape == (0, 3)
    assert wrapper.labels == ("bad", "fine", "good")
    assert isinstance(wrapper.model, torch.nn.Module)


@pytest.mark.full
def test_process_of_its_own_answers_the_same(plain: Path, remote: ModelWrapper) -> None:
    here = ModelWrapper(plain, device="cpu")
    odd = [*TEXTS, "", "line\nbreak \ud800 „ß“ 😀"]
    # In bfloat16 a score is rounded by the batch it is computed in.
    assert remote(odd) == pytest.approx(here(odd), abs=0.01)
    assert remote([""])[0] == pytest.approx([1 / 3] * 3)
    assert remote.labels == here.labels
    assert remote.max_length == here.max_length == remote.tokenizer.model_max_length
    assert remote.model.config.max_position_embeddings == 64
    assert remote._tokenize(TEXTS) == here._tokenize(TEXTS)
    assert remote._tokenize(["dull"])[0] == ["[CLS]", "dull", "[SEP]"]


@pytest.mark.full
def test_gradient_of_a_plain_run_is_that_of_its_own_answer(plain: Path, remote: ModelWrapper) -> None:
    found = remote.get_grad(TEXTS[0])
    assert len(found["ids"]) == len(found["gradient"]) == len(remote._tokenize([TEXTS[0]])[0])
    model = ModelWrapper(plain, device="cpu").model
    ids = torch.tensor([found["ids"]])
    embeddings = model.get_input_embeddings()(ids).detach().requires_grad_(True)
    logits = model(inputs_embeds=embeddings).logits
    torch.nn.functional.cross_entropy(logits, logits.argmax(-1)).backward()
    assert found["gradient"] == pytest.approx(embeddings.grad[0].numpy(), abs=1e-5)
    assert abs(found["gradient"]).max() > 1e-4


@pytest.mark.full
def test_randomised_run_draws_fresh_noise_unless_a_seed_fixes_it_and_its_death_is_said(noisy: Path) -> None:
    fresh = ModelWrapper(noisy, device="cpu")
    assert len({fresh(TEXTS[:1]).tobytes() for _ in range(12)}) > 1
    fixed = ModelWrapper(noisy, python=sys.executable, device="cpu", seed=3)
    assert len({fixed(TEXTS).tobytes() for _ in range(3)}) == 1
    assert fixed(TEXTS).tolist() == ModelWrapper(noisy, device="cpu", seed=3)(TEXTS).tolist()
    with pytest.raises(NotImplementedError, match="adaptive"):
        fixed.get_grad(TEXTS[0])
    os.kill(fixed._run._process.pid, signal.SIGKILL)
    with pytest.raises(WrapperError, match="ended with code -9"):
        fixed(TEXTS)


def test_copies_of_a_text_draw_their_own_noise_and_scores_may_be_mean_logits(noisy: Path) -> None:
    copies = TEXTS[:1] * 12
    assert len({row.tobytes() for row in ModelWrapper(noisy, device="cpu")(copies)}) > 1
    assert len({row.tobytes() for row in ModelWrapper(noisy, device="cpu", seed=3)(copies)}) == 1
    smooth = ModelWrapper(noisy, device="cpu", seed=3, output="mean-logit")(TEXTS)
    shares = ModelWrapper(noisy, device="cpu", seed=3)(TEXTS)
    whole = 5 * 7 * 12  # of five, seven or twelve votes
    assert whole * shares == pytest.approx((whole * shares).round(), abs=1e-9)
    assert abs(whole * smooth - (whole * smooth).round()).max() > 1e-3
    assert smooth.sum(axis=1) == pytest.approx(1)


@pytest.mark.full
def test_choice_of_output_reaches_a_process_of_its_own(noisy: Path) -> None:
    there = ModelWrapper(noisy, python=sys.executable, device="cpu", seed=3, output="mean-logit")
    here = ModelWrapper(noisy, device="cpu", seed=3, output="mean-logit")
    assert there(TEXTS) == pytest.approx(here(TEXTS), abs=1e-6)
    there.close()


def test_pairs_are_tuples_as_textattack_gives_them(tmp_path: Path) -> None:
    wrapper = ModelWrapper(write(tmp_path / "pairs", "plain", kind="pair"), device="cpu")
    scores = wrapper([("a fine film", "dull"), ("a fine film", "a very lovely story")])
    assert abs(scores[0] - scores[1]).max() > 1e-4
    assert "[SEP]" in wrapper._tokenize([("a fine film", "dull")])[0][1:-1]
    with pytest.raises(TypeError, match="together"):
        wrapper([("a", "b"), "c"])


@pytest.mark.full
def test_wrong_input_is_refused_before_it_is_sent(remote: ModelWrapper) -> None:
    for wrong in ([3], [("a", "b", "c")], [None]):
        with pytest.raises(TypeError, match="A text or a pair"):
            remote(wrong)
    with pytest.raises(TypeError, match="a list of texts"):
        remote("text")
    with pytest.raises(WrapperError, match="single texts"):
        remote([("a", "b")])
    assert remote(TEXTS).shape == (3, 3)


@pytest.mark.full
def test_pickled_wrapper_will_start_a_process_of_its_own(remote: ModelWrapper) -> None:
    copy = pickle.loads(pickle.dumps(remote))
    assert copy.labels == remote.labels
    assert copy._run.command == remote._run.command
    assert copy._run._process is None


@pytest.mark.parametrize(
    ("python", "words"),
    [("/no/such/python", "cannot be started"), (shutil.which("false") or "false", "ended with code 1")],
)
def test_wrong_interpreter_is_said(plain: Path, python: str, words: str) -> None:
    with pytest.raises(WrapperError, match=words):
        ModelWrapper(plain, python=python)


@pytest.mark.full
def test_copied_file_needs_only_numpy_and_prints_do_not_disturb_it(plain: Path, tmp_path: Path) -> None:
    """As in TextAttack's environment: no torch, transformers or unfooled, and TextAttack's base class."""
    shutil.copy(FILE, tmp_path / "copied_wrapper.py")
    wrappers = tmp_path / "textattack" / "models" / "wrappers"
    wrappers.mkdir(parents=True)
    for folder in wrappers.parents[:2]:
        (folder / "__init__.py").write_text("")
    (wrappers / "__init__.py").write_text("class ModelWrapper: pass\n")
    talkative = tmp_path / "talkative"
    talkative.mkdir()
    (talkative / "sitecustomize.py").write_text(
        "import threading, time\n"
        "def talk():\n"
        "    while True: print('a library talks', flush=True); time.sleep(0.01)\n"
        "import sys\n"
        "class Late:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            threading.Thread(target=talk, daemon=True).start()\n"
        "            sys.meta_path.remove(self)\n"
        "sys.meta_path.insert(0, Late())\n"
    )
    code = (
        "import os, sys\n"
        "for name in ('torch', 'transformers', 'unfooled'): sys.modules[name] = None\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import textattack.models.wrappers, copied_wrapper\n"
        f"os.environ['PYTHONPATH'] = {str(talkative)!r}\n"
        f"wrapper = copied_wrapper.ModelWrapper({str(plain)!r}, python=sys.executable, device='cpu')\n"
        "assert isinstance(wrapper, textattack.models.wrappers.ModelWrapper)\n"
        "print(wrapper(['dull', 'a fine film']).shape)\n"
        "try: copied_wrapper.ModelWrapper('x')\n"
        "except copied_wrapper.WrapperError as error: print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert result.stdout.startswith("(2, 3)\n"), result.stderr[-500:]
    assert "python='…/bin/python'" in result.stdout
    assert "a library talks" in result.stderr


def test_module_level_imports_are_the_standard_library_and_numpy() -> None:
    names = set()
    for node in ast.parse(FILE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    assert names <= set(sys.stdlib_module_names) | {"numpy"}


@pytest.mark.full
def test_wrapper_does_without_textattack() -> None:
    if isinstance(sys.modules.get("textattack"), ModuleType):
        pytest.skip("TextAttack is installed here")
    assert ModelWrapper.__mro__[1:] == (object,)
