"""The model card of a run: what the model is, how it was made, and how it fared."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from unfooled import __version__
from unfooled.files import JsonObject
from unfooled.records.metric import clean_score


@dataclass(frozen=True)
class _Words:
    """What a card says of a kind of model."""

    what: str
    library: str
    pipeline: str
    made_from: str
    use: str
    apart: str = ""
    """In which respect rows of two splits may be equal all the same."""


_WORDS = {
    "text": _Words(
        "A text classifier",
        "transformers",
        "text-classification",
        "encoder",
        'predict(["your text"])',
        ", case and spacing aside",
    ),
    "question": _Words(
        "A model that answers questions by a span of their context,",
        "transformers",
        "question-answering",
        "encoder",
        'predict(["your question"], ["its context"])',
        ", nor is its paragraph",
    ),
    "image": _Words(
        "An image classifier", "unfooled", "image-classification", "architecture", 'predict(["image.png"])'
    ),
}


def model_card(
    name: str, config: JsonObject, metrics: JsonObject, labels: list[str], *, reads: str = "text"
) -> str:
    """A Hugging Face model card in Markdown with its YAML header; ``reads``: text, question or image."""
    words = _WORDS[reads]
    header = yaml.safe_dump(
        {
            "library_name": words.library,
            "pipeline_tag": words.pipeline,
            "tags": ["unfooled", "adversarial-robustness", config["defence"]],
        },
        sort_keys=False,
    )
    source = config["task"] or config["data"]
    test, dev = (clean_score(metrics[split]) for split in ("test", "dev"))
    data = metrics["data"]
    kept = (
        "`test.jsonl` holds the test rows." if data["test_kept"] else "The test rows are not in this folder."
    )
    dropped = "; ".join(f"{count:,} {reason}" for reason, count in data["dropped"].items()) or "none"
    given = yaml.safe_dump({k: v for k, v in config.items() if v not in (None, {})}, sort_keys=False)
    prepared = metrics["train"].get("preparation_seconds")
    before = f", {prepared:.0f} s of them before training" if prepared else ""
    named = f" Labels: {', '.join(labels)}." if labels else ""
    warnings = "".join(f"\n> **Warning.** {told}\n" for told in metrics.get("warnings", ()))
    return f"""---
{header}---
# {name}

{words.what} trained with unfooled {__version__}: defence
`{config["defence"]}`, {words.made_from} `{config["encoder"]}`, data `{source}`.{named}
{warnings}
| measure | value |
| --- | --- |
| test {test.metric} | {test.value:.4f} (95 % interval {test.low:.4f} to {test.high:.4f}, \
{metrics["test"]["examples"]} {reads}s) |
| dev {dev.metric} | {dev.value:.4f} ({metrics["dev"]["examples"]} {reads}s) |
| training time | {metrics["train"]["seconds"]:.0f} s{before} |

Rows: {data["train"]:,} train, {data["dev"]:,} dev, {data["test"]:,} test; no {reads} of one is in another\
{words.apart}. Left out: {dropped}. {kept}

## Use

```python
import unfooled as uf
uf.load("{name}").{words.use}
```

## Configuration

```yaml
{given}```
"""
