"""The model card of a run: what the model is, how it was made, and how it fared."""

from __future__ import annotations

import yaml

from unfooled import __version__
from unfooled.files import JsonObject
from unfooled.records.metric import clean_score


def model_card(
    name: str, config: JsonObject, metrics: JsonObject, labels: list[str], *, reads: str = "text"
) -> str:
    """A Hugging Face model card in Markdown with its YAML header; ``reads``: text or image."""
    of_text = reads == "text"
    header = yaml.safe_dump(
        {
            "library_name": "transformers" if of_text else "unfooled",
            "pipeline_tag": f"{reads}-classification",
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
    warnings = "".join(f"\n> **Warning.** {told}\n" for told in metrics.get("warnings", ()))
    return f"""---
{header}---
# {name}

{"A text" if of_text else "An image"} classifier trained with unfooled {__version__}: defence
`{config["defence"]}`, {"encoder" if of_text else "architecture"} `{config["encoder"]}`, data `{source}`. \
Labels: {", ".join(labels)}.
{warnings}
| measure | value |
| --- | --- |
| test {test.metric} | {test.value:.4f} (95 % interval {test.low:.4f} to {test.high:.4f}, \
{metrics["test"]["examples"]} {reads}s) |
| dev {dev.metric} | {dev.value:.4f} ({metrics["dev"]["examples"]} {reads}s) |
| training time | {metrics["train"]["seconds"]:.0f} s{before} |

Rows: {data["train"]:,} train, {data["dev"]:,} dev, {data["test"]:,} test; no {reads} of one is in another\
{", case and spacing aside" if of_text else ""}. Left out: {dropped}. {kept}

## Use

```python
import unfooled as uf
uf.load("{name}").predict(["{"your text" if of_text else "image.png"}"])
```

## Configuration

```yaml
{given}```
"""
