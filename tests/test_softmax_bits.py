"""Softmax and log-sum-exp: the same bits along any axis, in any memory, on any threads."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.data import LAYOUTS, assert_same_bits, by_threads, dtypes, layouts, rows
from tests.test_softmax import without_guess

import ropewalk as rw
from ropewalk import _results

# Axes and memory


@pytest.mark.parametrize("shape", [(7,), (70, 50), (3, 40, 20), (2, 3, 4, 5)], ids=str)
@dtypes
def test_every_axis(dtype: str, shape: tuple[int, ...]) -> None:
    x = rows(shape, dtype)
    mask = np.random.default_rng(1).random(shape) < 0.8
    for axis in range(-len(shape), len(shape)):
        moved, of_moved = np.moveaxis(x, axis, -1).copy(), np.moveaxis(mask, axis, -1).copy()
        expected = np.moveaxis(rw.softmax(moved, mask=of_moved), -1, axis)
        actual = rw.softmax(x, axis=axis, mask=mask)
        assert_same_bits(actual, expected)
        assert actual.flags.c_contiguous
        sums = rw.logsumexp(x, axis=axis, mask=mask)
        assert_same_bits(sums, rw.logsumexp(moved, mask=of_moved))
        assert sums.flags.c_contiguous


@pytest.mark.parametrize("axis", [0, 1, 2])
@layouts
@dtypes
def test_strides_change_no_bit(dtype: str, layout: str, axis: int) -> None:
    x = rows((4, 30, 20), dtype)
    mask = np.random.default_rng(1).random(x.shape) < 0.8
    expected = rw.softmax(x, axis=axis, mask=mask)
    lying, of_mask = LAYOUTS[layout](x), LAYOUTS[layout](mask)
    lying.flags.writeable = False
    actual = rw.softmax(lying, axis=axis, mask=of_mask)
    assert_same_bits(actual, expected)
    assert_same_bits(lying, x)
    assert actual.flags.c_contiguous
    assert actual.flags.owndata
    assert actual.flags.writeable
    sums = rw.logsumexp(lying, axis=axis, mask=of_mask)
    assert_same_bits(sums, rw.logsumexp(x, axis=axis, mask=mask))


@pytest.mark.parametrize("axis", [0, 1, 2])
@layouts
@dtypes
def test_out_may_be_x_or_lie_anyhow(dtype: str, layout: str, axis: int) -> None:
    x = rows((4, 30, 20), dtype)
    expected = rw.softmax(x, axis=axis, scale=2.0)
    out = LAYOUTS[layout](np.full_like(x, 7))
    assert rw.softmax(x, axis=axis, scale=2.0, out=out) is out
    assert_same_bits(out, expected)
    inside = LAYOUTS[layout](x.copy())
    assert rw.softmax(inside, axis=axis, scale=2.0, out=inside) is inside
    assert_same_bits(inside, expected)


@pytest.mark.parametrize("length", [33, 255, 256, 257, 271, 1000])
@dtypes
def test_where_a_row_lies_in_its_lines_changes_no_bit(dtype: str, length: int) -> None:
    x = rows((16, length), dtype)
    x[1] *= 30  # of which most shares are next to nothing
    x[2, ::3] = -np.inf
    expected = rw.softmax(x.T.copy(), axis=0).T
    for first in range(0, 128 // x.itemsize, 3):
        memory = np.full(first + x.size + 40, 7, x.dtype)
        inside = memory[first : first + x.size].reshape(x.shape)
        assert rw.softmax(x, out=inside) is inside
        assert_same_bits(inside, expected)
        inside[...] = x
        assert rw.softmax(inside, out=inside) is inside
        assert_same_bits(inside, expected)
        assert (memory[:first] == 7).all()
        assert (memory[first + x.size :] == 7).all()


@pytest.mark.parametrize("length", [5000, 65_537, 200_000, 2**20 + 3])
@dtypes
def test_long_rows_have_the_bits_of_those_read_part_by_part(dtype: str, length: int) -> None:
    x = rows((2, length), dtype)
    x[1, length // 2] = 90  # no guess suits it
    expected = without_guess(x)
    assert_same_bits(rw.softmax(x), expected)
    assert rw.softmax(x, out=x) is x
    assert_same_bits(x, expected)


@pytest.mark.parametrize(
    "shape",
    [
        (7, 9),
        (50, 64),
        (300, 33),
        (3, 2, 700),
        (6, 1024),
        (2, 3, 1031),
        (40, 7000),
        (2, 20_000),
        (5,),
        (2, 2**20 + 77),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("change", ["nothing", "mask", "sign", "numbers"])
def test_large_results_pass_the_cache_by(
    monkeypatch: pytest.MonkeyPatch, dtype: str, shape: tuple[int, ...], change: str
) -> None:
    x = rows(shape, dtype)
    options: dict[str, Any] = {"scale": 1}  # no float: small arrays do not take their short way
    if change == "mask":
        options["mask"] = rows(shape) < 0.5
        x.reshape(-1, shape[-1])[::2, 0] = np.nan
    if change == "sign":
        options["scale"] = -2
    if change == "numbers":  # far apart, none, and not a number
        each = x.reshape(-1, shape[-1])
        each *= 40
        each[1::4] = -np.inf
        each[3::4, -1] = np.nan
    expected = rw.softmax(x, **options)
    monkeypatch.setattr(_results, "STREAMED_BYTES", 0)
    page = 4096 // x.itemsize
    memory = np.full(x.size + 2 * page, 7.0, x.dtype)
    # From there results lie in their pages as x in its own: lines wait until they follow it.
    alike = (x.ctypes.data - memory.ctypes.data) // x.itemsize % page
    for offset in (0, 1, 4, alike, alike + page // 64, alike + page // 5, alike + page // 2):
        out = memory[offset : offset + x.size].reshape(shape)
        rw.softmax(x, out=out, **options)
        assert_same_bits(out, expected)
        assert (memory[:offset] == 7).all()
        assert (memory[offset + x.size :] == 7).all()
        memory[:] = 7


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_passes_the_cache_by_leaves_out_what_lies_between(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    x = rows((3, 40, 77), dtype)
    expected = rw.softmax(x)
    monkeypatch.setattr(_results, "STREAMED_BYTES", 0)
    memory = np.full((3, 41, 77), 7.0, x.dtype)
    rw.softmax(x, scale=1, out=memory[:, :40])  # no float, as above
    assert_same_bits(memory[:, :40].copy(), expected)
    assert (memory[:, 40] == 7).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "shape", [(1, 1), (500, 5), (300, 16), (40, 700), (3, 5000), (5, 33, 64), (90,)], ids=str
)
def test_half_types_are_float32_rounded_once(dtype: str, shape: tuple[int, ...]) -> None:
    x = rows(shape, dtype)
    mask = rows(shape, seed=3) > -1
    choices: list[dict[str, Any]] = [
        {},
        {"scale": -0.3},
        {"mask": mask},
        {"mask": mask[..., :1]},
        {"mask": mask[-1]} if len(shape) > 1 else {"mask": mask[::-1]},
    ]
    for options in choices:
        expected = rw.softmax(x.astype(np.float32), **options).astype(x.dtype)
        assert_same_bits(rw.softmax(x, **options), expected)
        memory = np.full((*shape[:-1], shape[-1] + 3), 7, x.dtype)
        apart = memory[..., :-3]
        rw.softmax(x, **options, out=apart)
        assert_same_bits(apart.copy(), expected)
        apart[...] = x
        assert_same_bits(rw.softmax(apart, **options), expected)
        rw.softmax(apart, **options, out=apart)
        assert_same_bits(apart.copy(), expected)
        assert (memory[..., -3:] == 7).all()


def test_shares_beside_the_smallest_number_are_rounded_as_others() -> None:
    least = 2.0**-149
    logits = np.linspace(-105.5, -100.0, 4000)  # shares from 2^-152 to 2^-144
    logits[::3] = -np.inf
    x = np.concatenate([[0.0], logits]).astype(np.float32)
    result = rw.softmax(np.tile(x, (3, 1)))
    assert_same_bits(rw.softmax(np.tile(x, (3, 1)).T, axis=0).T.copy(), result)
    exact = np.exp(x.astype(np.float64)) / np.exp(x.astype(np.float64)).sum()
    assert np.all(np.abs(result - exact) <= least / 2 + exact * 5.2 * 2.0**-24)
    assert (result == 0).sum() > 1500
    assert (result == least).any()


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 16, 31, 48, 49])
@dtypes
def test_short_rows_met_together_have_the_bits_of_each_alone(dtype: str, length: int) -> None:
    x = rows((3, 70, length), dtype)
    x[rows(x.shape, seed=1) > 1] = -np.inf
    mask = rows(x.shape, seed=2) > -1
    mask[1, 3] = False
    x[~mask] = np.nan
    x[2, 5, -1] = np.inf
    x[2, 6, 0] = np.nan
    lies: list[Callable[[NDArray[Any]], NDArray[Any]]] = [
        lambda array: array,
        np.asfortranarray,
        lambda array: array.repeat(2, axis=1)[:, ::2],
        lambda array: array.swapaxes(0, 1).copy().swapaxes(0, 1),
        lambda array: array.reshape(3, 7, 10, length).copy(order="F"),
    ]
    shares = np.array([rw.softmax(row, mask=of) for row, of in pairs_of_rows(x, mask)])
    logs = np.array([rw.logsumexp(row, mask=of) for row, of in pairs_of_rows(x, mask)])
    for lie in lies:
        own, of = lie(x), lie(mask)
        assert_same_bits(a_nan(rw.softmax(own, mask=of)).reshape(-1, length), a_nan(shares))
        assert_same_bits(a_nan(rw.logsumexp(own, mask=of)).reshape(-1), a_nan(logs))
        out = np.full((*own.shape[:-1], 2 * length), 7, x.dtype)
        rw.softmax(own, mask=of, out=out[..., ::2])
        assert_same_bits(a_nan(out[..., ::2]).reshape(-1, length), a_nan(shares))
        assert (out[..., 1::2] == 7).all()


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((40, 16, 5, 4), 1),
        ((3, 40, 2), 1),
        ((5, 700, 3), 1),
        ((1100, 5), 0),
        ((70_000, 3), 0),
        ((70_000, 4), 0),
        ((90, 8), 0),
        ((2, 3, 4, 50), 1),
        ((70, 1, 3), 0),
    ],
    ids=str,
)
@dtypes
def test_axes_met_as_one_have_the_bits_of_rows(
    dtype: str, shape: tuple[int, ...], axis: int
) -> None:
    x = rows(shape, dtype)
    along = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    mask = np.broadcast_to(rows((*shape[:-1], 1), seed=1) > -1, shape)
    own = np.ascontiguousarray(np.moveaxis(mask, axis, -1))
    for of, own_of in ((None, None), (mask, own), (mask.copy(), own)):
        shares = np.array([rw.softmax(x_, mask=m) for x_, m in pairs_of_rows(along, own_of)])
        result = rw.softmax(x, axis=axis, mask=of)
        assert_same_bits(np.moveaxis(result, axis, -1).reshape(shares.shape), shares)
        logs = np.array([rw.logsumexp(x_, mask=m) for x_, m in pairs_of_rows(along, own_of)])
        assert_same_bits(rw.logsumexp(x, axis=axis, mask=of).reshape(-1), logs)


def a_nan(x: NDArray[Any]) -> NDArray[Any]:
    """Return the array with one NaN for all: their signs and payloads may differ."""
    return np.where(np.isnan(x), np.array(np.nan, x.dtype), x)


def pairs_of_rows(
    x: NDArray[Any], mask: NDArray[np.bool_] | None
) -> list[tuple[NDArray[Any], NDArray[np.bool_] | None]]:
    """Return each row of `x` by itself, with its mask."""
    length = x.shape[-1]
    each = x.reshape(-1, length)
    if mask is None:
        return [(row, None) for row in each]
    return list(zip(each, mask.reshape(-1, length), strict=True))


def test_rows_may_be_one_row_again_and_again() -> None:
    x = np.broadcast_to(rows(30), (5, 30))
    assert_same_bits(rw.softmax(x), rw.softmax(x.copy()))
    assert_same_bits(rw.softmax(x, axis=0), np.full((5, 30), 0.2))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_other_byte_orders_become_the_native_one(dtype: str) -> None:
    x = rows((9, 6)).astype(dtype)
    swapped = x.astype(x.dtype.newbyteorder())
    assert_same_bits(rw.softmax(swapped), rw.softmax(x))
    assert_same_bits(rw.logsumexp(swapped), rw.logsumexp(x))


def test_fields_of_structures_are_taken() -> None:
    records = np.zeros(1, [("numbers", "f8", (5,)), ("text", "i1")])
    np.testing.assert_array_equal(rw.softmax(records["numbers"]), np.full((1, 5), 0.2))
    np.testing.assert_allclose(rw.logsumexp(records["numbers"]), [np.log(5)], rtol=1e-15)


# The same bits wherever they are computed


@pytest.mark.parametrize("shape", [(300, 700), (3, 100_000), (50_000, 5)], ids=str)
@dtypes
def test_bits_do_not_depend_on_the_number_of_threads_or_the_axis(
    dtype: str, shape: tuple[int, ...]
) -> None:
    x = rows(shape, dtype)
    found = set()
    for threads in (1, 2, 3, 8):
        y = by_threads(threads, partial(rw.softmax, x))
        assert_same_bits(by_threads(threads, partial(rw.softmax, x.T, axis=0)).T, y)
        sums = by_threads(threads, partial(rw.logsumexp, x))
        found.add((y.tobytes(), sums.tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("precision", [None, "float64"])
@pytest.mark.parametrize("shape", [(40, 70), (2, 2**20 + 5)], ids=str)
@dtypes
def test_what_is_converted_does_not_pass_the_cache_by(
    monkeypatch: pytest.MonkeyPatch, dtype: str, shape: tuple[int, ...], precision: Any
) -> None:
    x = rows(shape, dtype)
    expected = rw.softmax(x, scale=1, precision=precision)  # no float, as above
    monkeypatch.setattr(_results, "STREAMED_BYTES", 0)
    out = np.empty_like(x)
    assert_same_bits(rw.softmax(x, scale=1, precision=precision, out=out), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gaps_where_large_results_pass_the_cache_by(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    x, long = rows((30, 6000, 1), dtype), rows((2, 300_000, 3), dtype)
    expected, of_long = rw.softmax(x[:, ::2, 0].copy()), rw.softmax(long, axis=1)
    of_short = rw.softmax(x[:, :77, 0].copy())
    monkeypatch.setattr(_results, "STREAMED_BYTES", 0)
    out = np.empty((30, 3000, 1), dtype)
    rw.softmax(x[:, ::2], axis=1, scale=1, out=out)
    assert_same_bits(out[..., 0], expected)
    memory = np.full((30, 80), 7, dtype)
    rw.softmax(x[:, :77, 0].copy(), scale=1, out=memory[:, :77])
    assert_same_bits(memory[:, :77].copy(), of_short)
    assert (memory[:, 77:] == 7).all()
    out = np.empty_like(long)
    assert_same_bits(rw.softmax(long, axis=1, scale=1, out=out), of_long)


@pytest.mark.parametrize("length", [3000, 300_000])
@dtypes
def test_elements_of_long_rows_may_have_gaps(dtype: str, length: int) -> None:
    x = rows((2, 2 * length, 1), dtype)
    near = x[:, ::2].copy()
    expected = rw.softmax(near, axis=1)
    assert_same_bits(rw.softmax(x[:, ::2], axis=1), expected)
    out = np.full_like(x, 7)
    rw.softmax(near, axis=1, out=out[:, ::2])
    assert_same_bits(out[:, ::2].copy(), expected)
    assert (out[:, 1::2] == 7).all()


@pytest.mark.parametrize("length", [20, 40, 700])
@dtypes
def test_columns_may_become_rows(dtype: str, length: int) -> None:
    """An axis of one behind the columns: those of the result lie side by side as rows."""
    memory = rows((length, 50), dtype)
    x = memory.reshape(length, 50, 1).swapaxes(0, 1)
    assert_same_bits(rw.softmax(x, axis=1)[..., 0], rw.softmax(memory.T.copy()))


def test_columns_that_no_guess_suits_may_come_behind_those_that_it_suits() -> None:
    x = rows((40, 64), "float32")
    x[:, 20:] -= 200
    assert_same_bits(rw.softmax(x, axis=0), rw.softmax(x.T.copy()).T.copy())


@pytest.mark.parametrize("columns", [16, 32, 40, 64])
@dtypes
def test_columns_read_part_by_part_have_the_bits_of_rows(dtype: str, columns: int) -> None:
    x = rows((9000, columns), dtype)
    assert_same_bits(rw.softmax(x, axis=0), rw.softmax(x.T.copy()).T.copy())
    assert_same_bits(rw.logsumexp(x, axis=0), rw.logsumexp(x.T.copy()))


@dtypes
def test_a_row_alone_has_the_bits_of_the_row_among_many(dtype: str) -> None:
    x = rows((30, 77), dtype)
    y = rw.softmax(x)
    for i in range(30):
        assert_same_bits(rw.softmax(x[i]), y[i])


ON_AN_ISA = """
import hashlib
import ml_dtypes
import numpy as np
import ropewalk as rw

rng = np.random.default_rng(7)
for _ in range(200):
    dtype = np.dtype(["f8", "f4", "f2", ml_dtypes.bfloat16][rng.integers(4)])
    shape = rng.integers(1, [20, rng.choice([40, 300])])
    x = (rng.standard_normal(shape) * rng.choice([1, 30])).astype(dtype)
    mask = rng.random(shape) < 0.8
    arrays = [
        rw.softmax(x),
        rw.softmax(x, axis=0, mask=mask, scale=0.7),
        rw.softmax(x, axis=0),
        rw.softmax(x, precision="float64"),
        rw.softmax(x, axis=0, precision="float64"),
        rw.logsumexp(x),
    ]
    print(hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest(), dtype, shape)
long = rng.standard_normal(2**20 + 7).astype("f4")
print(hashlib.sha256(rw.softmax(long, out=long).tobytes()).hexdigest())
"""


def test_bits_do_not_depend_on_the_instruction_set(
    same_on_each_isa: Callable[[str, int], None],
) -> None:
    same_on_each_isa(ON_AN_ISA, 201)
