"""Attention of short heads, few queries to few keys: those of many heads are met at once.

Where stages are wanted too, heads are met one by one: so bits are compared with that.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.data import DTYPES, LAYOUTS, assert_same_bits, by_threads, dtypes, layouts, rows

import ropewalk as rw

# Queries and keys of a head, and the widths of its keys and values: lanes of one vector and of
# several, whole ones and parts; more values than are summed up at once.
shapes = pytest.mark.parametrize(
    ("queries", "keys", "dim", "value_dim"),
    [
        (1, 1, 1, 1),
        (1, 7, 16, 16),
        (1, 16, 40, 130),
        (1, 17, 5, 32),
        (1, 128, 24, 150),
        (2, 20, 33, 8),
        (4, 4, 2, 2),
        (4, 31, 17, 300),
    ],
)


def data(
    dtype: str,
    queries: int,
    keys: int,
    dim: int,
    value_dim: int,
    *,
    heads: tuple[int, ...] = (3, 7),
    groups: int = 1,
) -> list[NDArray[Any]]:
    """Return queries, keys and values, these of as many heads, or shared by groups of them."""
    of_keys = (*heads[:-1], heads[-1] // groups)
    return [
        rows((*leading, *shape), dtype, seed)
        for seed, (leading, shape) in enumerate(
            [(heads, (queries, dim)), (of_keys, (keys, dim)), (of_keys, (keys, value_dim))]
        )
    ]


def one_by_one(*arguments: NDArray[Any], **options: Any) -> NDArray[Any]:
    return rw.attention_stages(*arguments, **options).output


@shapes
@dtypes
def test_heads_at_once_have_the_bits_of_single_ones(
    dtype: str, queries: int, keys: int, dim: int, value_dim: int
) -> None:
    for heads, groups in (((2,), 1), ((3, 7), 1), ((2, 12), 4), ((5, 1, 8), 8)):
        arguments = data(dtype, queries, keys, dim, value_dim, heads=heads, groups=groups)
        for scale in (None, -3.0, 0.0):
            expected = one_by_one(*arguments, scale=scale)
            assert_same_bits(rw.attention(*arguments, scale=scale), expected)


@layouts
@dtypes
def test_strides_of_short_heads_change_no_bit(dtype: str, layout: str) -> None:
    arguments = data(dtype, 3, 9, 20, 35)
    expected = one_by_one(*arguments)
    for changed in range(3):
        lying = [LAYOUTS[layout](x) if i == changed else x for i, x in enumerate(arguments)]
        assert_same_bits(rw.attention(*lying), expected)


@dtypes
def test_short_heads_may_have_the_same_keys_again_and_again(dtype: str) -> None:
    query, key, value = data(dtype, 1, 9, 20, 35)
    for one in (np.s_[:1], np.s_[:, :1], np.s_[:1, :1]):
        shared = [np.broadcast_to(x[one], x.shape) for x in (key, value)]
        expected = one_by_one(query, *(x.copy() for x in shared))
        assert_same_bits(rw.attention(query, *shared), expected)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 3e38, 1e-40])
@dtypes
def test_numbers_of_any_size_give_the_bits_of_single_heads(
    dtype: str, number: float, place: int
) -> None:
    for last in (0, 4, 19):
        arguments = data(dtype, 1, 20, 12, 21)
        with np.errstate(over="ignore"):
            arguments[place][1, 3, last * (place > 0), 2] = number
        assert_same_bits(rw.attention(*arguments), one_by_one(*arguments))


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("first", range(6))
def test_several_nans_have_the_bits_of_single_heads(first: int, place: int) -> None:
    arguments = data("float32", 1, 6, 5, 9)
    arguments[place][..., first, 2] = np.nan
    arguments[place][..., (first + 1) % 6, 2].view(np.uint32)[...] = 0x7FC12345  # another NaN
    assert_same_bits(rw.attention(*arguments), one_by_one(*arguments))


@pytest.mark.parametrize(
    "options",
    [
        {"causal": True, "offset": 8},
        {"causal": True, "offset": 5},
        {"causal": True, "offset": [8, 3, 9]},
        {"window": (10, None), "offset": 8},
        {"window": (9, 4), "offset": 8},
        {"window": (8, None), "offset": 8},
        {"window": (5, None), "offset": [4, 5, 8]},
        {"key_lengths": [9, 9, 9]},
        {"key_lengths": [9, 0, 4]},
    ],
    ids=str,
)
@dtypes
def test_keys_that_are_not_seen_weigh_nothing(dtype: str, options: dict[str, Any]) -> None:
    query, key, value = data(dtype, 2, 9, 12, 21)
    expected = one_by_one(query, key, value, **options)
    assert_same_bits(rw.attention(query, key, value, **options), expected)
    places = np.broadcast_to(options.get("offset", 0), 3)[:, None] + [0, 1]
    before, behind = options.get("window", (None, 0 if "causal" in options else None))
    ones = np.ones((3, 2, 9), np.bool_)
    seen = ones & (np.arange(9) < np.broadcast_to(options.get("key_lengths", 9), 3)[:, None, None])
    if before is not None:
        seen &= np.arange(9) >= places[..., None] - before
    if behind is not None:
        seen &= np.arange(9) <= places[..., None] + behind
    masked = rw.attention(query, key, value, mask=seen[:, None])
    assert_same_bits(rw.attention(query, key, value, **options), masked)


def options() -> dict[str, dict[str, Any]]:
    """Return all that changes logits or sums of heads (3, 7), for 2 queries and 9 keys."""
    random = np.random.default_rng(0)
    hidden = np.where(random.random((7, 2, 9)) < 0.3, -np.inf, random.standard_normal((7, 2, 9)))
    hidden[4] = -np.inf
    each: dict[str, dict[str, Any]] = {
        "mask": {"mask": random.random((3, 1, 2, 9)) < 0.6},
        "bias": {"bias": random.standard_normal((7, 2, 9))},
        "a bias that hides": {"bias": hidden},
        "a bias whose sums overflow": {"bias": np.where(np.arange(9) == 4, -3e38, 3e38)},
        "slopes": {"slopes": random.random(7), "offset": np.array([3, 0, 20])},
        "softcap": {"softcap": 1.5},
        "sinks": {"sinks": [0.5, -2.0, 90.0, 0.0, -math.inf, 3.0, -0.25]},
        "a window": {"window": (8, 2), "offset": np.array([7, -2, 3])},
        "lengths": {"key_lengths": np.array([9, 0, 5])},
    }
    together = {name: value for case in each.values() for name, value in case.items()}
    return {**each, "all": together | {"causal": True}}


@pytest.mark.parametrize("case", options())
@dtypes
def test_options_change_the_bits_of_single_heads(dtype: str, case: str) -> None:
    arguments = data(dtype, 2, 9, 12, 21)
    given = options()[case]
    stages = rw.attention_stages(*arguments, **given)
    assert np.any(stages.output != rw.attention(*arguments))
    assert_same_bits(rw.attention(*arguments, **given), stages.output)
    output, lse = rw.attention_with_lse(*arguments, **given)
    assert_same_bits(output, stages.output)
    assert_same_bits(lse, stages.lse)


@pytest.mark.parametrize("hides", ["mask", "bias", "key"])
@dtypes
def test_values_that_are_hidden_may_be_nan(dtype: str, hides: str) -> None:
    query, key, value = data(dtype, 2, 6, 5, 37)
    query[...] = abs(query)
    shown = np.arange(6) != 4
    expected = rw.attention(query, key, value, mask=shown)
    value[..., 4, :] = np.nan
    given: dict[str, Any] = {}
    if hides == "mask":
        given["mask"] = shown
    elif hides == "bias":
        given["bias"] = np.where(shown, 0, -np.inf)
    else:
        key[..., 4, :] = -np.inf
    assert_same_bits(rw.attention(query, key, value, **given), expected)


@pytest.mark.parametrize("keys", [1, 9])
@pytest.mark.parametrize("layout", ["C order", "Fortran order", "every second feature"])
def test_masks_and_biases_of_short_heads_may_lie_in_any_order(layout: str, keys: int) -> None:
    arguments = data("float32", 2, keys, 12, 21)
    scores = rows((7, 2, keys), "float32")
    for given in ({"mask": scores < 0.5}, {"bias": scores}):
        lying: dict[str, Any] = {name: LAYOUTS[layout](x) for name, x in given.items()}
        assert_same_bits(rw.attention(*arguments, **lying), one_by_one(*arguments, **given))


@dtypes
def test_short_heads_have_the_same_bits_on_any_number_of_threads(dtype: str) -> None:
    """So many keys and values that threads share them out."""
    arguments = data(dtype, 1, 10, 40, 30, heads=(1111,))
    expected = one_by_one(*arguments)
    for threads in (1, 2, 3):
        found = by_threads(threads, lambda: rw.attention(*arguments))
        assert_same_bits(found, expected)


@dtypes
def test_nothing_is_written_beside_the_outputs_of_short_heads(dtype: str) -> None:
    for value_dim in (1, 16, 19, 131):
        arguments = data(dtype, 1, 3, 8, value_dim, heads=(37,))
        whole = np.zeros(39 * value_dim, DTYPES[dtype])
        out = whole[value_dim:-value_dim].reshape(37, 1, value_dim)
        rw.attention(*arguments, out=out)
        assert_same_bits(out, one_by_one(*arguments))
        assert np.count_nonzero(whole) == np.count_nonzero(out)


ON_AN_ISA = """
import hashlib
import ml_dtypes
import numpy as np
import ropewalk as rw

