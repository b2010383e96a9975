"""Reports of image runs: curves over seeds beside published figures, masks, and the right noun."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from test_report_page import html_of, page
from test_report_results import cells, tables

from run_folders import CONFIG, MakeRun, certificate, outcome, write_attack, write_certificates
from unfooled.api.pictures import kept
from unfooled.api.read_evidence import read_report_data
from unfooled.errors import UserError
from unfooled.records.evidence import Benchmark, Evidence
from unfooled.records.image_change import ImageChange, packed
from unfooled.records.outcome import Outcome
from unfooled.records.picture import Picture
from unfooled.records.summaries.image_summary import image_attack_summary
from unfooled.reports.certified_curves import curves
from unfooled.reports.charts import Lines
from unfooled.reports.drawings import drawing
from unfooled.reports.page import filled_sections
from unfooled.reports.png import png_text
from unfooled.reports.vega import spec

IMAGES: dict[str, Any] = {
    "defence": {"name": "ars", "settings": {"sigma": 0.25}},
    "predictor": {"name": "ars", "sigma": 0.25},
    "task": {"name": "mnist", "kind": "image"},
    "images": {"architecture": {"name": "small-cnn", "settings": {}, "mask": None}, "shape": [1, 8, 8]},
}
FIGURES = [
    {"task": "mnist", "model": "ARS", "defence": "ars", "sacc": 57.1},
    {
        "task": "mnist",
        "model": "ARS",
        "defence": "ars",
        "certificate": "linf",
        "radius": 0.2,
        "certified": 30.0,
    },
]


def seeds(make_run: MakeRun) -> Evidence:
    """Three seeds of one model, of which ever more answers are certified, and a paper's figures."""
    runs = []
    for seed in range(3):
        runs.append(make_run(f"s{seed}", marker=IMAGES))
        (runs[-1] / "config.yaml").write_text(yaml.safe_dump(yaml.safe_load(CONFIG) | {"seed": seed}))
        radii = [0.3] * (seed + 1) + [None] * (9 - seed)
        found = [certificate(row, "x", radius, unit="largest change") for row, radius in enumerate(radii)]
        write_certificates(runs[-1] / "certificates" / "linf", found, threat="linf", reads="image")
    published = {"source": "a paper", "figures": FIGURES}
    return replace(read_report_data(runs), benchmarks=(Benchmark("b", "b", (), published),))


def charts(data: Evidence) -> list[Lines]:
    found = next(one["content"]["charts"] for one in filled_sections(data) if one["anchor"] == "certified")
    return [chart for chart in found if chart.name.startswith("curve")]


def test_seeds_are_one_curve_with_their_range_and_published_points(make_run: MakeRun) -> None:
    (chart,) = charts(seeds(make_run))
    ours, *theirs = chart.series
    assert ours.name == "ars (3 seeds)"
    assert ours.points[0] == (0.0, pytest.approx(0.2)) and ours.band[0] == pytest.approx((0.1, 0.3))
    assert [(one.points, one.alone) for one in theirs] == [
        ([(0.0, pytest.approx(0.571))], True),
        ([(0.2, pytest.approx(0.3))], True),
    ]
    assert "lowest to the highest" in chart.note and "published" in chart.note
    crosses = [one for one in spec(chart)["layer"] if one["mark"].get("shape", "").startswith("M")]
    assert len(crosses) == 1 and crosses[0]["transform"] == [{"filter": "datum.alone"}]
    assert str(drawing(chart)).count("m-4 -4l8 8") == 2


def test_published_points_stand_beside_a_single_seed_by_the_bound_of_the_curve(make_run: MakeRun) -> None:
    data = seeds(make_run)
    other = [{**figure, "bound": "pixeldp"} if "radius" in figure else figure for figure in FIGURES]
    for figures, points in ((FIGURES, [0.0, 0.2]), (other, [0.0])):
        published = {"source": "a paper", "figures": figures}
        one = replace(data, models=data.models[:1], benchmarks=(Benchmark("b", "b", (), published),))
        (chart,) = charts(one)
        assert [series.points[0][0] for series in chart.series if series.alone] == points


def test_published_accuracies_stand_beside_the_mean_over_seeds(make_run: MakeRun) -> None:
    table = tables(seeds(make_run))["published-certified"]
    clean, certified = (cells(table, row) for row in range(2))
    assert clean["Measure"].text == "accuracy" and clean["Ours"].value == pytest.approx(0.837)
    assert certified["Measure"].text == "certified at 0.2" and certified["Theirs"].value == pytest.approx(0.3)
    assert certified["Ours"].value == pytest.approx(0.2) and certified["Seeds"].value == 3
    assert "published" not in tables(seeds_without_attacks(make_run))


