"""Attention: the same bits wherever it is computed, and the memory and time that it takes."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conftest import RunPython
from tests.data import DTYPES, assert_same_bits, dtypes, rows
from tests.test_attention import LAYOUTS, layouts

import ropewalk as rw

TILE = 48  # queries that are computed together


def data(dtype: str, *, queries: int = 100, keys: int = 300) -> list[NDArray[Any]]:
    """Return queries, keys and values of a batch of grouped heads."""
    shapes = [(3, 4, queries, 20), (3, 2, keys, 20), (3, 2, keys, 18)]
    return [rows(shape, dtype, seed) for seed, shape in enumerate(shapes)]


def options(queries: int = 100, keys: int = 300) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(0)
    return {
        "plain": {},
        "causal": {"causal": True, "offset": keys - queries},
        "a window": {"window": (70, 40), "offset": 33},
        "matrices": {"precision": "bfloat16", "window": (140, 90), "offset": 33, "sinks": 0.5},
        "matrices, three products": {"precision": "bfloat16x3", "causal": True, "offset": 140},
        "all": {
            "mask": rng.random((3, 1, queries, keys)) < 0.8,
            "bias": rng.standard_normal((4, queries, keys)),
            "slopes": [1.0, 0.5, 0.25, 0.125],
            "offset": np.array([200, 0, -30]),
            "key_lengths": np.array([290, 300, 129]),
            "softcap": 5.0,
            "sinks": [0.5, -1.0, 2.0, 0.0],
        },
    }


cases = pytest.mark.parametrize("case", options())
# Many queries; few, whose keys are worked on in parts of 2048, by themselves or with those of the
# heads that share keys.
sizes = pytest.mark.parametrize(
    ("queries", "keys"), [(100, 300), (3, 300), (1, 5000), (2, 5000), (4, 5000)]
)


@sizes
@cases
@dtypes
def test_bits_do_not_depend_on_the_number_of_threads(
    dtype: str, case: str, queries: int, keys: int
) -> None:
    arguments = data(dtype, queries=queries, keys=keys)
    given = options(queries, keys)[case]
    found: list[set[bytes]] = [set(), set(), set()]
    for threads in (1, 2, 3, 8):
        with rw.num_threads(threads):
            output, lse = rw.attention_with_lse(*arguments, **given)
            found[0].add(output.tobytes())
            found[1].add(lse.tobytes())
            found[2].add(rw.attention_weights(*arguments[:2], **given).tobytes())
    assert [len(bits) for bits in found] == [1, 1, 1]


@cases
@pytest.mark.parametrize("strided", [False, True], ids=["", "strided"])
def test_tiles_that_meet_many_keys_together_have_the_bits_of_single_ones(
    case: str, strided: bool
) -> None:
    queries, keys = 210, 15000  # 9 tiles of the 420 queries that share 570,000 elements
    arguments = data("float32", queries=queries, keys=keys)
    if strided:
        arguments = [np.moveaxis(np.moveaxis(x, 1, 2).copy(), 2, 1) for x in arguments]
    given = options(queries, keys)[case]
    with rw.num_threads(1):
        together = rw.attention(*arguments, **given)
    with rw.num_threads(64):  # which get a tile each
        single = rw.attention(*arguments, **given)
    assert_same_bits(together, single)
    row = [x[:, :, 77:78] if i == 0 else x for i, x in enumerate(arguments)]
    if case == "causal":
        alone = rw.attention(*row, causal=True, offset=given["offset"] + 77)
        np.testing.assert_allclose(together[:, :, 77:78], alone, rtol=0, atol=4e-6)


def test_calls_of_many_threads_at_once_have_the_bits_of_one() -> None:
    arguments = data("float32")
    expected = rw.attention(*arguments)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(rw.attention, *arguments) for _ in range(40)]
        for call in calls:
            assert_same_bits(call.result(), expected)


@sizes
@cases
@dtypes
def test_every_function_gives_the_same_bits(dtype: str, case: str, queries: int, keys: int) -> None:
    arguments = data(dtype, queries=queries, keys=keys)
    given = options(queries, keys)[case]
    stages = rw.attention_stages(*arguments, **given)
    output, lse = rw.attention_with_lse(*arguments, **given)
    assert_same_bits(rw.attention(*arguments, **given), stages.output)
    assert_same_bits(output, stages.output)
    assert_same_bits(lse, stages.lse)
    assert_same_bits(rw.attention_weights(*arguments[:2], **given), stages.weights)


@pytest.mark.parametrize("lengths", [(300, 300, 300), (97, 5000, 2500)], ids=["", "parts"])
@pytest.mark.parametrize("queries", [1, 2, 4, 17, 100])
@dtypes
def test_a_part_of_the_batch_has_the_bits_of_the_whole(
    dtype: str, queries: int, lengths: tuple[int, ...]
) -> None:
    query, key, value = data(dtype, queries=queries, keys=max(lengths))
    whole = rw.attention(query, key, value, softcap=4.0, key_lengths=np.array(lengths))
    for part in (slice(0, 1), slice(1, 3)):
        some = [x[part] for x in (query, key, value)]
        found = rw.attention(*some, softcap=4.0, key_lengths=np.array(lengths[part]))
        assert_same_bits(found, whole[part])


@cases
@dtypes
def test_keys_and_values_from_afar_give_the_bits_of_near_ones(dtype: str, case: str) -> None:
    """Single queries score many blocks of keys in a row where these do not stay in the caches."""
    keys = 1700  # 1.6 MB of float32; of float64 in one sequence 1.0 MB, which stay near
    query, key, value = data(dtype, queries=1, keys=keys)
    given = options(1, keys)[case]
    if "mask" in given:
        given["mask"][..., 300:700] = False  # two blocks as a whole
        given["bias"][..., 1100:1200] = -np.inf
        value[..., 650, 3] = value[..., 1150, 5] = np.nan
        given["key_lengths"] = np.array([1300, 1700, 1501])
    whole = rw.attention(query, key, value, **given)
    for i in range(3):
        own = {
            name: x[i : i + 1]
            if name in ("mask", "offset", "key_lengths") and np.ndim(x) > 0
            else x
            for name, x in given.items()
        }
        found = rw.attention(*(x[i : i + 1] for x in (query, key, value)), **own)
        assert_same_bits(found, whole[i : i + 1])


@pytest.mark.parametrize("queries", [1, 2])
@dtypes
def test_short_heads_from_afar_have_the_bits_of_single_ones(dtype: str, queries: int) -> None:
    """Keys of several heads, 1.3 MB of float32 in all, are met before the values of any."""
    query = rows((70, 1, queries, 24), dtype)
    key, value = rows((70, 1, 200, 24), dtype, 1), rows((70, 1, 200, 24), dtype, 2)
    lengths = np.arange(70) * 67 % 201  # 0 among them
    given: dict[str, Any] = {"window": (90, 100), "sinks": 0.25}
    for i, length in enumerate(lengths):
        key[i, :, length:] = value[i, :, length:] = np.nan
    with rw.num_threads(1):
        whole = rw.attention(query, key, value, key_lengths=lengths, offset=lengths // 2, **given)
    for i, length in enumerate(lengths):
        single = (x[i] for x in (query, key[:, :, :length], value[:, :, :length]))
        assert_same_bits(rw.attention(*single, offset=length // 2, **given), whole[i])


@pytest.mark.parametrize("queries", [1, 4, 17])
@dtypes
def test_a_part_of_the_queries_that_share_keys_has_the_bits_of_the_whole(
    dtype: str, queries: int
) -> None:
    query = rows((60, queries, 20), dtype)
    key, value = rows((3000, 20), dtype, 1), rows((3000, 18), dtype, 2)
    given: dict[str, Any] = {"window": (100, 300), "offset": 2000}  # in two parts of the keys
    whole = rw.attention(query, key, value, **given)
    for part in (slice(0, 1), slice(1, 9), slice(9, 60)):
        found = rw.attention(query[part], key, value, **given)
        assert_same_bits(found, whole[part])


@pytest.mark.parametrize("heads", [1, 8, 32])
@dtypes
def test_a_sink_is_joined_in_one_order_whatever_the_rest_of_the_batch_sees(
    dtype: str, heads: int
) -> None:
    query = rows((2, heads, 1, 20), dtype)
    key, value = rows((2, 1, 5000, 20), dtype, 1), rows((2, 1, 5000, 18), dtype, 2)
    given: dict[str, Any] = {"window": (64, 64), "sinks": 3.3}
    whole = rw.attention(query, key, value, offset=[100, 3500], **given)
    for part, offset in ((slice(0, 1), 100), (slice(1, 2), 3500)):
        some = [x[part] for x in (query, key, value)]
        assert_same_bits(rw.attention(*some, offset=offset, **given), whole[part])
        stages = rw.attention_stages(*some, offset=offset, **given)
        assert_same_bits(stages.output, whole[part])


@pytest.mark.parametrize("heads", [2, 5, 7, 8, 11, 14])
@dtypes
def test_logits_do_not_depend_on_the_width_of_values(dtype: str, heads: int) -> None:
    query, key = rows((1, heads, 1, 64), dtype), rows((1, 1, 300, 64), dtype, 1)
    weights = rw.attention_weights(query, key)
    for width in (1, 64, 200):
        value = rows((1, 1, 300, width), dtype, 2)
        assert_same_bits(rw.attention_stages(query, key, value).weights, weights)


@pytest.mark.parametrize("heads", [2, 32])
@dtypes
def test_keys_without_axes_are_those_of_axes_of_one(dtype: str, heads: int) -> None:
    query = rows((3, heads, 2, 20), dtype)
    key, value = rows((300, 20), dtype, 1), rows((300, 18), dtype, 2)
    found = rw.attention(query, key, value)
    assert_same_bits(found, rw.attention(query, key[None, None], value[None, None]))


@pytest.mark.parametrize("queries", [17, 100])
@dtypes
def test_a_head_alone_has_the_bits_of_heads_that_share_keys(dtype: str, queries: int) -> None:
    query, key, value = data(dtype, queries=queries)
    given: dict[str, Any] = {"causal": True, "offset": 300 - queries, "softcap": 4.0}
    whole = rw.attention(query, key, value, **given)
    for head in range(4):
        heads = np.s_[:, head : head + 1], np.s_[:, head // 2 : head // 2 + 1]
        alone = rw.attention(query[heads[0]], key[heads[1]], value[heads[1]], **given)
        assert_same_bits(alone, whole[heads[0]])


@pytest.mark.parametrize("tiles", [1, 2])
@cases
@dtypes
def test_tiles_of_queries_have_the_bits_of_the_whole(dtype: str, case: str, tiles: int) -> None:
    # Both heads of a group have 192 queries with twice as many tiles, as these matrices want.
    begin = tiles * TILE * (2 if case == "matrices, three products" else 1)
    query, key, value = data(dtype, queries=300)
    given = options(300)[case]
    whole = rw.attention(query, key, value, **given)
    for part in (slice(0, begin), slice(begin, None)):
        own = dict(given)
        for name in ("mask", "bias"):
            if name in own:
                own[name] = own[name][..., part, :]
        if "offset" in own:
            own["offset"] = own["offset"] + part.start
        assert_same_bits(rw.attention(query[..., part, :], key, value, **own), whole[..., part, :])


@sizes
@cases
def test_few_queries_of_many_keys_get_what_many_get(case: str, queries: int, keys: int) -> None:
    arguments = data("float64", queries=queries, keys=keys)
    given = options(queries, keys)[case]
    # The same queries among many that see other keys.
    among = [np.concatenate([arguments[0], rows((3, 4, 60, 20), "float64", 9)], axis=-2)]
    more = dict(given)
    for name, fill in (("mask", True), ("bias", 0.0)):
        if name in more:
            shape = (*more[name].shape[:-2], 60, keys)
            more[name] = np.concatenate([more[name], np.full(shape, fill)], axis=-2)
    expected, sums = rw.attention_with_lse(*among, *arguments[1:], **more)
    output, lse = rw.attention_with_lse(*arguments, **given)
    np.testing.assert_allclose(output, expected[..., :queries, :], rtol=0, atol=1e-13)
    np.testing.assert_allclose(lse, sums[..., :queries], rtol=1e-13)


@pytest.mark.parametrize("queries", [1, 7, 100])
@dtypes
def test_equal_tokens_get_equal_rows(dtype: str, queries: int) -> None:
    query, key, value = rows((1, 20), dtype), rows((300, 20), dtype, 1), rows((300, 9), dtype, 2)
    output = rw.attention(query.repeat(queries, axis=0), key, value)
    assert_same_bits(output, output[:1].repeat(queries, axis=0))


ON_AN_ISA = """
import hashlib
import ml_dtypes
import numpy as np
import ropewalk as rw

