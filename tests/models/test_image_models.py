"""Models of images: what is read, what is refused and why, the architectures, augmentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from unfooled.data.images.image_files import read_image
from unfooled.errors import UsageError
from unfooled.models import EncodedImage, ImageModel, Unreadable, new_image_model
from unfooled.models.images import ARCHITECTURES, described, make_architecture
from unfooled.models.images.mask import make_mask
from unfooled.predictors import Classifier, Plain
from unfooled.training.image_examples import Augmentation

SHAPE = (3, 8, 6)
PHOTO = np.random.default_rng(0).integers(0, 256, (8, 6, 3), dtype=np.uint8)


def model() -> ImageModel:
    return new_image_model("small-cnn:width=2", SHAPE, 4)


def test_bytes_and_numbers_are_the_same_image() -> None:
    numbers = torch.tensor(PHOTO).permute(2, 0, 1).float() / 255
    as_bytes, as_numbers = model().read([PHOTO, numbers])
    assert isinstance(as_bytes, EncodedImage) and isinstance(as_numbers, EncodedImage)
    assert as_bytes.key() == as_numbers.key() and as_bytes.show() == as_numbers.show()
    assert as_bytes.show().startswith("image 6×8×3, ")
    assert as_bytes.key() != model().read([PHOTO[::-1]])[0].key()


BAD: dict[str, tuple[Any, str]] = {
    "other size": (PHOTO[:7], "the image is 6×7 with 3 channels, and this model reads 6×8 with 3"),
    "what to do": (PHOTO[:7], "Images are not resized: scale or crop it first"),
    "grey": (
        PHOTO[:, :, 0],
        "and this model reads 6×8 with 3 channels. Convert it to RGB",
    ),
    "channels first": (PHOTO.transpose(2, 0, 1), "Bytes come as (height, width, channels)"),
    "channels last": (PHOTO / 255.0, "Numbers from 0 to 1 come as (channels, height, width)"),
    "wrong axes": (np.zeros((1, 8, 6, 3), np.uint8), "not 4 axes"),
    "too bright": (torch.full(SHAPE, 1.5), "from 0 to 1"),
    "not divided": (torch.full(SHAPE, 200.0), "Divide pixels up to 255 by 255"),
    "negative": (torch.full(SHAPE, -0.1), "some are outside or NaN"),
    "NaN": (torch.full(SHAPE, torch.nan), "NaN"),
    "strings": (np.array([["a"]]), "the pixels are of type <U1. Give bytes from 0 to 255"),
    "objects": (np.array([[None]]), "the pixels are of type object"),
    "whole numbers": (np.zeros((8, 6, 3), np.int64), "the pixels are int64. Give bytes from 0 to 255"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_image_is_refused_with_the_reason_and_the_others_are_answered(bad: str) -> None:
    own = Classifier(model(), Plain(), labels=list("abcd"))
    given, reason = BAD[bad]
    first, second = own.predict([given, PHOTO])
    assert reason in first.refused and first.label is None
    assert second.label in own.labels


def test_file_names_need_a_reader_and_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give arrays"):
        model().inputs(["a.png"])
    with pytest.raises(UsageError, match="put it in brackets"):
        model().inputs("a.png")
    own = new_image_model("small-cnn:width=2", SHAPE, 4, open_file=read_image)
    (found,) = own.inputs(["a\0.png"])
    assert isinstance(found, Unreadable) and "null" in found.reason


def test_one_image_without_a_list_is_refused_but_a_list_of_one_grey_image_is_not() -> None:
    grey = new_image_model("small-cnn:width=2", (1, 8, 6), 4)
    for own, one in (
        (model(), PHOTO),
        (model(), torch.rand(SHAPE)),
        (grey, PHOTO[:, :, 0]),
        (grey, torch.rand(8, 6)),
        (grey, PHOTO[:5, :, 0]),
    ):
        with pytest.raises(UsageError, match="one image: put it in brackets"):
            own.inputs(one)
    assert len(grey.read(grey.inputs(PHOTO[None, :, :, 0]))) == 1


def test_images_of_pil_are_read_as_files_are() -> None:
    """The array of a palette image holds numbers of colours, which are no shades."""
    image = pytest.importorskip("PIL.Image").fromarray(PHOTO)
    own = new_image_model("small-cnn:width=2", SHAPE, 4, open_file=read_image)
    palette = image.quantize(7)
    turned = image.transpose(2)  # a quarter to the left, and EXIF says to turn it back
    turned.getexif()[0x0112] = 6
    whole, few, upright = own.read(own.inputs([image, palette, turned]))
    assert np.array_equal(whole.given, PHOTO) and np.array_equal(upright.given, PHOTO)
    assert np.array_equal(few.given, np.asarray(palette.convert("RGB")))
    glass = image.copy()
    glass.putalpha(9)
    first, second = Classifier(own, Plain(), labels=list("abcd")).predict([glass, image])
    assert "The PIL image has transparent pixels" in first.refused and second.label
    with pytest.raises(UsageError, match="one image: put it in brackets"):
        own.inputs(image)
    with pytest.raises(UsageError, match="give arrays"):
        model().inputs([image])


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 9, 13)])
def test_architectures_read_any_size(name: str, shape: tuple[int, int, int]) -> None:
    if name == "resnet-110" and shape[0] == 3:
        shape = (3, 9, 13)
    network = make_architecture(name).network(shape, 5).eval()
    with torch.inference_mode():
        assert network(torch.rand(2, *shape)).shape == (2, 5)


def test_all_of_an_image_is_read() -> None:
    """Pooling that reads a corner of larger images is a slip of released code."""
    for name in ("small-cnn", "cifar-cnn", "resnet-20"):
        network = make_architecture(name).network((1, 20, 20), 2).eval()
        start = torch.rand(1, 1, 20, 20, requires_grad=True)
        network(start).sum().backward()
        assert start.grad is not None
        reached = start.grad[0, 0].abs() > 0
        assert all(bool(reached[y : y + 5, x : x + 5].any()) for y in (0, 15) for x in (0, 15)), name


def test_settings_of_an_architecture_follow_its_name() -> None:
    assert described(make_architecture("resnet-20:width=4,mean=0.4"))["settings"]["width"] == 4
    with pytest.raises(UsageError, match="small-cnn"):
        make_architecture("smal-cnn")
    with pytest.raises(UsageError, match="depth"):
        make_architecture("small-cnn:depth=3")
    with pytest.raises(UsageError, match="at least 4×4"):
        make_architecture("mnist-cnn").network((1, 3, 3), 2)


def test_noise_is_in_pixel_units() -> None:
    """Networks scale inside: adding σ to a pixel is the same as giving a pixel that is σ brighter."""
    own = model()
    batch = own.batch(own.read([PHOTO]))
    assert float(own.start(batch).max()) <= 1 and float(own.start(batch).min()) >= 0
    brighter = own.read([torch.tensor(PHOTO).permute(2, 0, 1).float().div(510)])
    moved = own.forward(batch, start=own.start(batch) / 2).logits
    assert torch.allclose(own.forward(own.batch(brighter)).logits, moved, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 28, 28), (3, 5, 7), (1, 48, 48)])
def test_masks_have_the_size_of_the_image(shape: tuple[int, int, int]) -> None:
    for name, settings in (("unet", {"width": 2}), ("unet", {"width": 2, "shrink": 2}), ("static", {})):
        mask = make_mask(name, settings, shape).eval()(torch.rand(2, *shape)).detach()
        assert mask.shape == (2, 1, *shape[1:])
        assert float(mask.min()) > 0 and float(mask.max()) <= 1


def test_network_of_your_own_is_known_by_its_code() -> None:
    own = ImageModel(nn.Sequential(nn.Flatten(), nn.Linear(144, 2)), SHAPE)
    assert own.architecture()["name"] == "own:Sequential" and own.identity()["code"]
    assert not own.parallel and model().parallel


def test_augmentation_is_keyed_by_seed_epoch_and_example() -> None:
    image = torch.tensor(PHOTO)
    both = Augmentation(("crop", "flip"), 3)
    versions = [both(image, epoch, place) for epoch in range(4) for place in range(8)]
    again = [both(image, epoch, place) for epoch in range(4) for place in range(8)]
    assert all(torch.equal(one, other) for one, other in zip(versions, again, strict=True))
    assert len({one.numpy().tobytes() for one in versions}) > 8
    assert all(one.shape == image.shape for one in versions)
    flips = {Augmentation(("flip",), 0)(image, 0, place).numpy().tobytes() for place in range(20)}
    assert flips == {image.numpy().tobytes(), image.flip(1).numpy().tobytes()}


def test_unreadable_passes_through() -> None:
    assert model().read([Unreadable("cannot be opened", "x.png")])[0].reason == "cannot be opened"
