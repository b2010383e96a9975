"""scikit-learn pipelines as victims: objects with predict_proba, and skops files that hold nothing unsafe."""

from __future__ import annotations

import os.path
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from unfooled.attacks import Asked
from unfooled.attacks.victims import as_victim, open_victim
from unfooled.errors import UsageError, UserError

TEXTS = [
    "win a prize now",
    "free prize call now",
    "win free cash",
    "see you at noon",
    "call you at home",
    "at home now",
]
LABELS = ["spam", "spam", "spam", "ham", "ham", "ham"]


class Words:
    """Stands for any object with predict_proba, without scikit-learn."""

    classes_ = ("ham", "spam")

    def predict_proba(self, texts: list[str]) -> list[list[float]]:
        return [[0.2, 0.8] if "prize" in text else [0.9, 0.1] for text in texts]


def asked(*texts: str) -> list[Asked]:
    return [Asked((text,)) for text in texts]


def test_an_object_with_predict_proba_is_a_victim_with_the_names_of_its_classes() -> None:
    victim = as_victim(Words())
    assert victim.labels == ("ham", "spam")
    assert [one.label for one in victim.answers(asked("a prize", "noon"))] == [1, 0]
    report = uf.attack(
        Words(),
        uf.Inputs(texts=["a prize for you"], labels=["spam"]),
        recipe="deepwordbug",
        tools=uf.Tools(validity=False),
    )
    assert report.summary["counts"]["success"] == 1
    assert not victim.traceable  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="single texts, not pairs"):
        victim.answers([Asked(("a", "b"))])
    with pytest.raises(UsageError, match="a class, which cannot be attacked"):
        as_victim(Words)


@pytest.fixture(scope="module")
def pipeline() -> Any:
    pytest.importorskip("skops")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), LogisticRegression(C=30)).fit(TEXTS, LABELS)


@pytest.fixture
def saved(pipeline: Any, tmp_path: Path) -> Path:
    import skops.io

    skops.io.dump(pipeline, tmp_path / "spam.skops")
    return tmp_path / "spam.skops"


def test_a_skops_file_answers_as_the_pipeline_and_is_known_by_its_bytes(pipeline: Any, saved: Path) -> None:
    victim: Any = open_victim(f"sklearn:{saved}")
    found = [one.scores for one in victim.answers(asked(*TEXTS, ""))]
    assert found == [pytest.approx(tuple(row)) for row in pipeline.predict_proba([*TEXTS, ""]).tolist()]
    assert victim.labels == ("ham", "spam") and victim.traceable
    assert victim.describe()["sha256"] and victim.describe()["spec"] == f"sklearn:{saved}"


def test_a_skops_file_is_certified(saved: Path) -> None:
    few = uf.Sampling(n0=20, n=400)
    inputs = uf.Inputs(texts=TEXTS[:2] + TEXTS[3:5], labels=["spam", "spam", "ham", "ham"])
    choice = {"name": "random-delete", "rates": [0.7]}
    report = uf.certify(
        f"sklearn:{saved}",
        inputs,
        threat="edits",
        predictor=choice,
        sampling=few,
        reading=uf.Reading(antonyms=False),
    )
    found = [one for one in report if one.label]
    assert found and {one.truth for one in found} == {one.label for one in found}
    assert f"The majority of sklearn:{saved} over random deletions" in found[0].sentence


def test_types_that_are_not_known_as_safe_are_refused_by_name(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    evil = make_pipeline(FunctionTransformer(os.path.basename), CountVectorizer())
    trees = make_pipeline(CountVectorizer(), RandomForestClassifier(2)).fit(TEXTS, LABELS)
    for what, name in ((evil, "posixpath.basename"), (trees, "sklearn.tree._tree.Tree")):
        skops.dump(what, tmp_path / "model.skops")
        with pytest.raises(UserError, match=f"not known as safe: {name}"):
            open_victim(f"sklearn:{tmp_path / 'model.skops'}")


def test_calibrated_classifiers_are_in_the_safe_list(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    made = make_pipeline(CountVectorizer(), CalibratedClassifierCV(LinearSVC(), cv=3)).fit(TEXTS, LABELS)
    skops.dump(made, tmp_path / "model.skops")
    assert open_victim(f"sklearn:{tmp_path / 'model.skops'}").labels == ("ham", "spam")


def test_pickles_other_files_and_classifiers_without_probabilities_are_refused(
    tmp_path: Path, saved: Path
) -> None:
    import skops.io
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    ran = tmp_path / "ran"

    class Bomb:
        def __reduce__(self) -> Any:
            return (Path.touch, (ran,))

    (tmp_path / "bomb.pkl").write_bytes(pickle.dumps(Bomb()))
    (tmp_path / "renamed.skops").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(UsageError, match=r"is a pickle, .* never opened"):
        open_victim(f"sklearn:{tmp_path / 'bomb.pkl'}")
    with pytest.raises(UserError, match="cannot be read as a skops file"):
        open_victim(f"sklearn:{tmp_path / 'renamed.skops'}")
    assert not ran.exists()
    with pytest.raises(UserError, match="There is no file"):
        open_victim(f"sklearn:{tmp_path / 'none.skops'}")
    skops.io.dump(make_pipeline(CountVectorizer(), LinearSVC()).fit(TEXTS, LABELS), tmp_path / "svc.skops")
    with pytest.raises(UserError, match=r"Pipeline without predict_proba.*CalibratedClassifierCV"):
        open_victim(f"sklearn:{tmp_path / 'svc.skops'}")


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.skops").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(UserError, match=r"pip install 'unfooled\[sklearn\]'"):
        open_victim(f"sklearn:{tmp_path / 'model.skops'}")
