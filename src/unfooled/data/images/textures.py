"""Backgrounds out of nothing: colour images with the look of nature, drawn from a seed.

Natural photographs have power at every scale, falling with frequency as about 1/f², smooth changes of light,
colours that vary together, and edges. So an image is noise of several octaves in a few colours, a gradient of
light, and, in most, a texture: stripes that the noise bends, cells, or the edges of a thresholded octave.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unfooled.data.images.image_rows import Pixels

_Plane = NDArray[np.float64]


def textures(count: int, size: int, seed: int) -> Pixels:
    """So many colour images of size × size pixels; a larger count begins with the same images."""
    return np.stack([_texture(size, np.random.default_rng([seed, number])) for number in range(count)])


def _texture(size: int, rng: np.random.Generator) -> Pixels:
    slope = rng.uniform(1.0, 2.0)  # amplitude falls as 1/f^slope
    planes = [_octaves(size, rng, slope) for _ in range(3)]
    down, right = np.meshgrid(np.linspace(-1, 1, size), np.linspace(-1, 1, size), indexing="ij")
    angle = rng.uniform(0, 2 * np.pi)
    light = np.cos(angle) * down + np.sin(angle) * right
    detail = _detail(size, rng, planes[0], down, right)
    # Two or three colours, mixed by the noise: channels vary together, as they do in photographs.
    greys = rng.uniform(0, 1, (3, 1))
    colours = greys + rng.uniform(0, 0.4) * rng.uniform(-1, 1, (3, 3))
    shares = np.stack([planes[0] + detail, planes[1], planes[2]])
    shares = np.exp(rng.uniform(0.5, 2) * shares)
    image = np.einsum("khw,kc->hwc", shares / shares.sum(axis=0), colours)
    image += rng.uniform(0, 0.15) * (planes[0] + detail)[..., None]
    image += rng.uniform(0, 0.25) * light[..., None] + rng.uniform(-0.2, 0.1)
    return np.rint(np.clip(image, 0, 1) * 255).astype(np.uint8)


def _octaves(size: int, rng: np.random.Generator, slope: float) -> _Plane:
    """Noise of mean 0 and standard deviation 1 whose amplitude falls as 1/f^slope."""
    rows, columns = np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None, :]
    frequency = np.maximum(np.hypot(rows, columns), 1 / size)
    spectrum = np.fft.rfft2(rng.standard_normal((size, size))) / frequency**slope
    spectrum[0, 0] = 0
    plane: _Plane = np.fft.irfft2(spectrum, (size, size))
    return plane / max(float(plane.std()), 1e-9)


def _detail(size: int, rng: np.random.Generator, bend: _Plane, down: _Plane, right: _Plane) -> _Plane:
    kind = rng.integers(4)
    strength = rng.uniform(0.3, 1.2)
    if kind == 0:  # stripes
        angle, waves = rng.uniform(0, np.pi), rng.uniform(2, size / 6)
        across = np.cos(angle) * down + np.sin(angle) * right
        return strength * np.sin(np.pi * waves * across + rng.uniform(0.2, 1.5) * bend)
    if kind == 1:  # cells: the distance to the nearest of some points
        points = rng.uniform(-1, 1, (int(rng.integers(4, 24)), 2))
        apart = np.hypot(down[..., None] - points[:, 0], right[..., None] - points[:, 1]).min(axis=-1)
        return strength * (apart - apart.mean()) / max(float(apart.std()), 1e-9)
    if kind == 2:  # edges
        return strength * np.sign(_octaves(size, rng, 1.8) - rng.uniform(-0.7, 0.7))
    return np.zeros((size, size))
