"""Certificates: what a smoothed classifier provably keeps when its input is tampered with.

:mod:`unfooled.certify.bounds` turns class probabilities into radii, :mod:`unfooled.certify.confidence`
turns vote counts into bounds on those probabilities. Both are NumPy and SciPy only. The procedure is in
:mod:`unfooled.certify.procedure`, for images in :mod:`unfooled.certify.tensors`.

The package can be called, ``unfooled.certify(classifier, texts, threat="l2")``: that is
:func:`unfooled.run.certify.certify`.
"""

from __future__ import annotations

import sys

from unfooled import CertifyRoom
from unfooled.certify import bounds, confidence

sys.modules[__name__].__class__ = CertifyRoom

__all__ = ["bounds", "confidence"]
