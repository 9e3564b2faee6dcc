"""Files are written by nessie.base.system.writing alone: whatever happens, the old file or the whole new one is
there."""
from __future__ import annotations

import ast
import errno
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

import nessie
from nessie.base.source import NessieError
from nessie.base.system import unfinished, writing
from nessie.base.system.writing import replacing, write
from nessie.tool.cli import main

if sys.platform == "win32":
    pytest.skip("links, pipes and signals of POSIX", allow_module_level=True)

FOLDERS = ("nessie", "flatten", "schedule", "cudagen", "lambda_cu")
IS_ROOT = os.getuid() == 0
MODES = set("wax+")

# Calls that write and may: each file with what it writes, and why not by nessie.base.system.writing.
OTHERS = {
    "nessie/base/system/writing.py": "it is the one",
    "nessie/base/system/unfinished.py": "an empty file, which others fill",
    "nessie/running/text_streams.py": "files that NESL programs open write on and on",
    "nessie/session/streams.py": "standard output and error, where they are missing",
    "nessie/tool/cli.py": "standard output, where its reader has gone",
    "nessie/tool/prompt/history.py": "the prompt's history, which is added to; it is only made here",
    "nessie/serve/worker.py": "a pipe to its server, and what it prints otherwise to nowhere",
    **dict.fromkeys(("nessie/files/formats/numpy_format.py", "nessie/files/formats/npz_format.py"),
                    "to bytes in memory"),
    "nessie/base/system/mapped_files.py": "a file of the run's own, for an array; it is only made here",
    "nessie/files/partitions/outputs.py": "parts, in new files, which are moved into their places at the end",
    "nessie/files/written_by_workers.py": "workers write parts of a new file, which is moved into its place at the end",
    "cudagen/cluster/files/arrays.py": "arrays for workers, in files of the run's own",
    "cudagen/cluster/tasks/elements.py": "elements of an array, into a file of the run's own",
}


# Who writes --------------------------------------------------------------------------------------


