"""The seed command before it writes: what it reads, what it refuses, and its message for an unreachable backend."""

from __future__ import annotations

import gzip
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from infra.seed.__main__ import main
from infra.seed.contents import Sources, read
from server.config.settings import DEMO
from tests.support.cases import cases
from tests.support.standby import read_manifest
from tools.store.backends.dynamodb.items import popular_item, release_of, title_of
from tools.store.backends.dynamodb.tables import RELEASES, STOCK, TITLES
from tools.store.identifiers import Identifiers
from tools.store.models import Release

TITLE = {"title_id": "manga-000001", "title": {"en": "One"}, "offers": [{"format": "digital", "price_jpy": 500}]}
SHOP = Identifiers()
NAMES = ["--standby-kind", "names"]
VOLUME = {"title_id": "manga-000001", "volume": 1, "isbn": None, "format": "physical", "price_jpy": 600, "stock": 3}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever whoever runs the tests has set."""
    for name in [name for name in os.environ if name.startswith("MANGA_")]:
        monkeypatch.delenv(name)


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def refused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_embedded_backends_need_no_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """They read their files at every start: the command says so and succeeds."""
    assert main([]) == 0
    assert "nothing to seed" in capsys.readouterr().out


def test_misspelled_setting_is_reported_with_a_suggestion(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MANGA_CATALOGE_FILE", "mine.jsonl")
    assert main(["--dry-run"]) == 0
    assert "did you mean MANGA_CATALOG_FILE?" in caplog.text


def test_demo_catalogue_comes_with_its_volumes_and_orders() -> None:
    """No other catalogue has default files, and files named in arguments take precedence."""
    demo = Sources.of(DEMO / "catalog.jsonl", None, None)
    assert (demo.volumes, demo.orders) == (DEMO / "volumes.jsonl", DEMO / "orders.jsonl")
    own = Sources.of(DEMO / "catalog.jsonl", None, Path("mine.jsonl"))
    assert own.orders == Path("mine.jsonl")
    other = Sources.of(Path("other.jsonl"), None, None)
    assert (other.volumes, other.orders) == (None, None)


def test_every_title_gets_a_stock_item_even_if_not_sold(tmp_path: Path) -> None:
    """So a title that is no longer sold is overwritten by the next load."""
    catalog = lines(tmp_path / "catalog.jsonl", TITLE, {"title_id": "manga-000002", "title": {"en": "Two"}})
    contents = read(Sources(catalog, lines(tmp_path / "volumes.jsonl", VOLUME), None), SHOP)
    stock = contents.items[STOCK]
    assert [item["title_id"]["S"] for item in stock] == ["manga-000001", "manga-000002"]
    assert stock[0]["volumes"]["M"]["physical"]["M"]["1"]["M"]["stock"] == {"N": "3"}
    assert stock[1]["offers"] == {"M": {}}


def test_volume_with_a_release_date_gets_a_release_item(tmp_path: Path) -> None:
    """It has the volume's own key, and the fields of the title that a month's list shows."""
    catalog = lines(tmp_path / "catalog.jsonl", {**TITLE, "popularity_rank": 7, "tags": ["Adult"]})
    rows = [VOLUME, {**VOLUME, "volume": 2, "isbn": None, "release_date": "2026-12-04"}]
    (item,) = read(Sources(catalog, lines(tmp_path / "volumes.jsonl", *rows), None), SHOP).items[RELEASES]
    assert RELEASES.key_of(item) == ("manga-000001", "physical#2")
    assert item["month"] == {"S": "2026-12"}
    assert release_of(item) == Release("manga-000001", 2, "physical", "2026-12-04", popularity_rank=7, adult=True)


def test_every_title_gets_a_record_without_offers(tmp_path: Path) -> None:
    """Prices and copies change by the minute, and have a table of their own."""
    contents = read(Sources(lines(tmp_path / "catalog.jsonl", TITLE), None, None), SHOP)
    item, popular = contents.items[TITLES]
    assert popular == popular_item([title for title, _ in contents.records])
    assert title_of(item, "manga-000001") == contents.records[0][0]
    assert json.loads(item["record"]["S"]) == {"title_id": "manga-000001", "title": {"en": "One"}}


def test_gzipped_catalogue_is_read_like_a_plain_one(tmp_path: Path) -> None:
    """It is recognised by its content, whatever its name."""
    plain = lines(tmp_path / "catalog.jsonl", TITLE)
    packed = tmp_path / "catalog.bin"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read(Sources(packed, None, None), SHOP) == read(Sources(plain, None, None), SHOP)


def test_malformed_line_stops_the_seed_before_any_backend_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """File, line and reason in one line, exit status 2; had the cluster been asked, it would have been refused with 1."""
    monkeypatch.setenv("MANGA_CATALOG_URL", f"http://127.0.0.1:{refused_port()}")
    catalog = lines(tmp_path / "catalog.jsonl", TITLE, {**TITLE, "title_id": "manga-000002", "colour": "red"})
    assert main(["--catalog", str(catalog)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "catalog.jsonl, line 2" in said
    assert "colour" in said


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_lone_surrogate_is_reported_by_line_and_field_before_any_backend_is_asked(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No table, index or vector can store one."""
    monkeypatch.setenv("MANGA_CATALOG_URL", f"http://127.0.0.1:{refused_port()}")
    catalog = lines(tmp_path / "catalog.jsonl", TITLE, {**TITLE, "title_id": "b", "synopsis": {"en": "x\ud800"}})
    assert main(["--catalog", str(catalog), *more]) == 2
    assert "catalog.jsonl, line 2: $.synopsis.en has half a character (\\ud800) at place 1" in capsys.readouterr().err


