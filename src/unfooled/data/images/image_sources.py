"""From the name of an image task to its splits: named tasks, own files, and wrappers around them.

>>> load_images("mnist")
>>> load_images("folder(pictures, size=32)")                     # or just the folder: "pictures"
>>> load_images("background(cifar10, size=48, places=edges)")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unfooled.data.images.assemble import assemble_images
from unfooled.data.images.background import Background
from unfooled.data.images.idx import is_idx_folder, read_idx_folder
from unfooled.data.images.image_files import conversion
from unfooled.data.images.image_folder import FolderSettings, read_folder
from unfooled.data.images.image_hub import HubImageSettings, read_hub_images
from unfooled.data.images.image_names import ImageName, parse_image_name
from unfooled.data.images.image_rows import ImageData, ImageSplits
from unfooled.data.images.named import IMAGE_TASKS
from unfooled.data.images.pixel_arrays import read_npz
from unfooled.data.images.shifted import Crop
from unfooled.data.images.wrapping import wrap
from unfooled.errors import UsageError, did_you_mean
from unfooled.settings import build

WRAPPERS: Mapping[str, type[Any]] = {"background": Background, "crop": Crop}
"""Wrappers by name: their settings, which are also what wraps."""


@dataclass(frozen=True)
class NoSettings:
    """What a source without settings takes."""


FILES: Mapping[str, type[Any]] = {
    "folder": FolderSettings,
    "idx": NoSettings,
    "npz": NoSettings,
    "hub": HubImageSettings,
}
"""Kinds of own images by name, and their settings."""


def image_task_names() -> list[str]:
    return list(IMAGE_TASKS)


def is_image_task(name: str) -> bool:
    """Whether a name is that of a named image task, or of own images or a wrapper with brackets."""
    if not isinstance(name, str):
        return False
    head, bracket, _ = name.strip().partition("(")
    return head in IMAGE_TASKS or (bool(bracket) and head.strip() in (*WRAPPERS, *FILES))


def load_images(
    source: str | Path,
    *,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
) -> ImageData:
    """The splits of an image task, a folder of images, IDX or ``.npz`` files, or a Hugging Face dataset.

    ``seed`` chooses the dev split, the order of train and the draws of wrappers; the test split is always the
    same. The limits take stratified sub-samples, a smaller one being part of a larger one.
    """
    name = _name_of(source)
    limits = {"limit": limit, "limit_dev": limit_dev, "limit_test": limit_test}
    return _load(name, seed, limits)


def _load(name: ImageName, seed: int, limits: dict[str, int | None]) -> ImageData:
    if name.name not in WRAPPERS:
        splits = replace(_read(name), name=str(name))
        return assemble_images(splits, seed=seed, **limits)
    if name.inner is None:
        raise UsageError(f"{name.name} needs a task: {name.name}(mnist) or {name.name}(FOLDER).")
    wrapper = build(WRAPPERS[name.name], name.settings, owner=name.name)
    data = _load(_known(name.inner), seed, limits)
    wrapped = wrap(data, wrapper, str(replace(name, inner=parse_image_name(data.name))), seed=seed)
    if wrapped.shape == data.shape:
        return wrapped
    # An image as the model sees it has another size than a file of the task inside.
    return replace(wrapped, conversion=conversion(None, data.conversion.get("channels")))


def _name_of(source: str | Path) -> ImageName:
    """The name; a path that is there is meant literally, whatever characters it has."""
    text = str(source)
    if isinstance(source, Path) or _is_there(text):
        return _known(ImageName(text))
    return _known(parse_image_name(text))


def _known(name: ImageName) -> ImageName:
    """The name with the kind of data before a bare path: ``folder(pictures)`` for ``pictures``."""
    if name.name in IMAGE_TASKS or name.name in WRAPPERS or name.name in FILES:
        return name
    if name.inner is None and not name.settings:
        place = Path(name.name).expanduser()
        if name.name.startswith("hub:"):
            dataset, _, config = name.name.removeprefix("hub:").partition(":")
            return ImageName("hub", ImageName(dataset), {"config": config} if config else {})
        if place.is_dir():
            return ImageName("idx" if is_idx_folder(place) else "folder", name)
        if place.is_file() and place.suffix.lower() == ".npz":
            return ImageName("npz", name)
    known = [*IMAGE_TASKS, *WRAPPERS, *FILES]
    raise UsageError(
        f"There is no image task, folder or .npz file {name.name!r}.{did_you_mean(name.name, known)} Tasks: "
        f"{', '.join(IMAGE_TASKS)}. Own images: a folder, FILE.npz, hub:NAME. Around them: "
        f"{', '.join(WRAPPERS)}."
    )


def _is_there(text: str) -> bool:
    try:
        return bool(text.strip()) and Path(text).expanduser().exists()
    except (OSError, ValueError):
        return False


def _read(name: ImageName) -> ImageSplits:
    from unfooled import assets

    if name.name in IMAGE_TASKS:
        task = IMAGE_TASKS.choose(name.name)
        build(NoSettings, name.settings, owner=name.name)
        if name.inner is None:
            return task.read(None if task.asset is None else assets.path(task.asset))
        if task.asset is None:
            raise UsageError(f"{task.name} takes nothing in brackets.")
        return task.read(_place(name))
    if name.name == "hub":
        return read_hub_images(_argument(name), build(HubImageSettings, name.settings, owner="hub"))
    place = _place(name)
    if name.name == "folder":
        return read_folder(place, build(FolderSettings, name.settings, owner="folder"))
    build(NoSettings, name.settings, owner=name.name)
    if name.name == "npz":
        return read_npz(place)
    return read_idx_folder(place, place.name)


def _argument(name: ImageName) -> str:
    if name.inner is None or name.inner.settings or name.inner.inner:
        raise UsageError(f"{name.name} needs a folder, file or dataset in brackets: {name.name}(WHERE).")
    return name.inner.name


def _place(name: ImageName) -> Path:
    place = Path(_argument(name)).expanduser()
    if not place.exists():
        raise UsageError(f"{name.name}: there is no folder or file {place}.")
    return place
