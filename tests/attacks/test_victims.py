"""Victims that are not ours: what they may answer, how they fail, and that nothing secret is shown."""

from __future__ import annotations

import json
import math
import re
import sys
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tiny_models import TEXTS, bert_tokenizer, roberta_tokenizer, tiny_model
from unfooled.attacks import Asked, Example, Limits, Victim, make_recipe, run_attacks
from unfooled.attacks.victims import BadAnswer, VictimUnavailable, as_victim, open_victim
from unfooled.attacks.victims.http import HttpVictim
from unfooled.attacks.victims.pipeline import ModelVictim
from unfooled.attacks.victims.scores import HARMLESS
from unfooled.attacks.victims.wire import Pace
from unfooled.errors import UsageError, UserError


def asked(*texts: str | tuple[str, str]) -> list[Asked]:
    return [Asked((text,) if isinstance(text, str) else text) for text in texts]


def scores_of(victim: Any, *texts: str | tuple[str, str]) -> np.ndarray:
    return np.array([answer.scores for answer in victim.answers(asked(*texts))])


# Functions


def by_length(texts: list[Any]) -> list[list[float]]:
    """Probability of the second class from the number of characters."""
    lengths = [len(text) if isinstance(text, str) else sum(map(len, text)) for text in texts]
    return [[1 - n / (n + 10), n / (n + 10)] for n in lengths]


def test_function_gets_texts_and_pairs_in_order_and_in_batches() -> None:
    seen: list[list[Any]] = []

    def watched(texts: list[Any]) -> list[list[float]]:
        seen.append(texts)
        return by_length(texts)

    victim = as_victim(watched, ["short", "long"], batch_size=2)
    answers = victim.answers(asked("a" * 30, "b", "c" * 10))
    assert [answer.label for answer in answers] == [1, 0, 0]
    assert answers[0].scores == pytest.approx((0.25, 0.75))
    assert seen == [["a" * 30, "b"], ["c" * 10]]
    victim.answers(asked(("premise", "hypothesis")))
    assert seen[-1] == [("premise", "hypothesis")]
    assert victim.labels == ("short", "long")
    assert isinstance(victim, Victim)


def test_object_with_scores_and_tensor_of_logits_is_a_victim() -> None:
    class Model:
        def scores(self, texts: list[str]) -> torch.Tensor:
            return torch.tensor([[1.0, 3.0, -2.0]] * len(texts), dtype=torch.bfloat16, requires_grad=True)

    victim = as_victim(Model(), logits=True)
    assert scores_of(victim, "x")[0] == pytest.approx(torch.tensor([1.0, 3.0, -2.0]).softmax(0).tolist())
    assert victim.labels == ("0", "1", "2")


