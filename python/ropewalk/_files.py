"""Files that are written whole or not at all."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from secrets import token_hex


def write(path: Path, data: bytes) -> None:
    """Write a file; where that fails, what was there before is left as it was.

    The file that a link leads to is replaced, and its permissions are kept.
    """
    target = Path(os.path.realpath(path))
    if path.exists() and (not target.is_file() or path.parent == Path("/dev")):
        path.write_bytes(data)  # a device, a pipe, or a stream that others write to as well
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
        raise OSError(error.errno, error.strerror, str(path)) from None  # not the name of the part
    finally:
        with suppress(OSError):
            part.unlink()