rng = np.random.default_rng(7)
for _ in range(100):
    dtype = np.dtype(["f8", "f4", "f2", ml_dtypes.bfloat16][rng.integers(4)])
    queries, keys, dim, value_dim = rng.integers(1, [120, 300, 24, 24])
    if rng.integers(3) == 0:
        queries, keys = rng.integers(1, [9, 5000])
    shapes = [(2, 4, queries, dim), (2, 2, keys, dim), (2, 2, keys, value_dim)]
    query, key, value = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    query = (query * rng.choice([1, 20])).astype(dtype)
    drawn = {
        "causal": True,
        "offset": int(keys - queries),
        "window": (int(rng.integers(200)), None),
        "mask": rng.random((queries, keys)) < 0.9,
        "bias": rng.standard_normal((4, queries, keys)),
        "slopes": rng.random(4),
        "key_lengths": rng.integers(0, keys + 1, 2),
        "softcap": 3.0,
        "sinks": rng.standard_normal(4),
        "precision": "float64",
    }
    options = {name: value for name, value in drawn.items() if rng.integers(3) == 0}
    options["offset"] = drawn["offset"]
    stages = rw.attention_stages(query, key, value, **options)
    arrays = [getattr(stages, name) for name in sorted(vars(stages))]
    arrays += rw.merge_attention([stages.output] * 2, [stages.lse, 2 * stages.lse])
    print(hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest(), sorted(options))
