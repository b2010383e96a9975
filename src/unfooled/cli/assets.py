"""``unfooled assets``: see, fetch, check and locate the pinned models, word vectors and datasets."""

from __future__ import annotations

from typing import Annotated

import typer

from unfooled.cli.console import JsonOption, err, out, print_json
from unfooled.cli.options.completion import asset_names

app = typer.Typer(
    help="The models, word vectors and datasets that unfooled uses: pinned, checked and cached.",
    no_args_is_help=True,
)

NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]...",
        help="Names as `unfooled assets list` shows them.",
        autocompletion=asset_names,
    ),
]


@app.command("list")
def list_assets(json: JsonOption = False) -> None:
    """Show what there is, how large it is, under which licence, and what is already cached."""
    from unfooled import assets
    from unfooled.assets.download_bar import readable

    known = [assets.describe(name) for name in assets.names()]
    if json:
        rows = [
            {
                "name": asset.name,
                "description": asset.description,
                "licence": asset.licence,
                "bytes": asset.size,
                "cached": assets.cached(asset.name),
            }
            for asset in known
        ]
        print_json({"cache": assets.cache_dir(), "assets": rows})
        return
    from rich.table import Table

    table = Table("name", box=None, header_style="bold", pad_edge=False)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("cached", no_wrap=True)
    table.add_column("licence", no_wrap=True)
    table.add_column("what it is")
    for asset in known:
        here = "yes" if assets.cached(asset.name) else "–"
        table.add_row(asset.name, readable(asset.size), here, asset.licence, asset.description)
    out.print(table)
    err.print(f"Cache: {assets.cache_dir()}", soft_wrap=True)


@app.command()
def licences(json: JsonOption = False) -> None:
    """List the licence of every asset, who states it, and which archives it comes from."""
    from unfooled import assets

    known = [assets.describe(name) for name in assets.names()]
    if json:
        rows = [
            {
                "name": asset.name,
                "licence": asset.licence,
                "stated_by": asset.licence_from,
                "sources": [str(source) for source in asset.sources],
            }
            for asset in known
        ]
        print_json({"assets": rows})
        return
    from rich.table import Table

    table = Table("name", "licence", "stated by", "comes from", box=None, header_style="bold", pad_edge=False)
    for asset in known:
        sources = "; ".join(str(source) for source in asset.sources)
        table.add_row(asset.name, asset.licence, asset.licence_from, sources)
    out.print(table)


@app.command()
def get(
    names: NamesArgument = None,
    every: Annotated[bool, typer.Option("--all", help="Fetch every asset.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is already cached.")] = False,
    json: JsonOption = False,
) -> None:
    """Download assets that are not cached yet, for example before going offline."""
    from unfooled import assets
    from unfooled.errors import UsageError

    if bool(names) == every:
        raise UsageError("Name the assets to fetch, or give --all (not both). See `unfooled assets list`.")
    wanted = [assets.describe(name).name for name in names or assets.names()]
    folders = {name: assets.get(name, force=force) for name in wanted}
    if json:
        print_json({"assets": [{"name": name, "path": folder} for name, folder in folders.items()]})
        return
    for name, folder in folders.items():
        out.print(f"{name}  {folder}", soft_wrap=True, markup=False)


@app.command()
def verify(names: NamesArgument = None, json: JsonOption = False) -> None:
    """Re-hash every file of the named assets (default: all that are cached); exit 1 if any is wrong."""
    from unfooled import assets

    here = [name for name in assets.names() if assets.folder_of(assets.describe(name)).exists()]
    results = [assets.verify(name) for name in (names or here)]
    bad = [result.name for result in results if not result.ok]
    if json:
        rows = [{"name": r.name, "ok": r.ok, "path": r.folder, "problems": list(r.problems)} for r in results]
        print_json({"ok": not bad, "assets": rows})
    for result in [] if json else results:
        out.print(f"{result.name}: {'ok' if result.ok else 'wrong'}", markup=False)
        for problem in result.problems:
            out.print(f"  {problem}", soft_wrap=True, markup=False)
    if not results:
        err.print("Nothing is cached yet. Fetch something with `unfooled assets get NAME`.")
    if bad:
        err.print(f"Put it right with `unfooled assets get --force {' '.join(bad)}`.", soft_wrap=True)
        raise typer.Exit(1)


@app.command()
def path(
    name: Annotated[
        str, typer.Argument(help="A name as `unfooled assets list` shows it.", autocompletion=asset_names)
    ],
    json: JsonOption = False,
) -> None:
    """Print the folder of one asset, fetching it first if it is not cached."""
    from unfooled import assets

    folder = assets.path(name)
    if json:
        print_json({"name": name, "path": folder})
    else:
        typer.echo(folder)
