"""Fuzz cases that read damaged files: every document of a run, journals, plans, configurations, data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import yaml
from mutations import damaged_bytes, damaged_json, damaged_value, odd

from run_folders import write_everything
from unfooled.api.jobs.attack_job import read_attack
from unfooled.api.jobs.certify_job import read_certificates
from unfooled.api.read_evidence import read_report_data
from unfooled.benchmarks.plan_file import read_plan
from unfooled.benchmarks.state import _read as read_state
from unfooled.data.tables import read_table
from unfooled.files import read_yaml
from unfooled.reports.page import render
from unfooled.storage.config import make_config
from unfooled.storage.run_files import read_run
from unfooled.storage.textattack_csv import read_textattack_csv

Case = Callable[[Random], object]

PLAN = {
    "name": "trial",
    "tasks": [{"name": "mine", "data": "reviews.csv", "text_column": "review", "limit": 100}],
    "defences": ["standard", {"name": "rsmi", "settings": {"sigma": 0.2}, "grid": {"masked_tokens": [1, 2]}}],
    "attacks": ["pwws", {"recipe": "textfooler", "limit": 20, "settings": {"candidates": 10}}],
    "certificates": [{"threat": "words", "n": 100, "for": ["rsmi"]}],
    "repeat": {"repeats": 3},
    "representations": {"limit": 5},
    "seeds": [0, 1],
    "train": {"epochs": 1.0, "batch_size": 8},
    "published": {"source": "A paper", "figures": [{"task": "mine", "model": "theirs", "sacc": 90.0}]},
    "variables": {"rows": 10},
}
CONFIG = {
    "data": "reviews.csv",
    "text_column": "review",
    "label_column": "stars",
    "labels": ["down", "up"],
    "defence": "rsmi",
    "settings": {"sigma": 0.2},
    "epochs": 1.5,
    "lr": 1e-5,
    "batch_size": 16,
    "seed": 3,
    "device": "cpu",
}
STATE = {
    "format": 1,
    "name": "trial",
    "scale": 1.0,
    "counts": {"done": 1},
    "cells": [
        {
            "name": "train-mine-standard-0",
            "kind": "train",
            "task": "mine",
            "defence": "standard",
            "seed": 0,
            "run": "runs/mine-standard-0",
            "status": "done",
            "message": "",
            "seconds": 1.5,
            "started": True,
            "conditions": {"defence": "standard"},
        }
    ],
    "left_out": [],
}
TABLES = {
    "rows.csv": b'review,stars\n"a fine, witty film",up\ndull,down\n',
    "rows.tsv": b"review\tstars\na fine film\tup\ndull\tdown\n",
    "rows.jsonl": b'{"review": "a fine film", "stars": 1}\n{"review": "dull", "stars": 0}\n',
    "rows.json": b'[{"review": "a fine film", "stars": 1}, {"review": "dull", "stars": 0}]',
}
LOG = (
    b'"original_text","perturbed_text","original_score","perturbed_score","original_output",'
    b'"perturbed_output","ground_truth_output","num_queries","result_type"\n'
    b'"a [[fine]] film","a [[bad]] film",0.1,0.9,1,0,1,20,"Successful"\n'
)


def file_cases(folder: Path) -> dict[str, Case]:
    """The cases by name; their files are written into ``folder``."""
    run = write_everything(folder / "run", examples=6)
    (run / "benchmark").mkdir()
    cases: dict[str, Case] = {}
    for path in sorted(run.rglob("*.json")):
        name = str(path.relative_to(run))
        cases[f"report {name}"] = _case(path, damaged_json, lambda: read_report_data([run]))
    attack, certified = run / "attacks/textfooler", run / "certificates/l2"
    cases["attack.json"] = _case(attack / "attack.json", damaged_json, lambda: read_attack(attack))
    cases["certificate.json"] = _case(
        certified / "certificate.json", damaged_json, lambda: read_certificates(certified)
    )
    cases["unfooled.json"] = _case(run / "unfooled.json", damaged_json, lambda: read_run(run))
    cases["predictions.jsonl"] = _case(run / "predictions.jsonl", _damaged_line, lambda: read_run(run))
    cases["run config.yaml"] = _case(run / "config.yaml", _damaged_yaml, lambda: read_report_data([run]))
    cases["page"] = _page_case(run)
    for where, read in ((attack, read_attack), (certified, read_certificates)):
        table = "outcomes" if read is read_attack else "certificates"
        cases[f"journal bytes, {table}"] = _case(
            where / "journal.sqlite",
            damaged_bytes,
            lambda where=where, read=read: list(_records(read(where))),
        )
        cases[f"journal rows, {table}"] = _row_case(where, table, read)
    return cases | _own_files(folder)


def _own_files(folder: Path) -> dict[str, Case]:
    """What users write: plans, configurations, data; and the state of a benchmark."""
    plan = _written(folder / "plan.yaml", yaml.safe_dump(PLAN).encode())
    config = _written(folder / "config.yaml", yaml.safe_dump(CONFIG).encode())
    log = _written(folder / "log.csv", LOG)
    benchmark = _written(folder / "trial/benchmark.json", json.dumps(STATE).encode()).parent
    _written(benchmark / "plan.yaml", yaml.safe_dump(PLAN).encode())
    cases: dict[str, Case] = {
        "plan.yaml": _case(plan, _damaged_yaml, lambda: read_plan(plan)),
        "config.yaml": _case(config, _damaged_yaml, lambda: make_config(read_yaml(config))),
        "benchmark.json": _case(benchmark / "benchmark.json", damaged_json, lambda: read_state(benchmark)),
        "report benchmark.json": _case(
            benchmark / "benchmark.json", damaged_json, lambda: read_report_data([benchmark])
        ),
        "report plan.yaml": _case(
            benchmark / "plan.yaml", _damaged_yaml, lambda: read_report_data([benchmark])
        ),
        "TextAttack log": _case(log, damaged_bytes, lambda: read_textattack_csv(log)),
    }
    for name, content in TABLES.items():
        path = _written(folder / name, content)
        cases[f"data {name}"] = _case(path, damaged_bytes, lambda path=path: read_table(path))
    return cases


def _case(path: Path, damaged: Callable[[bytes, Random], bytes], read: Callable[[], object]) -> Case:
    whole = path.read_bytes()

    def case(chooser: Random) -> None:
        with _instead(path, whole, damaged(whole, chooser)):
            read()

    return case


def _page_case(run: Path) -> Case:
    """Any one document damaged, and the whole page made from what is still read."""
    paths = sorted(run.rglob("*.json"))
    whole = {path: path.read_bytes() for path in paths}

    def case(chooser: Random) -> None:
        path = chooser.choice(paths)
        with _instead(path, whole[path], damaged_json(whole[path], chooser)):
            render(read_report_data([run]))

    return case


def _row_case(where: Path, table: str, read: Callable[[Path], Any]) -> Case:
    """One record of a journal damaged, the database itself whole."""
    import sqlite3

    path = where / "journal.sqlite"
    whole = path.read_bytes()

    def case(chooser: Random) -> None:
        with _instead(path, whole, whole):
            connection = sqlite3.connect(path)
            rows = connection.execute(f"SELECT rowid, result FROM {table}").fetchall()
            number, result = chooser.choice(rows)
            if chooser.random() < 0.8:
                changed: Any = json.dumps(damaged_value(json.loads(result), chooser))
            else:
                changed = chooser.choice((b"\xff\x00", 7, "", "[1", result[: len(result) // 2], "NaN"))
            with connection:
                connection.execute(f"UPDATE {table} SET result = ? WHERE rowid = ?", (changed, number))
            connection.close()
            list(_records(read(where)))

    return case


def _records(report: Any) -> Iterator[object]:
    yield from getattr(report, "outcomes", None) or report.certificates
    yield from report.rows()


def _damaged_line(content: bytes, chooser: Random) -> bytes:
    lines = content.splitlines()
    place = chooser.randrange(len(lines))
    lines[place] = damaged_json(lines[place], chooser)
    return b"\n".join(lines)


def _damaged_yaml(content: bytes, chooser: Random) -> bytes:
    kind = chooser.random()
    if kind < 0.3:
        return damaged_bytes(content, chooser)
    if kind < 0.35:
        return content + chooser.choice(
            (b"x: &x [*x]\n", b"\xe9: 1\n", b"d: 2024-13-45\n", b"!!python/name:os.system\n", b"[" * 2000)
        )
    changed = damaged_value(yaml.safe_load(content), chooser)
    if kind < 0.4:
        changed = {"description": odd(chooser), **changed} if isinstance(changed, dict) else changed
    try:
        return yaml.safe_dump(changed, allow_unicode=True).encode("utf-8", "surrogatepass")
    except (yaml.YAMLError, ValueError):  # what YAML cannot write
        return json.dumps(changed).encode("utf-8", "surrogatepass")


@contextmanager
def _instead(path: Path, whole: bytes, content: bytes) -> Iterator[None]:
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(whole)
        for beside in (f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(beside).unlink(missing_ok=True)


def _written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
