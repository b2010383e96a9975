"""From the name of an image task to its splits."""

from __future__ import annotations

from unfooled.data.images.assemble import assemble_images
from unfooled.data.images.image_rows import ImageData, ImageSplits
from unfooled.data.images.named import IMAGE_TASKS


def image_task_names() -> list[str]:
    return list(IMAGE_TASKS)


def is_image_task(name: str) -> bool:
    """Whether a task of this name is about images."""
    return name in IMAGE_TASKS


def load_images(
    source: str,
    *,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
) -> ImageData:
    """The splits of an image task; its asset is fetched if it is not there yet.

    ``seed`` chooses the dev split and the order of train; the test split is always the same. The limits take
    stratified sub-samples, a smaller one being part of a larger one.
    """
    return assemble_images(_read(source), seed=seed, limit=limit, limit_dev=limit_dev, limit_test=limit_test)


def _read(source: str) -> ImageSplits:
    from unfooled import assets

    task = IMAGE_TASKS.choose(source)
    return task.read(None if task.asset is None else assets.path(task.asset))