rng = np.random.default_rng(5)
for dtype in ["f8", "f4", "f2", ml_dtypes.bfloat16]:
    for _ in range(60):
        heads, queries, keys = (int(rng.integers(1, most)) for most in (40, 5, 40))
        dim, value_dim = (int(rng.integers(1, 140)) for _ in range(2))
        sizes = [(heads, queries, dim), (heads, keys, dim), (heads, keys, value_dim)]
        arguments = [rng.standard_normal(size).astype(dtype) for size in sizes]
        drawn = {
            "window": (30, None),
            "mask": rng.random((queries, keys)) < 0.8,
            "bias": rng.standard_normal((queries, keys)),
            "slopes": rng.random(heads),
            "softcap": 2.0,
            "sinks": rng.standard_normal(heads),
        }
        given = {name: value for name, value in drawn.items() if rng.integers(3) == 0}
        output, lse = rw.attention_with_lse(*arguments, offset=keys - queries, **given)
        stages = rw.attention_stages(*arguments, offset=keys - queries, **given)
        assert output.tobytes() == stages.output.tobytes()
        assert lse.tobytes() == stages.lse.tobytes()
        print(sizes, hashlib.sha256(output.tobytes() + lse.tobytes()).hexdigest(), sorted(given))
"""


def test_bits_of_short_heads_do_not_depend_on_the_instruction_set(
    same_on_each_isa: Callable[[str, int], None],
) -> None:
    same_on_each_isa(ON_AN_ISA, 4 * 60)
