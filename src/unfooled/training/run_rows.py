"""What a run folder knows of its rows: fingerprints, where the data is, and the test rows if it keeps them.

``rows.json`` holds the fingerprints and the places of the data files seen from the run folder, so that both
can be moved together. ``test.jsonl`` holds the whole test split: with it a run is measured without its data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from unfooled.data.fingerprints import SPLITS, RowFingerprints
from unfooled.data.images import is_image_task
from unfooled.data.qa import QuestionData
from unfooled.data.rows import Rows
from unfooled.errors import UserError
from unfooled.files import TRAIN_AGAIN, JsonMapping, read_json, read_yaml, write_json, write_text
from unfooled.records.shapes.run_shapes import RowsShape
from unfooled.storage.config import TrainConfig, make_config
from unfooled.training.data import AnyTaskData
from unfooled.training.image_data import ImageTaskData

FORMAT = 1
ROWS, TEST, CONFIG = "rows.json", "test.jsonl", "config.yaml"
FILES = ("data", "dev_data", "test_data")
SMALL = 5_000_000
"""Bytes of a data file up to which the test rows are kept unless the user says otherwise."""


def write_rows(place: Path, run: Path, config: TrainConfig, data: AnyTaskData) -> None:
    """Write down the rows of a training in ``place``, which will be the folder ``run``.

    A training that goes on must find the rows that it began with.
    """
    before = read_fingerprints(place)
    own = RowFingerprints.of(data.rows, None if before is None else before.salt)
    if before is not None and before != own:
        changed = sum(len(set(before.splits[name]) ^ set(own.splits[name])) for name in SPLITS)
        raise UserError(
            f"The data of {run} changed since its training began ({changed:,} rows differ). Restore the data "
            "and run the command again, choose another --out, or start afresh with --overwrite."
        )
    files = {name: _seen_from(run, path) for name, path in _files(config).items()}
    write_json(place / ROWS, {"format": FORMAT, "files": files, **own.to_dict()})
    if keeps_test(config) and (lines := _test_lines(data)):
        write_text(place / TEST, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines))


def keeps_test(config: TrainConfig) -> bool:
    """Whether the run keeps its test rows: as asked, or if they come from a small file."""
    if config.keep_test is not None:
        return config.keep_test
    source = _files(config).get("test_data") or _files(config).get("data")
    return source is not None and Path(source).is_file() and Path(source).stat().st_size < SMALL


def read_fingerprints(run: Path) -> RowFingerprints | None:
    """The fingerprints of a run's rows; None if it has none."""
    return None if (saved := _saved(run)) is None else _whole(run, saved)


def kept_test(run: Path, labels: tuple[str, ...]) -> Rows | None:
    """The test rows that a run keeps, with the numbers of their labels; None if it keeps none."""
    path = run / TEST
    if not path.is_file():
        return None
    from unfooled.data.tables import read_table

    rows = Rows()
    for line, record in read_table(path).rows:
        try:
            text, pair, label, row = record["text"], record.get("text_pair"), record["label"], record["row"]
            if not (isinstance(text, str) and isinstance(row, int) and isinstance(pair, str | None)):
                raise TypeError("wrong types")
            rows.add(row, labels.index(label), text, pair)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{path}, line {line}: not a test row of this run ({error}). Copy the run folder again, or "
                "name the inputs with --data."
            ) from error
    return rows


def run_config(run: Path) -> TrainConfig:
    """The configuration of a run, with its data files where they are now."""
    config = make_config(read_yaml(run / CONFIG))
    saved = _saved(run) or {}
    places = saved.get("files", {})
    found = {name: _found(run, given, places.get(name)) for name, given in _files(config).items()}
    return replace(config, **found)  # type: ignore[arg-type]


def _files(config: TrainConfig) -> dict[str, str]:
    """The data files of a configuration as they are named; datasets of the hub are none."""
    named = {name: str(getattr(config, name)) for name in FILES if getattr(config, name)}
    return {
        name: path for name, path in named.items() if not path.startswith("hub:") and not is_image_task(path)
    }


def _seen_from(run: Path, path: str) -> str:
    target = Path(path).resolve()
    try:
        return Path(os.path.relpath(target, run.resolve())).as_posix()
    except ValueError:  # on another drive
        return target.as_posix()


def _found(run: Path, given: str, place: str | None) -> str:
    """Where a data file is: as seen from the run folder, else as it was named."""
    tried = [] if place is None else [os.path.normpath(run.resolve() / place)]
    tried += [given] if os.path.abspath(given) not in tried else []
    for path in tried:
        if Path(path).exists():
            return path
    raise UserError(
        f"The data of {run} is not there: {' and '.join(tried)} {'does' if len(tried) == 1 else 'do'} not "
        "exist. Put it back, or name other inputs with --data. (A run that is trained with --keep-test needs "
        "no data to be attacked and certified on its test rows.)"
    )


def _saved(run: Path) -> JsonMapping | None:
    if not (run / ROWS).is_file():
        return None
    saved: JsonMapping = read_json(run / ROWS, RowsShape, remedy=TRAIN_AGAIN)
    if saved["format"] != FORMAT:
        raise _damaged(run, "it has another format")
    return saved


def _whole(run: Path, saved: JsonMapping) -> RowFingerprints:
    try:
        return RowFingerprints.from_dict(saved)
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(run, str(error)) from error


def _damaged(run: Path, why: str) -> UserError:
    return UserError(
        f"{run / ROWS} is damaged ({why}). Copy the folder again, or train again with --overwrite."
    )


def _test_lines(data: AnyTaskData) -> list[Mapping[str, object]]:
    """The test rows as ``test.jsonl`` keeps them; images are not kept."""
    if isinstance(data, QuestionData):
        return [question.to_dict() for question in data.rows["test"]]
    if isinstance(data, ImageTaskData):
        return []
    rows = data.rows["test"]
    return [
        {
            "text": rows.text[number],
            **({} if rows.text_pair is None else {"text_pair": rows.text_pair[number]}),
            "label": data.task.labels[rows.label[number]],
            "row": rows.row[number],
        }
        for number in range(len(rows))
    ]
