"""Softmax and log-sum-exp: values, rows of nothing, masks.

In float64 errors add up: those of a difference, an exponential, a sum and a quotient. float32 and
half types are computed in float32, where differences do not round.
"""

import math
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, UNIT, assert_same_bits, dtypes, rows, smallest_subnormal
from tests.reference import mp

import ropewalk as rw
from ropewalk import _core

INF, NAN = math.inf, math.nan

ROWS: dict[str, list[float]] = {
    "one": [-3.25],
    "two": [0.0, 1.0],
    "thousands": [1000.0, 1000.5, 998.0],
    "minus thousands": [-4000.0, -4001.0],
    "near": [1.0, 1.0 + 2**-7, 1.0 - 2**-8],
    "equal": [0.3] * 33,
    "far apart": [0.0, -17.0, -80.0, -100.0, -103.0, -110.0, -700.0, -708.0],
    "one counts": [0.0, -60000.0],
    "others below the normal numbers": [-700.0] + [-709.0] * 1000,
    "a sum near 1": [-0.7, -0.65],
    "a sum nearer 1": [-0.7, -0.68],
    "small": [2.0**-14, -(2.0**-14), 0.0],
    "rising": [i / 4 for i in range(-100, 101)],
    "with -inf": [1.0, -INF, 2.0, -INF],
    "random": np.random.default_rng(0).standard_normal(129).tolist(),
    "of all sizes": (np.random.default_rng(1).standard_normal(70) * 40).tolist(),
}
hard_rows = pytest.mark.parametrize("row", ROWS)


