"""Your own CSV file: train a plain and a defended classifier, attack both, write one page.

    python examples/own_data.py reviews.csv --text-column review --label-column stars

The defended one is trained on texts with words left out at random, and answers by a vote over such texts.
Every other option of ``unfooled train`` works here too: see ``help(unfooled.train)``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import unfooled as uf


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--text-column")
    parser.add_argument("--label-column")
    parser.add_argument("--encoder", help="asset, folder or hub id (default: minilm)")
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--lr", type=float)
    parser.add_argument("--limit", type=int, default=100, help="inputs to attack and to certify")
    parser.add_argument("--out", type=Path, default=Path("runs/own"))
    given = parser.parse_args()

    runs = []
    for defence, settings in (("standard", {}), ("random-delete", {"rates": [0.6]})):
        run = given.out / defence
        classifier = uf.train(
            run,
            data=given.file,
            text_column=given.text_column,
            label_column=given.label_column,
            defence=defence,
            settings=settings,
            encoder=given.encoder,
            epochs=given.epochs,
            lr=given.lr,
        )
        print(defence, classifier.metrics["test"])
        # The run keeps its test rows, so nothing else has to be named.
        print(uf.attack(classifier, recipe="deepwordbug", limit=given.limit))
        runs.append(run)
    print(uf.certify(runs[1], threat="edits", limit=given.limit, sampling=uf.Sampling(n0=20, n=200)))
    print(uf.report(*runs, out=given.out / "report.html"))


if __name__ == "__main__":
    main()
