"""Attention: the same bits wherever it is computed, and whatever is computed beside it."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.data import assert_same_bits, by_threads, dtypes, rows

import ropewalk as rw

TILE = 48  # queries that are computed together


def data(dtype: str, *, queries: int = 100, keys: int = 300) -> list[NDArray[Any]]:
    """Return queries, keys and values of a batch of grouped heads."""
    shapes = [(3, 4, queries, 20), (3, 2, keys, 20), (3, 2, keys, 18)]
    return [rows(shape, dtype, seed) for seed, shape in enumerate(shapes)]


def options(queries: int = 100, keys: int = 300) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(0)
    blocks = np.arange(queries)[:, None] // TILE + np.arange(keys) // 128
    return {
        "plain": {},
        "causal": {"causal": True, "offset": keys - queries},
        "a window": {"window": (70, 40), "offset": 33},
        "a mask that hides blocks": {"mask": np.tile(blocks % 2 == 0, (3, 1, 1, 1))},
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
    ("queries", "keys"), [(100, 300), (3, 1000), (1, 5000), (2, 5000), (4, 5000)]
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
        attend = partial(rw.attention_with_lse, *arguments, **given)
        weigh = partial(rw.attention_weights, *arguments[:2], **given)
        results = (*by_threads(threads, attend), by_threads(threads, weigh))
        for bits, result in zip(found, results, strict=True):
            bits.add(result.tobytes())
    assert [len(bits) for bits in found] == [1, 1, 1]


@cases
@pytest.mark.parametrize("strided", [False, True], ids=["", "strided"])
def test_tiles_that_meet_many_keys_together_have_the_bits_of_single_ones(
    case: str, strided: bool
) -> None:
    queries, keys = 210, 7500  # 9 tiles of the 420 queries that share 285,000 elements
    arguments = data("float32", queries=queries, keys=keys)
    if strided:
        arguments = [np.moveaxis(np.moveaxis(x, 1, 2).copy(), 2, 1) for x in arguments]
    given = options(queries, keys)[case]
    with rw.num_threads(1):
        together = rw.attention(*arguments, **given)
    with rw.num_threads(64):  # which get a tile each
        single = rw.attention(*arguments, **given)
    assert_same_bits(together, single)
    if case == "causal":
        row = [x[:, :, 77:78] if i == 0 else x for i, x in enumerate(arguments)]
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
    if case == "all":
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