def writing_calls(tree: ast.AST) -> Iterator[str]:
    """The calls that open a file for writing, or make or move one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and writes(node):
            yield ast.unparse(node)


def writes(call: ast.Call) -> bool:
    function = ast.unparse(call.func)
    last = function.rpartition(".")[2]
    if last in ("write_text", "write_bytes", "mkstemp", "NamedTemporaryFile", "savez", "savez_compressed", "savetxt",
                "tofile", "touch", "symlink_to", "hardlink_to"):
        return True
    if function in ("os.replace", "os.rename", "os.link", "os.symlink", "os.mkfifo", "os.truncate", "np.save",
                    "numpy.save", "json.dump", "pickle.dump", "shutil.copy", "shutil.copy2", "shutil.copyfile",
                    "shutil.copytree", "shutil.move"):
        return True
    if function == "os.open":
        return "O_RDONLY" not in ast.unparse(call)
    if last in ("open", "fdopen"):
        modes = [*call.args[:2], *(k.value for k in call.keywords if k.arg == "mode")]
        return any(isinstance(mode, ast.Constant) and isinstance(mode.value, str) and MODES & set(mode.value)
                   and len(mode.value) <= 3 for mode in modes)
    return False


def test_files_are_written_in_one_place() -> None:
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if calls := list(writing_calls(ast.parse(path.read_text("utf-8")))):
                found[str(path.relative_to(ROOT))] = calls
    assert {path: calls for path, calls in found.items() if path not in OTHERS} == {}
    assert set(OTHERS) == set(found), "an exception that is none any more"


@pytest.mark.parametrize("text", ['open(p, "w")', 'p.open("ab")', "open(p, mode='x')", "p.write_text(t)",
                                  "np.save(p, a)", "os.open(p, os.O_WRONLY)", "os.replace(a, b)", 'os.fdopen(h, "wb")',
                                  'open(p, "r+b")', "tempfile.mkstemp()", "json.dump(a, f)", "shutil.move(a, b)"])
def test_writers_are_found(text: str) -> None:
    assert list(writing_calls(ast.parse(text))) == [ast.unparse(ast.parse(text))]


@pytest.mark.parametrize("text", ["open(p)", 'open(p, "rb")', 'stream.write("w")', "repl.open()", "np.load(p)",
                                  "os.open(p, os.O_RDONLY)", "dict.copy", 'read_open(p, "w")'])
def test_readers_are_none(text: str) -> None:
    assert list(writing_calls(ast.parse(text))) == []


# What is there afterwards ------------------------------------------------------------------------


def test_a_new_file_has_the_mode_that_files_have(tmp_path: Path) -> None:
    for mask in (0o022, 0o077, 0o002):
        before = os.umask(mask)
        try:
            write(tmp_path / f"{mask}", "new")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / f"{mask}").stat().st_mode) == 0o666 & ~mask


def test_mode_owner_and_group_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o640)
    owner = (65534, 12345) if IS_ROOT else (os.getuid(), os.getgid())
    os.chown(path, *owner)
    write(path, "new")
    found = path.stat()
    assert (path.read_text(), stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == ("new", 0o640, *owner)


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_text("old")
    (tmp_path / "link").symlink_to("folder/x")
    (tmp_path / "links").symlink_to("link")
    (tmp_path / "dangling").symlink_to("folder/y")
    write(tmp_path / "links", "new")
    write(tmp_path / "dangling", "made")
    assert (tmp_path / "folder" / "x").read_text() == "new" and (tmp_path / "folder" / "y").read_text() == "made"
    assert all((tmp_path / name).is_symlink() for name in ("link", "links", "dangling"))
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(NessieError, match=r"cannot write .*loop: Too many levels of symbolic links"):
        write(tmp_path / "loop", "new")
    assert (tmp_path / "loop").is_symlink()


def test_a_file_with_several_names_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old and longer")
    os.link(tmp_path / "x", tmp_path / "y")
    (tmp_path / "link").symlink_to("y")
    for name, content in (("x", "new"), ("y", "newer"), ("link", "newest")):
        write(tmp_path / name, content)
        assert (tmp_path / "x").read_text() == (tmp_path / "y").read_text() == content
    assert (tmp_path / "x").samefile(tmp_path / "y") and (tmp_path / "x").stat().st_nlink == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "x", "y"]


def test_pipes_and_devices_are_written_to(tmp_path: Path) -> None:
    write("/dev/null", "lost")
    os.mkfifo(tmp_path / "pipe")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()))
    reader.start()
    write(tmp_path / "pipe", "through")
    reader.join(10)
    assert found == ["through"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(NessieError, match="cannot write /dev/full: No space left on device"):
        write("/dev/full", "lost")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_streams_go_on_where_they_are(name: str, tmp_path: Path) -> None:
    if not os.path.exists(name):
        pytest.skip(f"there is no {name}")
    code = f"from nessie.base.system.writing import write; print('a', flush=True); write({name!r}, 'b\\n'); print('c')"
    (tmp_path / "x").write_text("before\n")
    with (tmp_path / "x").open("a") as file:
        finished([sys.executable, "-c", code], cwd=ROOT, stdout=file, check=True)
    assert (tmp_path / "x").read_text() == "before\na\nb\nc\n"


def test_what_is_no_text_of_utf_8_is_written_by_its_code(tmp_path: Path) -> None:
    write(tmp_path / "x", "a\udc80")
    assert (tmp_path / "x").read_text() == "a\\udc80"


@pytest.mark.parametrize(("name", "reason"), [
    ("none/x", "No such file or directory"), ("folder", "Is a directory"), ("file/x", "Not a directory"),
    ("a\0b", "embedded null"), ("n" * 300, "File name too long"), ("", "No such file or directory"),
    ("folder/", "Is a directory"), ("new/", "Is a directory")])
def test_what_cannot_be_written(name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(NessieError, match=reason):
        write(name, "new")
    assert sorted(tmp_path.rglob("*")) == before


# Bit by bit -------------------------------------------------------------------------------------


def grow(path: Path, content: bytes) -> None:
    """Write the file in two bits, which two openings write."""
    with replacing(str(path)) as new:
        for first, bit in ((0, content[:2]), (2, content[2:])):
            with open(new, "r+b") as file:
                file.seek(first)
                file.write(bit)


def test_a_file_that_grows_takes_no_other_name(tmp_path: Path) -> None:
    """Two may write the same file at a time: the last one that is complete stays."""
    for name in ("x", "x.new", "x.part"):
        (tmp_path / name).write_text("old")
    with replacing(str(tmp_path / "x")) as new:
        grow(tmp_path / "x", b"newer")
        Path(new).write_text("newest")
        assert (tmp_path / "x").read_text() == "newer"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "x": "newest", "x.new": "old", "x.part": "old"}


def test_a_file_that_grows_keeps_mode_owner_and_links(tmp_path: Path) -> None:
    for name in ("x", "z"):
        (tmp_path / name).write_text("old and longer")
        (tmp_path / name).chmod(0o640)
    owner = (65534, 12345) if IS_ROOT else (os.getuid(), os.getgid())
    os.chown(tmp_path / "x", *owner)
    os.link(tmp_path / "z", tmp_path / "also z")
    (tmp_path / "link").symlink_to("x")
    for content in (b"new", b""):
        for name in ("link", "z", "free"):
            grow(tmp_path / name, content)
        found = (tmp_path / "x").stat()
        assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (0o640, *owner)
        assert (tmp_path / "z").samefile(tmp_path / "also z") and (tmp_path / "link").is_symlink()
        assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [content] * 5
    before = os.umask(0o027)
    try:
        grow(tmp_path / "free too", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "free too").stat().st_mode) == 0o640


@pytest.mark.parametrize("where", ["moved", "overwritten"])
def test_a_file_that_does_not_become_complete_changes_nothing(where: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    others = [path]
    if where == "overwritten":
        os.link(path, tmp_path / "y")
        others.append(tmp_path / "y")
    with pytest.raises(KeyboardInterrupt), replacing(str(path)) as new:
        Path(new).write_bytes(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and sorted(tmp_path.iterdir()) == others


@pytest.mark.parametrize("status", [143, 1])
def test_a_file_that_grows_goes_with_a_signal_or_with_work_that_is_left(status: int, tmp_path: Path) -> None:
    """A time limit leaves work that does not end."""
    (tmp_path / "x").write_text("old")
    text = """