def test_dry_run_reports_every_wrong_line_of_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the files that the server's settings name, with the value that stands there; of orders without it."""
    order = json.loads((DEMO / "orders.jsonl").read_text("utf-8").splitlines()[0])
    two, three = {**TITLE, "title_id": "manga-2"}, {**TITLE, "title_id": "manga-000003", "volumes": "6", "rating": 9}
    files = {
        "CATALOG": lines(tmp_path / "catalog.jsonl", TITLE, "", two, three),
        "VOLUMES": lines(tmp_path / "volumes.jsonl", {**VOLUME, "stock": -1}, VOLUME),
        "ORDERS": lines(tmp_path / "orders.jsonl", order, {**order, "order_id": "7", "total_jpy": 1}),
    }
    for name, file in files.items():
        monkeypatch.setenv(f"MANGA_{name}_FILE", str(file))
    assert main(["--dry-run"]) == 2
    told = capsys.readouterr().err.replace(f"{tmp_path}/", "").replace("seed: ", "").splitlines()
    assert told[:4] == [
        "catalog.jsonl, line 3: $.title_id 'manga-2' is not of the shop's pattern ^manga-[a-z0-9]{6,12}$, which "
        "MANGA_TITLE_PATTERN states",
        "catalog.jsonl, line 4: $.rating must be at most 5.0 (it is 9)",
        'catalog.jsonl, line 4: $.volumes must be a whole number (it is "6")',
        "volumes.jsonl, line 1: $.stock must be at least 0 (it is -1)",
    ]
    assert told[4].startswith("orders.jsonl, line 2: $.total_jpy must be")
    lines(files["CATALOG"], TITLE)
    lines(files["VOLUMES"], {**VOLUME, "title_id": "manga-000009"}, {**VOLUME, "title_id": "manga-000008", "isbn": "1"})
    lines(files["ORDERS"], order)
    assert main(["--dry-run"]) == 2
    assert capsys.readouterr().err.replace(f"{tmp_path}/", "").splitlines() == [
        "seed: volumes.jsonl, line 1: $.title_id 'manga-000009' is not in the catalogue",
        "volumes.jsonl, line 2: $.title_id 'manga-000008' is not in the catalogue",
        'volumes.jsonl, line 2: $.isbn must be 13 digits with a right check digit (it is "1")',
    ]
    lines(files["VOLUMES"], VOLUME)
    assert main(["--dry-run"]) == 0
    assert "1 titles, 1 volumes, 1 orders: every line can be used" in capsys.readouterr().out


