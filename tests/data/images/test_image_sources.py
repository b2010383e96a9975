"""From a name to images: folders, files, datasets, and names with settings."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_images import picture, write_folder, write_idx

from unfooled import assets
from unfooled.data.images import image_folder, is_image_task, load_images
from unfooled.data.images.image_names import ImageName, parse_image_name
from unfooled.errors import DataError, UsageError, UserError

Image = pytest.importorskip("PIL.Image")


def test_folder_of_classes_is_split_and_its_files_are_named(tmp_path: Path) -> None:
    data = load_images(write_folder(tmp_path / "pets"))
    assert data.label_names == ("cat", "dog") and data.shape == (6, 5, 3)
    assert data.sizes() == {"train": 19, "dev": 2, "test": 3}
    assert all(Path(name).parts[:2] in (("pets", "cat"), ("pets", "dog")) for name in data.train.names)
    for at, name in enumerate(data.train.names):
        assert np.array_equal(data.train.images[at], np.asarray(Image.open(tmp_path / name)))
        assert data.label_names[data.train.labels[at]] == Path(name).parts[1]


def test_folder_with_splits_is_used_as_it_stands(tmp_path: Path) -> None:
    data = load_images(f"folder({write_folder(tmp_path / 'pets', splits={'train': 5, 'val': 2, 'test': 3})})")
    assert data.sizes() == {"train": 10, "dev": 4, "test": 6} and data.dropped == {}


def test_large_folder_is_read_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(tmp_path / "pets")
    whole = load_images(folder)
    monkeypatch.setattr(image_folder, "IN_MEMORY", 100)
    lazy = load_images(folder)
    assert not isinstance(lazy.train.images, np.ndarray) and lazy.train.names == whole.train.names
    assert np.array_equal(lazy.train.images[:], whole.train.images)
    assert np.array_equal(lazy.train.images[[3, 1]], whole.train.images[[3, 1]])
    assert np.array_equal(lazy.train.images[2], whole.train.images[2])
    changed = tmp_path / lazy.train.names[0]
    Image.fromarray(picture(9, 9)).save(changed)
    with pytest.raises(DataError, match=f"{changed.name} has changed since"):
        lazy.train.images[0]


def test_one_grey_image_among_colours_becomes_a_colour_image(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "pets")
    Image.fromarray(picture(channels=1, seed=99)).save(folder / "cat" / "grey.png")
    assert load_images(folder).shape == (6, 5, 3)
    assert load_images(f"folder({folder}, channels=1)").shape == (6, 5, 1)


def test_image_of_another_size_is_named_with_the_remedy(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "pets")
    Image.fromarray(picture(7, 9)).save(folder / "dog" / "wide.png")
    with pytest.raises(DataError, match=r"wide\.png has 9 × 7 pixels, but .*0\.png 5 × 6.*size=5") as error:
        load_images(folder)
    remedy = str(error.value).rpartition(": ")[2].removesuffix(".")
    assert load_images(remedy).shape == (5, 5, 3)


def test_folders_that_are_no_dataset_are_told(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "pets")
    (folder / ".DS_Store").write_text("")
    (folder / "cat" / "notes.txt").write_text("")
    with pytest.raises(DataError, match=r"notes\.txt is not an image of a supported kind"):
        load_images(folder)
    (folder / "cat" / "notes.txt").rename(tmp_path / "notes.txt")
    (folder / "cat" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(DataError, match=r"bad\.png"):
        load_images(folder)
    with pytest.raises(DataError, match="too few folders of images, 0: a classifier needs two classes"):
        load_images(folder / "cat")
    other = write_folder(tmp_path / "more", splits={"train": 2})
    write_folder(other / "test", splits={"": 2}, classes=("cat", "cow"))
    with pytest.raises(DataError, match="train has no class 'cow'"):
        load_images(other)


def test_idx_folders_serve_a_named_task_or_one_of_their_own(tmp_path: Path) -> None:
    folder = write_idx(tmp_path / "idx", classes=10)
    assert load_images(folder).label_names == tuple("0123456789")
    clothes = load_images(f"fashion-mnist({folder})")
    assert clothes.label_names[9] == "ankle boot" and clothes.shape == (6, 5, 1)


@pytest.mark.full
def test_local_dataset_with_an_image_column_is_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    images = []
    for seed in range(20):
        buffer = io.BytesIO()
        Image.fromarray(picture(seed=seed)).save(buffer, "PNG")
        images.append({"bytes": buffer.getvalue(), "path": None})
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "id": datasets.Value("int64"),
        }
    )
    rows = {"image": images, "label": [n % 2 for n in range(20)], "id": list(range(20))}
    (tmp_path / "pets").mkdir()
    datasets.Dataset.from_dict(rows, features).to_parquet(tmp_path / "pets" / "train.parquet")
    data = load_images(f"hub:{tmp_path / 'pets'}")
    assert data.label_names == ("cat", "dog") and data.shape == (6, 5, 3) and sum(data.sizes().values()) == 20
    at = int(data.train.rows[0]) - 1
    assert np.array_equal(data.train.images[0], picture(seed=at)) and data.train.labels[0] == at % 2
    with pytest.raises(UsageError, match=r"no column 'img'. Its columns: image, label, id"):
        load_images(f"hub({tmp_path / 'pets'}, image_column=img)")
    images[3]["bytes"] = images[3]["bytes"][:40]
    datasets.Dataset.from_dict(rows, features).to_parquet(tmp_path / "pets" / "train.parquet")
    with pytest.raises(DataError, match=r"split train, row 4 is damaged, or not an image"):
        load_images(f"hub:{tmp_path / 'pets'}")


@pytest.mark.full
def test_cifar10_is_all_there() -> None:
    if not assets.cached("cifar10"):
        pytest.skip("the asset cifar10 is not cached")
    data = load_images("cifar10", limit=10)
    assert data.sizes() == {"train": 10, "dev": 5000, "test": 10_000} and data.shape == (32, 32, 3)
    assert np.bincount(data.test.labels).tolist() == [1000] * 10


@pytest.mark.slow
def test_cifar10_is_that_of_another_copy(shared_data: Path) -> None:
    if not assets.cached("cifar10"):
        pytest.skip("the asset cifar10 is not cached")
    ours, other = load_images("cifar10").test, load_images(shared_data / "cifar10.npz").test
    places = {int(row): place for place, row in enumerate(ours.rows)}
    same = [places[int(row)] for row in other.rows]
    assert np.array_equal(ours.labels[same], other.labels) and np.array_equal(ours.images[same], other.images)


def test_names_with_settings_are_read() -> None:
    found = parse_image_name("background( cifar10 , size=48, places=edges, backgrounds='a, (b)=c')")
    assert found == ImageName(
        "background", ImageName("cifar10"), {"size": 48, "places": "edges", "backgrounds": "a, (b)=c"}
    )
    assert parse_image_name("crop(background(mnist),padding=4)").inner == ImageName(
        "background", ImageName("mnist")
    )
    assert parse_image_name("fashion-mnist") == ImageName("fashion-mnist")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("background(mnist", r"a bracket '\)' is missing"),
        ("background(mnist))", r"'\)' was not expected"),
        ("background(mnist, 48)", "'48' has no name"),
        ("background(mnist, size=)", "the setting 'size' has no value"),
        ("background(mnist, size=4, size=5)", "given twice"),
        ("background(mnist,)", "something is missing"),
        ("background('mnist)", "is not closed"),
        ("a(" * 9 + "b" + ")" * 9, "more than 5 brackets"),
        ("m" * 5000, "at most 4,000 characters"),
        ("background(mnist, size='x')", "background: size must be a whole number"),
        ("background(mnist, sise=48)", "Did you mean 'size'"),
        ("background(mnist, places=3)", "places must be one of"),
        ("background(size=48)", "background needs a task"),
        ("crop(mnist)", "padding is missing"),
        ("digits(size=4)", "digits has no setting 'size'"),
        ("folder(/nowhere)", "there is no folder or file /nowhere"),
        ("folder()", "folder needs a folder"),
        ("minst", "Did you mean 'mnist'"),
        ("__import__('os')", "no image task"),
    ],
)
def test_wrong_names_are_told(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        load_images(text)


words = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=8)


numbers = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None, max_examples=60)
@given(words, st.dictionaries(st.sampled_from(["a", "b", "c"]), st.one_of(numbers, st.booleans(), words)))
def test_written_names_are_read_back(path: str, values: dict[str, object]) -> None:
    name = ImageName("folder", ImageName(path), values)
    assert parse_image_name(str(name)) == name


@given(st.text("()=,'\" ab1:{}[]&*!", max_size=30))
def test_any_text_is_a_name_or_refused(text: str) -> None:
    with suppress(UserError):
        assert parse_image_name(text).name


def test_image_tasks_are_told_from_others() -> None:
    assert all(map(is_image_task, ["mnist", "background(mnist)", "folder(x)", "mnist(x)"]))
    assert not any(map(is_image_task, ["movie-reviews", "background", "reviews.csv", "x(y)"]))
