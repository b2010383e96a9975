"""The page: what it shows, what it leaves out, and that data on it is shown and never run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from run_folders import MakeRun, prediction
from unfooled.api.read_evidence import read_report_data
from unfooled.reports import render
from unfooled.reports.formatting import duration
from unfooled.reports.marked import MAX_TEXT
from unfooled.reports.sections.samples import MAX_SAMPLES

VOID = {"meta", "link", "br", "hr", "img", "path", "rect", "circle"}


class Checker(HTMLParser):
    """Collects what a page holds and refuses tags that do not close in order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "title"):
            self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(self.words.split())


def html_of(*folders: Path, script: bool = False, **more: Any) -> str:
    return render(read_report_data(folders), script=script, **more)


def page(*folders: Path) -> Checker:
    return Checker(html_of(*folders))


def sections(checked: Checker) -> list[str | None]:
    return [attributes["id"] for attributes in checked.all("section")]


def test_numbers_of_the_run_are_on_the_page(make_run: MakeRun) -> None:
    text = page(make_run()).text
    for shown in ("83.7 %", "81.3–85.9 %", "2 min 41 s", "6,718 texts", "431", "0.837", "2.13.0+cpu"):
        assert shown in text, shown
    assert "plain answers 83.7 % of 1,000 unseen test texts correctly" in text
    assert "epochs: 1.0" in text
    assert "movie-reviews" in text


def test_reproduction_command_names_the_configuration_and_quotes_spaces(make_run: MakeRun) -> None:
    folder = make_run("two words")
    text = page(folder).text
    assert f"unfooled train --config '{folder}/config.yaml' --out '{folder}-again'" in text
    assert f"unfooled report '{folder}' --out report.html" in text


def test_page_says_what_was_not_tested(make_run: MakeRun) -> None:
    text = page(make_run()).text
    assert "No attack was run and nothing was certified" in text
    assert "Few test texts" not in text


def test_wide_interval_is_called_rough(make_run: MakeRun) -> None:
    assert "Few test texts" in page(make_run(test={"accuracy_interval": [0.7, 0.9]})).text


def test_sections_without_data_are_absent(make_run: MakeRun) -> None:
    assert sections(page(make_run("bare", history=None))) == [
        "verdict",
        "mistakes",
        "costs",
        "setup",
        "reproduce",
        "untested",
    ]
    full = page(make_run("full", predictions=[prediction("fine", "positive")]))
    assert {"samples", "training"} <= set(sections(full))
    navigation = [attributes["href"] for attributes in full.all("a")]
    assert {f"#{anchor}" for anchor in sections(full)} <= set(navigation)


def test_script_in_data_is_shown_and_not_run(make_run: MakeRun) -> None:
    attack = "<script>alert('x')</script><img src=http://evil.example onerror=alert(1)>"
    rows = [
        prediction(attack, "positive", truth=attack, source=attack, pair=attack, masked_spans=[[0, 0, 8]])
    ]
    labels = [attack, '"><svg onload=alert(2)>']
    marker = {"defence": {"name": attack, "settings": {attack: attack}}, "task": {"name": attack}}
    folder = make_run("a <b> & 'c'", predictions=rows, test={"labels": labels}, marker=marker)
    checked = page(folder, make_run("other"))
    assert not checked.all("script")
    assert not checked.all("img")
    assert not [name for _, attributes in checked.tags for name in attributes if name.startswith("on")]
    assert attack in checked.text
    assert "<script>" in checked.text


def test_page_loads_nothing(make_run: MakeRun) -> None:
    html = html_of(make_run(predictions=[prediction("see http://example.com", "positive")]))
    checked = Checker(html)
    for _, attributes in checked.tags:
        for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            assert str(attributes.get(name) or "#").startswith(("#", "data:,")), attributes
    assert not re.search(r"url\(|@import", html)
    assert "default-src 'none'" in str(checked.all("meta"))


