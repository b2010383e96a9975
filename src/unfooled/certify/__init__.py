"""Certificates: what a smoothed classifier provably keeps when its input is tampered with.

:mod:`unfooled.certify.bounds` turns class probabilities into radii, :mod:`unfooled.certify.confidence`
turns vote counts into bounds on those probabilities. Both are NumPy and SciPy only.
"""

from __future__ import annotations

from unfooled.certify import bounds, confidence

__all__ = ["bounds", "confidence"]