@cases(
    ("rows", "said"),
    [
        ([{**VOLUME, "title_id": "manga-000009"}], "'manga-000009' is not in the catalogue"),
        ([VOLUME, {**VOLUME, "isbn": "9784063767896"}], " is already on line 1"),
        ([{**VOLUME, "stock": -1}], "line 1: $.stock must be at least 0"),
        (["{"], "line 1: not JSON"),
    ],
)
def test_malformed_volumes_file_is_reported_by_name(
    rows: list[Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the file and the error before any other work."""
    catalog, volumes = lines(tmp_path / "catalog.jsonl", TITLE), lines(tmp_path / "volumes.jsonl", *rows)
    assert main(["--catalog", str(catalog), "--volumes", str(volumes)]) == 2
    told = capsys.readouterr().err
    assert "volumes.jsonl" in told
    assert said in told


@cases("order_id", ["本" * 400, "MNG-1", "mng-demo1001", "MNG-DEMO1001 "])
def test_order_number_that_lookup_order_would_refuse_is_refused(
    order_id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One rule applies to both: every loaded order can be looked up."""
    order = json.loads((DEMO / "orders.jsonl").read_text("utf-8").splitlines()[0])
    orders = lines(tmp_path / "orders.jsonl", order, {**order, "order_id": order_id})
    assert main(["--catalog", str(lines(tmp_path / "catalog.jsonl", TITLE)), "--orders", str(orders)]) == 2
    told = capsys.readouterr().err
    assert "orders.jsonl, line 2: $.order_id " in told
    assert "MANGA_ORDER_PATTERN" in told or "must have 1 to 64" in told


def test_missing_file_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is 2, as for every wrong argument."""
    assert main(["--catalog", str(tmp_path / "nowhere.jsonl")]) == 2
    assert "nowhere.jsonl: cannot read" in capsys.readouterr().err


def test_wrong_setting_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The message is that of the server's start."""
    monkeypatch.setenv("MANGA_STORE_URL", "dynamodb://nowhere")
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("seed: MANGA_STORE_URL: ")


@pytest.mark.parametrize(
    ("setting", "url"),
    [("MANGA_CATALOG_URL", "http://127.0.0.1:{}"), ("MANGA_STORE_URL", "dynamodb://eu-west-1?endpoint=http://127.0.0.1:{}")],
)
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_refused_connection_is_reported_in_one_line(
    setting: str, url: str, more: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names error, place and remedy; the exit status is 1 with and without --dry-run."""
    monkeypatch.setenv(setting, url.format(refused_port()))
    assert main(more) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "connection refused" in said
    assert setting in said


def test_bedrock_embedder_without_a_region_is_reported_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The missing region is reported as a setting."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("MANGA_EMBEDDER", "bedrock:amazon.titan-embed-text-v2:0")
    monkeypatch.setenv("MANGA_CATALOG_URL", f"http://127.0.0.1:{refused_port()}")
    assert main([]) == 2
    assert "AWS_DEFAULT_REGION" in capsys.readouterr().err


def test_standby_bundle_is_written_once_and_not_by_a_dry_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With embedded backends it is all that is written; a second run has nothing to do."""
    catalog, place = str(lines(tmp_path / "catalog.jsonl", TITLE)), str(tmp_path / "standby.bundle")
    asked = ["--catalog", catalog, "--standby", place, "--standby-kind", "names"]
    assert main([*asked, "--dry-run"]) == 0
    assert not Path(place).exists()
    assert "1 titles (names) would be put there" in capsys.readouterr().out
    assert main(asked) == 0
    assert read_manifest(Path(place)).titles == 1
    capsys.readouterr()
    assert main(asked) == 0
    assert "nothing to do" in capsys.readouterr().out


@cases(
    ("place", "status", "said"),
    [
        ("s3://bucket", 2, "--standby: "),
        ("http://shop.example/standby", 2, "--standby: "),
        ("redis", 1, "MANGA_REDIS_URL names no Redis"),
        ("/proc/nowhere/standby", 1, "/proc/nowhere/standby: "),
    ],
)
def test_unusable_place_for_the_standby_is_reported_in_one_line(
    place: str, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--catalog", str(lines(tmp_path / "catalog.jsonl", TITLE)), "--standby", place, *NAMES]) == status
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