def test_page_is_accessible_html(make_run: MakeRun) -> None:
    html = html_of(make_run(predictions=[prediction("fine", "positive")]))
    checked = Checker(html)
    assert html.startswith("<!doctype html>")
    assert checked.all("html")[0]["lang"] == "en"
    assert len(checked.all("h1")) == 1
    assert len(checked.all("caption")) == len(checked.all("table"))
    assert all("scope" in attributes for attributes in checked.all("th"))
    pictures = [a for a in checked.all("svg") if a.get("aria-hidden") != "true"]
    assert pictures
    assert all(a["role"] == "img" and a["aria-label"] for a in pictures)
    ids = [attributes["id"] for _, attributes in checked.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_sample_shows_masked_words_votes_and_outcome(make_run: MakeRun) -> None:
    rows = [
        prediction(
            "a gorgeous film",
            "negative",
            truth="positive",
            votes=[{"negative": 3, "positive": 2}, {"negative": 31, "positive": 19}],
            forwards=56,
            masked_spans=[[0, 2, 10]],
        ),
        prediction("fine", "positive", truth="positive"),
        prediction("who knows", "positive"),
        prediction("", None, refused="the text is empty"),
        prediction("hm", None, leader="negative", truth="negative", abstained=True),
    ]
    checked = page(make_run(predictions=rows))
    assert len(checked.all("mark")) == 1
    assert "masked: gorgeous" in checked.text
    assert (
        "vote 1: 3 negative, 2 positive; vote 2: 31 negative, 19 positive; stage 2 decided; 56 forwards"
        in (checked.text.replace("\N{NO-BREAK SPACE}", " "))
    )
    for words in (
        "✗ wrong",
        "✓ right",
        "truth not given",
        "Refused: the text is empty",
        "leaning to negative",
    ):
        assert words in checked.text
    assert "plain is right on 1 of 3" in checked.text


def test_strange_characters_are_made_visible(make_run: MakeRun) -> None:
    html = html_of(make_run(predictions=[prediction("a\0b\x1b\ud800\x85\u202ec 😀", "positive")]))
    html.encode("utf-8")
    assert "a␀b␛��" in html
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", html)


def test_long_texts_and_many_samples_are_cut_and_said_so(make_run: MakeRun) -> None:
    long = prediction("x" * (MAX_TEXT + 1234), "positive", masked_spans=[[0, MAX_TEXT - 2, MAX_TEXT + 2]])
    many = [prediction(f"number {n}", "positive") for n in range(MAX_SAMPLES)]
    text = page(make_run(predictions=[long, *many])).text
    assert "(1,234 more characters)" in text
    assert f"The first {MAX_SAMPLES} of {MAX_SAMPLES + 1} are shown" in text


def test_runs_are_compared_text_by_text(make_run: MakeRun, rsmi_marker: dict[str, Any]) -> None:
    rows = [prediction("fine", "positive", truth="positive")]
    low = {"accuracy": 0.7, "accuracy_interval": [0.67, 0.73]}
    checked = page(
        make_run("plain", predictions=rows), make_run("rsmi", marker=rsmi_marker, predictions=rows, test=low)
    )
    assert "plain and rsmi on movie-reviews" in checked.text
    assert "plain is right most often: 83.7 %" in checked.text
    assert "overlap" not in checked.text
    assert len(checked.all("blockquote")) == 1
    assert "sigma" in checked.text


def test_overlapping_intervals_are_mentioned(make_run: MakeRun) -> None:
    near = {"accuracy": 0.82, "accuracy_interval": [0.79, 0.84]}
    assert "interval of near overlaps" in page(make_run("best"), make_run("near", test=near)).text


def test_runs_on_different_tests_are_not_ranked(make_run: MakeRun) -> None:
    text = page(make_run("a"), make_run("b", marker={"task": {"name": "spam"}})).text
    assert "right most often" not in text
    assert "2 models, measured on different test texts" in text
    assert "on movie-reviews and spam" in text


def test_folders_of_the_same_name_are_told_apart(make_run: MakeRun) -> None:
    first, second = make_run("x/run"), make_run("y/run")
    text = page(first, second).text
    assert str(first) in text
    assert str(second) in text


def test_model_that_learnt_nothing_is_called_so(make_run: MakeRun) -> None:
    guess = {"accuracy": 0.5, "accuracy_interval": [0.47, 0.53], "confusion": [[0, 500], [0, 500]]}
    assert "not shown to be better than always" in page(make_run("guess", test=guess)).text
    assert "not shown to be better" not in page(make_run("plain")).text


def test_single_point_is_said_and_not_drawn(make_run: MakeRun) -> None:
    checked = page(make_run(history=[{"eval_accuracy": 0.8284, "epoch": 1.0}]))
    assert "plain 82.8 % at epoch 1." in checked.text.replace("\N{NO-BREAK SPACE}", " ")

    assert not checked.all("figure")


def test_the_epoch_that_is_named_is_the_one_that_was_kept(make_run: MakeRun) -> None:
    scores = {1.0: 0.9, 2.0: 0.8}
    run = make_run(history=[{"eval_accuracy": one, "epoch": epoch} for epoch, one in scores.items()])
    file = run / "metrics.json"
    metrics = json.loads(file.read_text(encoding="utf-8"))
    metrics["train"]["kept_epoch"] = 2.0
    file.write_text(json.dumps(metrics), encoding="utf-8")
    assert "plain 80.0 % at epoch 2." in page(run).text.replace("\N{NO-BREAK SPACE}", " ")


def test_resumed_training_time_is_marked(make_run: MakeRun) -> None:
    assert "resumed, lost steps not counted" in page(make_run(train={"resumed": True})).text


def test_same_results_give_the_same_page(make_run: MakeRun) -> None:
    run, now = make_run(), datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    assert html_of(run, written=now, script=True) == html_of(run, written=now, script=True)
    assert "2026-01-02 03:04 UTC" in html_of(run, written=now)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.7, "1 min 0 s"), (161, "2 min 41 s"), (7321, "2 h 2 min")]
)
def test_durations_read_naturally(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_page_needs_no_model_library() -> None:
    code = "import sys, unfooled.reports, unfooled.records.results.trained_run; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
