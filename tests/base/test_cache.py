"""The user's cache folder: an entry is read only if it is whole, under its own name, a regular file, and the user's
alone. Whatever lies there, programs run."""
from __future__ import annotations

import os
import random
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

from nessie.base.system import disk_cache as cache

IS_ROOT = hasattr(os, "getuid") and os.getuid() == 0
SUM = "sum({x * x + 1 : x in [0:10]})"
RIGHT = "it = 295 : int\n"


def evaluated(folder: Path) -> str:
    """What a process prints that finds this cache folder; it ends soon."""
    run = finished([sys.executable, "-m", "nessie", "eval", SUM], cwd=ROOT,
                   env={**os.environ, "XDG_CACHE_HOME": str(folder)})
    assert (run.stderr, run.returncode) == ("", 0)
    return run.stdout


def kept(folder: Path) -> Path:
    """The entry of the key `one`."""
    cache.keep("one", b"right")
    (path,) = folder.iterdir()
    return path


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_link(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


def as_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def as_socket(path: Path) -> None:
    path.unlink()
    before = os.getcwd()
    os.chdir(path.parent)                   # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as found:
            found.bind(path.name)
    finally:
        os.chdir(before)


def as_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def as_others(path: Path) -> None:
    os.chown(path, 65534, 65534)


def as_writable(path: Path) -> None:
    path.chmod(0o666)


def as_writable_by_group(path: Path) -> None:
    path.chmod(0o660)


def as_huge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(1 << 40)


CHANGES = [as_pipe, as_folder, as_link, as_loop, as_socket, as_device, as_writable, as_writable_by_group, as_huge,
           pytest.param(as_others, marks=pytest.mark.skipif(not IS_ROOT, reason="root alone gives files away"))]


@pytest.mark.skipif(sys.platform == "win32", reason="files of other kinds")
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_no_file_of_the_user_alone_is_not_read(change: Callable[[Path], None], cache_folder: Path) -> None:
    path = kept(cache_folder)
    assert cache.find("one") == b"right"
    change(path)
    opened = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert cache.find("one") is None
    assert not opened or len(os.listdir("/proc/self/fd")) == opened
    cache.keep("one", b"right")             # a folder stays, all else is replaced, and not what a link leads to
    assert cache.find("one") == (None if change is as_folder else b"right")


def test_anothers_files_are_not_read(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(cache_folder)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert cache.find("one") is None


def test_an_entry_under_anothers_name_is_refused(cache_folder: Path) -> None:
    path = kept(cache_folder)
    cache.keep("two", b"wrong")
    (other,) = set(cache_folder.iterdir()) - {path}
    shutil.copyfile(other, path)
    assert (cache.find("one"), cache.find("two")) == (None, b"wrong")


def test_entries_are_for_the_user_alone_whatever_files_are_made_like(cache_folder: Path) -> None:
    before = os.umask(0)
    try:
        path = kept(cache_folder)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600 and cache.find("one") == b"right"


def test_what_others_left_does_not_stop_the_cleaning(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 0)
    path = kept(cache_folder)
    for name in ("a.o", "b.o"):
        (cache_folder / name).mkdir()
    (cache_folder / "c.o").symlink_to("nothing")
    (cache_folder / ".unfinished.part").write_text("")
    cache.trim(cache_folder)
    assert {found.name for found in cache_folder.iterdir()} == {"a.o", "b.o"} and not path.exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="files of other kinds")
def test_programs_run_whatever_lies_in_the_cache(tmp_path: Path) -> None:
    assert evaluated(tmp_path) == RIGHT
    for change in (as_pipe, as_folder, as_loop, as_device):
        entries = [path for path in (tmp_path / "nessie").iterdir() if path.is_file() and not path.is_symlink()]
        assert entries
        for path in entries:
            change(path)
        assert evaluated(tmp_path) == RIGHT
        for path in entries:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        assert evaluated(tmp_path) == RIGHT


# Damage ------------------------------------------------------------------------------------------


def damaged(content: bytes, others: list[bytes], random_: random.Random) -> bytes:
    """Some other bytes."""
    at = random_.randrange(len(content))
    match random_.randrange(7):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + bytes([content[at] ^ (1 << random_.randrange(8))]) + content[at + 1:]
        case 2:
            return content + random_.randbytes(random_.randint(1, 40))
        case 3:
            return content[:at] + content[at + 1:]
        case 4:
            return random_.choice([b"", b"\0", cache.MAGIC, random_.randbytes(100), b"nessie object 1\n" + bytes(40)])
        case 5:
            return content[:48] + random_.choice(others)[48:]       # one's checksum, another's code
    return random_.choice(others)


def damage_entries(keys: dict[str, bytes], times: int) -> int:
    """Damage kept entries, one after another: each is found as it was kept or not at all. How many were refused."""
    random_, refused = random.Random(times), 0
    for key, code in keys.items():
        cache.keep(key, code)
    paths = {key: cache.path_of(key) for key in keys}
    contents = {key: path.read_bytes() for key, path in paths.items() if path}
    for _ in range(times):
        key = random_.choice(list(keys))
        path, content = paths[key], contents[key]
        assert path is not None
        broken = damaged(content, [c for other, c in contents.items() if other != key], random_)
        path.write_bytes(broken)
        found = cache.find(key)
        assert found is None if broken != content else found == keys[key]
        refused += found is None
        path.write_bytes(content)
    return refused


def test_damaged_entries_are_refused(cache_folder: Path) -> None:
    random_ = random.Random(0)
    keys = {f"key {number}": random_.randbytes(random_.randint(1, 3000)) for number in range(8)}
    assert damage_entries(keys, 2000) > 1900
