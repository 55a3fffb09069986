from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

version: Final[str]
compiler: Final[str]
isa: Final[str]
supported_isas: Final[tuple[str, ...]]
large_bytes: Final[int]

def attend(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any] | None,
    leading: Sequence[int],
    precision: str | None,
    output: NDArray[Any] | None,
    lse: NDArray[np.float64] | None,
    stages: Sequence[NDArray[Any] | None],
    window: Sequence[int | None],
    offset: NDArray[np.int64] | None,
    mask: NDArray[np.bool_] | None,
    bias: NDArray[Any] | None,
    slopes: NDArray[np.float64] | None,
    key_lengths: NDArray[np.int64] | None,
    scale: float,
    softcap: float,
    sinks: NDArray[np.float64] | None,
    threads: int,
    /,
) -> None: ...
def attend_plainly(
    given: tuple[object, ...],
    mask: object,
    bias: object,
    slopes: object,
    sinks: object,
    others: tuple[object, ...],
    out: object,
    with_lse: bool,
    threads: int,
    /,
) -> Any: ...
def merge(
    outputs: Sequence[NDArray[Any]],
    lses: NDArray[np.float64],
    output: NDArray[Any],
    lse: NDArray[np.float64],
    threads: int,
    /,
) -> None: ...
def merge_plainly(
    outputs: object, lses: object, threads: int, /
) -> tuple[NDArray[Any], NDArray[np.float64]] | None: ...
def convert(numbers: NDArray[Any], out: NDArray[Any], threads: int, /) -> None: ...
def transpose(array: NDArray[Any], out: NDArray[Any], threads: int, /) -> bool: ...
def bias_in_float32(bias: NDArray[np.float64], threads: int, /) -> NDArray[np.float32]: ...
def scale_of_width(width: int, /) -> float: ...
def rows_fit_plainly(given: tuple[object, ...], /) -> bool: ...
def per_head_fits_plainly(
    values: object, leading: tuple[int, ...], largest: float, allows_minus_infinity: bool, /
) -> bool: ...
def integers_fit_plainly(values: object, smallest: int, largest: int, /) -> bool: ...
def softmax(
    x: NDArray[Any],
    out: NDArray[Any],
    mask: NDArray[np.bool_] | None,
    axis: int,
    scale: float,
    in_float64: bool,
    streamed: bool,
    threads: int,
    /,
) -> None: ...
def softmax_plainly(
    x: object,
    mask: object,
    axis: object,
    scale: object,
    out: object,
    threads: int,
    /,
) -> NDArray[Any] | None: ...
def logsumexp(
    x: NDArray[Any],
    out: NDArray[np.float64],
    mask: NDArray[np.bool_] | None,
    axis: int,
    threads: int,
    /,
) -> None: ...
def logsumexp_plainly(
    x: object, mask: object, axis: object, threads: int, /
) -> NDArray[Any] | None: ...

class Turns:
    def __init__(self, words: bytes, axes: int, /) -> None: ...

def available_threads() -> int: ...
def matrices() -> str | None: ...
def new_array(dtype: np.dtype[Any], shape: Sequence[int], /) -> NDArray[Any]: ...
def overlaps_itself(array: NDArray[Any], /) -> bool: ...
def populate(array: NDArray[Any], threads: int, /) -> bool: ...
def waking_took(nanoseconds: int, /) -> None: ...
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
def encode_plainly(
    turns: Turns,
    positions: object,
    dtype: object,
    out: object,
    interleaved: bool,
    sine_first: bool,
    threads: int,
    /,
) -> NDArray[Any] | None: ...
def fill_tables(
    turns: Turns,
    positions: range | NDArray[Any],
    cosines: NDArray[Any],
    sines: NDArray[Any],
    factor: float,
    streamed: bool,
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
def rotate_plainly(
    turns: Turns,
    positions: object,
    x: NDArray[Any],
    out: object,
    interleaved: bool,
    inverse: bool,
    factor: float,
    threads: int,
    /,
) -> NDArray[Any] | None: ...
def rotate_by_plainly(
    cosines: object,
    sines: object,
    x: NDArray[Any],
    out: object,
    interleaved: bool,
    threads: int,
    /,
) -> NDArray[Any] | None: ...
def rotate_by(
    cosines: NDArray[Any],
    sines: NDArray[Any],
    x: NDArray[Any],
    out: NDArray[Any],
    interleaved: bool,
    streamed: bool,
    threads: int,
    /,
) -> None: ...
