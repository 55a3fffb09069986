"""Bad input of any kind gives a clear error, and nothing has been written by then.

ValueError for a wrong value or shape, TypeError for a wrong kind; the message names the argument
and holds what came.
"""

import re
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.refusals import exactly

import ropewalk as rw
from ropewalk.frequencies import from_radians, linear, standard

NAN, INF = float("nan"), float("inf")
LONG = np.arange(5000.0)

# The name that each function gives its positions.
ENCODERS: dict[str, Callable[..., NDArray[Any]]] = {
    "positions": rw.sinusoidal_encoding,
    "offset": rw.shift_matrix,
}
encoders = pytest.mark.parametrize("name", ENCODERS)


# Frequencies in the place of numbers

TAKEN_FOR: dict[str, Callable[[Any], Any]] = {
    "positions": lambda f: rw.rotate(np.ones((4, 8)), f),
    "offset": lambda f: rw.rerotate(np.ones((4, 8)), f),
    "offsets": lambda f: rw.position_kernel(f, 8),
    "x": rw.softmax,
    "bias": lambda f: rw.attention(*[np.ones((4, 8))] * 3, bias=f),
    "radians": from_radians,
    "short_factors": lambda f: rw.frequencies.longrope(
        8, short_factors=f, long_factors=f, trained_length=64, factor=2.0
    ),
}


@pytest.mark.parametrize("name", TAKEN_FOR)
def test_frequencies_are_not_taken_for_numbers(name: str) -> None:
    message = rf"^{name} must be an?.* of numbers, got Frequencies, which are given as frequencies="
    with pytest.raises(TypeError, match=message):
        TAKEN_FOR[name](standard(8))


@pytest.mark.parametrize("name", TAKEN_FOR)
def test_lists_hold_no_frequencies(name: str) -> None:
    message = f"{name} must hold no Frequencies, whose numbers are their radians"
    f = standard(8)
    for held in ([f], (f, f), [[0.5], [f]]):
        with pytest.raises(TypeError, match=exactly(message)):
            TAKEN_FOR[name](held)


@pytest.mark.parametrize("name", TAKEN_FOR)
@pytest.mark.parametrize(
    "mixed",
    [
        [True, 2],
        [0.5, False],
        ([1, 2], [True, 3]),
        [[True], [2.0]],
        [np.True_, 2],
        [True, np.int32(2)],
        [True, np.float16(2)],
    ],
    ids=repr,
)
def test_lists_do_not_mix_booleans_with_numbers(name: str, mixed: Any) -> None:
    with pytest.raises(TypeError, match=exactly(f"{name} must not mix booleans with numbers")):
        TAKEN_FOR[name](mixed)


@pytest.mark.parametrize("function", [rw.sinusoidal_encoding, rw.rotary_tables, rw.phases])
def test_frequencies_are_not_taken_for_positions(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"^positions must be .* got Frequencies, "):
        function(standard(8), 8)


# Positions

