"""A task from a dataset on the Hugging Face hub (or a local folder that ``datasets`` reads).

Only data files are read: a dataset that comes as a Python script is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unfooled.data.own import from_tables
from unfooled.data.split import TaskData
from unfooled.data.tables.data_table import DataTable
from unfooled.errors import DataError

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict


def load_hub(
    dataset_id: str,
    *,
    config: str | None = None,
    train_split: str = "train",
    dev_split: str | None = None,
    test_split: str | None = None,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    labels: Sequence[str] | None = None,
    seed: int = 0,
    limit: int | None = None,
    limit_dev: int | None = None,
    limit_test: int | None = None,
) -> TaskData:
    """The splits of a hub dataset.

    Splits that are not named: ``validation`` is dev and ``test`` is test if they are there
    and not used otherwise; what is missing is held out of train as for files.
    """
    source = download_dataset(dataset_id, config)
    named = {train_split, dev_split, test_split}
    dev_split = dev_split or next((s for s in ("validation", "dev") if s in source and s not in named), None)
    test_split = test_split or ("test" if "test" in source and "test" not in named else None)

    def table(split: str | None) -> DataTable | None:
        return None if split is None else _table(dataset_id, source, split)

    return from_tables(
        _table(dataset_id, source, train_split),
        dev=table(dev_split),
        test=table(test_split),
        text_column=text_column,
        pair_column=pair_column,
        label_column=label_column,
        labels=labels,
        name="-".join(filter(None, (dataset_id.rstrip("/").split("/")[-1], config))),
        description=f"Rows of the dataset {dataset_id}",
        seed=seed,
        limit=limit,
        limit_dev=limit_dev,
        limit_test=limit_test,
    )


def download_dataset(dataset_id: str, config: str | None) -> DatasetDict:
    """Every split of a dataset; what fails is told with the remedy."""
    import datasets

    # From datasets 4 on, scripts are never run and the argument is gone.
    no_code: dict[str, Any] = (
        {} if int(datasets.__version__.split(".")[0]) >= 4 else {"trust_remote_code": False}
    )
    try:
        return datasets.load_dataset(dataset_id, config, **no_code)
    except Exception as error:  # hub, network, cache and parser errors share no base class
        raise _explained(dataset_id, config, error) from error


def _explained(dataset_id: str, config: str | None, error: Exception) -> DataError:
    text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    what = f"{dataset_id}{f' ({config})' if config else ''}"
    if "script" in text.lower() or "trust_remote_code" in text:
        remedy = (
            "It comes as a program, which unfooled never runs. Convert it to Parquet and use --data FILE."
        )
    elif type(error).__name__ == "HFValidationError":
        remedy = "Dataset names look like owner/name. A file of your own is used with --data FILE."
    elif "config" in text.lower():
        remedy = "Choose a configuration with --data hub:NAME:CONFIGURATION."
    elif isinstance(error, FileNotFoundError) and not isinstance(error, ConnectionError):
        remedy = (
            "Check the name and that the hub can be reached; private datasets need a login."
            " Without the hub, use --data FILE or a named task."
        )
    else:
        remedy = (
            "The hub may be out of reach: check the network (HF_ENDPOINT names a mirror, HF_HUB_OFFLINE=1"
            " uses the cache only), or use --data FILE or a named task."
        )
    return DataError(f"The dataset {what} could not be loaded ({text}). {remedy}")


def _table(dataset_id: str, source: DatasetDict, split: str) -> DataTable:
    from datasets import ClassLabel

    if split not in source:
        raise DataError(f"{dataset_id}: there is no split {split!r}. Splits found: {', '.join(source)}.")
    data: Dataset = source[split]
    names = {c: list(f.names) for c, f in data.features.items() if isinstance(f, ClassLabel)}
    rows = list(enumerate(data.to_list(), start=1))
    if not rows:
        raise DataError(f"{dataset_id}, split {split}: there are no rows. Choose another split.")
    return DataTable(f"{dataset_id}, split {split}", data.column_names, rows, unit="row", class_names=names)