import sys
from nessie.base.system.writing import replacing
from nessie.tool.signals import leave
with replacing(sys.argv[1]):
    leave(int(sys.argv[2]), True)
"""
    finished([sys.executable, "-c", text, str(tmp_path / "x"), str(status)], cwd=ROOT)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_file_goes_that_an_interrupt_comes_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made, and nobody has been told of it."""
    def interrupted(*_: object) -> None:
        assert [*tmp_path.iterdir()]
        raise KeyboardInterrupt
    monkeypatch.setattr(unfinished, "flock", interrupted)
    with pytest.raises(KeyboardInterrupt), replacing(str(tmp_path / "x")):
        pass
    assert not [*tmp_path.iterdir()]


HALF = """
import os, signal, sys
from nessie.base.system.writing import replacing
with replacing(sys.argv[1]) as new:
    open(new, "w").write("half")
    print(new, flush=True)
    sys.stdin.read() or os.kill(os.getpid(), signal.SIGKILL)
"""


def writer(path: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that writes there, and its hidden file."""
    process = subprocess.Popen([sys.executable, "-c", HALF, str(path)], cwd=ROOT, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_what_killed_processes_have_left_goes_with_the_next_one(tmp_path: Path) -> None:
    """Of the same name alone; and nothing that somebody writes by now."""
    (tmp_path / ".x.part").write_text("another's")
    (process, left), (other, others) = writer(tmp_path / "x"), writer(tmp_path / "x.npy")
    for killed in (process, other):
        killed.communicate("")
    assert left.read_text() == others.read_text() == "half"
    alive, held = writer(tmp_path / "x")
    assert not left.exists() and held.exists()
    grow(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_text() == "new" and held.exists()
    alive.communicate("end")
    assert {path.name for path in tmp_path.iterdir()} == {"x", others.name, ".x.part"}
    assert (tmp_path / "x").read_text() == "half"


def test_a_file_that_was_taken_for_left_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process looks at it before it is held."""
    lock, made = unfinished.flock, list[str]()

    def late(handle: int, how: int) -> None:
        if not made:
            made.append(os.readlink(f"/proc/self/fd/{handle}"))
            os.unlink(made[0])
        lock(handle, how)

    monkeypatch.setattr(unfinished, "flock", late)
    with replacing(str(tmp_path / "x")) as new:
        assert made and new not in made
        Path(new).write_text("new")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["new"]


def test_without_locks_what_is_left_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    process, left = writer(tmp_path / ("long" * 60))
    process.communicate("")
    monkeypatch.setattr(unfinished, "flock", none)
    grow(tmp_path / ("long" * 60), b"new")
    assert left.exists()


# As another user ---------------------------------------------------------------------------------


def as_user(folder: Path, name: str) -> str:
    """Write `new` there without root's rights; what is said of it."""
    code = ("import os, sys; sys.path.insert(0, sys.argv[1]); from nessie.base.system.writing import write\n"
            "if not os.getuid(): os.setgroups([]); os.setgid(4321); os.setuid(4321)\n"
            "try: write(sys.argv[2], 'new')\n"
            "except Exception as error: print(error)")
    run = finished([sys.executable, "-c", code, str(ROOT), str(folder / name)])
    assert run.stderr == ""
    return run.stdout.strip()


@pytest.fixture
def users_folder(tmp_path: Path) -> Path:
    """A folder of that user, to which the way is open."""
    for parent in (tmp_path, *tmp_path.parents[:3]):
        if IS_ROOT and parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    if IS_ROOT:
        os.chown(folder, 4321, 4321)
    return folder


def owned(path: Path, mode: int) -> Path:
    path.write_text("old")
    if IS_ROOT:
        os.chown(path, 4321, 4321)
    path.chmod(mode)
    return path


def test_a_file_that_must_not_be_changed_is_not_replaced(users_folder: Path) -> None:
    path = owned(users_folder / "x", 0o444)
    assert as_user(users_folder, "x").endswith("x: Permission denied") and path.read_text() == "old"
    assert list(users_folder.iterdir()) == [path]


def test_a_file_in_a_folder_that_must_not_be_changed_is_overwritten(users_folder: Path) -> None:
    path = owned(users_folder / "x", 0o644)
    users_folder.chmod(0o555)
    assert as_user(users_folder, "x") == "" and path.read_text() == "new"
    assert as_user(users_folder, "y").endswith("y: Permission denied") and list(users_folder.iterdir()) == [path]
    users_folder.chmod(0o755)


@pytest.mark.skipif(not IS_ROOT, reason="root alone makes files of others")
def test_a_file_of_another_user_stays_theirs(users_folder: Path) -> None:
    path = users_folder / "x"
    path.write_text("older")
    path.chmod(0o666)
    assert as_user(users_folder, "x") == ""
    assert (path.read_text(), path.stat().st_uid, list(users_folder.iterdir())) == ("new", os.getuid(), [path])


# Ends that come early ----------------------------------------------------------------------------


def test_an_interrupt_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_text("old")
    for step in ("write", "fsync", "link", "replace"):
        for nameless in (writing.NAMELESS, 0):
            with monkeypatch.context() as patch:
                patch.setattr(writing, "NAMELESS", nameless)
                patch.setattr(writing.os, step, interrupted)
                if step != "link" or nameless:
                    with pytest.raises(KeyboardInterrupt):
                        write(tmp_path / "x", "new")
            assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(not writing.NAMELESS, reason="files have names from the beginning")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_signal_leaves_the_old_file_and_nothing_else(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    code = ("import os, sys, time\nfrom nessie.base.system.writing import write\n"
            "def slow(handle): print('written', flush=True); time.sleep(60)\n"
            "os.fsync = slow; write(sys.argv[1], 'new' * 1000000)")
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "x")], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "written\n"
        process.send_signal(number)
        assert process.wait(30) == -number
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("movable", [True, False])
@pytest.mark.parametrize("nameless", [True, False])
def test_a_disk_that_is_full_on_the_way(movable: bool, nameless: bool, tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """Files may not grow beyond a limit: the system's own error, after some of the content."""
    path = tmp_path / "x"
    path.write_bytes(b"old" * 1000)
    if not nameless:
        monkeypatch.setattr(writing, "NAMELESS", 0)
    if not movable:
        monkeypatch.setattr(writing, "replace_file", unmovable)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(NessieError, match=r"cannot write .*x: File too large"):
            write(path, b"new" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"old" * 1000 and list(tmp_path.iterdir()) == [path]
    write(path, b"new")
    assert path.read_bytes() == b"new"


def unmovable(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB, which all but 8 are taken of."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = IS_ROOT and sys.platform == "linux" and finished(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]).returncode == 0
    if not made:
        pytest.skip("no disk can be mounted here")
    try:
        (folder / "ballast").write_bytes(bytes(248 << 10))
        yield folder
    finally:
        finished(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    path = small_disk / "x"
    path.write_bytes(b"old")
    for content in (bytes(500_000), bytes(6000)):
        with pytest.raises(NessieError, match=r"cannot write .*x: No space left on device"):
            write(path, content)
        assert path.read_bytes() == b"old" and len(list(small_disk.iterdir())) == 2
    with pytest.raises(OSError, match="No space left on device"):
        writing.overwrite(str(path), bytes(500_000))
    assert path.read_bytes() == b"old"


# All that -o and the like name -------------------------------------------------------------------

PROGRAM = """function shares(v) : [float] -> [float] = let s = sum(v) in {x / s : x in v};
function rows(v) : [float] -> [[float]] = {{x + y : y in v} : x in v};
function table(v) : [float] -> [([char], float)] = {("name", x) : x in v};
"""
CALL = ["-e", "shares", "[1.0, 3.0]"]
WRITERS = {
    "x.json": ["run", "p.nesl", *CALL], "x.npy": ["run", "p.nesl", *CALL],
    "x.npz": ["run", "p.nesl", "-e", "rows", "[1.0, 3.0]"], "x.csv": ["run", "p.nesl", "-e", "table", "[1.0, 3.0]"],
    **{f"x.{form}": ["compile", "p.nesl", "-e", "shares"] for form in ("syntax", "typed", "mono", "flat", "graph",
                                                                      "schedule", "fused", "loops", "llvm", "cuda")},
    "y.fused": ["show", "p.nesl", "-e", "shares", "--after", "fuse"],
    **{f"x.{kind}": ["graph", "p.nesl", "-e", "shares"] for kind in ("dot", "svg")},
    "y.json": ["graph", "p.nesl", "-e", "shares"], "x.html": ["inspect", "p.nesl", "-e", "shares"],
    "x.txt": ["explain", "p.nesl", "-e", "shares"], "z.json": ["explain", "p.nesl", "-e", "shares"],
    "y.txt": ["profile", "p.nesl", *CALL], "w.json": ["profile", "p.nesl", *CALL], "z.txt": ["doctor"]}


def no_more_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def commanded(folder: Path, reason: str, limit: bool) -> None:
    """Every command that writes a file: the old one stays, and one line says why."""
    (folder.parent / "p.nesl").write_text(PROGRAM)
    code = ("import sys, json, os\nfrom nessie.tool.cli import main\n"
            "for words in json.loads(sys.argv[1]):\n"
            "  status = main(words); print(json.dumps(words[-1:] + [status]), file=sys.stderr, flush=True)")
    words = [[*words, "-o", str(folder / name)] for name, words in WRITERS.items()]
    run = finished([sys.executable, "-c", code, json.dumps(words)], cwd=folder.parent,
                   env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=no_more_room if limit else None)
    lines = run.stderr.splitlines()
    assert len(lines) == 2 * len(WRITERS) and run.stdout == "", run.stderr
    for line, told in zip(lines[::2], lines[1::2], strict=True):
        path, status = json.loads(told)
        assert (status, line) in [(1, f"error: cannot write {path}: {reason}"),
                                  (1, f"error: {path}: cannot be written: {reason}")]
    assert {path.name: path.read_text() for path in folder.iterdir() if path.name != "ballast"} == dict.fromkeys(
        WRITERS, "old")


def test_no_command_loses_a_file_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    for name in WRITERS:
        (tmp_path / "disk" / name).write_text("old")
    commanded(tmp_path / "disk", "File too large", limit=True)


def test_no_command_loses_a_file_to_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    (small_disk / "ballast").unlink()
    for name in WRITERS:
        (small_disk / name).write_text("old")
    with suppress(OSError), (small_disk / "ballast").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1024))
    commanded(small_disk, "No space left on device", limit=False)


def test_folders_and_pages_on_a_full_disk(tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.nesl").write_text(PROGRAM)
    folder = small_disk / "kernels"
    (small_disk / "ballast").unlink()
    assert main(["compile", "p.nesl", "-e", "shares", "--emit", "cuda", "-o", str(folder)]) == 0
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert before
    with (small_disk / "more").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1024))
    capsys.readouterr()
    stages = nessie.compile(PROGRAM).shares.stages([1.0])
    for work in (lambda: main(["compile", "p.nesl", "-e", "shares", "--emit", "cuda", "-o", str(folder)]),
                 lambda: main(["compile", "p.nesl", "-e", "shares", "--emit", "flat", "--dump", str(folder)])):
        assert work() == 1
        said = capsys.readouterr().err
        assert re.fullmatch(r"error: cannot write .*/kernels/[^\n]*: No space left on device\n", said)
    with pytest.raises(nessie.NessieError, match="No space left on device"):
        stages.save(str(small_disk / "page.html"))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before and not (small_disk / "page.html").exists()