BEYOND: dict[str, tuple[Any, str]] = {
    "NaN": (NAN, "nan"),
    "infinity": (INF, "inf"),
    "minus infinity": ([1.0, -INF], "-inf"),
    "float32 NaN": (np.array([0, NAN], np.float32), "nan"),
    "float16 infinity": (np.array([0, INF], np.float16), "inf"),
    "2^53 + 1": (2**53 + 1, "9007199254740993"),
    "-2^53 - 1": ([0, -(2**53) - 1], "-9007199254740993"),
    "2^53 + 2 in floats": ([0.5, 2.0**53 + 2], "9007199254740994.0"),
    "a range from beyond": (range(-(2**53) - 1, 0), "-9007199254740993"),
    "2^53 + 1 in a tuple": ((2**53 + 1, 0.5), "9007199254740993"),
    "2^53 + 1 beside a fraction": ([2**53 + 1, 0.5], "9007199254740993"),
    "-2^53 - 1 beside a fraction": ([(0.5, -(2**53) - 1)], "-9007199254740993"),
    "2^53 + 1 in an array beside one": ([np.array([2**53 + 1]), [0.5]], "9007199254740993"),
    "float32 beyond": (np.array([2**60], np.float32), "1.152921504606847e+18"),
    "smallest int64": (np.array([-(2**63)]), "-9223372036854775808"),
    "largest uint64": (np.array([3, 2**64 - 1], np.uint64), "18446744073709551615"),
    "beyond int64": (2**64, "18446744073709551616"),
    "beyond int64 in a list": ([1, -(10**30)], "-1000000000000000000000000000000"),
    "beyond int64 beside a fraction": ([0.5, 2**70], "1180591620717411303424"),
    "more than a float holds": ([0.5, 10**400], "an integer of 1329 bits"),
    "beyond int64 beside another": ([2**63, -1], "9223372036854775808"),
    "a range up": (range(2**53 - 1, 2**53 + 2), "9007199254740993"),
    "a range down": (range(0, -(2**53) - 2, -1), "-9007199254740993"),
    "a range far beyond": (range(10**30, 10**30 + 3), "1000000000000000000000000000002"),
    "a NaN in a long array": (np.append(LONG, NAN), "nan"),
    "an infinity in a batch": (np.append(LONG, [0.5, INF]).reshape(2, -1), "inf"),
}


@pytest.mark.parametrize("case", BEYOND)
@encoders
def test_positions_must_be_finite_and_at_most_2_to_the_53(name: str, case: str) -> None:
    value, found = BEYOND[case]
    message = f"{name} must be finite and at most 2**53 in size, got {found}"
    with pytest.raises(ValueError, match=exactly(message)):
        ENCODERS[name](value, 2)


