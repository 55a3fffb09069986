"""Files that are written whole or not at all: what stays, what is kept, what is not replaced."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import RunPython

from ropewalk import _files

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="permissions and links are those of POSIX"
)

FILLED_UP = """
import resource
from pathlib import Path
from ropewalk import _files

resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
try:
    _files.write(Path({path!r}), bytes(11))
except OSError as error:
    print(error.errno, error.filename)
"""


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_file_that_cannot_be_finished_leaves_what_was_there(
    tmp_path: Path, run_python: RunPython, before: bytes | None
) -> None:
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    result = run_python(FILLED_UP.format(path=str(path)))
    assert (result.stdout, result.stderr) == (f"27 {path}\n", "")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == (
        {} if before is None else {"file": before}
    )


def test_permissions_are_those_of_the_old_file_or_of_any_new_one(tmp_path: Path) -> None:
    old, new, plain = (tmp_path / name for name in ("old", "new", "plain"))
    old.touch()
    old.chmod(0o640)
    plain.touch()
    for path in (old, new):
        _files.write(path, b"whole")
        assert path.read_bytes() == b"whole"
    assert permissions(old) == 0o640
    assert permissions(new) == permissions(plain)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_file_that_is_not_to_be_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        pytest.skip("who runs this may write everything")
    with pytest.raises(PermissionError, match=f"'{path}'$"):
        _files.write(path, b"new")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"file": b"old"}


@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_stays_one(tmp_path: Path, dangling: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    path, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    if not dangling:
        path.write_bytes(b"old")
    link.symlink_to("elsewhere/file")
    _files.write(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(OSError, match=f"symbolic links: '{loop}'$"):
        _files.write(loop, b"new")
    assert loop.is_symlink()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EBUSY])
def test_a_file_in_whose_place_no_other_can_be_put_is_written_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(self: Path, _: Path) -> None:
        raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr(Path, "replace", refuse)
    path = tmp_path / "file"
    with pytest.raises(OSError, match=f"'{path}'$"):
        _files.write(path, b"new")
    path.write_bytes(b"old")
    _files.write(path, b"new")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"file": b"new"}


def test_a_file_of_two_names_keeps_both(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_bytes(b"old")
    other.hardlink_to(path)
    _files.write(path, b"new")
    assert other.read_bytes() == b"new"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_device_is_written_to() -> None:
    with pytest.raises(OSError, match="No space left on device"):
        _files.write(Path("/dev/full"), b"new")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("stream", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("pipe", [False, True])
def test_a_stream_gets_what_others_write_to_it_too(tmp_path: Path, pipe: bool, stream: str) -> None:
    if not Path(stream).exists():
        pytest.skip(f"there is no {stream}")
    code = (
        "import os; from pathlib import Path; from ropewalk import _files; "
        f"_files.write(Path('{stream}'), b'one '); os.write(1, b'two')"
    )
    path = tmp_path / "file"
    with path.open("ab") as file:
        result = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE if pipe else file, check=True
        )
    assert (result.stdout if pipe else path.read_bytes()) == b"one two"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