def seeds_without_attacks(make_run: MakeRun) -> Evidence:
    data = read_report_data([make_run("alone", marker=IMAGES)])
    return replace(data, benchmarks=(Benchmark("b", "b", (), {"source": "a paper", "figures": FIGURES}),))


def picture(**changed: Any) -> Picture:
    panels = (("image", png_text(np.zeros((1, 8, 8)))), ("mask", png_text(np.ones((1, 8, 8)))))
    return Picture(**{"name": "image 3 of mine", "told": "Truth: 1, answer: 7", "panels": panels} | changed)


def test_masks_stand_beside_the_images_of_the_first_seed(make_run: MakeRun) -> None:
    data = seeds(make_run)
    shown = (picture(),)
    data = replace(data, models=tuple(replace(model, pictures=shown) for model in data.models))
    content = next(one["content"] for one in filled_sections(data) if one["anchor"] == "masks")
    assert [model.name for model in content["models"]] == ["s0"]


def test_kept_pictures_are_on_the_page_and_foreign_ones_are_refused(make_run: MakeRun) -> None:
    run = make_run("ars", marker=IMAGES)
    (run / "pictures.json").write_text(json.dumps(kept([picture()])))
    html = html_of(run)
    assert html.count('src="data:image/png;base64,') == 2 and "image 3 of mine" in html
    foreign = json.loads(json.dumps(kept([picture()])))
    foreign["pictures"][0]["panels"][0][1] = 'x" onerror="alert(1)'
    (run / "pictures.json").write_text(json.dumps(foreign))
    with pytest.raises(UserError, match="no PNG file in base64"):
        html_of(run)


def test_a_run_without_pictures_and_data_is_shown_without_them(make_run: MakeRun) -> None:
    assert "What the masks let through" not in page(make_run("ars", marker=IMAGES)).text


def test_pages_about_images_speak_of_images(make_run: MakeRun) -> None:
    data = seeds(make_run)
    text = page(*(Path(model.run.folder) for model in data.models if model.run)).text
    assert "unseen, untampered test images" in text and "6,718 images" in text
    assert "texts" not in text
    mixed = page(make_run("of-texts"), make_run("of-images", marker=IMAGES)).text
    assert "different test inputs" in mixed and "6,718 texts" in mixed and "6,718 images" in mixed


def test_attacked_images_stand_beside_their_originals_with_the_difference(make_run: MakeRun) -> None:
    run = make_run("victim", marker=IMAGES)
    before = np.full((1, 8, 8), 0.5, np.float32)
    change = ImageChange("linf", 0.1, 0.1, original=packed(before), adversarial=packed(before + 0.1))
    found = [outcome(0, "image", "success", image=change), outcome(1, "image", "failed")]
    write_attack(run / "attacks" / "pgd", found, recipe="pgd-linf")
    html = html_of(run)
    assert html.count('src="data:image/png;base64,') == 3
    assert "difference × 5" in html and "moved by 0.1" in html and "positive became negative" in html


SIZES = (0.1, 0.2, 0.3)
BEFORE = np.full((1, 8, 8), 0.5, np.float32)


def attacked(
    run: Path, fooled: int, *, name: str = "cw-l2", lucky: int = 0, randomised: bool = False, **settings: Any
) -> None:
    """An attack that fools, of ten images, this many at the smallest size, one more at each larger one; of
    these, ``lucky`` successes at the smallest size do not hold on fresh noise."""
    found = []
    for row in range(10):
        nearest = next((size for place, size in enumerate(SIZES) if row < fooled + place), None)
        change = ImageChange("l2", SIZES[-1], nearest)
        more: dict[str, Any] = {"image": change}
        if nearest is not None:
            pixels = {"original": packed(BEFORE), "adversarial": packed(BEFORE + nearest)}
            more["image"] = replace(change, **pixels)
            if randomised:
                more |= {"fresh_successes": 3 if row < lucky else 20, "fresh_total": 20}
        found.append(outcome(row, f"image {row}", "failed" if nearest is None else "success", **more))
    made = [Outcome.from_dict(json.loads(json.dumps(one))) for one in found]
    summary = image_attack_summary(made, norm="l2", sizes=SIZES, minimal=True, randomised=randomised)
    folder = write_attack(run / "attacks" / name, found, recipe=name, reads="image", summary=summary)
    saved = json.loads((folder / "attack.json").read_text())
    saved["recipe"]["settings"] = settings
    (folder / "attack.json").write_text(json.dumps(saved))


