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
from unfooled.records.picture import Picture
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


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_are_png_files_that_others_read(channels: int) -> None:
    image = pytest.importorskip("PIL.Image")
    import io

    pixels = np.random.default_rng(0).random((channels, 5, 7)) * 1.4 - 0.2
    found = np.asarray(image.open(io.BytesIO(base64.b64decode(png_text(pixels)))))
    wanted = np.rint(np.clip(pixels, 0, 1) * 255).astype(np.uint8)
    assert np.array_equal(found.reshape(5, 7, channels), wanted.transpose(1, 2, 0))
