"""The splits of an image task as training uses them: what TaskData is for texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unfooled.data.images import ImageRows, load_images
from unfooled.data.task import Task
from unfooled.records.shapes.run_shapes import Conversion


@dataclass(frozen=True)
class ImageTaskData:
    """The splits of an image task, with their limits; ``rows`` has dev and test whole."""

    task: Task
    train: ImageRows
    dev: ImageRows
    test: ImageRows
    shape: tuple[int, int, int]
    """Channels, height, width."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, ImageRows] = field(default_factory=dict, repr=False)
    conversion: Conversion = field(default_factory=Conversion)
    """How files are converted: the run reads others in the same way."""

    def sizes(self) -> dict[str, int]:
        return {"train": len(self.train), "dev": len(self.dev), "test": len(self.test)}


def load_image_data(
    source: str,
    *,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
) -> ImageTaskData:
    """The splits of an image task; the limits take stratified sub-samples."""
    found = load_images(source, seed=seed, limit=limit)
    height, width, channels = found.shape
    return ImageTaskData(
        task=Task(found.name, "Images", "image", found.label_names, max_length=0),
        train=found.train,
        dev=found.dev.take(range(len(found.dev))[:limit_dev]),
        test=found.test.take(range(len(found.test))[:limit_test]),
        shape=(channels, height, width),
        dropped=found.dropped,
        rows={"train": found.train, "dev": found.dev, "test": found.test},
        conversion=found.conversion,
    )