def seeded(make_run: MakeRun, name: str, seed: int, **marker: Any) -> Path:
    run = make_run(name, marker=IMAGES | marker)
    (run / "config.yaml").write_text(yaml.safe_dump({**yaml.safe_load(CONFIG), **marker, "seed": seed}))
    return run


def size_charts(*runs: Path) -> list[Lines]:
    found = [one for one in filled_sections(read_report_data(runs)) if one["anchor"] == "sizes"]
    return [chart for one in found for chart in one["content"]["charts"]]


def values(chart: Lines) -> dict[str, list[float]]:
    return {one.name: [round(value, 4) for _, value in one.points] for one in chart.series}


def test_an_attacked_image_is_on_the_page_once(make_run: MakeRun) -> None:
    run = make_run("victim", marker=IMAGES)
    attacked(run, 1)
    shown = [one["anchor"] for one in filled_sections(read_report_data([run]))]
    assert "sizes" in shown and "attacked" in shown
    html = html_of(run)
    assert html.count('src="data:image/png;base64,') == 3 * 3  # three fooled images, three panels each
    for row in range(3):
        assert html.count(f'alt="attacked of row {row},') == 1
    assert html.count("victim, cw-l2</h3>") == 1 and "moved by 0.2 (ℓ2)" in html


def test_an_image_attacked_at_several_sizes_counts_once_in_its_class(make_run: MakeRun) -> None:
    run = make_run("victim", marker=IMAGES)
    found = []
    for row in range(4):  # the first two images are fooled from the middle size on
        for size in SIZES:
            hit = row < 2 and size > SIZES[0]
            change = ImageChange("linf", size, size if hit else None)
            found.append(outcome(row, f"image {row}", "success" if hit else "failed", image=change))
    made = [Outcome.from_dict(json.loads(json.dumps(one))) for one in found]
    summary = image_attack_summary(made, norm="linf", sizes=SIZES, minimal=False, randomised=False)
    write_attack(run / "attacks" / "pgd", found, recipe="pgd-linf", reads="image", summary=summary)
    classes = tables(read_report_data([run]))["classes"]
    shown = [cells(classes, row) for row in range(len(classes.rows))]
    (attacked_class,) = [one for one in shown if one["Attacked inputs"].value is not None]
    assert attacked_class["Attacked inputs"].value == 4
    assert attacked_class["Under the worst attack"].value == pytest.approx(0.5)


def test_a_defence_keeps_its_colour_in_all_charts(make_run: MakeRun) -> None:
    """The first defence has no certificate, and one of the attacks leaves out the second."""
    runs = []
    for name in ("standard", "stability", "ars"):
        for seed in range(2):
            run = seeded(make_run, f"{name}-s{seed}", seed, defence={"name": name, "settings": {}})
            runs.append(run)
            if name != "stability":
                attacked(run, 1)
            if name != "standard":
                sure = [certificate(row, "x", 0.3, unit="largest change") for row in range(10)]
                write_certificates(run / "certificates" / "linf", sure, threat="linf", reads="image")
    data = read_report_data(runs)
    found = {one["anchor"]: one["content"] for one in filled_sections(data)}
    (under_attack,) = found["sizes"]["charts"]
    (certified,) = curves(data, "linf", [(model, one) for model in data.models for one in model.certified])
    slots = {one.name.split()[0]: one.slot for one in under_attack.series}
    assert slots["standard"] == 1 and slots["ars"] == 3
    assert {one.name.split()[0]: one.slot for one in certified.series} == {"stability": 2, "ars": 3}


def test_attacked_images_that_hold_on_fresh_noise_are_shown_first(make_run: MakeRun) -> None:
    run = make_run("victim", marker=IMAGES)
    attacked(run, 4, lucky=3, randomised=True)
    content = next(
        one["content"] for one in filled_sections(read_report_data([run])) if one["anchor"] == "attacked"
    )
    ((_, pictures),) = content["groups"]
    assert [one.name.split(",")[0] for one in pictures] == ["row 3", "row 4", "row 5", "row 0"]
    assert ["not confirmed" in one.name for one in pictures] == [False, False, False, True]


