"""The options of ``unfooled certify``, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unfooled.cli.options import completion

Model = Annotated[
    str,
    typer.Argument(
        help="Folder of a trained run; any victim of attack: hf:NAME, sklearn:FILE.skops, onnx:FOLDER, "
        "file.py:function, https://…; with --tensors a PyTorch model, python:FILE.py:NAME.",
        show_default=False,
    ),
]
Tensors = Annotated[
    Path | None,
    typer.Option(
        help="Certify tensors: a .npz, .npy or .safetensors file with 'inputs' (and 'labels', if known)."
    ),
]
Sigma = Annotated[
    float | None, typer.Option(help="Noise on tensors: σ, or the Laplace scale for l1, in their own units.")
]
Texts = Annotated[
    list[str] | None, typer.Argument(help="Texts to certify, instead of a task or file.", show_default=False)
]
Pair = Annotated[list[str] | None, typer.Option(help="Second text of a pair, one for each text. Repeatable.")]
Threat = Annotated[
    str | None,
    typer.Option(
        help="Tampering to certify against: l2, l1, linf, each-word (embeddings), synonyms, words or edits "
        "(default: the first one that the run's defence trains for, else l2).",
        show_default=False,
        autocompletion=completion.threats,
    ),
]
Bound = Annotated[
    str | None,
    typer.Option(
        help="Bound, or several from the same votes: gaussian, renyi, pixeldp, composed (l2, linf, "
        "each-word); laplace (l1). The first is certified."
    ),
]
Limit = Annotated[int, typer.Option(help="Number of inputs to certify (stratified).")]
Seed = Annotated[
    int,
    typer.Option(
        help="Seed of the draws. -1: a secret one, for inputs that may be chosen with the seed in hand."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder for certificate.json and the journal (default: RUN/certificates/NAME)."
    ),
]
MaxQueries = Annotated[
    int | None,
    typer.Option(help="Largest number of texts to ask a victim that is not a run; run again to go on."),
]
Show = Annotated[int, typer.Option(help="Number of certificates to show in full.")]