"""


def test_bits_do_not_depend_on_the_instruction_set(
    same_on_each_isa: Callable[[str, int], None],
) -> None:
    same_on_each_isa(ON_AN_ISA, 100)


ONE_QUERY = """
import hashlib
import ml_dtypes
import numpy as np
import ropewalk as rw

rng = np.random.default_rng(3)
for dtype in ["f8", "f4", "f2", ml_dtypes.bfloat16]:
    for dim in [*range(1, 18), 24, 33, 56, 64, 72, 100, 112, 128, 129]:
        for keys in [7, 16, 41, 300]:
            shapes = [(1, dim), (keys, dim), (keys, dim)]
            query, key, value = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
            output, lse = rw.attention_with_lse(query, key, value)
            rows = np.concatenate([value, key], axis=-1)[:, dim:]  # whose rows lie apart
            assert rw.attention(query, rows, value).tobytes() == output.tobytes()
            print(dim, keys, hashlib.sha256(output.tobytes() + lse.tobytes()).hexdigest())
"""


def test_bits_of_one_query_do_not_depend_on_the_instruction_set(
    same_on_each_isa: Callable[[str, int], None],
) -> None:
    same_on_each_isa(ONE_QUERY, 4 * 26 * 4)


# Other queries

# Logits beside 0 and values beside 0 whose mean lies so near the middle between two float32 that
# float64 rounds it to the one, float32 with what it leaves over to the other.
NEAR_THE_MIDDLE = [
    (-0.25, "0x1.432beap+0"),
    (-1.4375, "0x1.f885dep+0"),
    (-1.625, "0x1.7fcb4cp+0"),
    (-1.8125, "0x1.19e566p+0"),
    (-1.875, "0x1.5e2512p+0"),
    (-2.0, "0x1.8afd7ep+0"),
]


def two_of_300_keys(first: int, logit: float, value: str, width: int) -> list[NDArray[Any]]:
    query, key = np.ones((2, 20, 1), np.float32), np.zeros((1, 300, 1), np.float32)
    values = np.zeros((1, 300, width), np.float32)
    key[0, first + 1], values[0, first] = logit, float.fromhex(value)
    return [query, key, values]


@pytest.mark.parametrize("width", [1, 16, 20])
@pytest.mark.parametrize("first", [0, 130])
@pytest.mark.parametrize(("logit", "value"), NEAR_THE_MIDDLE)
def test_bits_do_not_depend_on_the_blocks_of_other_queries(
    logit: float, value: str, first: int, width: int
) -> None:
    query, key, values = two_of_300_keys(first, logit, value, width)
    window = (1, 0)  # query 1 of the first head sees both keys
    together = rw.attention(query, key, values, window=window, offset=[first, 279])
    alone = rw.attention(query[:1], key, values, window=window, offset=first)
    assert_same_bits(together[:1], alone)
    assert alone[0, 1].all()


@pytest.mark.parametrize("width", [1, 16, 20])
@pytest.mark.parametrize(("logit", "value"), NEAR_THE_MIDDLE)
def test_bits_do_not_depend_on_the_keys_of_the_rest_of_the_batch(
    logit: float, value: str, width: int
) -> None:
    query, key = np.ones((2, 16, 1, 1), np.float32), np.zeros((2, 1, 5000, 1), np.float32)
    values = np.zeros((2, 1, 5000, width), np.float32)
    key[0, 0, 1], values[0, 0, 0] = logit, float.fromhex(value)
    together = rw.attention(query, key, values, key_lengths=[2, 5000])
    alone = rw.attention(query[:1], key[:1], values[:1], key_lengths=2)
    assert_same_bits(together[:1], alone)
    assert alone.all()


@pytest.mark.parametrize("width", [1, 16, 20])
@pytest.mark.parametrize(("logit", "value"), NEAR_THE_MIDDLE)
def test_bits_do_not_depend_on_masked_values(logit: float, value: str, width: int) -> None:
    query, key, values = two_of_300_keys(0, logit, value, width)
    mask = np.arange(20) < 2
    expected = rw.attention(query, key[:, :20], values[:, :20], mask=mask)
    values[0, 5] = math.nan
    assert_same_bits(rw.attention(query, key[:, :20], values[:, :20], mask=mask), expected)


# Memory


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
@pytest.mark.parametrize("queries", [1, 16384])
def test_no_array_of_scores_is_ever_held(run_python: RunPython, queries: int) -> None:
    result = run_python(f"""
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
import ropewalk as rw

