from typing import Any, Final

from numpy.typing import NDArray

version: Final[str]
compiler: Final[str]
isa: Final[str]
supported_isas: Final[tuple[str, ...]]

class Turns:
    def __init__(self, words: bytes, axes: int, /) -> None: ...

def available_threads() -> int: ...
def first_bad_position(positions: range | NDArray[Any], /) -> int: ...
def fill_sinusoidal(
    turns: Turns,
    positions: range | NDArray[Any],
    out: NDArray[Any],
    interleaved: bool,
    sine_first: bool,
    factor: float,
    streamed: bool,
    threads: int,
    /,
) -> None: ...
def fill_tables(
    turns: Turns,
    positions: range | NDArray[Any],
    cosines: NDArray[Any],
    sines: NDArray[Any],
    factor: float,
    threads: int,
    /,
) -> None: ...
def fill_matrices(
    turns: Turns,
    positions: range | NDArray[Any],
    out: NDArray[Any],
    interleaved: bool,
    upper_sine: bool,
    factor: float,
    threads: int,
    /,
) -> None: ...
def fill_blocks(
    turns: Turns,
    positions: range | NDArray[Any],
    out: NDArray[Any],
    factor: float,
    threads: int,
    /,
) -> None: ...
def rotate(
    turns: Turns,
    positions: range | NDArray[Any],
    x: NDArray[Any],
    out: NDArray[Any],
    interleaved: bool,
    inverse: bool,
    factor: float,
    streamed: bool,
    threads: int,
    /,
) -> None: ...
def rotate_by(
    cosines: NDArray[Any],
    sines: NDArray[Any],
    x: NDArray[Any],
    out: NDArray[Any],
    interleaved: bool,
    threads: int,
    /,
) -> None: ...