@pytest.mark.parametrize(
    "values", [10**5000, [0, 10**5000], range(10**5000, 10**5000 + 1)], ids=type
)
@encoders
def test_a_position_too_long_to_print_is_refused(name: str, values: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be finite and at most"):
        ENCODERS[name](values, 2)


NO_NUMBERS: dict[str, tuple[Any, str]] = {
    "complex": (1j, "complex128"),
    "complex64": (np.zeros(3, np.complex64), "complex64"),
    "objects": (np.array([1, 2], dtype=object), "object"),
    "no objects": (np.array([], object), "object"),
    "fractions and objects": ([0.5, None], "object"),
    "text": ("12", "<U2"),
    "texts": (["1", "2"], "<U1"),
    "bytes": (b"12", "S2"),
    "truth": (True, "bool"),
    "truths": ([True, False], "bool"),
    "dates": (np.zeros(2, "M8[D]"), "datetime64[D]"),
    "durations": (np.zeros(2, "m8[s]"), "timedelta64[s]"),
    "long double": (np.zeros(2, np.longdouble), np.dtype(np.longdouble).name),
    "bfloat16": (np.zeros(2, ml_dtypes.bfloat16), "bfloat16"),
    "records": (np.zeros(2, [("a", "f8")]), "[('a', '<f8')]"),
}


@pytest.mark.parametrize("case", NO_NUMBERS)
@encoders
def test_positions_must_be_numbers(name: str, case: str) -> None:
    value, found = NO_NUMBERS[case]
    message = rf"^{name} must be integers, .* got dtype .?{re.escape(found)}$"
    with pytest.raises(TypeError, match=message):
        ENCODERS[name](value, 2)


@pytest.mark.parametrize("value", [None, {1, 2}], ids=repr)
@encoders
def test_positions_must_be_a_number_a_range_or_an_array(name: str, value: Any) -> None:
    message = f"{name} must be a number, a range or an array of numbers, got {value!r}"
    with pytest.raises(TypeError, match=exactly(message)):
        ENCODERS[name](value, 2)


@encoders
def test_whole_positions_beside_fractions_may_be_2_to_the_53(name: str) -> None:
    found = ENCODERS[name]([-(2**53), 0.5, 2**53], 2)
    assert (found == ENCODERS[name](np.array([-(2.0**53), 0.5, 2.0**53]), 2)).all()


@encoders
def test_ragged_positions_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be a number, a range or an array"):
        ENCODERS[name]([[1], [2, 3]], 2)


# Width, base and frequencies

TAKE_WIDTH: dict[str, Callable[..., Any]] = {
    "sinusoidal_encoding": lambda dim, **options: rw.sinusoidal_encoding(3, dim, **options),
    "shift_matrix": lambda dim, **options: rw.shift_matrix(3, dim, **options),
    "standard": standard,
    "linear": lambda dim, **options: linear(dim, factor=2.0, **options),
}
functions = pytest.mark.parametrize("function", TAKE_WIDTH)


@pytest.mark.parametrize("dim", [0, 1, 7, -2, 2**20 + 2, 2**70, np.int8(3)], ids=str)
@functions
def test_dim_must_be_even_and_from_2_to_2_to_the_20(function: str, dim: int) -> None:
    message = f"^dim must be an even integer from 2 to 1048576, got {dim}$"
    with pytest.raises(ValueError, match=message):
        TAKE_WIDTH[function](dim)


@pytest.mark.parametrize(
    ("dim", "found"),
    [
        (4.0, "4.0"),
        ("4", "'4'"),
        (4j, "4j"),
        ([4], "[4]"),
        (np.float64(4), "4.0"),
        (np.ones((300, 2)), "an array of shape (300, 2)"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@functions
def test_dim_must_be_an_integer(function: str, dim: Any, found: str) -> None:
    with pytest.raises(TypeError, match=exactly(f"dim must be an integer, got {found}")):
        TAKE_WIDTH[function](dim)


@pytest.mark.parametrize("function", ["sinusoidal_encoding", "shift_matrix"])
def test_dim_must_be_given_without_frequencies(function: str) -> None:
    with pytest.raises(TypeError, match=r"^dim must be given where frequencies is not$"):
        TAKE_WIDTH[function](None)


@pytest.mark.parametrize("base", [0, 0.0, -0.0, -1.0, NAN, INF, -INF, np.float32(-2)], ids=repr)
@functions
def test_base_must_be_positive_and_finite(function: str, base: float) -> None:
    message = f"base must be positive and finite, got {float(base)!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        TAKE_WIDTH[function](4, base=base)


@functions
def test_base_must_not_be_larger_than_a_float(function: str) -> None:
    message = "base must be positive and finite, got an integer of 1329 bits"
    for base in (10**400, -(10**400)):
        with pytest.raises(ValueError, match=exactly(message)):
            TAKE_WIDTH[function](4, base=base)


NO_REALS = ["10000", b"10000", 1j, np.complex128(10000), [1e4, 1e4], np.array(1j), {}]


@pytest.mark.parametrize("base", NO_REALS, ids=repr)
@functions
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_base_must_be_a_real_number(function: str, base: Any) -> None:
    with pytest.raises(TypeError, match=exactly(f"base must be a real number, got {base!r}")):
        TAKE_WIDTH[function](4, base=base)


@pytest.mark.parametrize(
    ("base", "found"), [(1e300, "5.408e-32 for pair 26"), (1e-300, "1.330e+19 for pair 17")]
)
@pytest.mark.parametrize("function", ["sinusoidal_encoding", "shift_matrix", "standard"])
def test_base_must_keep_frequencies_in_range(function: str, base: float, found: str) -> None:
    message = "must be 0 or from 2**-100 to 2**60 turns per position in size, got "
    with pytest.raises(ValueError, match=re.escape(message + found)):
        TAKE_WIDTH[function](512, base=base)


@pytest.mark.parametrize("base", [10000.0, 500])
@encoders
def test_base_and_frequencies_exclude_each_other(name: str, base: float) -> None:
    message = f"^base must not be given together with frequencies, got {base}$"
    with pytest.raises(ValueError, match=message):
        ENCODERS[name](0, base=base, frequencies=standard(4))


@pytest.mark.parametrize("dim", [2, 4, 8])
@encoders
def test_dim_must_be_twice_the_pairs(name: str, dim: int) -> None:
    with pytest.raises(ValueError, match=f"^dim must be 6, twice the pairs.*, got {dim}$"):
        ENCODERS[name](0, dim, frequencies=standard(6))


@pytest.mark.parametrize("given", [[1.0], np.ones(2), 10000.0, "standard"], ids=repr)
@encoders
def test_frequencies_must_be_frequencies(name: str, given: Any) -> None:
    message = f"^frequencies must come from ropewalk.frequencies.*, got {type(given).__name__}$"
    with pytest.raises(TypeError, match=message):
        ENCODERS[name](0, frequencies=given)


# Schedules


@pytest.mark.parametrize("factor", [0, 0.0, -2.0, NAN, INF, -INF], ids=repr)
def test_factor_must_be_positive_and_finite(factor: float) -> None:
    with pytest.raises(
        ValueError, match=f"^factor must be positive and finite, got {float(factor)}$"
    ):
        linear(4, factor=factor)


@pytest.mark.parametrize("factor", NO_REALS, ids=repr)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_factor_must_be_a_real_number(factor: Any) -> None:
    message = f"factor must be a real number, got {factor!r}"
    with pytest.raises(TypeError, match=exactly(message)):
        linear(4, factor=factor)


@pytest.mark.parametrize(
    ("factor", "found"), [(1e30, "1.592e-31 for pair 0"), (1e-20, "1.592e+19 for pair 0")]
)
def test_factor_must_keep_frequencies_in_range(factor: float, found: str) -> None:
    with pytest.raises(ValueError, match=f"turns per position in size, got {re.escape(found)}$"):
        linear(4, factor=factor)


TURN = 2 * np.pi


@pytest.mark.parametrize(
    ("radians", "found"),
    [
        ([1.0, TURN * 2.0**-101], "3.944e-31 for pair 1"),
        ([TURN * 2.0**61], "2.306e+18 for pair 0"),
        ([1, 2, -TURN * 2.0**61], "-2.306e+18 for pair 2"),
        ([5e-324], "7.863e-325 for pair 0"),
        ([1e308], "1.592e+307 for pair 0"),
    ],
    ids=["slow", "fast", "fast backwards", "slowest float", "fastest float"],
)
def test_radians_must_be_in_range(radians: list[float], found: str) -> None:
    with pytest.raises(ValueError, match=f"turns per position in size, got {re.escape(found)}$"):
        from_radians(radians)


@pytest.mark.parametrize("value", [NAN, INF, -INF], ids=str)
def test_radians_must_be_finite(value: float) -> None:
    with pytest.raises(ValueError, match=f"^radians must be finite, got {value}$"):
        from_radians([1.0, value])


@pytest.mark.parametrize("shape", [(), (0,), (1, 1), (2, 0), (65, 1), (2, 2, 2)], ids=str)
def test_radians_must_be_one_row_or_one_for_each_of_several_axes(shape: tuple[int, ...]) -> None:
    radians = np.ones(shape)
    with pytest.raises(
        ValueError, match=f"^radians must have shape .*, got {re.escape(str(shape))}$"
    ):
        from_radians(radians)


def test_radians_must_not_be_too_many() -> None:
    with pytest.raises(ValueError, match=r"^radians must hold at most 524288 pairs, got 524289$"):
        from_radians(np.ones(2**19 + 1))


@pytest.mark.parametrize(
    "radians",
    [[1j], ["1"], b"1", [None], [True], [2**64], np.ones(2, np.longdouble)],
    ids=repr,
)
def test_radians_must_be_numbers(radians: Any) -> None:
    with pytest.raises(TypeError, match=r"^radians must be integers, .* got dtype"):
        from_radians(radians)


def test_radians_must_be_an_array() -> None:
    with pytest.raises(TypeError, match=r"^radians must be .*array of numbers, got \{1\.0\}$"):
        from_radians({1.0})  # type: ignore[arg-type]


def test_ragged_radians_are_refused() -> None:
    with pytest.raises(ValueError, match="inhomogeneous"):
        from_radians([[1.0], [2.0, 3.0]])


# Layout and dtype


@pytest.mark.parametrize("pairing", ["neox", "", "Half", None, 2, True], ids=repr)
@encoders
def test_pairing_must_be_one_of_two(name: str, pairing: Any) -> None:
    message = f"pairing must be one of 'interleaved', 'half', got {pairing!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        ENCODERS[name](0, 4, pairing=pairing)


@pytest.mark.parametrize("order", ["sin", "", "SIN-COS", None, 1], ids=repr)
@encoders
def test_order_must_be_one_of_two(name: str, order: Any) -> None:
    message = f"order must be one of 'sin-cos', 'cos-sin', got {order!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        ENCODERS[name](0, 4, order=order)


@pytest.mark.parametrize(
    "dtype",
    [
        "int32",
        "complex64",
        "longdouble",
        "object",
        "S4",
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e4m3fn,
    ],
    ids=str,
)
def test_dtype_must_be_one_of_four(dtype: Any) -> None:
    message = "^dtype must be float64, float32, float16 or bfloat16, got "
    with pytest.raises(TypeError, match=message):
        rw.sinusoidal_encoding(0, 4, dtype=dtype)


def test_dtype_must_be_a_dtype() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        rw.sinusoidal_encoding(0, 4, dtype="nonsense")


@pytest.mark.parametrize("dtype", [np.dtype("f4").newbyteorder(), np.dtype("f8").newbyteorder()])
def test_dtype_must_be_in_native_byte_order(dtype: np.dtype[Any]) -> None:
    with pytest.raises(ValueError, match=f"^dtype must be in native byte order, got {dtype.str}$"):
        rw.sinusoidal_encoding(0, 4, dtype=dtype)


def test_bfloat16_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'ropewalk[bfloat16]'")):
        rw.sinusoidal_encoding(0, 4, dtype="bfloat16")


# Out


@pytest.mark.parametrize("shape", [(), (4,), (3, 5), (4, 3), (1, 3, 4), (12,)], ids=str)
def test_out_must_have_the_shape_of_the_result(shape: tuple[int, ...]) -> None:
    out = np.full(shape, 7.0)
    message = re.escape(f"out must have shape (3, 4), got {shape}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        rw.sinusoidal_encoding(range(3), 4, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize(("dtype", "of_out"), [("f4", "f8"), ("f8", "f4"), ("f2", "u2")])
def test_out_must_have_the_dtype_of_the_result(dtype: str, of_out: str) -> None:
    out = np.full((3, 4), 7, of_out)
    message = f"^out must have dtype {np.dtype(dtype)}, got {np.dtype(of_out)}$"
    with pytest.raises(ValueError, match=message):
        rw.sinusoidal_encoding(range(3), 4, dtype=dtype, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("dtype", ["i8", "c16", "O", "u2", "g", ml_dtypes.float8_e5m2], ids=str)
def test_out_must_be_of_a_type_of_tables(dtype: Any) -> None:
    out = np.full((3, 4), 7, dtype)
    with pytest.raises(TypeError, match=f"^out must be float64, .* got {out.dtype}$"):
        rw.sinusoidal_encoding(range(3), 4, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("dtype", [None, np.float64])
def test_out_must_be_in_native_byte_order(dtype: Any) -> None:
    swapped = np.dtype("f8").newbyteorder()
    out = np.full((3, 4), 7.0).astype(swapped)
    with pytest.raises(ValueError, match=f"^out must .*, got {swapped.str}$"):
        rw.sinusoidal_encoding(range(3), 4, dtype=dtype, out=out)
    assert (out == 7).all()


def test_out_must_be_writable() -> None:
    out = np.full((3, 4), 7.0)
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"^out must be writable, got a read-only array$"):
        rw.sinusoidal_encoding(range(3), 4, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize(
    "out", [[[0.0] * 4] * 3, "out", 3.0, memoryview(bytes(8))], ids=lambda out: type(out).__name__
)
def test_out_must_be_an_array(out: Any) -> None:
    message = f"^out must be a NumPy array, got {type(out).__name__}$"
    with pytest.raises(TypeError, match=message):
        rw.sinusoidal_encoding(range(3), 4, out=out)


OVERLAPS: dict[str, Callable[[NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]] = {
    "the first row": lambda memory: (memory[0], memory),
    "the first column": lambda memory: (memory[:, 0], memory[:, :4]),
    "the last number": lambda memory: (memory.reshape(-1)[-4:], memory),
    "out in Fortran order": lambda memory: (memory[0], memory.T),
    "integers": lambda memory: (memory[0].view(np.int64), memory),
    "float32, which are converted": lambda memory: (memory.view(np.float32)[0, ::2], memory),
}


@pytest.mark.parametrize("case", OVERLAPS)
def test_out_must_not_overlap_the_positions(case: str) -> None:
    memory = np.zeros((4, 4))
    positions, out = OVERLAPS[case](memory)
    with pytest.raises(ValueError, match=r"^out must not overlap another argument, "):
        rw.sinusoidal_encoding(positions, 4, out=out)
    assert (memory == 0).all()


def test_out_may_lie_beside_the_positions() -> None:
    memory = np.zeros((4, 5))
    rw.sinusoidal_encoding(memory[:, 0], 4, out=memory[:, 1:])
    np.testing.assert_array_equal(memory, [[0, 0, 1, 0, 1]] * 4)


BAD_CALLS: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "NaN at the end": (np.append(LONG, NAN), 4, {}),
    "2^53 + 1 at the end": (np.append(np.arange(5000), 2**53 + 1), 4, {}),
    "a range too far": (range(2**53 - 5000, 2**53 + 2), 4, {}),
    "complex positions": (np.zeros(5000, complex), 4, {}),
    "odd width": (range(5000), 3, {}),
    "no base": (range(5000), 4, {"base": NAN}),
    "base too large": (range(5000), 512, {"base": 1e300}),
    "two schedules": (range(5000), 4, {"base": 2.0, "frequencies": standard(4)}),
    "another width": (range(5000), 4, {"frequencies": standard(6)}),
    "no pairing": (range(5000), 4, {"pairing": "neox"}),
    "no order": (range(5000), 4, {"order": "sin"}),
    "another dtype": (range(5000), 4, {"dtype": np.float32}),
    "no dtype": (range(5000), 4, {"dtype": np.int64}),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_nothing_is_written_before_a_refusal(case: str) -> None:
    positions, dim, options = BAD_CALLS[case]
    out = np.full((len(positions), dim), 7.0)
    with pytest.raises((ValueError, TypeError)):
        rw.sinusoidal_encoding(positions, dim, out=out, **options)
    assert (out == 7).all()


# Sizes


@pytest.mark.parametrize(
    ("positions", "dim", "shape"),
    [
        (range(2**53), 2**20, (2**53, 2**20)),
        (range(-(2**53), 2**53 + 1), 128, (2**54 + 1, 128)),
    ],
    ids=["wide", "long"],
)
def test_tables_beyond_all_memory_are_refused(positions: Any, dim: int, shape: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"a result of shape {shape} and dtype float64")):
        rw.sinusoidal_encoding(positions, dim)


def test_shift_matrices_beyond_all_memory_are_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("shape (1073741824, 1048576, 1048576)")):
        rw.shift_matrix(range(2**30), 2**20)


def test_tables_beyond_the_memory_at_hand_are_refused() -> None:
    with pytest.raises(MemoryError, match=re.escape("(4398046511104, 512)")):
        rw.sinusoidal_encoding(range(2**42), 512)


def test_shift_matrices_beyond_the_memory_at_hand_are_refused() -> None:
    with pytest.raises(MemoryError, match=re.escape("(33554432, 4096, 4096)")):
        rw.shift_matrix(range(2**25), 4096)


def test_the_largest_position_may_be_unsigned() -> None:
    found = rw.sinusoidal_encoding(np.array([2**53], np.uint64), 2)
    assert (found == rw.sinusoidal_encoding([2**53], 2)).all()


def test_a_width_beside_frequencies_is_an_integer() -> None:
    width: Any = 4.0
    with pytest.raises(TypeError, match=r"^dim must be an integer, got 4\.0$"):
        rw.sinusoidal_encoding(3, width, frequencies=standard(4))
