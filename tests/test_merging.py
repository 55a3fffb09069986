"""Attention to parts of the keys, merged to attention to all of them."""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.attention_calls import INF, Call, assert_within
from tests.conftest import RunPython
from tests.data import DTYPES, UNIT, assert_same_bits, by_threads, dtypes, rows, unaligned
from tests.refusals import exactly

import ropewalk as rw

LOG_2 = 0.6931471805599453
Part = tuple[NDArray[Any], NDArray[np.float64]]


def call_of(dtype: str, **options: Any) -> Call:
    query, key, value = (rows((2, n, 6), dtype, n) for n in (9, 200, 201))
    return Call(query, (3 * key).astype(DTYPES[dtype]), value[:, :200], options)


def parts_of(call: Call, *edges: int) -> list[Part]:
    """Return attention to the keys between each two edges; sinks go to the first part only."""
    options, parts = dict(call.options), []
    for begin, end in pairwise(edges):
        keys = np.s_[..., begin:end, :]
        parts.append(rw.attention_with_lse(call.query, call.key[keys], call.value[keys], **options))
        options.pop("sinks", None)
    return parts


def merged(*parts: Part) -> Part:
    outputs, lses = zip(*parts, strict=True)
    return rw.merge_attention(outputs, lses)


def check(call: Call, found: Part, levels: int) -> None:
    """Compare with the reference: beside the error of the whole, what each level of merging adds.

    That is 2 units of the dtype, and what the log-sum-exp loses of its last digits.
    """
    expected, allowed = call.expected()
    size = np.abs(call.value.astype(float)).max()
    output, lse = found
    assert output.dtype == call.dtype
    assert lse.dtype == np.float64
    of_lse = levels * 2.0**-52 * np.abs(expected.lse).max()
    level = 2 * levels * UNIT[call.dtype.name] * size + of_lse * size
    assert_within(output, expected.output, allowed.output + level)
    assert_within(lse, expected.lse, allowed.lse + of_lse)


@pytest.mark.parametrize("options", [{}, {"sinks": [1.0, -INF]}, {"softcap": 2.0}], ids=str)
@pytest.mark.parametrize("at", [0, 1, 100, 128, 200])
@dtypes
def test_two_parts_merge_to_the_whole(dtype: str, at: int, options: dict[str, Any]) -> None:
    call = call_of(dtype, **options)
    check(call, merged(*parts_of(call, 0, at, 200)), 1)


@dtypes
def test_parts_merge_in_any_tree(dtype: str) -> None:
    call = call_of(dtype, sinks=0.5)
    parts = parts_of(call, 0, 40, 80, 120, 160, 200)
    at_once = merged(*parts)
    check(call, at_once, 1)
    check(call, merged(*parts[::-1]), 1)
    one_by_one = parts[0]
    for other in parts[1:]:
        one_by_one = merged(one_by_one, other)
    check(call, one_by_one, 4)
    in_pairs = merged(merged(*parts[:2]), merged(*parts[2:4]))
    check(call, merged(in_pairs, parts[4]), 3)


@pytest.mark.parametrize("dim", [1, 7, 16, 37])
@dtypes
def test_every_row_is_weighed_by_its_own_log_sum_exps(dtype: str, dim: int) -> None:
    outputs, lses = rows((3, 2, 5, dim), dtype), 3 * rows((3, 2, 5), seed=1)
    lses[1, 0, :3], lses[:, 1, 2], lses[2, 1, 3] = -INF, -INF, 700
    output, lse = rw.merge_attention(list(outputs), list(lses))
    assert output.dtype == DTYPES[dtype]
    for row in np.ndindex(lse.shape):
        own = outputs[:, *row].astype(float)
        expected, expected_lse = reference.merged(own.tolist(), lses[:, *row].tolist())
        allowed = 1.001 * UNIT[dtype] * np.abs(expected) + 2.0**-48 * np.abs(own).max()
        assert_within(output[row], np.array(expected), allowed)
        assert lse[row] == pytest.approx(expected_lse, rel=2.0**-50, abs=2.0**-50)