@pytest.mark.parametrize(
    ("output", "error", "words"),
    [
        ([[0.5, 0.5]], UserError, r"shape \(1, 2\) for 2 texts"),
        ([0.5, 0.5], UserError, r"shape \(2,\) for 2 texts"),
        ([[0.5, 0.5], [1.0]], BadAnswer, "not a table of numbers"),
        ([[0.5, 0.5], None], BadAnswer, "not a table of numbers"),
        ([[0.9], [0.5, 0.6]], UserError, "not a table of numbers"),
        ("no", UserError, "not a table of numbers"),
        (None, UserError, "for 2 texts"),
        ([[0.5], [0.5]], UserError, r"\[1 - p, p\]"),
        ([[-3.0, 2.0], [-0.1, 1.1]], UserError, "row 0 .*'the first'.*logits=True"),
        ([[0.0, 0.0], [0.2, 0.2]], UserError, "row 0"),
        ([[0.5, 0.5], [-0.1, 1.1]], BadAnswer, "row 1 .*'the second'.*logits=True"),
        ([[0.5, 0.5], [0.2, 0.2]], BadAnswer, "row 1"),
        ([[2.0, 1.0], [0.5, 0.5]], BadAnswer, "row 0 .*'the first'"),
        ([[0.5, 0.5], [math.nan, 1.0]], BadAnswer, "not finite in row 1"),
        ([[math.inf, 0.5], [0.5, 0.5]], BadAnswer, "not finite in row 0"),
        ([[0.2, 0.3, 0.5]] * 2, UserError, "3 scores per text, but has 2 labels"),
    ],
)
def test_bad_output_is_refused_naming_the_row(output: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        as_victim(lambda texts: output, ["no", "yes"]).answers(asked("the first", "the second"))


def test_rounded_probabilities_are_accepted_and_made_to_sum_to_one() -> None:
    scores = scores_of(as_victim(lambda texts: [[0.333, 0.333, 0.3335]]), "x")
    assert scores.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("in_flight", [1, 2, 64])
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([math.nan, 0.0], "not finite"),
        ([0.0, 0.0], "not probabilities"),
        ([0.7, 0.7], "not probabilities"),
        ([1.0], "not a table|one score per text"),
        ([0.2, 0.3, 0.5], "not a table|3 scores per text"),
        (None, "not a table|of shape"),
    ],
)
def test_one_unusable_answer_breaks_only_its_own_attack(row: Any, words: str, in_flight: int) -> None:
    def sometimes_bad(texts: list[str]) -> list[Any]:
        return [row if "poison" in text else [0.9, 0.1] for text in texts]

    # The bad row is asked for first, alone, or together with good ones and then alone.
    texts = ["poison", "a fine film", "a good one"]
    examples = [Example(number, (text,), 1) for number, text in enumerate(texts)]
    services = {"victim": as_victim(sometimes_bad, ["no", "yes"]).answers}
    outcomes = run_attacks(examples, _Nothing(), services, limits=Limits(), in_flight=in_flight)
    found = {outcome.original[0]: outcome for outcome in outcomes}
    assert re.search(words, found.pop("poison").message)
    assert [outcome.status for outcome in found.values()] == ["skipped", "skipped"]


class _Nothing:
    """A recipe that looks once and gives up."""

    name, paper, goal, needs = "nothing", "", "fickle", ()

    def search(self, attempt: Any) -> Any:
        yield from attempt.ask([attempt.original])
        return None


def test_file_and_module_specs_import_the_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "victim_neighbour.py").write_text("CLASSES = 2\n")
    path = tmp_path / "victim_file.py"
    path.write_text(
        "from victim_neighbour import CLASSES\n"
        "def scores(texts): return [[1 / CLASSES] * CLASSES for _ in texts]\n"
        "class Model:\n    def scores(self, texts): return scores(texts)\n"
        "model = Model()\nnumber = 3\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    for spec in (f"{path}:scores", f"{path}:model", f"{path}:model.scores", "victim_file:scores"):
        assert scores_of(open_victim(spec), "x", "y").tolist() == [[0.5, 0.5]] * 2
    said = open_victim(f"{path}:scores").describe()  # type: ignore[attr-defined]
    assert said["spec"] == f"{path}:scores"
    path.write_text(path.read_text() + "# changed\n")
    assert open_victim(f"{path}:scores").describe() != said  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="cannot be attacked"):
        open_victim(f"{path}:number")
    with pytest.raises(UsageError, match="a class"):
        open_victim(f"{path}:Model")
    with pytest.raises(UserError, match=r"no 'scoress'.*scores"):
        open_victim(f"{path}:scoress")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("import module_that_is_not_there", "module_that_is_not_there"),
        ("1 / 0", "ZeroDivisionError"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("def f(:", "SyntaxError"),
    ],
)
def test_file_that_fails_to_import_says_why(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(content)
    with pytest.raises(UserError, match=f"(?s)broken.py failed.*{words}"):
        open_victim(f"{path}:f")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nothing-of-the-kind", "does not name a victim"),
        ("no_such_module_here:f", "no module 'no_such_module_here'"),
        ("no/such/file.py:f", "no file no/such/file.py"),
        ("hf:no/such folder", "Cannot load"),
        ("https://", "must look like"),
        ("https://example.org/a b", "percent-encode"),
        ("ftp://example.org/x", "does not name a victim"),
    ],
)
def test_bad_spec_is_refused_with_a_remedy(spec: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        open_victim(spec)


def test_unknown_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'retries'"):
        open_victim("http://localhost:1/", retrys=3)
    with pytest.raises(UsageError, match="no option 'rate'"):
        as_victim(by_length, rate=3)
    with pytest.raises(UsageError, match="at least 1"):
        open_victim("http://localhost:1/", batch_size=0)


@pytest.mark.network
def test_pwws_runs_against_a_function() -> None:
    def likes_good(texts: list[str]) -> list[list[float]]:
        return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]

    victim = as_victim(likes_good, ["bad", "good"])
    examples = [
        Example(0, ("a good film",), 1),
        Example(1, ("a dreadful film",), 1),
        Example(2, ("a dreadful film",), 0),
    ]
    services = {"victim": victim.answers}
    found = list(run_attacks(examples, make_recipe("pwws"), services, limits=Limits()))
    outcomes = {outcome.row: outcome for outcome in found}
    assert outcomes[0].status == "success"
    assert outcomes[0].perturbed is not None
    assert "good" not in outcomes[0].perturbed[0]
    assert [change.before for change in outcomes[0].changes] == ["good"]
    assert outcomes[1].status == "skipped"
    assert outcomes[2].status == "failed"


