"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

# A file may be written though its folder may not be, or holds it as a mount of its own.
NOT_REPLACED = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)


def write(path: Path, data: bytes) -> None:
    """Write a file; where that fails, what was there before is left as it was.

    The file that a link leads to is replaced, and its permissions are kept. What cannot be replaced
    is written where it is: devices, pipes, streams that others write to, files that have several
    names, belong to another user, or lie where no other file can be put.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if path.exists() and not _is_ours_alone(path, target):
        path.write_bytes(data)
        return
    part = target.with_name(f".ropewalk-{token_hex(8)}")
    try:
        with part.open("xb") as file:
            file.write(data)
        if target.exists():
            with target.open("ab"):  # refused where the old file is not to be written
                shutil.copymode(target, part)
        part.replace(target)
    except OSError as error:
        if error.errno in NOT_REPLACED and target.exists():
            path.write_bytes(data)
            return
        raise OSError(error.errno, error.strerror, str(path)) from None  # not the name of the part
    finally:
        with suppress(OSError):
            part.unlink()


def _is_ours_alone(path: Path, target: Path) -> bool:
    if not target.is_file() or path.absolute().parts[1:2] in {("dev",), ("proc",)}:
        return False
    known = target.stat()
    return known.st_nlink == 1 and known.st_uid == (os.getuid() if hasattr(os, "getuid") else 0)