def ulp(exact: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Return the distance of the numbers of a dtype around exact ones."""
    _, exponents = np.frexp(exact)
    least = smallest_subnormal(DTYPES[dtype])
    result: NDArray[np.float64] = np.maximum(np.ldexp(2 * UNIT[dtype], exponents - 1), least)
    return result


def exact_sums(row: NDArray[Any], scale: float = 1.0) -> tuple[list[Any], Any]:
    """Return e^x for all elements, and their sum, with 400 bits."""
    powers = [mp.exp(mp.mpf(scale) * mp.mpf(float(x))) for x in row]
    return powers, mp.fsum(powers)


# What is promised, one function for each promise


def in_float32(exact: NDArray[np.float64], dtype: str, scale: float = 1.0) -> NDArray[np.float64]:
    """Return how far softmax may be off: the notes of its docstring, and docs/accuracy.md.

    The error of an exponential, 1.6 units of 2^-24, twice, for the sum has those of all of them;
    and that of the sum, which adds four before it goes on in float64. A scale that rounds may move
    what a power is of by 2^-26. Half types are rounded once more.
    """
    if dtype != "float32":
        return 0.51 * ulp(exact, dtype)
    units = 5.2 if math.frexp(abs(scale))[0] == 0.5 else 5.7
    return 0.5 * ulp(exact, dtype) + units * 2.0**-24 * exact


def in_float64(
    exact: NDArray[np.float64], row: NDArray[Any], scale: float = 1.0
) -> NDArray[np.float64]:
    """Return how far softmax of float64 may be off: (n / 8 + 8 + |s - m|) 2^-53, relative.

    A scale multiplies differences, or elements where it is 0 or extreme. What is no normal number
    beside the largest is 0.
    """
    x = row.astype(np.float64) * scale
    x = np.where(np.isneginf(x), 0, x)
    below = x.max() - x
    units = len(x) / 8 + 8 + below
    if scale == 0 or not 1e-300 <= abs(scale) <= 1e300:
        units = units + np.abs(x) + abs(x.max())
    elif scale != 1:
        units = units + below
    result: NDArray[np.float64] = units * 2.0**-53 * exact + 2.0**-1022
    return result


def of_the_log(exact: float, length: int, dtype: str) -> float:
    """Return how far logsumexp may be off: 0.51 units in the last place of float32 and half types.

    Where the logarithm of a sum near 1 cancels, and in float64: (n / 8 + 8) 2^-53 + |result| 2^-53.
    """
    computed = (length / 8 + 8 + abs(exact)) * 2.0**-53
    if dtype == "float64":
        return computed
    unit = float(ulp(np.array(exact), dtype))
    return 0.5 * unit + computed if abs(exact) < 2.0**-6 else 0.51 * unit


# Values


@pytest.mark.parametrize("precision", [None, "float64"])
@pytest.mark.parametrize("scale", [1.0, 0.125, -3.7], ids="scale {}".format)
@hard_rows
@dtypes
def test_softmax_is_exact(
    dtype: str, row: str, scale: float, precision: Literal["float64"] | None
) -> None:
    x = np.array(ROWS[row]).astype(DTYPES[dtype])
    if scale < 0 and np.isneginf(x.astype(float)).any():
        x = x[np.isfinite(x.astype(float))]
    powers, total = exact_sums(x, scale)
    exact = np.array([float(power / total) for power in powers])
    actual = rw.softmax(x, scale=scale, precision=precision)
    assert actual.dtype == x.dtype
    error = np.abs(actual.astype(float) - exact)
    computed = in_float64(exact, x, scale)
    if dtype == "float64":
        assert (error <= computed).all()
    elif precision is None:
        assert (error <= in_float32(exact, dtype, scale)).all()
    elif dtype == "float32":
        assert (error <= 0.5 * ulp(exact, dtype) + computed).all()
    else:  # by way of float32
        assert (error <= 0.5 * ulp(exact, dtype) + computed + 2.0**-24 * exact).all()


@hard_rows
@dtypes
def test_logsumexp_is_exact(dtype: str, row: str) -> None:
    x = np.array(ROWS[row]).astype(DTYPES[dtype])
    exact = mp.log(exact_sums(x)[1])
    actual = rw.logsumexp(x)
    assert actual.dtype == x.dtype
    assert actual.shape == ()
    allowed = of_the_log(float(exact), len(x), dtype)
    assert abs(mp.mpf(float(actual)) - exact) <= allowed


@pytest.mark.parametrize("length", [2048, 2049, 100_000])
@dtypes
def test_long_rows(dtype: str, length: int) -> None:
    x = (3 * rows((2, length))).astype(DTYPES[dtype])
    actual, sums = rw.softmax(x), rw.logsumexp(x)
    for i in range(2):
        row = x[i].astype(float).tolist()
        exact, exact_sum = np.array(reference.softmax(row)), reference.log_sum_exp(row)
        allowed = in_float64(exact, x[i]) if dtype == "float64" else in_float32(exact, dtype)
        # The reference rounds differences and exponentials, those in the sum too, and the quotient.
        below = max(row) - np.array(row)
        own = (below + exact @ below + 6) * UNIT["float64"] * exact
        assert (np.abs(actual[i].astype(float) - exact) <= allowed + own).all()
        allowed_sum = of_the_log(exact_sum, length, dtype) + 2 * UNIT["float64"] * (exact_sum + 1)
        assert abs(float(sums[i]) - exact_sum) <= allowed_sum
    if dtype == "float64":
        assert (np.abs(actual.sum(axis=-1) - 1) <= 1e-12).all()


def test_a_value_worked_out_by_hand() -> None:
    np.testing.assert_allclose(rw.softmax([0.0, math.log(3)]), [0.25, 0.75], rtol=4e-16)
    np.testing.assert_allclose(rw.logsumexp([0.0, math.log(3)]), math.log(4), rtol=4e-16)
    np.testing.assert_allclose(rw.softmax([0, 1], scale=math.log(3)), [0.25, 0.75], rtol=4e-16)


@dtypes
def test_a_shift_that_is_exact_changes_no_bit_in_float64(dtype: str) -> None:
    x = np.random.default_rng(0).integers(-20, 20, (5, 70)).astype(DTYPES[dtype])
    moved = x + np.array(64, DTYPES[dtype])
    assert_same_bits(rw.softmax(moved, precision="float64"), rw.softmax(x, precision="float64"))


@pytest.mark.parametrize("shift", [-3e6, -1000, -200, -40, 40, 200, 300, 1000, 3e6])
def test_a_shift_that_is_exact_changes_roundings_alone(shift: float) -> None:
    x = np.random.default_rng(0).integers(-20, 20, (5, 70)).astype(np.float32)
    exact = rw.softmax(x.astype(np.float64))
    error = np.abs(rw.softmax(x + np.float32(shift)) - exact)
    assert (error <= in_float32(exact, "float32")).all()


# A scale that does not round, with which the larger of two logits never gets a smaller result.
powers_of_two = pytest.mark.parametrize("scale", [1.0, 0.5, 4.0, 2.0**-10], ids="scale {}".format)


@powers_of_two
@given(
    st.lists(st.floats(-50, 50, width=32), min_size=2, max_size=40), st.sampled_from(list(DTYPES))
)
def test_order_is_kept(scale: float, values: list[float], dtype: str) -> None:
    x = np.sort(np.array(values).astype(DTYPES[dtype]))
    y = rw.softmax(x, scale=scale).astype(float)
    assert (np.diff(y) >= 0).all()
    assert (np.diff(y)[np.diff(x.astype(float)) == 0] == 0).all()


def test_weights_where_another_power_of_two_begins() -> None:
    """Around -(n + 1/2) log 2 the exponential goes over to another power of two."""
    near = np.log(2) * (np.arange(-150, 0) + 0.5)
    x = near[:, None].astype(np.float32).repeat(41, axis=1)
    for i in range(21, 41):
        x[:, i] = np.nextafter(x[:, i - 1], np.float32(0))
    for i in range(19, -1, -1):
        x[:, i] = np.nextafter(x[:, i + 1], np.float32(-999))
    row = np.append(x, np.float32(0))
    powers, total = exact_sums(row)
    exact = np.array([float(power / total) for power in powers])
    y = rw.softmax(row)
    assert (np.abs(y - exact) <= in_float32(exact, "float32")).all()
    assert (np.diff(y) >= 0).all()


def without_guess(x: NDArray[Any], scale: float = 1.0) -> NDArray[Any]:
    """Return the softmax of rows as that of masked columns, whose greatest are looked for."""
    columns = np.resize(x, (max(len(x), 8), x.shape[1])).T.copy()
    mask = np.ones_like(columns, bool)
    return rw.softmax(columns, axis=0, scale=scale, mask=mask).T[: len(x)].copy()


@pytest.mark.parametrize("first", [0.0, -300.0, 300.0, -INF, 1e30, INF, NAN])
@pytest.mark.parametrize("rest", [0.0, 40.0, -40.0, 200.0, 256.0, -256.0, 1e4, -INF])
@pytest.mark.parametrize("length", [2, 17, 32, 64, 1024, 3000])
@pytest.mark.parametrize("scale", [1.0, -3.7])
def test_where_the_greatest_logit_is_far_from_the_first(
    scale: float, first: float, rest: float, length: int
) -> None:
    """Rows that begin with a wrong guess of it have the bits of those where none is made."""
    x = np.full((3, length), rest, np.float32)
    x += rows((3, length), "float32")
    x[:, -1] -= 85  # the share of which is small, and not 0
    x[1, 0] = first
    x /= np.float32(scale)
    expected = without_guess(x, scale=scale)
    np.testing.assert_array_equal(rw.softmax(x, scale=scale), expected)
    assert rw.softmax(x, scale=scale, out=x) is x
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("length", [3, 16, 31, 40, 700, 1024, 9000])
@pytest.mark.parametrize("apart", [20.0, 35.0, 60.0, 300.0])
def test_where_rows_are_far_apart(length: int, apart: float) -> None:
    """A row's greatest is guessed from the rows before, wrongly now and then, or too often."""
    x = rows((60, length), "float32")
    x += apart * np.array([0, 0, 1, 1, 1, 2, 0, 0, -1, 0] * 6, np.float32)[:, None]
    x[20:40, length // 2 :] += 45  # what the first elements do not show
    x[40:, -1] += 70
    x[7], x[8, : length // 2] = -INF, -INF
    assert_same_bits(rw.softmax(x), without_guess(x))


@pytest.mark.parametrize("length", [16, 40, 1024])
def test_a_guess_that_is_too_high_makes_no_share_of_what_has_none(length: int) -> None:
    x = np.zeros((64, length), np.float32)
    x[32:] -= 21.5
    x[32:, 5] -= 110
    y = rw.softmax(x)
    assert not y[32:, 5].any()  # e^-110 is nearer to 0 than to the smallest float32
    assert_same_bits(y, without_guess(x))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "shape",
    [(3, 700), (16, 70), (17, 150), (32, 67), (64, 300), (70, 9), (70, 7), (1100, 70), (4200, 16)],
    ids=str,
)
@pytest.mark.parametrize("apart", [0, 20, 60, 300])
def test_where_columns_are_far_apart(dtype: str, shape: tuple[int, int], apart: int) -> None:
    """The greatest elements of columns are guessed too, of many at once."""
    x = rows(shape, "float32")
    column = np.arange(shape[1])
    x += apart * np.choose(column // 64 % 4, [0, 1, 0, -1]).astype(np.float32)
    x[-1] += apart * (column % 7 == 0)
    if apart == 60:  # else groups of columns have none that no guess suits
        x[:, 5] = -INF
        x[shape[0] // 2, 6] = NAN
    for scale in (1.0, 0.7, -0.7):
        y = x.astype(DTYPES[dtype])
        expected = without_guess(np.ascontiguousarray(y.T), scale=scale).T
        assert_same_bits(rw.softmax(y, axis=0, scale=scale), np.ascontiguousarray(expected))
        out = np.full((shape[0], shape[1] + 3), 7, y.dtype)
        rw.softmax(y, axis=0, scale=scale, out=out[:, :-3])
        assert_same_bits(out[:, :-3].copy(), np.ascontiguousarray(expected))
        assert (out[:, -3:] == 7).all()


@pytest.mark.parametrize("x", [0.0, 1e-7, -1e-20, 0.1, -0.004, 0.0039, 5.3, -88.7, 700.0, -1e4])
@dtypes
def test_the_log_of_a_sum_of_one_is_that_one(dtype: str, x: float) -> None:
    one = np.array(x, DTYPES[dtype])
    row = np.full((3, 70), -INF, DTYPES[dtype])
    row[:, 33] = one
    for logs in (
        rw.logsumexp(one.reshape(1)),
        rw.logsumexp(row),
        rw.logsumexp(row.T.copy(), axis=0),
        rw.logsumexp(np.full_like(row, one), mask=row > -INF),
    ):
        assert (logs == one).all()


@pytest.mark.parametrize(("other", "expected"), [(-INF, INF), (NAN, NAN)])
@dtypes
def test_log_sum_exp_of_infinity_beside(dtype: str, other: float, expected: float) -> None:
    x = rows((20, 20), dtype)
    x[:, 3], x[:, 7] = INF, other
    np.testing.assert_array_equal(rw.logsumexp(x).astype(float), expected)
    np.testing.assert_array_equal(rw.logsumexp(x.T.copy(), axis=0).astype(float), expected)


def test_logs_of_sums_near_1_are_rounded_once() -> None:
    rng = np.random.default_rng(0)
    first = rng.uniform(-2, -0.1, 4000)
    second = np.log1p(-np.exp(first)) + rng.uniform(-0.01, 0.01, 4000)
    x = np.stack([first, second], axis=-1).astype(np.float32)
    sums = [mp.exp(a) + mp.exp(b) for a, b in x.tolist()]
    exact = np.array([float(mp.log(one)) for one in sums])
    assert_same_bits(rw.logsumexp(x), exact.astype(np.float32))


@dtypes
def test_the_log_of_a_sum_does_not_depend_on_other_columns(dtype: str) -> None:
    """The sums of some overflow, and their greatest elements are looked for; not of others."""
    x = rows((90, 100), dtype) * np.array(40, DTYPES[dtype])
    x[:, 3] += np.array(2000, DTYPES[dtype])
    x[:, 20] -= np.array(3000, DTYPES[dtype])
    x[7, 30], x[8, 31], x[:, 32] = NAN, INF, -INF
    together = rw.logsumexp(x, axis=0)
    alone = [rw.logsumexp(x[:, column].copy()) for column in range(100)]
    assert_same_bits(together, np.array(alone))
    assert_same_bits(rw.logsumexp(np.ascontiguousarray(x.T)), together)
    mask = np.ones_like(x, bool)
    assert_same_bits(rw.logsumexp(x, axis=0, mask=mask), together)


@pytest.mark.parametrize(
    ("dtype", "x", "scale"),
    [
        ("float64", [1.7e308, -1.7e308, 0.0], 1e-308),
        ("float64", [1e-301, 2e-301, -3e-301], 1e301),
        ("float64", [0.5, 1.0, -INF], 1e-300),
        ("float32", [3e38, -3e38, 1e38], 1e-38),
        ("float32", [3e38, -3e38, 1e38], -1e-38),
        ("float64", [1.7e308, -1.7e308, 0.0], -1e-308),
        ("float32", [1e-44, 3e-44, 0.0], 1e44),
        ("float32", [1.0, 1.0 + 2**-23, 0.0], 1e300),
        ("float16", [6e-8, 65504.0, -65504.0], 1e-5),
    ],
)
def test_extreme_scales(dtype: str, x: list[float], scale: float) -> None:
    row = np.array(x, dtype)
    powers, total = exact_sums(row, scale)
    exact = np.array([float(power / total) for power in powers])
    error = np.abs(rw.softmax(row, scale=scale).astype(float) - exact)
    allowed = in_float32(exact, dtype, scale)
    if dtype == "float64":
        allowed = in_float64(exact, row, scale)
    assert (error <= allowed).all()


@pytest.mark.parametrize("scale", [1e-306, -1e-306])
def test_differences_of_float64_that_are_infinite_are_not_scaled(scale: float) -> None:
    expected = rw.softmax([170.0, -170.0, 0.0], scale=math.copysign(1, scale))
    actual = rw.softmax([1.7e308, -1.7e308, 0.0], scale=scale)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_no_normal_float64_beside_the_largest_is_0(axis: int) -> None:
    x = np.tile([0.0, -708.4, -709.0, -745.0], (8, 1))
    expected = (x == 0).astype(float)
    if axis == 0:
        x, expected = x.T.copy(), expected.T.copy()
    assert_same_bits(rw.softmax(x, axis=axis), expected)


def test_huge_logits() -> None:
    below = np.nextafter(np.float32(2**40), np.float32(0))
    huge = np.array([3e38, -3e38, 2**40, below], np.float32)
    assert rw.softmax(huge).tolist() == [1, 0, 0, 0]
    assert rw.softmax(huge[1:]).tolist() == [0, 1, 0]
    assert rw.softmax(huge[[1, 1]]).tolist() == [0.5, 0.5]


@powers_of_two
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_neighbours_keep_their_order(dtype: str, scale: float) -> None:
    x = [np.array(v, DTYPES[dtype]) for v in (-7.3, -1.1, -0.3)]
    for begin in x:
        row = [begin]
        for _ in range(500):
            row.append(np.nextafter(row[-1], np.array(9, DTYPES[dtype])))
        logits = np.array([*row, np.array(0, DTYPES[dtype])])
        y = rw.softmax(logits, scale=scale).astype(float)
        assert (np.diff(y[:-1]) >= 0).all()


@dtypes
def test_equal_logits_get_equal_weights_in_any_place(dtype: str) -> None:
    x = rows(9, dtype)[np.random.default_rng(0).integers(0, 9, 5000)]
    y = rw.softmax(x)
    for value in np.unique(x):
        assert len(np.unique(y[x == value])) == 1


def test_a_scale_of_0_gives_equal_weights() -> None:
    assert_same_bits(rw.softmax(rows((3, 8)), scale=0.0), np.full((3, 8), 0.125))


@pytest.mark.parametrize("precision", [None, "float64"])
@pytest.mark.parametrize("axis", [0, -1])
@dtypes
def test_scaled_infinities_and_numbers_whose_products_overflow(
    dtype: str, axis: int, precision: Literal["float64"] | None
) -> None:
    """What is infinite is so once it is multiplied; what is finite stays a number."""
    largest = float(np.finfo(np.float64).max) if dtype == "float64" else 6e4
    for x, scale, expected in [
        ([-INF, 1.0], -1.0, [NAN, NAN]),
        ([INF, 1.0], -1.0, [0.0, 1.0]),
        ([INF, INF], -1.0, [0.0, 0.0]),
        ([INF, 1.0], 0.0, [NAN, NAN]),
        ([-INF, 1.0], 0.0, [NAN, NAN]),
        ([-0.9 * largest, -largest], 1e300, [1.0, 0.0]),
        ([largest, largest], 1e300, [0.5, 0.5]),
    ]:
        one = np.array(x).astype(DTYPES[dtype])
        many = np.repeat(np.expand_dims(one, 1 + axis), 40, axis=1 + axis)
        y = rw.softmax(many, axis=axis, scale=scale, precision=precision)
        weights = np.repeat(np.expand_dims(expected, 1 + axis), 40, axis=1 + axis)
        np.testing.assert_array_equal(y.astype(float), weights)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "u8"])
def test_integers_become_float64(dtype: str) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    assert_same_bits(rw.softmax(x), rw.softmax(x.astype(np.float64)))
    assert_same_bits(rw.logsumexp(x.tolist()), rw.logsumexp(x.astype(np.float64)))


# Nothing, everything


@dtypes
def test_a_row_of_nothing_is_0(dtype: str) -> None:
    x = np.full((2, 300), -INF, DTYPES[dtype])
    x[1, 7] = 3
    expected = np.zeros_like(x)
    expected[1, 7] = 1
    assert_same_bits(rw.softmax(x), expected)
    np.testing.assert_array_equal(rw.logsumexp(x).astype(float), [-INF, 3])


@pytest.mark.parametrize("spoiled", [INF, NAN])
@pytest.mark.parametrize("length", [1, 5, 3000])
@dtypes
def test_infinity_and_nan_spoil_their_row_alone(dtype: str, length: int, spoiled: float) -> None:
    x = rows((3, length), dtype)
    expected, sums = rw.softmax(x), rw.logsumexp(x)
    x[1, length // 2] = spoiled
    actual = rw.softmax(x)
    assert np.isnan(actual[1].astype(float)).all()
    actual[1] = expected[1]
    assert_same_bits(actual, expected)
    of_rows = rw.logsumexp(x)
    np.testing.assert_array_equal(of_rows[1].astype(float), spoiled)
    of_rows[1] = sums[1]
    assert_same_bits(of_rows, sums)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((0,), 0), ((3, 0), 1), ((3, 0), 0), ((0, 3), 0), ((0, 3), 1), ((2, 0, 3), -2)],
)
@dtypes
def test_empty_axes(dtype: str, shape: tuple[int, ...], axis: int) -> None:
    x = np.zeros(shape, DTYPES[dtype])
    assert_same_bits(rw.softmax(x, axis=axis), x)
    sums = rw.logsumexp(x, axis=axis)
    expected = np.full(np.delete(shape, axis), -INF, DTYPES[dtype])
    assert_same_bits(sums, expected)
    _core.softmax(x, x, None, axis % x.ndim, 1.0, False, False, 1)  # which is not asked above


# Masks


@dtypes
def test_what_is_masked_is_0_and_not_looked_at(dtype: str) -> None:
    x = rows((4, 5, 60), dtype)
    mask = np.random.default_rng(1).random((4, 5, 60)) < 0.5
    mask[2, 3] = False
    hidden = np.where(mask, x, np.array(-INF, DTYPES[dtype]))
    expected, sums = rw.softmax(hidden), rw.logsumexp(hidden)
    for other in (NAN, INF, 7.0):
        spoiled = np.where(mask, x, np.array(other, DTYPES[dtype]))
        actual = rw.softmax(spoiled, mask=mask)
        assert_same_bits(actual, expected)
        assert (actual[~mask] == 0).all()
        assert_same_bits(rw.logsumexp(spoiled, mask=mask), sums)
    assert not expected[2, 3].any()
    assert sums[2, 3] == -INF


@pytest.mark.parametrize("length", [5, 77])
@dtypes
def test_all_bytes_of_a_mask_but_0_count(dtype: str, length: int) -> None:
    x = rows((6, length), dtype)
    mask = rows(x.shape, seed=1) > 0
    other = (2 * mask.astype(np.uint8)).view(np.bool_)
    assert_same_bits(rw.softmax(x, mask=other), rw.softmax(x, mask=mask))
    assert_same_bits(rw.logsumexp(x, mask=other), rw.logsumexp(x, mask=mask))


@pytest.mark.parametrize("spoiled", [NAN, INF])
def test_what_is_masked_is_0_even_in_a_row_of_nan(spoiled: float) -> None:
    y = rw.softmax([spoiled, 1.0, 2.0], mask=[True, True, False])
    np.testing.assert_array_equal(y, [NAN, NAN, 0])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(), (60,), (5, 1), (4, 1, 60), (1, 5, 60), (1, 1, 1)], ids=str)
def test_masks_broadcast(shape: tuple[int, ...], axis: int) -> None:
    x = rows((4, 5, 60))
    mask = np.random.default_rng(1).random(shape) < 0.5
    whole = np.broadcast_to(mask, x.shape).copy()
    assert_same_bits(rw.softmax(x, axis=axis, mask=mask), rw.softmax(x, axis=axis, mask=whole))
    sums = rw.logsumexp(x, axis=axis, mask=whole)
    assert_same_bits(rw.logsumexp(x, axis=axis, mask=mask), sums)
    assert_same_bits(rw.logsumexp(x, axis=axis, mask=mask.tolist()), sums)
