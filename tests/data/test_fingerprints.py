"""Fingerprints of rows: the same rows are found again, whatever the order; nothing else is."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from unfooled.data.fingerprints import RowFingerprints
from unfooled.data.rows import Rows

TEXTS = st.lists(st.text(max_size=8), min_size=3, max_size=30)


def rows_of(texts: list[str], *, pairs: bool = False) -> Rows:
    numbers = list(range(len(texts)))
    return Rows(texts, [0] * len(texts), numbers, [f"{text} too" for text in texts] if pairs else None)


@given(texts=TEXTS, pairs=st.booleans(), data=st.data())
def test_the_rows_of_a_split_are_picked_in_its_order_from_any_order(
    texts: list[str], pairs: bool, data: st.DataObject
) -> None:
    rows = rows_of(texts, pairs=pairs)
    third = len(texts) // 3
    parts = {"train": rows.take(range(third)), "dev": rows.take(range(third, 2 * third))}
    parts["test"] = rows.take(range(2 * third, len(texts)))
    known = RowFingerprints.from_dict(json.loads(json.dumps(RowFingerprints.of(parts).to_dict())))
    order = data.draw(st.permutations(range(len(texts))))
    for split, own in parts.items():
        assert known.pick(rows.take(order), split).keys() == own.keys()
        assert all(known.which(own, split))
    strangers = rows_of([f"{text} unseen" for text in texts], pairs=pairs)
    new = [key not in rows.keys() for key in strangers.keys()]  # noqa: SIM118
    assert not any(seen and fresh for seen, fresh in zip(known.which(strangers, "test"), new, strict=True))


def test_case_and_spacing_do_not_matter_and_labels_do_not() -> None:
    parts = {"train": rows_of(["A fine  film"]), "dev": rows_of(["b"]), "test": rows_of(["c"])}
    known = RowFingerprints.of(parts)
    assert known.which(Rows(["a FINE film ", "a fine film indeed"], [1, 1], [5, 6]), "train") == [True, False]


def test_two_runs_on_the_same_rows_share_no_digest() -> None:
    parts = {name: rows_of([name, "same"]) for name in ("train", "dev", "test")}
    first, second = RowFingerprints.of(parts), RowFingerprints.of(parts)
    assert not set(first.splits["train"]) & set(second.splits["train"])
    assert RowFingerprints.of(parts, first.salt) == first