# Hugging Face


@pytest.fixture(scope="module", params=["bert", "roberta"])
def model_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    tokenizer = bert_tokenizer() if request.param == "bert" else roberta_tokenizer()
    tiny_model(request.param, tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_model_folder_answers_as_each_text_alone_in_order(model_folder: Path) -> None:
    victim = open_victim(f"hf:{model_folder}", device="cpu")
    assert isinstance(victim, ModelVictim)
    together = scores_of(victim, *TEXTS)
    alone = np.concatenate([scores_of(victim, text) for text in TEXTS])
    assert together == pytest.approx(alone, abs=1e-5)
    assert len({tuple(row) for row in together.round(4)}) > 1
    inputs = victim.tokenizer(TEXTS[2], return_tensors="pt")
    with torch.no_grad():
        expected = victim.model(**inputs).logits.softmax(-1)[0].tolist()
    assert together[2] == pytest.approx(expected, abs=1e-5)
    assert victim.labels == ("LABEL_0", "LABEL_1", "LABEL_2")


def test_model_cuts_texts_at_the_length_it_reads(model_folder: Path) -> None:
    victim = open_victim(f"hf:{model_folder}", device="cpu")
    assert scores_of(victim, "good " * 500).shape == (1, 3)
    short = open_victim(f"hf:{model_folder}", device="cpu", max_length=8)
    assert scores_of(short, "good " * 6 + "bad")[0] == pytest.approx(scores_of(short, "good " * 6)[0])


def test_model_reads_both_texts_of_a_pair(model_folder: Path) -> None:
    victim = open_victim(f"hf:{model_folder}", device="cpu")
    pairs = scores_of(victim, ("a good film", "dull"), ("a good film", "a very lovely story"))
    assert abs(pairs[0] - pairs[1]).max() > 1e-4


def test_model_is_known_by_its_weights(model_folder: Path) -> None:
    said = open_victim(f"hf:{model_folder}", device="cpu").describe()  # type: ignore[attr-defined]
    assert list(said["weights"]) == ["model.safetensors"]
    json.dumps(said)


def test_pipeline_object_gives_the_scores_of_its_model(model_folder: Path) -> None:
    from transformers import pipeline

    made = pipeline("text-classification", model=str(model_folder), device="cpu", max_length=48)
    victim = as_victim(made)
    direct = open_victim(f"hf:{model_folder}", device="cpu", max_length=48)
    assert scores_of(victim, *TEXTS) == pytest.approx(scores_of(direct, *TEXTS), abs=1e-5)
    pairs = ("a good film", "dull"), ("bold", "a very lovely story")
    assert scores_of(victim, *pairs) == pytest.approx(scores_of(direct, *pairs), abs=1e-5)
    renamed = as_victim(made, ["LABEL_2", "LABEL_0", "LABEL_1"])
    assert scores_of(renamed, "dull")[0] == pytest.approx(np.roll(scores_of(victim, "dull")[0], 1))
    with pytest.raises(UserError, match="no score for 'x'"):
        as_victim(made, ["x", "LABEL_0", "LABEL_1"]).answers(asked("dull"))


def test_model_without_classes_and_pickled_weights_are_refused(model_folder: Path, tmp_path: Path) -> None:
    tokenizer = bert_tokenizer()
    with pytest.raises(UsageError, match="does not choose one of several classes"):
        ModelVictim(tiny_model("bert", tokenizer, labels=1), tokenizer)
    for path in model_folder.iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save(tiny_model("bert", tokenizer).state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(UserError, match="safetensors"):
        open_victim(f"hf:{tmp_path}")


# HTTP

Reply = Callable[["Endpoint", dict[str, Any]], tuple[int, Any, dict[str, str]]]


class Endpoint:
    """A server in a thread; ``replies`` are used up one a request, the last one stays."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], Any]] = []
        self.replies: list[Any] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(({k.lower(): v for k, v in self.headers.items()}, body))
                reply = endpoint.replies.pop(0) if len(endpoint.replies) > 1 else endpoint.replies[0]
                status, content, headers = reply(body) if callable(reply) else reply
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                raise AssertionError("a redirect was followed")

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that gave up waiting is no news."""

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/classify"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("no_proxy", "*")
    made = Endpoint()
    yield made
    made.server.shutdown()
    made.server.server_close()


def works(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
    return 200, {"scores": by_length(body["texts"])}, {}


def failing(status: int, content: Any = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
    return status, content, headers


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_endpoint_is_asked_in_batches_and_answers_in_order(endpoint: Endpoint) -> None:
    endpoint.replies = [works]
    victim = open_victim(endpoint.address, batch_size=2, concurrency=1, labels=["short", "long"])
    texts = ["a" * 30, "b", "c" * 5]
    assert scores_of(victim, *texts) == pytest.approx(np.array(by_length(texts)))
    assert [body for _, body in endpoint.requests] == [{"texts": texts[:2]}, {"texts": texts[2:]}]
    victim.answers(asked(("premise", "hypothesis")))
    assert endpoint.requests[-1][1] == {"texts": [["premise", "hypothesis"]]}


def test_busy_endpoint_is_asked_again_with_growing_pauses(endpoint: Endpoint) -> None:
    clock = Clock()
    endpoint.replies = [failing(503), failing(500), works]
    victim = HttpVictim(endpoint.address, clock=clock, sleep=clock.sleep)
    assert len(victim.answers(asked("x"))) == 1
    assert clock.slept == [0.5, 1.0]


def test_retry_after_is_honoured_as_seconds_and_as_a_date(endpoint: Endpoint) -> None:
    clock = Clock()
    past = formatdate(0, usegmt=True)
    limited = [failing(429, **{"Retry-After": value}) for value in ("0", "7", past)]
    endpoint.replies = [*limited, failing(503), works]
    HttpVictim(endpoint.address, clock=clock, sleep=clock.sleep).answers(asked("x"))
    assert clock.slept == [0.0, 7.0, 0.0, 4.0]
    endpoint.replies = [failing(429, **{"Retry-After": "3600"})]
    with pytest.raises(VictimUnavailable, match="wait 3600 s"):
        HttpVictim(endpoint.address, clock=clock, sleep=clock.sleep).answers(asked("x"))
    assert len(clock.slept) == 4


def test_endpoint_that_stays_busy_ends_the_run_with_a_remedy(endpoint: Endpoint) -> None:
    endpoint.replies = [failing(503)]
    victim = open_victim(endpoint.address, retries=2, backoff=0)
    with pytest.raises(VictimUnavailable, match=r"after 3 tries \(HTTP 503\).*then run again"):
        list(run_attacks([Example(0, ("x",), 0)], _Nothing(), {"victim": victim.answers}, limits=Limits()))
    # Three tries of the text, and of another one to see whether it is to blame.
    assert [body["texts"] for _, body in endpoint.requests] == [["x"]] * 3 + [[HARMLESS]] * 3


@pytest.mark.parametrize("status", [500, 503, 507, 520, 529])
def test_every_busy_status_is_tried_again(endpoint: Endpoint, status: int) -> None:
    endpoint.replies = [failing(status), works]
    assert len(open_victim(endpoint.address, backoff=0).answers(asked("x"))) == 1


def test_rate_limit_that_stays_ends_the_run_and_blames_no_text(endpoint: Endpoint) -> None:
    endpoint.replies = [works, failing(429)]
    victim = open_victim(endpoint.address, retries=1, backoff=0)
    victim.answers(asked("x"))
    with pytest.raises(VictimUnavailable, match="HTTP 429"):
        victim.answers(asked("y", "z"))
    assert len(endpoint.requests) == 3


def test_slow_endpoint_and_closed_port_are_unavailable(endpoint: Endpoint) -> None:
    release = threading.Event()

    def slow(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        release.wait(5)
        return works(body)

    endpoint.replies = [slow]
    with pytest.raises(VictimUnavailable, match=r"no answer within 0\.05 s"):
        open_victim(endpoint.address, timeout=0.05, retries=1, backoff=0).answers(asked("x"))
    release.set()
    assert len(endpoint.requests) == 4
    with pytest.raises(VictimUnavailable, match="refused"):
        open_victim("http://127.0.0.1:9/", retries=0).answers(asked("x"))


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (failing(200, b"<html>Sign in</html>"), VictimUnavailable, "did not answer with JSON.*Sign in"),
        (failing(200, b""), VictimUnavailable, "did not answer with JSON"),
        (failing(200, {"result": 1}), UserError, "without 'scores'; it has: 'result'"),
        (failing(200, "text"), UserError, "without 'scores'; it has: str"),
        (failing(200, {"scores": [[0.5, 0.5]]}), UserError, r"shape \(1, 2\) for 2 texts"),
        (failing(200, {"scores": [[0.5, 0.5]] * 3}), UserError, "for 2 texts"),
        (failing(200, {"scores": [[0.9, 0.5], [0.9, 0.9]]}), UserError, "row 0"),
        (failing(200, {"scores": [[0.5, 0.5], [0.9, 0.9]]}), BadAnswer, "row 1"),
        (failing(200, b'{"scores": [[0.5, 0.5], [NaN, 1]]}'), BadAnswer, "not finite in row 1"),
        (failing(200, {"scores": [[0.5, None], [0, 1]]}), BadAnswer, "not finite in row 0"),
        (failing(200, {"scores": None}), UserError, "for 2 texts"),
        (failing(200, {"scores": {"a": 1}}), UserError, "not a table"),
        (failing(401), VictimUnavailable, "refused access.*token_env"),
        (failing(404, {"detail": "Not Found"}), VictimUnavailable, "404.*Not Found.*Check the address"),
        (failing(422, {"detail": "field required"}), VictimUnavailable, "field required.*request_field"),
        (failing(302, None, Location="http://127.0.0.1:9/other"), VictimUnavailable, "redirects"),
    ],
)
def test_garbage_is_refused_with_the_address_and_a_remedy(
    endpoint: Endpoint, reply: Any, error: type[Exception], words: str
) -> None:
    endpoint.replies = [reply]
    victim = open_victim(endpoint.address, backoff=0)
    with pytest.raises(error, match=words) as caught:
        victim.answers(asked("the first", "the second"))
    assert endpoint.address in str(caught.value)
    # It may be about these texts: one other text is tried, unless the answer says that it is not.
    assert len(endpoint.requests) <= 2


@pytest.mark.parametrize("in_flight", [1, 2, 64])
@pytest.mark.parametrize(
    "refusal",
    [
        failing(400, "odd"),
        failing(413, "too long"),
        failing(422, "unreadable"),
        failing(500),
        failing(502),
        failing(200, {"error": "cannot"}),
        failing(200, b"<html>oops</html>"),
        failing(200, {"scores": [[0.0, 0.0]]}),
    ],
    ids=lambda reply: f"{reply[0]}-{str(reply[1])[:8]}",
)
def test_text_that_a_working_endpoint_does_not_serve_breaks_only_its_own_attack(
    endpoint: Endpoint, refusal: Any, in_flight: int
) -> None:
    def picky(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        if all(len(text) <= 20 for text in body["texts"]):
            return works(body)
        if isinstance(refusal[1], dict) and "scores" in refusal[1]:
            rows = [[0, 0] if len(text) > 20 else [0.5, 0.5] for text in body["texts"]]
            return failing(200, {"scores": rows})
        return refusal

    endpoint.replies = [picky]
    victim = open_victim(endpoint.address, retries=1, backoff=0)
    texts = ["k" * 30, "short", "l" * 30, "fine", "good"]
    examples = [Example(number, (text,), 1) for number, text in enumerate(texts)]
    outcomes = run_attacks(
        examples, _Nothing(), {"victim": victim.answers}, limits=Limits(), in_flight=in_flight
    )
    found = {outcome.original[0]: outcome for outcome in outcomes}
    assert {text for text, one in found.items() if one.status == "error"} == {
        text for text in texts if len(text) > 20
    }
    assert {one.status for text, one in found.items() if len(text) < 20} == {"skipped"}


def test_lost_connection_over_one_text_breaks_only_its_own_attack(endpoint: Endpoint) -> None:
    def crashing(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        if "crash" in body["texts"]:
            raise ConnectionAbortedError
        return works(body)

    endpoint.replies = [crashing]
    victim = open_victim(endpoint.address, retries=1, backoff=0)
    examples = [Example(number, (text,), 1) for number, text in enumerate(("fine", "crash", "good"))]
    outcomes = run_attacks(examples, _Nothing(), {"victim": victim.answers}, limits=Limits())
    statuses = {outcome.original[0]: outcome.status for outcome in outcomes}
    assert statuses == {"fine": "skipped", "crash": "error", "good": "skipped"}


def test_endpoint_that_breaks_down_ends_the_run_although_it_answered_before(endpoint: Endpoint) -> None:
    endpoint.replies = [works, failing(500)]
    victim = open_victim(endpoint.address, retries=1, backoff=0)
    victim.answers(asked("x"))
    with pytest.raises(VictimUnavailable, match="HTTP 500"):
        victim.answers(asked("y", "z"))
    assert [body["texts"] for _, body in endpoint.requests] == [["x"], *[["y", "z"]] * 2, *[["x"]] * 2]


def test_named_scores_of_either_kind_are_put_in_the_order_of_the_labels(endpoint: Endpoint) -> None:
    named = [{"ham": 0.9, "spam": 0.1}, {"spam": 0.7, "ham": 0.3}]
    listed = [[{"label": name, "score": score} for name, score in row.items()] for row in named]
    for content in ({"scores": named}, {"scores": listed}, listed, named):
        endpoint.replies = [failing(200, content)]
        victim = open_victim(endpoint.address, labels=["spam", "ham"])
        assert scores_of(victim, "x", "y") == pytest.approx(np.array([[0.1, 0.9], [0.7, 0.3]]))
        with pytest.raises(UserError, match=r"names its classes .*'ham', 'spam'.*labels"):
            open_victim(endpoint.address).answers(asked("x", "y"))
    endpoint.replies = [failing(200, listed[0])]
    assert scores_of(open_victim(endpoint.address, labels=["spam", "ham"]), "x").tolist() == [[0.1, 0.9]]
    endpoint.replies = [failing(200, [[{"label": "ham", "score": 0.9}]])]
    with pytest.raises(UserError, match=r"no score for 'spam'.*top_k"):
        open_victim(endpoint.address, labels=["spam", "ham"]).answers(asked("x"))


def test_request_and_response_fields_can_be_chosen(endpoint: Endpoint) -> None:
    endpoint.replies = [failing(200, {"result": {"logits": [[0.0, math.log(3)]]}})]
    victim = open_victim(
        endpoint.address,
        request_field="inputs",
        response_field="result.logits",
        extra={"parameters": {"top_k": 5}},
        pairs="object",
        logits=True,
    )
    assert scores_of(victim, ("a", "b"))[0] == pytest.approx([0.25, 0.75])
    assert endpoint.requests[0][1] == {
        "inputs": [{"text": "a", "text_pair": "b"}],
        "parameters": {"top_k": 5},
    }


def test_credentials_are_sent_and_never_shown(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "s3cret-token-value"
    monkeypatch.setenv("VICTIM_TOKEN", secret)
    endpoint.replies = [works, failing(422, {"echo": f"Bearer {secret}"}), failing(403)]
    victim = open_victim(
        endpoint.address + f"?key={secret}",
        token_env="VICTIM_TOKEN",
        headers={"X-Api-Key": secret},
        extra={"api_key": secret},
        retries=0,
    )
    victim.answers(asked("x"))
    assert endpoint.requests[0][0]["authorization"] == f"Bearer {secret}"
    assert endpoint.requests[0][0]["x-api-key"] == secret
    shown = [repr(victim), json.dumps(victim.describe())]  # type: ignore[attr-defined]
    for _ in range(2):
        with pytest.raises((BadAnswer, UserError)) as caught:
            victim.answers(asked("x"))
        shown.append(str(caught.value))
    assert not [text for text in shown if secret in text]
    other = open_victim(endpoint.address + "?key=other", token_env="VICTIM_TOKEN")
    assert other.describe() != victim.describe()  # type: ignore[attr-defined]

    login = open_victim(endpoint.address.replace("://", f"://user:{secret}@"))
    endpoint.replies = [works]
    login.answers(asked("x"))
    assert endpoint.requests[-1][0]["authorization"].startswith("Basic ")
    assert secret not in repr(login) + json.dumps(login.describe())  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="NO_SUCH_TOKEN is not set"):
        open_victim(endpoint.address, token_env="NO_SUCH_TOKEN")
    monkeypatch.setenv("VICTIM_TOKEN", secret + "\nX-Other: 1")
    with pytest.raises(UsageError, match="one line") as refused:
        open_victim(endpoint.address, token_env="VICTIM_TOKEN")
    assert secret not in str(refused.value)


def test_the_key_in_an_address_is_not_logged_and_cookies_are_not_kept(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.replies = [lambda body: (*works(body)[:2], {"Set-Cookie": "session=1"})]
    with caplog.at_level("DEBUG"):
        victim = open_victim(endpoint.address + "?key=s3cret-token-value")
        victim.answers(asked("x"))
        victim.answers(asked("y"))
    assert "s3cret" not in caplog.text
    assert len(endpoint.requests) == 2 and "cookie" not in endpoint.requests[1][0]


def test_an_answer_beyond_the_size_limit_is_not_read_to_its_end(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unfooled.attacks.victims.wire.MAX_BYTES", 1000)
    endpoint.replies = [(200, b" " * 100_000, {})]
    with pytest.raises(VictimUnavailable, match="Lower batch_size"):
        open_victim(endpoint.address, retries=0).answers(asked("x"))


def test_a_proxy_that_cannot_be_used_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "gopher://user:s3cret@127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(UsageError, match="ALL_PROXY") as refused:
        open_victim("http://example.org/")
    assert "s3cret" not in str(refused.value)


def test_rate_limit_spaces_the_requests_retries_included(endpoint: Endpoint) -> None:
    clock = Clock()
    endpoint.replies = [works, failing(429, **{"Retry-After": "0"}), works]
    victim = HttpVictim(endpoint.address, rate=4, batch_size=1, concurrency=1, clock=clock, sleep=clock.sleep)
    started = clock.now
    victim.answers(asked("a", "b", "c", "d"))
    assert len(endpoint.requests) == 5
    assert clock.now - started == pytest.approx(4 * 0.25)


def test_pace_never_exceeds_its_rate_and_does_not_save_up() -> None:
    clock = Clock()
    pace = Pace(10, clock=clock, sleep=clock.sleep)
    times = []
    for pause in (0, 0, 0.05, 1, 0, 0):
        clock.now += pause
        pace.wait()
        times.append(clock.now)
    assert min(b - a for a, b in pairwise(times)) == pytest.approx(0.1)
    assert times[-1] - times[3] == pytest.approx(0.2)


class _Lengthen:
    """A recipe that replaces the first word by a long one."""

    name, paper, goal, needs = "lengthen", "", "fickle", ()

    def search(self, attempt: Any) -> Any:
        (trial,) = yield from attempt.ask([attempt.original.replace(0, "l" * 30)])
        return trial.document if trial.reached else None


@pytest.mark.parametrize("randomised", [True, False])
def test_success_against_a_stochastic_endpoint_is_checked_with_fresh_answers(
    endpoint: Endpoint, randomised: bool
) -> None:
    endpoint.replies = [works]
    victim = open_victim(endpoint.address, randomised=randomised)
    (outcome,) = run_attacks(
        [Example(0, ("a film \ud800",), 0)],
        _Lengthen(),
        {"victim": victim.answers},
        limits=Limits(fresh_predictions=5),
        randomised=victim.randomised,
    )
    assert outcome.status == "success"
    assert outcome.fresh_total == (5 if randomised else 0)
    assert sum(len(body["texts"]) for _, body in endpoint.requests) == (7 if randomised else 2)
