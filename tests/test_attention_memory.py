"""Attention: the same bits wherever arrays lie in memory, and how much memory it takes."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conftest import RunPython
from tests.data import DTYPES, LAYOUTS, assert_same_bits, dtypes, layouts, rows
from tests.test_attention_bits import data

import ropewalk as rw


# Few queries, two tiles of them, and so many that keys and values are copied side by side first.
@pytest.mark.parametrize("queries", [3, 60, 300])
@layouts
@dtypes
def test_strides_change_no_bit(dtype: str, layout: str, queries: int) -> None:
    arguments = data(dtype, queries=queries, keys=310)
    place: dict[str, Any] = {"causal": True, "offset": 310 - queries}
    expected = rw.attention(*arguments, **place)
    for changed in range(3):
        lying = [LAYOUTS[layout](x) if i == changed else x for i, x in enumerate(arguments)]
        lying[changed].flags.writeable = False
        actual = rw.attention(*lying, **place)
        assert_same_bits(actual, expected)
        assert actual.flags.c_contiguous
        assert actual.flags.owndata
        assert actual.flags.writeable


@pytest.mark.parametrize(
    "options",
    [
        {"window": (20, 0), "offset": 900},
        {"window": (None, 30), "offset": -100},
        {"key_lengths": [0, 1, 1290]},
        {"causal": True, "offset": [0, 1100, 40], "key_lengths": [300, 1290, 7]},
    ],
    ids=str,
)
@dtypes
def test_of_keys_that_lie_apart_those_that_are_seen_are_met(
    dtype: str, options: dict[str, Any]
) -> None:
    query, key, value = data(dtype, queries=200, keys=1300)
    expected = rw.attention(query, key, value, **options)
    apart = [x.swapaxes(1, 2).copy().swapaxes(1, 2) for x in (key, value)]
    assert_same_bits(rw.attention(query, *apart, **options), expected)


def assert_same_results(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


# Rows of 17 heads come in turns of nine and eight, or of fewer for many threads. Of two parts the
# second is short.
@pytest.mark.parametrize(("batch", "keys"), [(24, 300), (3, 2500)], ids=["", "parts"])
@pytest.mark.parametrize(("queries", "group"), [(1, 1), (2, 1), (1, 3), (2, 2)])
@dtypes
def test_heads_side_by_side_in_memory_give_the_bits_of_heads_apart(
    dtype: str, queries: int, group: int, batch: int, keys: int
) -> None:
    """A cache of 100 MB of float32 and more, for few queries: one that all of the batch share."""
    rng = np.random.default_rng(0)
    query = rows((batch, 17 * group, queries, 24), dtype)
    key, value = (rows((keys, 17, width), dtype, width).swapaxes(0, 1) for width in (24, 200))
    key[4, keys // 2, 3] = value[7, keys // 2, 150] = math.nan
    mask = rng.random((batch, 17 * group, queries, keys)) < 0.8
    mask[..., keys // 2] = False
    mask[:, 5:7, :, 100:300] = mask[..., 128:256] = False  # blocks of some heads, and of all
    bias = rng.standard_normal((17 * group, queries, keys))
    bias[11, :, :128] = -np.inf
    sinks, slopes = rng.standard_normal((2, 17 * group))
    offset, lengths = np.arange(batch) * 1100 % keys, keys - np.arange(batch) * 13
    cases: list[dict[str, Any]] = [
        {},
        {"mask": mask, "bias": bias, "sinks": sinks, "softcap": 5.0},
        {"window": (150, 3), "sinks": sinks, "slopes": abs(slopes)},
    ]
    shapes = [(batch, *x.shape) for x in (key, value)]
    side_by_side = list(map(np.broadcast_to, (key, value), shapes))
    apart = list(map(np.broadcast_to, (key.copy(), value.copy()), shapes))
    for given in cases:
        given |= {"offset": offset, "key_lengths": lengths}
        expected = rw.attention_with_lse(query, *apart, **given)
        for threads in (1, 3, 40):
            with rw.num_threads(threads):
                found = rw.attention_with_lse(query, *side_by_side, **given)
            assert_same_results(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_heads_side_by_side_may_see_other_parts_of_their_keys(dtype: str) -> None:
    """Without a batch each head has its own length and offset; rows overlap, to save memory."""
    heads, keys = 20, 6000

    def overlapping(width: int) -> NDArray[Any]:
        row = rows((2 * keys + heads, width), dtype, width)
        along, across = row.strides
        return np.lib.stride_tricks.as_strided(
            row, (heads, keys, width), (along, 2 * along, across), writeable=False
        )

    query = rows((heads, 1, 24), dtype)
    side_by_side = [overlapping(24), overlapping(200)]
    apart = [x.copy() for x in side_by_side]
    own = np.arange(heads) * 331
    cases: list[dict[str, Any]] = [
        {"key_lengths": [100, *[5999] * 18, 40]},
        {"key_lengths": np.maximum(0, keys - own)},
        {"window": (2500, 0), "offset": own, "sinks": 0.5},
    ]
    for given in cases:
        expected = rw.attention_with_lse(query, *apart, **given)
        stages = rw.attention_stages(query, *apart, **given)
        for threads in (1, 3):
            with rw.num_threads(threads):
                assert_same_results(rw.attention_with_lse(query, *side_by_side, **given), expected)
                found = rw.attention_stages(query, *side_by_side, **given)
            assert_same_results(vars(found).values(), vars(stages).values())


def test_heads_side_by_side_may_be_parts_of_longer_rows() -> None:
    """Keys and values of two sequences as one projection gives them with the queries, 34 MB."""
    keys = 8300
    fused = rows((2, keys, 3, 8, 64), "float16")
    query, key, value = (fused[:, :, i].swapaxes(1, 2) for i in range(3))
    mask = np.random.default_rng(0).random((2, 8, 1, keys)) < 0.9
    mask[:, :, :, 256:3000] = False
    given: dict[str, Any] = {"softcap": 5.0, "mask": mask}
    one, apart = query[:, :, -1:], (key.copy(), value.copy())
    expected = vars(rw.attention_stages(one, *apart, **given)).values()
    for threads in (1, 2):
        with rw.num_threads(threads):
            found = rw.attention_stages(one, key, value, **given)
        assert_same_results(vars(found).values(), expected)


@pytest.mark.parametrize("queries", [1, 2, 3, 6, 20, 60, 300])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_get_what_float32_gets(dtype: str, queries: int) -> None:
    arguments = data(dtype, queries=queries, keys=310)
    widened = [x.astype(np.float32) for x in arguments]
    given: list[dict[str, Any]] = [{}, {"causal": True, "offset": 10, "softcap": 5.0}]
    for options in given:
        expected = rw.attention(*widened, **options)
        assert_same_bits(rw.attention(*arguments, **options), expected.astype(DTYPES[dtype]))
        lse = rw.attention_with_lse(*arguments, **options)[1]
        assert_same_bits(lse, rw.attention_with_lse(*widened, **options)[1])
    no_keys = [x[..., :0, :] for x in arguments[1:]]
    assert not rw.attention(arguments[0], *no_keys).any()


@pytest.mark.parametrize(
    ("of_queries", "of_keys"),
    [(-54, -72), (-72, -54), (-53, -53), (-35, -35), (100, -130), (-130, 100)],
)
@pytest.mark.parametrize("rest", [0.0, math.nan])
def test_bfloat16_of_any_size_get_what_float32_gets(
    of_queries: int, of_keys: int, rest: float
) -> None:
    query, key, value = (x.astype(np.float64) for x in data("bfloat16"))
    query, key = query * 2.0**of_queries, key * 2.0**of_keys
    query[0, :, 60:], key[1] = rest, 0  # other tiles, and keys of another batch
    arguments = [x.astype(DTYPES["bfloat16"]) for x in (query, key, value)]
    options: dict[str, Any] = {"scale": 2.0 ** -(of_queries + of_keys)}
    found = rw.attention_with_lse(*arguments, **options)
    expected = rw.attention_with_lse(*(x.astype(np.float32) for x in arguments), **options)
    for of_bfloat16, of_float32 in zip(found, expected, strict=True):
        rounded = of_float32.astype(of_bfloat16.dtype)
        np.testing.assert_array_equal(of_bfloat16.astype(np.float64), rounded.astype(np.float64))


@pytest.mark.parametrize("small", [0, 5])
def test_bfloat16_of_one_head_may_be_small(small: int) -> None:
    shapes = [(6, 40, 20), (6, 15_000, 20), (6, 15_000, 18)]  # more than are copied at once
    query, key, value = (rows(shape, "bfloat16", seed) for seed, shape in enumerate(shapes))
    key[small] *= DTYPES["bfloat16"].type(2.0**-125)
    query[small] *= DTYPES["bfloat16"].type(2.0**120)
    options: dict[str, Any] = {"window": (9_000, 0), "offset": 14_000, "key_lengths": 14_020}
    for way in (slice(None), slice(None, None, -1)):
        arguments = [query, key[:, way], value[:, way]]
        found = rw.attention(*arguments, **options)
        wide = rw.attention(*(x.astype(np.float32) for x in arguments), **options)
        assert_same_bits(found, wide.astype(DTYPES["bfloat16"]))


@pytest.mark.parametrize("dim", [1, 2, 15, 16, 17])
def test_scores_of_bfloat16_are_those_of_float32(dim: int) -> None:
    arguments = [rows((2, 100, dim), "bfloat16", seed) for seed in range(3)]
    options: dict[str, Any] = {"scale": 0.5, "softcap": 3.0}
    found = rw.attention_stages(*arguments, **options)
    wide = rw.attention_stages(*(x.astype(np.float32) for x in arguments), **options)
    assert_same_bits(found.lse, wide.lse)
    for name in ("scores", "capped", "weights", "output"):
        assert_same_bits(getattr(found, name), getattr(wide, name).astype(DTYPES["bfloat16"]))


@layouts
def test_strides_of_masks_and_biases_change_no_bit(layout: str) -> None:
    query, key, value = data("float32", queries=60, keys=150)
    rng = np.random.default_rng(3)
    mask, bias = rng.random((3, 4, 60, 150)) < 0.7, rng.standard_normal((3, 4, 60, 150))
    expected = rw.attention(query, key, value, mask=mask, bias=bias.astype(np.float32))
    for of_bias in (np.float32, np.float64):
        lying = LAYOUTS[layout](bias.astype(of_bias))
        actual = rw.attention(query, key, value, mask=LAYOUTS[layout](mask), bias=lying)
        assert_same_bits(actual, expected)


@dtypes
def test_rows_may_be_one_row_again_and_again(dtype: str) -> None:
    row = rows(20, dtype)
    key = np.broadcast_to(row, (3, 2, 150, 20))
    query, _, value = data(dtype, queries=60, keys=150)
    assert_same_bits(rw.attention(query, key, value), rw.attention(query, key.copy(), value))
    one = np.broadcast_to(row, query.shape)
    assert_same_bits(rw.attention(one, key, value), rw.attention(one.copy(), key, value))
    constant = np.broadcast_to(row[:1], (3, 2, 150, 18))
    expected = rw.attention(query, key, constant.copy())
    assert_same_bits(rw.attention(query, key, constant), expected)


@layouts
@dtypes
def test_out_of_any_strides_is_filled_and_returned(dtype: str, layout: str) -> None:
    arguments = data(dtype, queries=60, keys=150)
    expected = rw.attention(*arguments)
    out = LAYOUTS[layout](np.full_like(expected, 7))
    assert rw.attention(*arguments, out=out) is out
    assert_same_bits(out, expected)
    out[...] = 7
    output, lse = rw.attention_with_lse(*arguments, out=out)
    assert output is out
    assert_same_bits(out, expected)
    assert lse.flags.owndata


@dtypes
def test_nothing_is_written_beside_out(dtype: str) -> None:
    arguments = data(dtype, queries=60, keys=150)
    whole = np.zeros((3, 4, 62, 20), DTYPES[dtype])
    out = whole[:, :, 1:-1, 1:-1]
    rw.attention(*arguments, out=out)
    assert np.count_nonzero(out) == out.size
    assert np.count_nonzero(whole) == out.size


STATUS = Path("/proc/self/status")


@pytest.mark.skipif(not STATUS.exists(), reason="reads the most memory ever used from /proc")
def test_no_array_of_scores_is_ever_held(run_python: RunPython) -> None:
    result = run_python("""
import re
from pathlib import Path
import numpy as np
import ropewalk as rw

def most_kilobytes():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

rw.set_num_threads(2)  # each of them has memory of its own
x = np.random.default_rng(0).standard_normal((1, 16384, 64), np.float32)
rw.attention(x[:, :100], x, x, causal=True, offset=0)
before = most_kilobytes()
rw.attention(x, x, x, causal=True, window=(16000, 0))
print(most_kilobytes() - before)
""")
    assert result.stderr == ""
    # The result takes 4 MiB, the scores of all queries would take 1 GiB.
    assert int(result.stdout) < 16 * 1024
