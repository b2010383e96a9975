"""Images with labels: named tasks, folders, IDX files and Hugging Face datasets, plain or wrapped.

>>> from unfooled.data.images import load_images
>>> mnist = load_images("mnist", seed=0, limit=10_000)
>>> mnist.train.images[:32]                 # uint8, (32, 28, 28, 1)
>>> mnist.train.names[0]                    # 'mnist, train image 46321'
"""

from __future__ import annotations

from unfooled.data.images.image_rows import ImageData, ImageRows, ImageSplits, Pixels
from unfooled.data.images.image_sources import image_task_names, is_image_task, load_images
from unfooled.data.images.image_task import ImageTask

__all__ = [
    "ImageData",
    "ImageRows",
    "ImageSplits",
    "ImageTask",
    "Pixels",
    "image_task_names",
    "is_image_task",
    "load_images",
]
