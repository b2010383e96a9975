"""The options of ``unfooled attack``, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unfooled.cli.options import completion

Victim = Annotated[
    str | None,
    typer.Argument(
        help="Folder of a trained run; or hf:NAME, sklearn:FILE.skops, onnx:FOLDER, module:function, "
        "file.py:function, https://….",
        show_default=False,
    ),
]
Recipe = Annotated[
    list[str] | None,
    typer.Option(
        help="Attack (default: textfooler; for images pgd-linf, for questions addsent). Several: a,b or "
        "--recipe a --recipe b; or all. See --list.",
        show_default=False,
        autocompletion=completion.recipes,
    ),
]
RecipeSettings = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of the recipe, e.g. --set candidates=20.")
]
Sizes = Annotated[
    str | None,
    typer.Option(
        help="Images: sizes of the attack (ε), each of which is tried, separated by commas: 0.02,0.05,0.1.",
        show_default=False,
    ),
]
Limit = Annotated[
    int, typer.Option(help="Number of inputs to attack (stratified; questions in the order of the file).")
]
PredictorSet = Annotated[
    list[str] | None, typer.Option(help="A setting of the predictor, e.g. --predictor-set votes=50.")
]
Seed = Annotated[int, typer.Option(help="Seed of the attack and of the victim's noise.")]
InFlight = Annotated[int, typer.Option(help="Examples attacked side by side; changes speed and memory only.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, mps.", autocompletion=completion.devices)]
Precision = Annotated[
    str,
    typer.Option(
        help="Precision of the search in a run: float32, bf16 or auto. Successes are confirmed in float32.",
        autocompletion=completion.precisions,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder for attack.json and the journal (default: a result set, RUN/attacks/NAME)."
    ),
]
Show = Annotated[
    int,
    typer.Option(
        help="Number of successes to show: changed words, added sentences, or how far an image moved."
    ),
]
Export = Annotated[Path | None, typer.Option(help="Write all outcomes to a file: .csv, .jsonl or .parquet.")]
List = Annotated[bool, typer.Option("--list", help="List the recipes and their settings, then exit.")]
