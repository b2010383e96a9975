"""Any Python function that classifies texts: attack it, then certify and deploy its majority over deletions.

    python examples/any_classifier.py

The function here counts words. Put your own model, service or rule in its place: texts in, one score per
label out. For a scikit-learn pipeline, an ONNX model or an endpoint give ``sklearn:FILE.skops``,
``onnx:FOLDER`` or ``https://…`` instead of a function.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import unfooled as uf

LABELS = ["ham", "spam"]
SUSPICIOUS = {"claim", "free", "now", "prize", "txt", "urgent", "win", "winner"}
TEXTS = [
    "free prize now urgent claim your prize now win free txt",
    "urgent winner claim a free prize txt now now now",
    "shall we have lunch at one",
    "your parcel is at the door, the neighbour has it",
]
TRUE = ["spam", "spam", "ham", "ham"]


def classify(texts: Sequence[str]) -> list[list[float]]:
    """One score per label for each text: the share of suspicious words."""
    shares = []
    for text in texts:
        words = text.lower().split()
        shares.append(sum(word.strip(".,!") in SUSPICIOUS for word in words) / max(len(words), 1))
    return [[1 - share, share] for share in shares]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=1000, help="random deletions per text")
    given = parser.parse_args()

    victim = uf.as_victim(classify, labels=LABELS)
    inputs = uf.Inputs(texts=TEXTS, labels=TRUE)
    print(uf.attack(victim, inputs, recipe="deepwordbug"))

    # The function itself is not certified; its majority over random deletions is, and this is that majority.
    smoothed = uf.smoothed(victim, predictor={"name": "random-delete", "rates": [0.8]})
    for text in TEXTS:
        (answer,) = smoothed.predict([text], certified=True)
        print(answer.label or "no answer", "—", text)
    report = uf.certify(smoothed, TEXTS, threat="edits", sampling=uf.Sampling(n0=50, n=given.n))
    for certificate in report:
        print(certificate.sentence)


if __name__ == "__main__":
    main()
