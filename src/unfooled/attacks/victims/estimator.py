"""scikit-learn estimators as victims: any object with ``predict_proba``, or a pipeline in a skops file.

>>> victim = EstimatorVictim(make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels))
>>> victim = EstimatorVictim.load("spam.skops")

Class names are those of ``classes_``. A skops file is opened only if skops knows all of its types as safe, or
they are in ``SAFE_TYPES``; pickles and joblib files, which may run anything, are never opened.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unfooled.assets.digest import of_file
from unfooled.attacks.victim import Query
from unfooled.attacks.victims.function import FunctionVictim
from unfooled.errors import UsageError, UserError, needs_extra

SAFE_TYPES = (
    "scipy.sparse._csr.csr_matrix",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
"""Types that scikit-learn's own estimators are saved with and that only hold numbers, beside those that skops
trusts. Trees are not here: a crafted one reads memory that is not its own."""
PICKLES = {".pkl", ".pickle", ".joblib", ".sav"}


class EstimatorVictim(FunctionVictim):
    """Answers with ``predict_proba`` of a fitted estimator that takes a list of texts."""

    def __init__(
        self,
        estimator: Any,
        *,
        labels: Sequence[str] | None = None,
        randomised: bool = False,
        batch_size: int = 1024,
        spec: str = "",
        sha256: str | None = None,
    ) -> None:
        names = labels or [str(name) for name in getattr(estimator, "classes_", ())]
        super().__init__(
            estimator.predict_proba, labels=names, randomised=randomised, batch_size=batch_size, spec=spec
        )
        self.estimator = estimator
        self._sha256 = sha256

    @classmethod
    def load(cls, location: str, *, labels: Sequence[str] | None = None) -> EstimatorVictim:
        """The estimator in a skops file."""
        path = Path(location)
        estimator = open_skops(path)
        if not callable(getattr(estimator, "predict_proba", None)):
            raise UserError(
                f"{path} holds a {type(estimator).__name__} without predict_proba. Save a classifier that "
                "gives probabilities; CalibratedClassifierCV makes one of a classifier that does not."
            )
        return cls(estimator, labels=labels, spec=f"sklearn:{location}", sha256=of_file(path))

    def describe(self) -> dict[str, object]:
        """What it is, for the record of a run; a file by its digest."""
        told = super().describe() | {"kind": "sklearn", "estimator": type(self.estimator).__name__}
        return told if self._sha256 is None else told | {"sha256": self._sha256}

    def _table(self, queries: Sequence[Query]) -> np.ndarray:
        if any(len(query) > 1 for query in queries):
            raise UserError(f"{self.spec} takes single texts, not pairs. Wrap it in a function of pairs.")
        return super()._table(queries)


def open_skops(path: Path) -> Any:
    """The object in a skops file; one with types that are not known as safe is refused by their names."""
    if path.suffix.lower() in PICKLES:
        raise UsageError(
            f"{path} is a pickle, which may run anything when it is opened, so it is never opened. Save the "
            'pipeline with skops: skops.io.dump(pipeline, "model.skops").'
        )
    if not path.is_file():
        raise UserError(f"There is no file {path}. Name the skops file of a fitted pipeline.")
    skops = needs_extra("skops.io", "sklearn", f"opens {path}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # another version of scikit-learn: its answers are checked
            unknown = sorted(set(skops.get_untrusted_types(file=path)) - set(SAFE_TYPES))
            if unknown:
                raise UserError(
                    f"{path} holds types that are not known as safe: {', '.join(unknown)}. Save a pipeline "
                    "of scikit-learn's own parts, without functions and trees; or load the model in a Python "
                    "file of your own and name its function: FILE.py:FUNCTION."
                )
            return skops.load(path, trusted=list(SAFE_TYPES))
    except UserError:
        raise
    except Exception as error:  # whatever a damaged file makes skops, zipfile and scikit-learn raise
        raise UserError(
            f"{path} cannot be read as a skops file ({type(error).__name__}: {error}). Save it again with "
            "skops.io.dump, with the versions of skops and scikit-learn that are installed here."
        ) from error
