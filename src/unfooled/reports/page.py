"""The page: one self-contained HTML file that loads nothing.

>>> html = render(data, library=None)

Data is shown and never run: text is escaped, records are JSON in which no tag can close, and the page's own
policy lets a browser run no script but those written here (by their hash) and load nothing at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from unfooled import __version__
from unfooled.files import JsonObject
from unfooled.records.evidence import Evidence
from unfooled.reports.charts import Chart
from unfooled.reports.drawings import drawing
from unfooled.reports.formatting import duration, joined, percent, visible
from unfooled.reports.section import slots
from unfooled.reports.sections import SECTIONS
from unfooled.reports.vega import spec

Filled = list[JsonObject]


def filled_sections(data: Evidence, on_section: Callable[[str], None] | None = None) -> Filled:
    """Every section that has something to show."""
    found = []
    for part in SECTIONS:
        content = part.content(data)
        if content is not None:
            if on_section:
                on_section(part.title)
            found.append({"anchor": part.anchor, "title": part.title, "content": content})
    return found


def render(
    data: Evidence,
    *,
    library: Sequence[str] | None = None,
    script: bool = True,
    written: datetime | None = None,
    sections: Filled | None = None,
) -> str:
    """The page as text. ``library`` is the source of Vega, Vega-Lite and Vega-Embed; without it charts are
    drawings. Without ``script`` the page runs nothing."""
    sections = filled_sections(data) if sections is None else sections
    numbered = _numbered(sections)
    library = library if script and numbered else None
    environment = _environment()
    ids = {id(chart): name for name, chart in numbered.items()}
    scripts = [_embeddable(source) for source in library or ()]
    if script:
        scripts.append(_embeddable(files(__package__).joinpath("templates/report.js").read_text("utf-8")))
    html = environment.get_template("page.html.j2").render(
        title=title(data),
        data=data,
        runs=data.runs,
        slots=slots(data),
        sections=sections,
        chart_id=lambda chart: ids[id(chart)],
        charts={name: {"spec": spec(one), "slots": one.slots} for name, one in numbered.items()},
        interactive=bool(library),
        script=script,
        policy=_policy(scripts, evaluates=bool(library)),
        command=shlex.join(["unfooled", "report", *data.given, "--out", "report.html"]),
        version=__version__,
        written=written or datetime.now(UTC),
    )
    # Scripts may hold characters that text must not: they are put in when the text is done.
    page, end = visible(html).rsplit("</body>", 1)
    return page + "".join(f"<script>{source}</script>\n" for source in scripts) + "</body>" + end


def title(data: Evidence) -> str:
    """Who, on what."""
    names = [model.name for model in data.models]
    if not names:
        return "TextAttack results" if data.textattack else "Nothing measured"
    who = f"{len(names)} models" if len(names) > 3 else joined(names)
    tasks = sorted({model.task for model in data.models if model.task})
    return f"{who} on {joined(tasks) if len(tasks) < 3 else f'{len(tasks)} tasks'}" if tasks else who


def json_block(value: object) -> Markup:
    """JSON that can stand inside a script element: no ``<``, ``>`` or ``&``, and every character visible."""
    text = json.dumps(_shown(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _shown(value: object) -> object:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_shown(key): _shown(own) for key, own in value.items()}
    return [_shown(own) for own in value] if isinstance(value, list | tuple) else value


def _numbered(sections: Filled) -> dict[str, Chart]:
    """Every chart of the page under an id of its own."""
    every = [
        chart
        for section in sections
        for name in ("charts", "maps")
        for chart in section["content"].get(name, ())
    ]
    return {f"chart-{number}": chart for number, chart in enumerate(every, start=1)}


def _embeddable(source: str) -> str:
    """A script that no HTML parser ends early, with the line ends it will have in the page."""
    source = source.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")
    if "<!--" in source:
        raise ValueError("a script with <!-- in it cannot stand in a page")
    return source


def _policy(scripts: Sequence[str], *, evaluates: bool) -> str:
    """What the browser may do with this page; Vega compiles its own expressions, hence 'unsafe-eval'."""
    digests = [
        "'sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() + "'"
        for source in scripts
    ]
    if evaluates:
        digests.append("'unsafe-eval'")
    parts = ["default-src 'none'", "style-src 'unsafe-inline'", "img-src data:"]
    if scripts:
        parts.append("script-src " + " ".join(digests))
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("unfooled.reports"),
        autoescape=lambda name: not (name or "").endswith((".css", ".js")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "duration": duration,
        "drawing": drawing,
        "json_block": json_block,
    }
    return environment
