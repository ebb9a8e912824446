"""Files of computed values: found by their key, whole or not at all, and bounded in number."""

from __future__ import annotations

import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.cases import cases
from tools.store.backends.embedded import computed
from tools.store.backends.embedded.computed import ComputedStore, pack, unpack


def test_stored_arrays_are_loaded_under_their_own_key_only(tmp_path: Path) -> None:
    store = ComputedStore(tmp_path)
    store.save("kind", "key", {"a": pack(("x", "ÿ", ""))})
    arrays = store.load("kind", "key")
    assert arrays is not None
    assert unpack(arrays["a"]) == ["x", "ÿ", ""]
    next(tmp_path.iterdir()).rename(store._path("kind", "other"))
    assert store.load("kind", "other") is None


def test_current_and_last_used_file_of_each_kind_are_kept(tmp_path: Path) -> None:
    """Another catalogue or embedder uses another file; unused files do not fill the disk."""
    store = ComputedStore(tmp_path)
    other = {"a": pack(("x",))}
    store.save("index", "only", other)
    for n, key in enumerate(("oldest", "older", "old")):
        store.save("vectors", key, other)
        os.utime(store._path("vectors", key), (1_000 + n, 1_000 + n))
    assert store.load("vectors", "oldest") is None
    assert store.load("vectors", "older") is not None, "it was used just now, by a process of the version before, say"
    store.save("vectors", "current", other)
    kept = [key for key in ("oldest", "older", "old", "current") if store.load("vectors", key) is not None]
    assert (kept, store.load("index", "only") is not None) == (["older", "current"], True)


def test_temporary_file_is_removed_after_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computed.time, "time", lambda: 10_000.0)
    abandoned, under_way = tmp_path / ".vectors-abc-1.tmp", tmp_path / ".vectors-abc-2.tmp"
    for path in (abandoned, under_way):
        path.write_bytes(b"half")
    os.utime(abandoned, (6_399, 6_399))
    os.utime(under_way, (6_400, 6_400))
    ComputedStore(tmp_path).save("vectors", "key", {"a": pack(("x",))})
    assert (abandoned.exists(), under_way.exists()) == (False, True)


def test_concurrent_stores_in_one_folder_do_not_fail_each_other(tmp_path: Path) -> None:
    """A file removed by one store is found whole or not at all by the other."""
    stores = [ComputedStore(tmp_path) for _ in range(4)]

    def work(number: int) -> int:
        found = 0
        for turn in range(25):
            stores[number].save("vectors", f"{number}-{turn}", {"a": pack((f"{number}-{turn}",))})
            for other in range(4):
                arrays = stores[number].load("vectors", f"{other}-{turn}")
                assert arrays is None or unpack(arrays["a"]) == [f"{other}-{turn}"]
                found += arrays is not None
        return found

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) > 0
    assert len(list(tmp_path.iterdir())) <= 5


def npy(shape: str, *, kind: str = "<f4", fortran: bool = False, numbers: bytes = bytes(48)) -> bytes:
    """A file of NumPy's (format 2.0) whose header says whatever somebody wants."""
    said = f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x02\x00" + len(said).to_bytes(4, "little") + said + numbers


@cases(
    "file",
    [
        npy("(3, 4)", fortran=True),
        npy("(True, 4)"),
        npy("(-3, 4)"),
        npy("(999999999999, 4)"),
        npy("(3,)", kind="|O"),
        npy("(" * 9000),
        npy("(" * 4400 + ")" * 4400),
        npy("-" * 8900 + "1"),
    ],
    ids=["columns", "a truth", "negative", "too large", "objects", "no end", "deep", "many signs"],
)
def test_malformed_file_counts_as_missing(file: bytes, tmp_path: Path) -> None:
    store = ComputedStore(tmp_path)
    matrix, arrays = store._path("vectors", "key", ".npy"), store._path("index", "key")
    matrix.write_bytes(file)
    with zipfile.ZipFile(arrays, "w") as archive:
        archive.writestr("a.npy", file)
    assert store.map("vectors", "key") is None
    assert store.load("index", "key") is None