class Array(np.ndarray[Any, Any]):
    """One of another class, as a library may have it."""


LAYOUTS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "columns": np.asfortranarray,
    "backwards": lambda x: x[:, ::-1].copy()[:, ::-1],
    "single elements apart": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "unaligned": unaligned,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "subclass": lambda x: x.view(Array),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_may_lie_anywhere(layout: str) -> None:
    outputs, lses = list(rows((3, 4, 6, 20), "float32")), list(rows((3, 4, 6), seed=1))
    expected = rw.merge_attention(outputs, lses)
    lie = LAYOUTS[layout]
    for of_outputs, of_lses in (
        ([lie(outputs[0]), *outputs[1:]], lses),
        (outputs, [*lses[:2], lie(lses[2])]),
        (tuple(map(lie, outputs)), tuple(map(lie, lses))),
    ):
        for actual, plain in zip(rw.merge_attention(of_outputs, of_lses), expected, strict=True):
            assert type(actual) is np.ndarray
            assert_same_bits(actual, plain)


ROWS_APART: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "backwards": lambda x: x[::-1],
    "every other": lambda x: x[::2],
    "the same again": lambda x: np.broadcast_to(x[:1], x.shape),
    "the first features": lambda x: x[:, :18],
}


@pytest.mark.parametrize("layout", ROWS_APART)
@dtypes
def test_rows_of_parts_are_read_where_they_lie(dtype: str, layout: str) -> None:
    lie = ROWS_APART[layout]
    outputs = [lie(part) for part in rows((3, 12, 20), dtype)]
    lses = rows((3, len(outputs[0])), seed=1)
    expected = rw.merge_attention([part.copy() for part in outputs], lses)
    for actual, plain in zip(rw.merge_attention(outputs, lses), expected, strict=True):
        assert_same_bits(actual, plain)


