"""A run of images reads files as its task did in training: squashed to its size, made grey or colour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unfooled as uf
from unfooled.api.verify import verify
from unfooled.certificates.sampling import Sampling
from unfooled.data.images import load_images
from unfooled.data.inputs import Inputs
from unfooled.errors import UserError
from unfooled.models import Unreadable
from unfooled.predictors import Classifier, Plain, Vote
from unfooled.storage.config import make_config
from unfooled.training.data import load_any
from unfooled.training.kinds import kind_of

Image = pytest.importorskip("PIL.Image")
KINDS = ("L", "P", "RGB", "1", "grey RGB", "grey P")


def write(path: Path, kind: str, width: int, height: int, seed: int) -> Path:
    """A picture that is saved as a mode of PIL; ``grey`` before it: all its colours are shades of grey."""
    draw = np.random.default_rng(seed)
    colour = Image.fromarray(draw.integers(0, 256, (height, width, 3), dtype=np.uint8))
    grey, _, mode = kind.rpartition(" ")
    made = (colour.convert("L") if grey else colour).convert(mode)
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save(path)
    return path


def pictures(folder: Path, *, sizes: tuple[tuple[int, int], ...] = ((8, 8),), seed: int = 0) -> Path:
    """Twelve pictures per class, of every kind and size in turn."""
    for number in range(24):
        place = folder / ("cat" if number % 2 else "dog") / f"{number}.png"
        write(place, KINDS[number // 2 % len(KINDS)], *sizes[number % len(sizes)], seed=seed + number)
    return folder


def saved(folder: Path, data: str, predictor: Any = None, **config: Any) -> Path:
    """The run that training on this data would save, before its first step."""
    chosen = make_config({"data": data, "encoder": "small-cnn:width=2", "device": "cpu"} | config)
    splits = load_any(chosen)
    model = kind_of(chosen).opened(chosen, splits, None)
    uf.save(Classifier(model, predictor or Plain(), labels=splits.task.labels), folder)
    return folder


def reads(run: Path, *files: Path) -> list[Any]:
    """The pixels that the run reads, or why it refuses the file."""
    model = uf.load(run, device="cpu").model
    found = [one if isinstance(one, Unreadable) else one.given.numpy() for one in model.read(files)]
    return [one.reason if isinstance(one, Unreadable) else one for one in found]


def marker(run: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((run / "unfooled.json").read_text())
    return told


def rewrite(run: Path, conversion: Any) -> None:
    """Let the run folder hold this conversion; None: none, as in runs from before it was kept."""
    told = marker(run)
    assert told["images"].pop("conversion")
    if conversion is not None:
        told["images"]["conversion"] = conversion
    (run / "unfooled.json").write_text(json.dumps(told))


MIXED = ((8, 8), (11, 7), (5, 9), (40, 33))


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ("", ((8, 6),)),
        (", channels=1", ((8, 6),)),
        (", channels=3", ((8, 6),)),
        (", size=32", MIXED),
        (", size=8, channels=1", MIXED),
    ],
)
def test_files_of_the_task_are_read_as_in_training(
    settings: str, sizes: tuple[tuple[int, int], ...], tmp_path: Path
) -> None:
    task = f"folder({pictures(tmp_path / 'pets', sizes=sizes)}{settings})"
    run, data = saved(tmp_path / "run", task), load_images(task)
    compared = 0
    for rows in (data.train, data.dev, data.test):
        found = reads(run, *(tmp_path / name for name in rows.names))
        for own, trained, name in zip(found, rows.images[:], rows.names, strict=True):
            assert not isinstance(own, str), f"{name}: {own}"
            assert np.array_equal(own, trained), name
            compared += 1
    assert compared == 24


def test_grey_picture_is_the_same_however_it_is_saved(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", f"folder({pictures(tmp_path / 'pets')}, channels=1)")
    shades = np.random.default_rng(0).integers(0, 256, (8, 8), dtype=np.uint8)
    files = []
    for mode in ("L", "RGB", "P"):
        files.append(tmp_path / f"{mode}.png")
        Image.fromarray(shades).convert(mode).save(files[-1])
    assert [Image.open(file).mode for file in files] == ["L", "RGB", "P"]
    found = reads(run, *files)
    assert all(np.array_equal(own, shades[..., None]) for own in found), found
    plain, *others = uf.predict(run, files, device="cpu")
    assert plain.label and [one.scores for one in others] == [plain.scores] * 2


def test_new_file_of_another_size_gives_the_pixels_that_training_would_see(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", f"folder({pictures(tmp_path / 'pets', sizes=MIXED)}, size=32)")
    new = pictures(tmp_path / "other", sizes=((50, 20), (9, 31)), seed=99)
    other = load_images(f"folder({new}, size=32)")
    found = reads(run, *(tmp_path / name for name in other.train.names))
    assert len(found) > 10 and np.array_equal(np.stack(found), other.train.images[:])


def test_run_without_settings_or_from_before_they_were_kept_refuses(tmp_path: Path) -> None:
    folder = tmp_path / "pets"
    for number in range(24):
        write(folder / ("cat" if number % 2 else "dog") / f"{number}.png", "L", 8, 8, number)
    wide = write(tmp_path / "wide.png", "L", 9, 8, 98)
    colour = write(tmp_path / "colour.png", "RGB", 8, 8, 99)
    plain = saved(tmp_path / "plain", str(folder))
    kept = saved(tmp_path / "kept", f"folder({folder}, size=8, channels=1)")
    assert not any(isinstance(one, str) for one in reads(kept, wide, colour))
    rewrite(kept, None)
    assert "conversion" not in marker(plain)["images"]
    for run in (plain, kept):
        size, channels = reads(run, wide, colour)
        assert "the image is 9×8 with 1 channel, and this model reads 8×8 with 1 channel" in size
        assert "Images are not resized: scale or crop it first" in size
        assert "Convert it to grey" in channels
    assert uf.load(plain).identity().keys() == uf.load(kept).identity().keys()


def test_arrays_are_never_converted(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", f"folder({pictures(tmp_path / 'pets')}, size=8, channels=1)")
    large, colour = np.zeros((9, 9, 1), np.uint8), np.zeros((8, 8, 3), np.uint8)
    first, second = uf.predict(run, [large, colour], device="cpu")
    assert "Arrays are not resized" in first.refused and "Convert it to grey" in second.refused


def test_conversion_is_part_of_the_identity_of_the_run(tmp_path: Path) -> None:
    folder = pictures(tmp_path / "pets")
    plain = uf.load(saved(tmp_path / "plain", f"folder({folder}, channels=3)")).identity()
    squashed = uf.load(saved(tmp_path / "squashed", f"folder({folder}, channels=3, size=8)")).identity()
    assert plain["conversion"] == {"channels": 3} and plain["shape"] == squashed["shape"]
    assert squashed["conversion"] == {"size": 8, "channels": 3}


@pytest.mark.parametrize("wrong", [{"size": 9}, {"channels": 3}, {"size": "8"}, {"channels": 2}, 8])
def test_damaged_conversion_is_refused(wrong: Any, tmp_path: Path) -> None:
    run = saved(tmp_path / "run", f"folder({pictures(tmp_path / 'pets')}, size=8, channels=1)")
    rewrite(run, wrong)
    with pytest.raises(UserError, match=r"unfooled\.json.*conversion"):
        uf.load(run)


def test_wrapper_of_another_size_leaves_the_channels_only(tmp_path: Path) -> None:
    """A file stands for what the model sees: the whole picture with its background."""
    inner = f"folder({pictures(tmp_path / 'pets', sizes=MIXED)}, size=8, channels=1)"
    files = [write(tmp_path / f"{side}.png", "RGB", side, side, side) for side in (8, 12)]
    small, whole = reads(saved(tmp_path / "larger", f"background({inner}, size=12, count=8)"), *files)
    assert "this model reads 12×12" in small and whole.shape == (12, 12, 1)
    found = reads(saved(tmp_path / "cropped", f"crop({inner}, padding=2)"), *files)
    assert [one.shape for one in found] == [(8, 8, 1)] * 2


def test_training_on_from_a_run_reads_files_as_the_new_task_does(tmp_path: Path) -> None:
    first = saved(tmp_path / "first", f"folder({pictures(tmp_path / 'pets', sizes=MIXED)}, size=8)")
    second = pictures(tmp_path / "others")
    on = saved(tmp_path / "on", f"folder({second}, channels=3)", encoder=str(first))
    plain = saved(tmp_path / "plain", str(second), encoder=str(first))
    assert marker(on)["images"]["conversion"] == {"channels": 3}
    assert "conversion" not in marker(plain)["images"]


@pytest.mark.full
def test_files_are_certified_and_attacked_as_the_task_reads_them(tmp_path: Path) -> None:
    task = f"folder({pictures(tmp_path / 'pets', sizes=MIXED)}, size=8, channels=1)"
    vote = Vote(sigma=0.25, noise_layers=("embeddings",), masking="none", votes=4)
    run = saved(tmp_path / "run", task, vote)
    rows = load_images(task).test
    files = [str(tmp_path / name) for name in rows.names]
    how: dict[str, Any] = {"threat": "l2", "sampling": Sampling(n=40, n0=8), "device": "cpu"}
    report = uf.certify(run, files, **how, out=run / "certificates/files")
    assert len(report) == len(files) == 3 and report.about["model"]["conversion"]["size"] == 8
    arrays = uf.certify(run, np.asarray(rows.images[:]), **how, out=tmp_path / "arrays")
    assert [one.shown for one in report] == [one.shown for one in arrays]
    assert any(one.name.startswith("certificates/") and one.verdict == "passed" for one in verify(run).checks)
    labels = [("cat", "dog")[label] for label in rows.labels]
    attacked = uf.attack(
        run, Inputs(texts=files, labels=labels), recipe="pgd-linf", sizes=[0.1], out=tmp_path / "attack"
    )
    assert len(attacked.outcomes) == 3 and not any(one.status == "refused" for one in attacked.outcomes)
    rewrite(run, {"channels": 1})
    (told,) = [one.detail for one in verify(run).checks if one.name.startswith("certificates/")]
    assert "another model (conversion differ" in told


@pytest.mark.full
def test_files_of_a_hub_dataset_are_read_as_in_training(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    files = sorted(pictures(tmp_path / "pets", sizes=MIXED).rglob("*.png"))
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
    )
    images = [{"bytes": file.read_bytes(), "path": None} for file in files]
    rows = {"image": images, "label": [["cat", "dog"].index(file.parent.name) for file in files]}
    (tmp_path / "hub").mkdir()
    datasets.Dataset.from_dict(rows, features).to_parquet(tmp_path / "hub/train.parquet")
    for settings, channels in (("size=8", 3), ("size=8, channels=1", 1)):
        task = f"hub({tmp_path / 'hub'}, {settings})"
        data = load_images(task)
        found = reads(saved(tmp_path / f"run{channels}", task), *(files[row - 1] for row in data.train.rows))
        assert len(found) > 10 and data.shape == (8, 8, channels)
        assert np.array_equal(np.stack(found), data.train.images[:])
