"""Images: train on noisy digits, certify that small changes of the pixels cannot change the answer.

    python examples/images.py

The digits come with scikit-learn, so nothing is fetched. ``task="mnist"`` and ``task="cifar10"`` work the
same, and so does a folder of images by class (``data="photos/"``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import unfooled as uf


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=float, default=10)
    parser.add_argument("--limit", type=int, default=50, help="images to certify")
    parser.add_argument("--n", type=int, default=1000, help="noisy copies per image")
    parser.add_argument("--out", type=Path, default=Path("runs/digits"))
    given = parser.parse_args()

    classifier = uf.train(
        given.out, task="digits", defence="noise-augment", settings={"sigma": 0.25}, epochs=given.epochs
    )
    print(classifier.metrics["test"])
    report = uf.certify(classifier, threat="l2", limit=given.limit, sampling=uf.Sampling(n=given.n))
    print(report)
    best = max(report, key=lambda one: one.radius)
    print(best.sentence)


if __name__ == "__main__":
    main()