def test_dtypes_are_promoted() -> None:
    outputs, lses = rows((2, 4, 3), "float16"), rows((2, 4), "float32", seed=1)
    expected, expected_lse = rw.merge_attention(outputs.astype(float), lses.astype(float))
    output, lse = rw.merge_attention([outputs[0], outputs[1].astype(float)], lses)
    assert_same_bits(output, expected)
    assert_same_bits(lse, expected_lse)
    whole, whole_lse = rw.merge_attention([[[3, 4]], [[3, 4]]], [[0], [0]])
    assert_same_bits(whole, np.array([[3.0, 4.0]]))
    assert_same_bits(whole_lse, np.array([LOG_2]))


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0), (2, 0, 4)])
def test_parts_may_be_empty(shape: tuple[int, ...]) -> None:
    output, lse = rw.merge_attention([np.ones(shape)] * 2, [np.zeros(shape[:-1])] * 2)
    assert_same_bits(output, np.ones(shape))
    assert_same_bits(lse, np.full(shape[:-1], LOG_2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_merged_parts_may_be_written_into_a_given_array(dtype: str) -> None:
    outputs, lses = zip(*parts_of(call_of(dtype), 0, 40, 200), strict=True)
    expected, expected_lse = rw.merge_attention(outputs, lses)
    for out in (np.empty_like(expected), np.empty(expected.T.shape, expected.dtype).T):
        output, lse = rw.merge_attention(outputs, lses, out=out)
        assert output is out
        assert_same_bits(np.ascontiguousarray(out), expected)
        assert_same_bits(lse, expected_lse)


def test_what_is_merged_is_not_written_over_its_parts() -> None:
    outputs, lses = rows((2, 3, 4)), rows((2, 3))
    before = outputs.copy()
    message = "out must not overlap another argument, got memory that both share"
    for parts in (outputs, list(outputs)):
        with pytest.raises(ValueError, match=message):
            rw.merge_attention(parts, lses, out=outputs[0])
    with pytest.raises(ValueError, match=r"^out must have shape \(3, 4\), got \(3, 5\)"):
        rw.merge_attention(outputs, lses, out=np.empty((3, 5)))
    assert_same_bits(outputs, before)


@pytest.mark.parametrize("shape", [(3, 9, 700, 64), (64, 700, 48), (64, 5000, 1), (2, 40, 20000)])
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_do_not_change_merged_bits(threads: int, shape: tuple[int, ...]) -> None:
    outputs, lses = rows(shape, "float32"), rows(shape[:-1], seed=1)
    merge = partial(rw.merge_attention, outputs, lses)
    alone, together = by_threads(1, merge), by_threads(threads, merge)
    for actual, expected in zip(together, alone, strict=True):
        assert_same_bits(actual, expected)


def test_parts_are_a_sequence_or_lie_on_axis_0() -> None:
    call = call_of("float32")
    outputs, lses = zip(*parts_of(call, 0, 40, 80, 120, 160, 200), strict=True)
    expected = rw.merge_attention(outputs, lses)
    arrays = np.array(outputs), np.array(lses)
    for of_outputs, of_lses in (
        (list(outputs), list(lses)),
        arrays,
        [da.from_array(array) for array in arrays],  # as those of other libraries, no sequence
    ):
        for actual, plain in zip(rw.merge_attention(of_outputs, of_lses), expected, strict=True):
            assert_same_bits(actual, plain)


def test_causal_parts_know_where_they_begin() -> None:
    query, key, value = rows((60, 6)), rows((60, 6), seed=1), rows((60, 5), seed=2)
    call = Call(query, key, value, {"causal": True})
    parts = [
        rw.attention_with_lse(
            query, key[begin : begin + 20], value[begin : begin + 20], causal=True, offset=-begin
        )
        for begin in (0, 20, 40)
    ]
    assert np.isneginf(parts[2][1][:40]).all()
    check(call, merged(*parts), 1)


@dtypes
def test_parts_that_saw_nothing_change_nothing(dtype: str) -> None:
    (whole,) = parts_of(call_of(dtype), 0, 200)
    output, lse = whole
    empty = np.full_like(output, np.nan), np.full_like(lse, -INF)
    for parts in ([whole, empty], [empty, whole, empty], [whole]):
        joined, joined_lse = merged(*parts)
        assert_same_bits(joined, output)
        assert_same_bits(joined_lse, lse)
    joined, joined_lse = merged(empty, empty)
    assert not joined.any()
    assert np.isneginf(joined_lse).all()


def test_results_are_new_arrays() -> None:
    (whole,) = parts_of(call_of("float64"), 0, 200)
    for array, given in zip(merged(whole), whole, strict=True):
        assert not np.shares_memory(array, given)
        assert array.flags.owndata
        assert array.flags.c_contiguous


# What comes of many random parts.
MERGE = """
import hashlib
import numpy as np
import ropewalk as rw

rng = np.random.default_rng(0)
outputs, lses = rng.standard_normal((3, 40, 60, 8)), 3 * rng.standard_normal((3, 40, 60))
merged = rw.merge_attention(outputs, lses)
print(hashlib.sha256(b"".join(array.tobytes() for array in merged)).hexdigest())
"""


def test_bits_do_not_depend_on_the_exponentials_of_numpy(run_python: RunPython) -> None:
    """Which differ by processor; those of ours are looked at in test_attention_bits.py."""
    exponentials = np.lib.introspect.opt_func_info("^exp$")["exp"]
    kernels = exponentials["dd"]["available"].split()
    others = " ".join(kernel for kernel in kernels if not kernel.startswith("baseline"))
    found = set()
    for disabled in (None, others):
        result = run_python(MERGE, NPY_DISABLE_CPU_FEATURES=disabled)
        assert result.returncode == 0, result.stderr
        found.add(result.stdout)
    assert len(found) == 1


# Refusals


def test_there_must_be_parts() -> None:
    message = "^outputs must be a sequence of one or more parts"
    nothing: list[Any] = [[], np.ones((0, 3, 2)), ()]
    for parts in nothing:
        with pytest.raises(ValueError, match=message):
            rw.merge_attention(parts, parts)
    no_sequences: dict[str, Any] = {"None": None, "float": 3.0, "ndarray": np.array(2.0)}
    no_sequences |= {"<generator .*>": (x for x in "ab"), r"\{0: \[1.0\]\}": {0: [1.0]}}
    for kind, parts in no_sequences.items():
        with pytest.raises(TypeError, match=f"{message}, got {kind}$"):
            rw.merge_attention(parts, parts)


def test_parts_must_have_one_shape() -> None:
    outputs, lses = [np.ones((3, 2)), np.ones((4, 2))], [np.ones(3), np.ones(4)]
    message = "outputs must have one shape, got (3, 2) and (4, 2)"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.merge_attention(outputs, lses)


@pytest.mark.parametrize(
    ("shapes", "found"),
    [
        ([(3,)], "1 of (3,)"),
        ([(3,), (3,), (3,)], "3 of (3,)"),
        ([(4,), (4,)], "2 of (4,)"),
        ([(3, 2), (3, 2)], "2 of (3, 2)"),
    ],
)
def test_every_part_must_have_its_log_sum_exp(shapes: list[tuple[int, ...]], found: str) -> None:
    message = f"lses must be 2 of shape (3,), one for each of the outputs, got {found}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.merge_attention([np.ones((3, 2))] * 2, [np.ones(shape) for shape in shapes])


@pytest.mark.parametrize("name", ["outputs", "lses"])
def test_parts_must_be_numbers(name: str) -> None:
    parts: dict[str, NDArray[Any]] = {"outputs": np.ones((2, 3, 2)), "lses": np.ones((2, 3))}
    parts[name] = parts[name].astype(complex)
    with pytest.raises(TypeError, match=rf"^{name} must be .*, got dtype complex128$"):
        rw.merge_attention(*parts.values())


def test_a_single_query_has_an_axis_of_its_own() -> None:
    message = "outputs must have shape (..., query length, value dim) each, got shape (3,)"
    for lses in ([1.0, 2.0], [[1.0], [2.0]]):
        with pytest.raises(ValueError, match=exactly(message)):
            rw.merge_attention([np.ones(3)] * 2, lses)


def test_rows_may_have_no_features_or_many() -> None:
    output, lse = rw.merge_attention([np.ones((3, 0))], [np.ones(3)])
    assert output.shape == (3, 0)
    assert (lse == 1).all()
    part = np.ones((2, 2**15 + 1), np.float32)
    output, _ = rw.merge_attention([part, part], np.zeros((2, 2)))
    assert (output == 1).all()


def test_half_types_are_summed_in_float64() -> None:
    parts = np.array([[[2048.0]], [[2.0**-10]], [[-2048.0]]], np.float16)
    output, _ = rw.merge_attention(parts, np.zeros((3, 1)))
    assert output[0, 0] == np.float16(2.0**-10 / 3)


@pytest.mark.parametrize("lse", [INF, math.nan])
def test_a_part_whose_lse_is_no_number_makes_the_result_none(lse: float) -> None:
    with np.errstate(all="raise"):
        output, merged = rw.merge_attention(np.ones((2, 3, 1)), [[lse] * 3, [0.0, -INF, 1.0]])
    assert np.isnan(output).all()
    np.testing.assert_array_equal(merged, [lse] * 3)
    _, merged = rw.merge_attention(np.ones((2, 1, 1)), [[lse], [math.nan]])
    assert np.isnan(merged).all()


def test_infinite_parts_warn_of_nothing() -> None:
    infinite = np.full((1, 2), INF)
    with np.errstate(all="raise"):
        output, _ = rw.merge_attention([infinite, -infinite], np.zeros((2, 1)))
    assert np.isnan(output).all()