def most_kilobytes():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

x = np.random.default_rng(0).standard_normal((1, 16384, 64), np.float32)
query = x[:, :{queries}]
rw.attention(query[:, :100], x, x, causal=True, offset=0)
before = most_kilobytes()
rw.attention(query, x, x, causal=True, offset=16384 - {queries}, window=(16000, 0))
print(most_kilobytes() - before)
""")
    assert result.stderr == ""
    # The result takes 4 MiB, the scores of all queries would take 1 GiB.
    assert int(result.stdout) < 16 * 1024


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import ropewalk as rw

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
x = np.random.default_rng(0).standard_normal((60000, 64))
row, columns = np.broadcast_to(np.float32(1), (2**34,)), np.broadcast_to(np.float32(1), (2**31, 8))
data = np.zeros(2**26, np.float32)
sent = 0.0

def interrupt():
    global sent
    time.sleep(0.5)
    sent = time.process_time()
    os.kill(os.getpid(), signal.SIGINT)

rw.set_num_threads(1)
for _ in range(3):
    waited = float("inf")
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        CALL
    except KeyboardInterrupt:
        waited = time.process_time() - sent
    thread.join()
    print(waited)

small = x[:3, :2]
powers = np.exp(small @ small.T / np.sqrt(2))
expected = powers @ small / powers.sum(axis=1, keepdims=True)
print(np.abs(rw.attention(small, small, small) - expected).max())
"""


@pytest.mark.parametrize(
    ("call", "isa", "pieces"),
    [
        ("rw.attention(x, x, x)", None, 1),
        ("rw.logsumexp(row)", None, 1),
        ("rw.logsumexp(columns, axis=0)", None, 1),
        ("rw.softmax(data, out=data)", "scalar", 1),  # others are too fast
        ("rw.merge_attention(2 * [data[: 2**22, None]], np.zeros((2, 2**22)))", "scalar", 3),
    ],
)
def test_a_long_call_can_be_interrupted(
    call: str, isa: str | None, pieces: int, run_python: RunPython
) -> None:
    """Each piece of work looks for signals 50 ms after it has begun."""
    result = run_python(INTERRUPTED.replace("CALL", call), ROPEWALK_ISA=isa)
    assert result.stderr == ""
    *waited, error = map(float, result.stdout.split())
    assert len(waited) == 3
    assert max(waited) < math.inf
    assert min(waited) < 0.2 * pieces
    assert error < 1e-15
