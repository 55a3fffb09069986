from typing import Any, Final

from numpy.typing import NDArray

version: Final[str]
compiler: Final[str]
isa: Final[str]
supported_isas: Final[tuple[str, ...]]

class Turns:
    def __init__(self, words: bytes, /) -> None: ...

def available_threads() -> int: ...
def first_bad_position(positions: range | NDArray[Any], /) -> int: ...
def fill_sinusoidal(
    turns: Turns,
    positions: range | NDArray[Any],
    out: NDArray[Any],
    interleaved: bool,
    sine_first: bool,
    streamed: bool,
    threads: int,
    /,
) -> None: ...
def fill_shift_matrices(
    turns: Turns,
    offsets: range | NDArray[Any],
    out: NDArray[Any],
    interleaved: bool,
    sine_first: bool,
    threads: int,
    /,
) -> None: ...
