"""What a survey takes of an answer of a server, and what it doesn't, at each bound of it."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from ltocompat.commands.survey import http
from ltocompat.commands.survey.http import FetchFailed, Http, Part, Traffic
from ltocompat.packages.index_settings import IndexSettings

URL = "https://files.example/a.whl"
BODY = bytes(range(100))
SUM = hashlib.sha256(BODY).hexdigest()


class Answer:
    """An answer with a body, which may break off."""

    def __init__(
        self, status: int, body: bytes, said: str = "", etag: str = '"1"', told: int | None = None
    ) -> None:
        self.status, self.body = status, body
        self.headers = {"Content-Range": said, "ETag": etag}
        self.length_remaining = told

    def stream(self, _: int) -> Iterator[bytes]:
        """Its body in pieces of ten bytes; what was promised beyond never comes."""
        for at in range(0, len(self.body), 10):
            yield self.body[at : at + 10]
        if self.length_remaining is not None and self.length_remaining > len(self.body):
            from urllib3.exceptions import ProtocolError

            raise ProtocolError("broken off")


class Server(Http):
    """Gives the answers that a test names, one a request, and keeps what was asked for."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(IndexSettings((URL,)))
        self.answers = list(answers)
        self.asked: list[tuple[str | None, str | None]] = []

    @contextmanager
    def _answer(  # type: ignore[override]
        self, _: str, headers: Mapping[str, str], traffic: Traffic, allowed: tuple[int, ...] = ()
    ) -> Iterator[Answer]:
        traffic.requests += 1
        self.asked.append((headers.get("Range"), headers.get("If-Range")))
        answer = self.answers.pop(0)
        if answer.status not in allowed:
            raise FetchFailed(str(answer.status), passing=False)
        yield answer


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes, and nothing waits."""
    clock = SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda _: None)
    monkeypatch.setattr(http, "time", clock)


def test_a_part_is_what_the_header_says_or_none() -> None:
    last = BODY[90:]
    for status, body, said, part in [
        (206, last, "bytes 90-99/100", Part(last, 90, 100)),
        (206, last[-1:], "bytes 99-99/100", Part(last[-1:], 99, 100)),
        (206, last, "bytes 90-98/100", None),  # more than it says
        (206, last[1:], "bytes 90-99/100", None),
        (206, last, "bytes 91-100/100", None),  # beyond its end
        (206, b"", "bytes 99-98/100", None),
        (206, last, "", None),
        (200, last, "bytes 90-99/100", None),
        (416, last, "bytes 90-99/100", None),
    ]:
        server = Server(Answer(status, body, said))
        assert server.part(URL, "-10", 100, Traffic()) == part, (status, said)
    with pytest.raises(FetchFailed):
        Server(Answer(417, b"")).part(URL, "-10", 100, Traffic())
    assert (
        Server(Answer(206, last, "bytes 90-99/100", told=11)).part(URL, "", 99, Traffic()) is None
    )


@pytest.mark.parametrize("told", [None, 100])
def test_an_answer_may_be_as_long_as_the_limit(told: int | None) -> None:
    traffic = Traffic()
    page = Server(Answer(206, BODY, "bytes 0-99/100", told=told)).part(URL, "", 100, traffic)
    assert page == Part(BODY, 0, 100)
    assert (traffic.fetched, traffic.requests) == (100, 1)
    with pytest.raises(FetchFailed, match="over the limit") as failed:
        Server(Answer(206, BODY, "bytes 0-99/100", told=told)).part(URL, "", 99, Traffic())
    assert not failed.value.passing


@pytest.mark.parametrize(("late", "whole"), [(0.0, True), (0.5, False)])
def test_a_file_has_a_minute_and_a_second_for_each_50_kb(
    monkeypatch: pytest.MonkeyPatch, late: float, *, whole: bool
) -> None:
    times = iter([0.0])
    clock = SimpleNamespace(monotonic=lambda: next(times, 60 + 100 / 50_000 + late))
    monkeypatch.setattr(http, "time", clock)
    part = Server(Answer(206, BODY, "bytes 0-99/100")).part(URL, "", 100, Traffic())
    assert (part is not None) == whole


def fetched(tmp_path: Path, server: Server, sha256: str | None = SUM, most: int = 100) -> bytes:
    with io.FileIO(tmp_path / "file", "w+") as file:
        assert server.download(URL, file, sha256, most, Traffic()) == SUM
        file.seek(0)
        return file.read()


def test_a_download_goes_on_where_it_broke_off(tmp_path: Path) -> None:
    begun = Answer(200, BODY[:40], told=100)
    rest = Answer(206, BODY[40:], "bytes 40-99/100", told=60)
    server = Server(begun, rest)
    assert fetched(tmp_path, server) == BODY
    assert server.asked == [(None, None), ("bytes=40-", '"1"')]


@pytest.mark.parametrize(
    "wrong",
    [
        Answer(206, BODY[41:], "bytes 41-99/100"),
        Answer(206, BODY[40:], ""),
        Answer(206, BODY[40:], "bytes 40-99/100", etag='"2"'),
        Answer(206, BODY[40:], "bytes 40-99/100", etag="W/1"),
    ],
)
def test_the_rest_of_another_file_is_no_rest(tmp_path: Path, wrong: Answer) -> None:
    """What has changed since is fetched from its beginning."""
    server = Server(Answer(200, BODY[:40], told=100), wrong, Answer(200, BODY))
    assert fetched(tmp_path, server) == BODY
    assert [span for span, _ in server.asked] == [None, "bytes=40-", None]


def test_a_whole_file_in_place_of_a_rest_is_the_file(tmp_path: Path) -> None:
    server = Server(Answer(200, BODY[:40], told=100), Answer(200, BODY, told=100))
    assert fetched(tmp_path, server) == BODY


def test_of_a_file_that_no_word_tells_apart_nothing_is_kept(tmp_path: Path) -> None:
    server = Server(Answer(200, BODY[:40], etag="", told=100), Answer(200, BODY, etag=""))
    assert fetched(tmp_path, server) == BODY
    assert server.asked == [(None, None)] * 2


def test_a_wrong_sum_may_be_a_half_file_of_a_cache_once(tmp_path: Path) -> None:
    assert fetched(tmp_path, Server(Answer(200, BODY[:40]), Answer(200, BODY))) == BODY
    server = Server(*(Answer(200, BODY[:40]) for _ in range(3)))
    with pytest.raises(FetchFailed, match=r"SHA-256 .* as its index says") as failed:
        fetched(tmp_path, server)
    assert failed.value.passing
    assert len(server.answers) == 1
    assert fetched(tmp_path, Server(Answer(200, BODY)), None) == BODY


def test_a_file_is_asked_for_four_times(tmp_path: Path) -> None:
    server = Server(*(Answer(200, BODY[:40], etag="", told=100) for _ in range(5)))
    with pytest.raises(FetchFailed, match="was interrupted 4 times"):
        fetched(tmp_path, server)
    assert len(server.answers) == 1
    with pytest.raises(FetchFailed, match="over the limit"):
        fetched(tmp_path, Server(Answer(200, BODY, told=100)), most=99)
