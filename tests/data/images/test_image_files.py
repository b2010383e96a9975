"""Image files: converted where the meaning is plain, else refused with the name of the file."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_images import idx_bytes, picture

from unfooled.data.images import image_files
from unfooled.data.images.idx import read_idx
from unfooled.data.images.image_files import decode, look, read_image
from unfooled.data.images.pixel_arrays import as_labels, as_pixels, read_npz
from unfooled.errors import DataError, UserError

Image = pytest.importorskip("PIL.Image")
ImageFile = pytest.importorskip("PIL.ImageFile")


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def huge_png(width: int, height: int) -> bytes:
    """A PNG whose header promises more than its few bytes hold."""
    data = encoded(Image.new("L", (1, 1)))
    header = b"IHDR" + struct.pack(">II", width, height) + data[24:29]
    return data[:8] + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header)) + data[33:]


def test_grey_colour_and_palette_keep_their_pixels(tmp_path: Path) -> None:
    for channels in (1, 3):
        pixels = picture(channels=channels)
        Image.fromarray(pixels).save(tmp_path / "a.png")
        assert np.array_equal(read_image(tmp_path / "a.png"), pixels.reshape(6, 5, channels))
        assert look(tmp_path / "a.png") == (6, 5, channels)
    few = Image.fromarray(picture() // 128 * 255).convert("P", palette=1, colors=8)
    assert np.array_equal(decode(encoded(few), "p"), np.asarray(few.convert("RGB")))
    black_and_white = Image.fromarray(picture(channels=1)).convert("1")
    assert set(np.unique(decode(encoded(black_and_white), "b"))) == {0, 255}


def test_channels_and_size_are_converted_if_asked() -> None:
    grey = encoded(Image.fromarray(picture(channels=1)))
    assert decode(grey, "g", channels=3).shape == (6, 5, 3)
    assert decode(encoded(Image.fromarray(picture())), "c", channels=1).shape == (6, 5, 1)
    assert decode(grey, "g", size=4).shape == (4, 4, 1)


TURNED = {  # by orientation: what EXIF says is to be done with the rows and columns
    1: lambda rows: rows,
    2: np.fliplr,
    3: lambda rows: np.rot90(rows, 2),
    4: np.flipud,
    5: lambda rows: rows.swapaxes(0, 1),
    6: lambda rows: np.rot90(rows, -1),
    7: lambda rows: np.rot90(rows, 2).swapaxes(0, 1),
    8: np.rot90,
}
EXACT = {"PNG": {}, "TIFF": {}, "WEBP": {"lossless": True}}


def turned(pixels: np.ndarray, orientation: int, kind: str = "PNG", **options: object) -> bytes:
    image = Image.fromarray(pixels)
    exif = image.getexif()
    exif[0x0112] = orientation
    return encoded(image, kind, exif=exif, **options)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("orientation", TURNED)
@pytest.mark.parametrize("kind", [*EXACT, "JPEG"])
def test_exif_rotation_is_applied(kind: str, orientation: int, channels: int, tmp_path: Path) -> None:
    path = tmp_path / "turned.img"
    pixels = np.full((16, 24) if channels == 1 else (16, 24, 3), 40, np.uint8)
    pixels[:8, :8] = 220  # one bright corner, which is told apart after JPEG too
    path.write_bytes(turned(pixels, orientation, kind, **EXACT.get(kind, {})))
    found, expected = read_image(path), TURNED[orientation](pixels)
    assert found.shape[:2] == expected.shape[:2] == ((24, 16) if orientation > 4 else (16, 24))
    assert look(path) == found.shape
    expected = np.broadcast_to(expected.reshape(*expected.shape[:2], channels), found.shape)
    assert np.abs(found.astype(int) - expected).max() <= (10 if kind == "JPEG" else 0)


def test_look_at_a_png_decodes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in (("plain", encoded(Image.fromarray(picture()))), ("turned", turned(picture(), 6))):
        (tmp_path / name).write_bytes(content)
    behind = turned(picture(), 6)
    start = behind.index(b"eXIf") - 4
    end = start + 12 + int.from_bytes(behind[start : start + 4], "big")
    (tmp_path / "behind").write_bytes(behind[:start] + behind[end:-12] + behind[start:end] + behind[-12:])
    decoded = []
    load = ImageFile.ImageFile.load
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda image: decoded.append(image) or load(image))
    assert look(tmp_path / "plain") == (6, 5, 3) and look(tmp_path / "turned") == (5, 6, 3)
    assert not decoded
    assert look(tmp_path / "behind") == (5, 6, 3) and decoded


@pytest.mark.parametrize("kind", ["PNG", "GIF", "BMP", "TIFF"])
def test_palette_of_greys_is_grey(kind: str, tmp_path: Path) -> None:
    grey = Image.fromarray(picture(channels=1)).quantize(7)
    colour = Image.fromarray(picture()).quantize(7)
    for image, channels in ((grey, 1), (colour, 3)):
        path = tmp_path / "palette.img"
        path.write_bytes(encoded(image, kind))
        assert Image.open(path).mode == "P"
        assert look(path) == read_image(path).shape == (6, 5, channels)
        as_colour = np.asarray(image.convert("RGB"))
        assert np.array_equal(read_image(path, channels=3), as_colour)
        assert np.array_equal(read_image(path), as_colour[..., :channels])


def test_image_of_pil_is_read_as_its_file_is(tmp_path: Path) -> None:
    palette = Image.fromarray(picture()).quantize(7)
    cases = {
        "grey": encoded(Image.fromarray(picture(channels=1))),
        "palette": encoded(palette),
        "turned": turned(picture(), 6),
        "turned tiff": turned(picture(), 6, "TIFF"),
    }
    for name, content in cases.items():
        for channels, size in ((None, None), (1, None), (None, 4)):
            expected = decode(content, name, channels=channels, size=size)
            image = Image.open(io.BytesIO(content))
            assert np.array_equal(read_image(image, channels=channels, size=size), expected), name
            image.load()  # and once more, of an image that is decoded already
            assert np.array_equal(read_image(image, channels=channels, size=size), expected), name
    assert np.array_equal(read_image(palette), np.asarray(palette.convert("RGB")))


def test_image_of_pil_is_refused_as_its_file_is(tmp_path: Path) -> None:
    glass = Image.fromarray(picture())
    glass.putalpha(9)
    frames = [Image.fromarray(picture(seed=seed)) for seed in range(3)]
    moving = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    (tmp_path / "cut.png").write_bytes(encoded(Image.fromarray(picture(60, 50)))[:-4000])
    for image, told in (
        (glass, "The PIL image has transparent pixels"),
        (Image.new("CMYK", (4, 4)), "The PIL image is in the colour space CMYK"),
        (Image.new("I;16", (4, 4)), "The PIL image has 16 bits per channel"),
        (Image.open(io.BytesIO(moving)), "The PIL image holds 3 frames"),
        (Image.open(tmp_path / "cut.png"), r"cut\.png is damaged"),
    ):
        with pytest.raises(DataError, match=told):
            read_image(image)


def test_alpha_without_effect_is_dropped_and_transparency_is_refused() -> None:
    image = Image.fromarray(picture())
    image.putalpha(255)
    assert np.array_equal(decode(encoded(image), "opaque"), picture())
    image.putalpha(254)
    with pytest.raises(DataError, match=r"see-through\.png has transparent pixels"):
        decode(encoded(image), "see-through.png")
    palette = Image.fromarray(picture()).convert("P")
    with pytest.raises(DataError, match="transparent"):
        decode(encoded(palette, transparency=int(np.asarray(palette)[0, 0])), "p.png")


@pytest.mark.parametrize(
    ("image", "kind", "told"),
    [
        (Image.new("CMYK", (4, 4)), "JPEG", "colour space CMYK"),
        (Image.new("I;16", (4, 4)), "PNG", "16 bits per channel"),
        (Image.new("F", (4, 4)), "TIFF", "32 bits per channel"),
        (Image.new("LAB", (4, 4)), "TIFF", "colour space LAB"),
    ],
)
def test_other_kinds_of_pixels_are_refused(image: Image.Image, kind: str, told: str) -> None:
    with pytest.raises(DataError, match=rf"x\.img .*{told}"):
        decode(encoded(image, kind), "x.img")


def test_sixteen_bit_colour_is_refused_rather_than_cut() -> None:
    """PIL opens it as 8 bits."""
    rows = b"".join(b"\0" + bytes(range(24)) for _ in range(4))
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 4, 4, 16, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )
    assert Image.open(io.BytesIO(png)).mode == "RGB"
    with pytest.raises(DataError, match=r"deep\.png has 16 bits per channel"):
        decode(png, "deep.png")


def test_frames_are_refused() -> None:
    frames = [Image.fromarray(picture(seed=seed)) for seed in range(3)]
    moving = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    with pytest.raises(DataError, match=r"moving\.gif holds 3 frames"):
        decode(moving, "moving.gif")
    assert decode(encoded(frames[0], "GIF"), "still.gif").shape == (6, 5, 3)


@pytest.mark.parametrize(("width", "height"), [(20_000, 20_000), (9000, 9000), (2**31 - 1, 2**31 - 1)])
def test_decompression_bomb_is_refused_before_it_is_decoded(width: int, height: int) -> None:
    with pytest.raises(DataError, match=r"bomb\.png has .*pixels"):
        decode(huge_png(width, height), "bomb.png")


def test_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_files, "LARGEST_FILE", 1 << 20)
    with (tmp_path / "large.png").open("wb") as file:
        file.truncate((1 << 20) + 1)
    with pytest.raises(DataError, match=r"large\.png has more than 1 MB"):
        read_image(tmp_path / "large.png")


def test_file_without_an_image_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("not an image")
    with pytest.raises(DataError, match=r"text\.png is damaged, or not an image of a supported kind"):
        read_image(tmp_path / "text.png")
    with pytest.raises(DataError, match=r"gone\.png cannot be read: No such file"):
        read_image(tmp_path / "gone.png")


def test_program_in_postscript_is_not_opened() -> None:
    with pytest.raises(DataError, match="not an image of a supported kind"):
        decode(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n", "run.eps")


@contextmanager
def told_of(name: str) -> Iterator[None]:
    """All is well, or a DataError begins with the name."""
    try:
        yield
    except DataError as error:
        if not str(error).startswith(name):
            raise AssertionError(f"{error} does not begin with {name}") from error


WHOLE = [
    encoded(Image.fromarray(picture(9, 9)), kind, **options)
    for kind, options in (("PNG", {}), ("JPEG", {}), ("BMP", {}), ("GIF", {}), ("TIFF", {}), ("WEBP", {}))
]


@pytest.mark.full
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(WHOLE),
    st.floats(0, 1),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=6),
)
def test_broken_files_are_read_or_refused_by_name(
    whole: bytes, cut: float, changes: list[tuple[float, int]]
) -> None:
    broken = bytearray(whole)
    for at, value in changes:
        broken[int(at * (len(broken) - 1))] = value
    broken = broken[: int(cut * len(broken))] if cut < 0.7 else broken
    with told_of("broken.img "):
        pixels = decode(bytes(broken), "broken.img", size=8)
        assert pixels.dtype == np.uint8 and pixels.shape[:2] == (8, 8) and pixels.shape[2] in (1, 3)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 255)), max_size=4), st.integers(-3, 3))
def test_broken_idx_files_are_read_or_refused_by_name(
    tmp_path: Path, changes: list[tuple[int, int]], more: int
) -> None:
    whole = bytearray(idx_bytes(np.zeros((3, 2, 2))))
    for at, value in changes:
        whole[at] = value
    path = tmp_path / "x-idx3-ubyte"
    path.write_bytes(bytes(whole[:more]) if more < 0 else bytes(whole) + bytes(more))
    with told_of(str(path)):
        assert read_idx(path, 3).ndim == 3


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.zeros((3, 4)), "the shape is 3 × 4"),
        (np.zeros((3, 1, 4, 4), np.uint8), r"channels, must be 1 or 3\. Move the channels"),
        (np.zeros((3, 4, 4, 2), np.uint8), "channels, must be 1 or 3"),
        (np.full((3, 4, 4, 1), 0.5), "pixels are float64 from 0.5 to 0.5; whole numbers"),
        (np.full((3, 4, 4, 1), np.nan), "image 1: a pixel is NaN"),
        (np.full((3, 4, 4, 1), 300), "image 1: pixels range from 300 to 300"),
        (np.zeros((3, 4, 4, 1), bool), "the type bool"),
        (np.zeros((0, 4, 4, 1), np.uint8), "the shape is 0 × 4 × 4 × 1"),
    ],
)
def test_arrays_that_are_no_pixels_are_refused(array: np.ndarray, told: str) -> None:
    with pytest.raises(DataError, match=f"mine.*{told}"):
        as_pixels(array, "mine")


def test_arrays_that_are_pixels_are_taken() -> None:
    assert as_pixels(np.full((3, 4, 5), 255), "mine").shape == (3, 4, 5, 1)
    with pytest.raises(DataError, match="3 images but 2 labels"):
        as_labels(np.array([0, 1]), 3, "mine")


def test_npz_file_is_read_and_what_is_wrong_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {"x_train": rng.integers(0, 256, (20, 4, 4, 3), dtype=np.uint8), "y_train": np.arange(20) % 2}
    np.savez(tmp_path / "a.npz", **arrays)
    splits = read_npz(tmp_path / "a.npz")
    assert splits.test is None and splits.label_names == ("0", "1") and len(splits.train) == 20
    np.savez(tmp_path / "b.npz", pictures=arrays["x_train"])
    with pytest.raises(DataError, match=r"b\.npz has the arrays pictures; x_train and y_train"):
        read_npz(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", x_train=np.array([{}], dtype=object), y_train=arrays["y_train"])
    with pytest.raises(UserError, match=r"c\.npz cannot be read as \.npz"):
        read_npz(tmp_path / "c.npz")


def test_npz_file_that_unpacks_to_too_much_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, images=np.zeros((10, 64, 64, 3), np.uint8), labels=np.zeros(10, int))
    monkeypatch.setattr("unfooled.data.images.pixel_arrays.LARGEST", 100_000)
    with pytest.raises(DataError, match=r"bomb\.npz unpacks to .*Give the images in a folder"):
        read_npz(path)


def test_missing_pillow_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(UserError, match=r"PIL reads images.*pip install 'unfooled\[images\]'"):
        decode(WHOLE[0], "a.png")