def test_seeds_under_one_attack_are_one_line_with_their_range(make_run: MakeRun) -> None:
    runs = [seeded(make_run, f"s{seed}", seed) for seed in range(3)]
    for seed, run in enumerate(runs):
        attacked(run, 1 + 2 * seed, steps=5, source=f"runs/pgd-s{seed}")
    (chart,) = size_charts(*runs)
    (line,) = chart.series
    assert line.name == "ars (3 seeds)"
    assert line.points == [(0.0, 1.0), (0.1, pytest.approx(0.7)), (0.2, pytest.approx(0.6)), (0.3, 0.5)]
    assert line.band[1] == pytest.approx((0.5, 0.9)) and line.band[3] == pytest.approx((0.3, 0.7))
    assert "lowest to the highest" in chart.note and "95 %" not in chart.note
    tooltip = spec(chart)["layer"][-1]["encoding"]["tooltip"]
    assert "seeds from" in [one["title"] for one in tooltip]
    (alone,) = size_charts(runs[0])
    assert [one.name for one in alone.series] == ["s0"] and "95 % intervals" in alone.note
    low, high = alone.series[0].band[1]
    assert low < 0.9 < high


def test_only_seeds_of_the_same_model_task_and_attack_are_joined(make_run: MakeRun) -> None:
    runs = []
    for task in ("mnist", "digits"):
        named = {"task": {"name": task, "kind": "image"}}
        for seed in range(2):
            runs.append(seeded(make_run, f"{task}-s{seed}", seed, **named))
            attacked(runs[-1], 1 + seed, steps=5)
            attacked(runs[-1], 5 + seed, name="boundary")
    charts = size_charts(*runs)
    assert [chart.title.rpartition(", ")[2] for chart in charts] == ["mnist", "digits"]
    for chart in charts:
        assert values(chart) == {
            "ars, boundary (2 seeds)": [1.0, 0.45, 0.35, 0.25],
            "ars, cw-l2 (2 seeds)": [1.0, 0.85, 0.75, 0.65],
        }
    # Another setting of the attack is another attack, and another setting of the defence another model.
    other = seeded(make_run, "other-steps", 7)
    attacked(other, 9, steps=50)
    further = [seeded(make_run, f"other-{seed}", seed, epochs=2.0) for seed in range(2)]
    plain = [seeded(make_run, f"same-{seed}", seed) for seed in range(2)]
    for run in (*further, *plain):
        attacked(run, 1, steps=5)
    (chart,) = size_charts(other, *further, *plain)
    assert list(values(chart)) == [
        "ars, like other-steps",
        "ars, like other-0 (2 seeds)",
        "ars, like same-0 (2 seeds)",
    ]


@pytest.mark.parametrize("number", [1, 3])
def test_victims_that_draw_noise_have_both_rates_and_others_one(make_run: MakeRun, number: int) -> None:
    noisy = [seeded(make_run, f"noisy-s{seed}", seed) for seed in range(number)]
    fixed = seeded(make_run, "fixed", 0, defence={"name": "pgd", "settings": {}})
    for run in noisy:
        attacked(run, 3, lucky=2, randomised=True)
    attacked(fixed, 6)
    (chart,) = size_charts(*noisy, fixed)
    who, end, other = ("noisy-s0", "", "fixed") if number == 1 else ("ars", " (3 seeds)", "pgd")
    assert values(chart) == {
        f"{who}, as attacked{end}": [1.0, 0.7, 0.6, 0.5],
        f"{who}, re-verified{end}": [1.0, 0.9, 0.8, 0.7],
        other: [1.0, 0.4, 0.3, 0.2],
    }
    as_attacked, verified, sure = chart.series
    assert as_attacked.slot == verified.slot != sure.slot
    assert [one.hollow for one in chart.series] == [True, False, False]
    html = html_of(*noisy, fixed)
    assert "a success counts only if most fresh predictions confirm it" in html
    assert html.count("line solid hollow") == 4 + 1  # the points of the line, and the legend
    open_circles = [one for one in spec(chart)["layer"] if one["mark"].get("point") == {"filled": False}]
    assert [one["transform"] for one in open_circles] == [[{"filter": "datum.hollow"}]]
    (plain,) = size_charts(fixed)
    assert list(values(plain)) == ["fixed"] and "Open circles" not in plain.note


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_are_png_files_that_others_read(channels: int) -> None:
    image = pytest.importorskip("PIL.Image")
    import io

    pixels = np.random.default_rng(0).random((channels, 5, 7)) * 1.4 - 0.2
    found = np.asarray(image.open(io.BytesIO(base64.b64decode(png_text(pixels)))))
    wanted = np.rint(np.clip(pixels, 0, 1) * 255).astype(np.uint8)
    assert np.array_equal(found.reshape(5, 7, channels), wanted.transpose(1, 2, 0))
