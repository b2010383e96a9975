"""The page in a real browser: it sorts, filters and draws, complains about nothing and loads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import BINARY, Browser

from run_folders import outcome, write_attack, write_everything, write_run
from unfooled.api.report import report

pytestmark = [
    pytest.mark.skipif(BINARY is None, reason="no Chromium found: the report was not opened in a browser"),
    pytest.mark.browser,
    pytest.mark.network,  # the chart library is an asset
]
HOSTILE = "<script>window.hacked = 1</script> <img src=x onerror='window.hacked = 2'> & 😀 fine"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    first = write_everything(folder / "first", examples=40)
    second = write_run(folder / "second", test={"accuracy": 0.5, "accuracy_interval": [0.47, 0.53]})
    rows = [outcome(0, HOSTILE, "success"), outcome(1, "a second text", "failed")]
    write_attack(second / "attacks" / "textfooler", rows)
    made = report(first, second, out=folder / "report.html")
    assert made.interactive
    return made.path


@pytest.fixture
def shown(browser: Browser, page: Path) -> Browser:
    browser.open(page)
    return browser


def column(browser: Browser, table: str, number: int) -> list[str]:
    found: list[str] = browser.evaluate(
        f"[...document.querySelector('[data-table={table}]').tBodies[0].rows]"
        f".map((row) => row.cells[{number}].dataset.value)"
    )
    return found


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_page_draws_without_complaint_or_request(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    assert browser.complaints == []
    assert browser.requests == []
    drawn = browser.evaluate("document.querySelectorAll('.drawing .vega-embed svg.marks').length")
    assert drawn == browser.evaluate("document.querySelectorAll('.drawing').length") >= 8
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("[...document.querySelectorAll('[data-failed]')].length") == 0


def test_widest_table_of_attacks_needs_no_scrolling_at_1280_pixels(browser: Browser, page: Path) -> None:
    runs = [
        write_run(page.parent / name) for name in ("reviews-standard-seed0", "reviews-rsmi-sigma0.2-seed0")
    ]
    for run in runs:
        for name in ("deepwordbug", "deepwordbug-protected"):
            fresh = {"fresh_successes": 15, "fresh_total": 20}
            rows = [
                outcome(n, f"text {n}", "success", queries=900 + 99 * n, forwards=9000 + 9999 * n, **fresh)
                for n in range(9)
            ]
            write_attack(run / "attacks" / name, rows, recipe="deepwordbug", randomised=True)
    browser.open(report(*runs, out=page.parent / "wide.html").path)
    widths = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].map((d) => [d.scrollWidth, d.clientWidth])"
    )
    assert len(widths) >= 4 and all(inside <= room for inside, room in widths), widths


def test_heading_sorts_up_and_down_and_says_so(shown: Browser) -> None:
    head = "document.querySelector('[data-table=verdict]').tHead.rows[0].cells[1]"
    assert column(shown, "verdict", 1) == ["0.837", "0.5"]
    shown.evaluate(f"{head}.querySelector('button').click()")
    assert shown.evaluate(f"{head}.getAttribute('aria-sort')") == "descending"
    shown.evaluate(f"{head}.querySelector('button').click()")
    assert shown.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending"
    assert column(shown, "verdict", 1) == ["0.5", "0.837"]


def test_cells_without_a_number_come_last_either_way(shown: Browser) -> None:
    titles = shown.evaluate(
        "[...document.querySelector('[data-table=verdict]').tHead.rows[0].cells].map((c) => c.textContent)"
    )
    number = next(n for n, title in enumerate(titles) if title.startswith("Certified"))
    for _ in range(2):
        shown.evaluate(
            f"document.querySelector('[data-table=verdict]').tHead.rows[0].cells[{number}]"
            ".querySelector('button').click()"
        )
        assert column(shown, "verdict", number)[-1] == ""


def pick(browser: Browser, number: int, value: str) -> None:
    browser.evaluate(
        f"(() => {{ const s = document.querySelectorAll('#browser select')[{number}]; s.value = {value!r}; "
        "s.dispatchEvent(new Event('change')); })()"
    )


def listed(browser: Browser) -> str:
    found: str = browser.evaluate("document.querySelector('#browser .count').textContent")
    return found


def test_examples_are_filtered_searched_and_paged(shown: Browser) -> None:
    assert listed(shown) == "43 texts, page 1 of 5"
    shown.evaluate("[...document.querySelectorAll('#browser button')].at(-1).click()")
    assert listed(shown) == "43 texts, page 2 of 5"
    pick(shown, 0, "1")
    assert listed(shown) == "2 texts, page 1 of 1"
    pick(shown, 0, "")
    pick(shown, 1, "textfooler")
    pick(shown, 2, "once")
    assert listed(shown) == "10 texts, page 1 of 1"
    assert shown.evaluate("document.querySelectorAll('#browser .record').length") == 10
    pick(shown, 1, "")
    pick(shown, 2, "")
    shown.evaluate(
        "(() => { const s = document.querySelector('#browser input'); s.value = 'NUMBER 17 '; "
        "s.dispatchEvent(new Event('input')); })()"
    )
    shown.wait("document.querySelector('#browser .count').textContent.startsWith('1 text,')")
    assert "review number 17" in shown.evaluate("document.querySelector('#browser li').textContent")


def test_change_is_shown_as_taken_out_and_put_in(shown: Browser) -> None:
    pick(shown, 1, "textfooler")
    assert shown.evaluate("document.querySelector('#browser del').textContent") == "fine"
    assert shown.evaluate("document.querySelector('#browser ins').textContent") == "changed"


def test_hostile_text_is_shown_and_not_run(shown: Browser) -> None:
    pick(shown, 0, "1")
    text = shown.evaluate("document.querySelector('#browser blockquote').textContent")
    assert text == HOSTILE
    changed = shown.evaluate("document.querySelector('#browser .record blockquote').textContent")
    assert changed == f"{HOSTILE} changed"
    assert shown.evaluate("window.hacked === undefined && document.querySelectorAll('main img').length === 0")


def test_dark_and_light_can_be_switched(shown: Browser) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    before = shown.evaluate(colour)
    shown.evaluate("document.querySelector('.theme').click()")
    assert shown.evaluate(colour) != before
    shown.evaluate("document.querySelector('.theme').click()")
    assert shown.evaluate(colour) == before
    assert shown.complaints == []


def test_page_without_the_library_or_any_script_is_complete(browser: Browser, page: Path) -> None:
    run = page.parent / "first"
    written = report(run, out=page.parent / "static.html", static=True)
    assert not written.interactive
    browser.open(written.path)
    assert browser.complaints == []
    assert browser.evaluate("document.querySelectorAll('.drawing svg[role=img]').length") >= 8
    assert browser.evaluate("document.querySelectorAll('#browser blockquote').length") > 0
    assert browser.evaluate("document.scripts.length") == 0
