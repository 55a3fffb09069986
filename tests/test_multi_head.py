"""Multi-head attention against its own steps, and the splitting and merging of heads."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, UNIT, assert_same_bits, dtypes, rows
from tests.refusals import exactly

import ropewalk as rw

FREQUENCIES = rw.frequencies.standard(4)
YARN: dict[str, Any] = {
    "head_dim": 4,
    "rope_theta": 10000.0,
    "max_position_embeddings": 4096,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
    "model_type": "llama",
}


def weights(
    features: int = 12,
    *,
    heads: int = 6,
    key_heads: int = 2,
    dim: int = 4,
    value_dim: int = 3,
    biases: bool = False,
    dtype: str = "float64",
) -> dict[str, Any]:
    """Return heads and projections."""
    shapes: dict[str, tuple[int, ...]] = {
        "query_weight": (features, heads * dim),
        "key_weight": (features, key_heads * dim),
        "value_weight": (features, key_heads * value_dim),
        "output_weight": (heads * value_dim, 5),
    }
    if biases:
        shapes |= {f"{name[:-7]}_bias": shape[1:] for name, shape in shapes.items()}
    arrays = {
        name: (rows(shape, seed=seed) / math.sqrt(features)).astype(DTYPES[dtype])
        for seed, (name, shape) in enumerate(shapes.items(), 10)
    }
    return {"heads": heads, **arrays}


def projected(x: NDArray[Any], given: dict[str, Any], name: str) -> NDArray[np.float64]:
    """Return x W + b, row by row, with correctly rounded sums."""
    weight = given[f"{name}_weight"].astype(np.float64)
    bias = given.get(f"{name}_bias", np.zeros(weight.shape[1])).astype(np.float64)
    result = np.zeros((*x.shape[:-1], weight.shape[1]))
    for at in np.ndindex(*result.shape):
        row = x[at[:-1]].astype(np.float64)
        result[at] = math.fsum([*(row * weight[:, at[-1]]).tolist(), bias[at[-1]]])
    return result


def heads_of(x: NDArray[np.float64], heads: int) -> NDArray[np.float64]:
    """Return head h from the features h dim to (h + 1) dim - 1."""
    dim = x.shape[-1] // heads
    parts = [x[..., head * dim : (head + 1) * dim] for head in range(heads)]
    return np.stack(parts, axis=-3)


def turned(
    x: NDArray[np.float64],
    positions: NDArray[Any],
    pairing: str = "interleaved",
    base: float = 10000.0,
    rotary_dim: int | None = None,
    inverse: bool = False,
) -> NDArray[np.float64]:
    """Return heads turned by the positions of their rows, (length,) or (batch, length).

    Features behind `rotary_dim` stay as they are; backwards they are turned by minus the positions.
    """
    width = rotary_dim or x.shape[-1]
    frequencies = reference.standard_frequencies(width, base)
    result = np.zeros(x.shape)
    for at in np.ndindex(*x.shape[:-1]):
        position = positions[at[-1]] if positions.ndim == 1 else positions[at[0], at[-1]]
        angles = reference.rotary_angles(float(-position if inverse else position), frequencies)
        row = reference.rotated(x[at][:width].tolist(), angles, pairing)
        result[at] = [*map(float, row), *x[at][width:].tolist()]
    return result


def step_by_step(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    given: dict[str, Any],
    *,
    positions: NDArray[Any] | None = None,
    key_positions: NDArray[Any] | None = None,
    rotary: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the result and the weights: project, split, turn, attend, merge, project.

    Vaswani et al., Attention Is All You Need, 2017, section 3.2.2; Su et al., RoFormer, 2021,
    equation 16.
    """
    dim = given["query_weight"].shape[1] // given["heads"]
    key_heads = given["key_weight"].shape[1] // dim
    q = heads_of(projected(query, given, "query"), given["heads"])
    k = heads_of(projected(key, given, "key"), key_heads)
    v = heads_of(projected(value, given, "value"), key_heads)
    if positions is not None:
        q = turned(q, positions, **rotary or {})
    if key_positions is not None:
        k = turned(k, key_positions, **rotary or {})
    # Heads are grouped where a batch stands before them.
    batched = [x[None] if x.ndim == 3 else x for x in (q, k, v)]
    stages = reference.attention_of_heads(*batched, **options)
    output, of_keys = stages.output, stages.weights
    if q.ndim == 3:
        output, of_keys = output[0], of_keys[0]
    merged = np.concatenate([output[..., head, :, :] for head in range(given["heads"])], axis=-1)
    if "output_weight" in given:
        merged = projected(merged, given, "output")
    return merged, of_keys


def tolerance(dtype: str) -> float:
    """Return what results may be off by.

    Four sums follow each other: projection, scores, values, projection. Each is of 18 products or
    fewer, whose sizes add up to about 3, and so off by 18 * 3 units; what came before it passes on
    no larger than it was. Half types compute in float32 and round once, results of at most 4.
    """
    return 4 * 18 * 3 * UNIT["float64" if dtype == "float64" else "float32"] + 4 * UNIT[dtype]


def check(
    x: NDArray[Any], others: tuple[NDArray[Any], ...], given: dict[str, Any], dtype: str,
    expected: tuple[NDArray[np.float64], NDArray[np.float64]], **options: Any,
) -> None:  # fmt: skip
    output = rw.multi_head_attention(x, *others, **given, **options)
    assert output.dtype == DTYPES[dtype]
    assert output.shape == expected[0].shape
    atol = tolerance(dtype)
    np.testing.assert_allclose(output.astype(float), expected[0], rtol=0, atol=atol)
    of_keys = {k: v for k, v in given.items() if k.split("_")[0] in {"heads", "query", "key"}}
    found = rw.multi_head_attention_weights(x, *others[:1], **of_keys, **options)
    assert found.dtype == DTYPES[dtype]
    assert found.shape == expected[1].shape
    np.testing.assert_allclose(found.astype(float), expected[1], rtol=0, atol=atol)


# Step by step


@pytest.mark.parametrize("biases", [False, True], ids=["", "biases"])
@pytest.mark.parametrize("key_heads", [1, 2, 6])
@pytest.mark.parametrize("batch", [(), (2,), (2, 1)], ids=str)
@dtypes
def test_self_attention(dtype: str, batch: tuple[int, ...], key_heads: int, biases: bool) -> None:
    x = rows((*batch, 7, 12), dtype)
    given = weights(key_heads=key_heads, biases=biases, dtype=dtype)
    check(x, (), given, dtype, step_by_step(x, x, x, given, causal=True), causal=True)


def test_without_an_output_weight_the_heads_are_merged() -> None:
    x, given = rows((2, 7, 12)), weights()
    del given["output_weight"]
    expected = step_by_step(x, x, x, given)
    assert expected[0].shape == (2, 7, 18)
    check(x, (), given, "float64", expected)


@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
@pytest.mark.parametrize("values", [False, True], ids=["", "values"])
def test_cross_attention(values: bool, batch: tuple[int, ...]) -> None:
    x, key = rows((*batch, 5, 12)), rows((*batch, 9, 12), seed=1)
    others = (key, rows((*batch, 9, 12), seed=2)) if values else (key,)
    given = weights(biases=True)
    expected = step_by_step(x, key, others[-1], given)
    check(x, others, given, "float64", expected)


def test_data_and_weights_may_have_widths_of_their_own() -> None:
    x, key, value = rows((2, 5, 12)), rows((2, 9, 8), seed=1), rows((2, 9, 6), seed=2)
    given = weights() | {"key_weight": rows((8, 8)), "value_weight": rows((6, 10), seed=3)}
    given["output_weight"] = rows((30, 5), seed=4)
    expected = step_by_step(x, key, value, given)
    output = rw.multi_head_attention(x, key, value, **given)
    np.testing.assert_allclose(output, expected[0], rtol=0, atol=1e-13)


def test_options_are_those_of_attention() -> None:
    x, given = rows((2, 7, 12)), weights()
    rng = np.random.default_rng(3)
    options: dict[str, Any] = {
        "window": (4, 2),
        "offset": np.array([0, 1]),
        "mask": rng.random((2, 1, 7, 7)) < 0.8,
        "bias": rng.standard_normal((6, 7, 7)),
        "slopes": rng.random(6),
        "key_lengths": np.array([7, 5]),
        "scale": 0.3,
        "softcap": 2.0,
        "sinks": rng.standard_normal(6),
    }
    check(x, (), given, "float64", step_by_step(x, x, x, given, **options), **options)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_precision_of_float64_is_rounded_once(dtype: str) -> None:
    x, given = rows((2, 7, 12), dtype), weights(biases=True, dtype=dtype)
    exact, _ = step_by_step(x, x, x, given)
    output = rw.multi_head_attention(x, **given, precision="float64")
    assert output.dtype == x.dtype
    error = np.abs(output.astype(float) - exact)
    assert (error <= UNIT[dtype] * np.abs(exact) + tolerance("float64")).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_weights_in_float64_are_those_of_float64_data_rounded(dtype: str) -> None:
    x, given = rows((2, 7, 12), dtype), weights(biases=True, dtype=dtype)
    asked = {name: given[name] for name in given if name.partition("_")[0] in {"query", "key"}}
    wide = {name: array.astype(np.float64) for name, array in asked.items()}
    exact = rw.multi_head_attention_weights(x.astype(np.float64), heads=given["heads"], **wide)
    found = rw.multi_head_attention_weights(x, heads=given["heads"], **asked, precision="float64")
    assert_same_bits(found, exact.astype(x.dtype))


@pytest.mark.parametrize(
    ("of_data", "of_weights", "result"),
    [
        ("float32", "float64", "float64"),
        ("float16", "float32", "float32"),
        ("float32", "float16", "float32"),
        ("i8", "float32", "float64"),
    ],
)
def test_types_of_data_and_weights_are_joined(of_data: str, of_weights: str, result: str) -> None:
    x = (3 * rows((5, 12))).astype(DTYPES.get(of_data, of_data))
    given = weights(dtype=of_weights)
    expected, _ = step_by_step(x, x, x, given)
    output = rw.multi_head_attention(x, **given)
    assert output.dtype == DTYPES[result]
    np.testing.assert_allclose(output, expected, rtol=0, atol=10 * tolerance(result))


# Rotation


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
@pytest.mark.parametrize(
    "positions",
    [None, range(3, 10), np.array([0, 5, 6, 9, 1, 2, 0]), np.arange(14).reshape(2, 7) * 2.5],
    ids=["none", "range", "ints", "a batch"],
)
@dtypes
def test_queries_and_keys_are_turned_by_their_positions(
    dtype: str, positions: Any, pairing: str
) -> None:
    x, given = rows((2, 7, 12), dtype), weights(dtype=dtype)
    where = np.array(range(7) if positions is None else positions)
    expected = step_by_step(
        x,
        x,
        x,
        given,
        positions=where,
        key_positions=where,
        rotary={"pairing": pairing},
        causal=True,
    )
    rotary = {"frequencies": FREQUENCIES, "pairing": pairing}
    check(x, (), given, dtype, expected, rotary=rotary, positions=positions, causal=True)
    if pairing == "interleaved":
        check(x, (), given, dtype, expected, rotary=FREQUENCIES, positions=positions, causal=True)


@pytest.mark.parametrize(
    "rotary",
    [
        {"base": 100.0},
        {"rotary_dim": 2},
        {"inverse": True},
        {"base": 50.0, "rotary_dim": 2, "pairing": "half", "inverse": True},
    ],
    ids=str,
)
@dtypes
def test_rotary_may_hold_any_options_of_rotate(dtype: str, rotary: dict[str, Any]) -> None:
    x, given, where = rows((2, 7, 12), dtype), weights(dtype=dtype), np.array([0, 5, 6, 9, 1, 2, 0])
    expected = step_by_step(
        x, x, x, given, positions=where, key_positions=where, rotary=rotary, causal=True
    )
    check(x, (), given, dtype, expected, rotary=rotary, positions=where, causal=True)


def test_values_of_others_may_come_without_keys() -> None:
    x, value, given = rows((2, 7, 12)), rows((2, 7, 12), seed=1), weights(biases=True)
    expected = step_by_step(x, x, value, given)
    output = rw.multi_head_attention(x, None, value, **given)
    np.testing.assert_allclose(output, expected[0], rtol=0, atol=tolerance("float64"))


def test_keys_of_others_have_positions_of_their_own() -> None:
    x, key, given = rows((2, 5, 12)), rows((2, 9, 12), seed=1), weights()
    where, key_where = np.arange(5) * 3, np.arange(18).reshape(2, 9)
    expected = step_by_step(x, key, key, given, positions=where, key_positions=key_where)
    places = {"positions": where, "key_positions": key_where}
    check(x, (key,), given, "float64", expected, rotary=FREQUENCIES, **places)
    # Without them, keys stand from 0 on, and queries from the offset on.
    expected = step_by_step(
        x,
        key,
        key,
        given,
        positions=np.arange(4, 9),
        key_positions=np.arange(9),
        offset=4,
        causal=True,
    )
    check(x, (key,), given, "float64", expected, rotary=FREQUENCIES, offset=4, causal=True)
    expected = step_by_step(x, key, key, given, positions=np.arange(5), key_positions=np.arange(9))
    check(x, (key,), given, "float64", expected, rotary=FREQUENCIES)


def test_keys_may_stand_elsewhere_in_self_attention_too() -> None:
    x, elsewhere = rows((7, 12)), range(100, 107)
    given = {**weights(), "rotary": FREQUENCIES, "key_positions": elsewhere}
    expected = rw.multi_head_attention(x, x, **given)
    assert_same_bits(rw.multi_head_attention(x, **given), expected)
    names = ("heads", "query_weight", "key_weight", "rotary", "key_positions")
    of_keys = {name: given[name] for name in names}
    weigh = rw.multi_head_attention_weights
    assert_same_bits(weigh(x, **of_keys), weigh(x, x, **of_keys))
    assert (
        np.abs(expected - rw.multi_head_attention(x, **weights(), rotary=FREQUENCIES)).max() > 0.1
    )


def test_an_offset_is_the_same_on_all_axes() -> None:
    x, unit = rows((3, 4)), np.eye(4)
    given: dict[str, Any] = {f"{name}_weight": unit for name in ("query", "key", "value")}
    given |= {"heads": 1, "rotary": rw.frequencies.axial(4)}
    continued = rw.multi_head_attention(x, x, **given, offset=4)
    places = np.stack([np.arange(4, 7)] * 2, axis=-1)
    assert_same_bits(continued, rw.multi_head_attention(x, x, **given, positions=places))


def test_the_type_of_the_output_weight_is_computed_with() -> None:
    x = rows((7, 12), "float32")
    given = weights(dtype="float32")
    given["output_weight"] = given["output_weight"].astype(np.float64)
    wide: dict[str, Any] = dict(given)
    for name in ("query_weight", "key_weight", "value_weight"):
        wide[name] = given[name].astype(np.float64)
    expected = rw.multi_head_attention(x.astype(np.float64), **wide)
    np.testing.assert_allclose(rw.multi_head_attention(x, **given), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rotary", [1e4, True, np.ones(2)], ids=repr)
def test_rotary_must_say_how_to_rotate(rotary: Any) -> None:
    message = "^rotary must be Frequencies, or the options of rotate, got "
    with pytest.raises(TypeError, match=message):
        rw.multi_head_attention(rows((7, 12)), **weights(), rotary=rotary)


def test_queries_of_a_batch_stand_from_their_offsets_on() -> None:
    x, key, given = rows((2, 5, 12)), rows((2, 9, 12), seed=1), weights()
    offset = np.array([4, -2])
    expected = step_by_step(
        x, key, key, given, positions=offset[:, None] + np.arange(5), key_positions=np.arange(9),
        offset=offset, causal=True,
    )  # fmt: skip
    check(x, (key,), given, "float64", expected, rotary=FREQUENCIES, offset=offset, causal=True)


def test_the_rotation_of_a_published_configuration() -> None:
    rotary = rw.rotary_from_config(YARN)
    x, given = rows((2, 7, 12)), weights()
    q, k, v = (
        rw.split_heads(x @ given[f"{name}_weight"], heads)
        for name, heads in (("query", 6), ("key", 2), ("value", 2))
    )
    q, k = rw.rotate(q, **rotary), rw.rotate(k, **rotary)
    expected = rw.merge_heads(rw.attention(q, k, v, causal=True)) @ given["output_weight"]
    output = rw.multi_head_attention(x, **given, rotary=rotary, causal=True)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-14)
    unturned = rw.multi_head_attention(x, **given, causal=True)
    assert np.abs(output - unturned).max() > 0.01


def test_rotated_scores_depend_on_the_distance_alone() -> None:
    x, given = rows((7, 12)), weights()
    here, there = (
        rw.multi_head_attention(x, **given, rotary=FREQUENCIES, positions=range(begin, begin + 7))
        for begin in (0, 10**6)
    )
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-14)


def test_positions_on_a_grid() -> None:
    frequencies = rw.frequencies.axial(4)
    x, given = rows((2, 6, 12)), weights()
    cells = rw.grid_positions((2, 3)).reshape(6, 2)
    output = rw.multi_head_attention(x, **given, rotary=frequencies, positions=cells)
    moved = rw.multi_head_attention(
        x, **given, rotary=frequencies, positions=np.stack([cells + 5, cells - 7])
    )
    np.testing.assert_allclose(moved, output, rtol=0, atol=1e-14)
    in_a_row = rw.multi_head_attention(x, **given, rotary=frequencies, positions=cells[:, ::-1])
    assert np.abs(in_a_row - output).max() > 1e-3


@pytest.mark.parametrize("chunk", [1, 2, 5])
@dtypes
def test_decoding_with_a_cache_gives_the_rows_of_the_whole(dtype: str, chunk: int) -> None:
    x, given = rows((2, 11, 12), dtype), weights(dtype=dtype)
    whole = rw.multi_head_attention(x, **given, rotary=FREQUENCIES, causal=True)
    keys = np.zeros((2, 2, 11, 4), DTYPES[dtype])
    values = np.zeros((2, 2, 11, 3), DTYPES[dtype])
    for begin in range(0, 11, chunk):
        part = slice(begin, min(begin + chunk, 11))
        places = range(part.start, part.stop)
        q, k, v = (
            rw.split_heads((x[:, part] @ given[f"{name}_weight"]).astype(DTYPES[dtype]), heads)
            for name, heads in (("query", 6), ("key", 2), ("value", 2))
        )
        keys[..., part, :] = rw.rotate(k, places, frequencies=FREQUENCIES)
        values[..., part, :] = v
        q = rw.rotate(q, places, frequencies=FREQUENCIES)
        heads = rw.attention(q, keys, values, causal=True, offset=begin, key_lengths=part.stop)
        output = rw.merge_heads(heads).astype(float) @ given["output_weight"].astype(float)
        # A cache of half types holds rounded keys and values.
        atol = tolerance(dtype) + (20 * UNIT[dtype] if dtype.endswith("16") else 0)
        np.testing.assert_allclose(output, whole[:, part].astype(float), rtol=0, atol=atol)


# Heads


@dtypes
@pytest.mark.parametrize("shape", [(5, 12), (2, 5, 12), (2, 0, 3, 12), (2, 0, 12)], ids=str)
@pytest.mark.parametrize("heads", [1, 3, 12])
def test_heads_are_split_and_merged(heads: int, shape: tuple[int, ...], dtype: str) -> None:
    x = rows(shape, dtype)
    split = rw.split_heads(x, heads)
    assert_same_bits(split, heads_of(x, heads))
    assert split.flags.c_contiguous
    assert split.flags.owndata
    assert split.flags.writeable
    merged = rw.merge_heads(split)
    assert_same_bits(merged, x)
    assert not np.shares_memory(merged, split)
    assert not np.shares_memory(split, x)


def test_heads_of_any_layout_are_merged() -> None:
    x = rows((2, 3, 5, 4))
    expected = rw.merge_heads(x)
    for lying in (np.asfortranarray(x), x[:, :, ::-1].copy()[:, :, ::-1], x.tolist()):
        assert_same_bits(rw.merge_heads(lying), expected)
    assert_same_bits(rw.split_heads(np.arange(4)[None], 2), np.array([[[0.0, 1.0]], [[2.0, 3.0]]]))


def test_nothing_that_is_given_is_changed() -> None:
    x, given = rows((2, 7, 12)), weights(biases=True)
    arrays = [x, *(value for value in given.values() if isinstance(value, np.ndarray))]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    output = rw.multi_head_attention(x, **given, rotary=FREQUENCIES, causal=True)
    for array, copied in zip(arrays, copies, strict=True):
        assert_same_bits(array, copied)
    assert output.flags.c_contiguous
    assert output.flags.writeable


@pytest.mark.parametrize("shape", [(0, 12), (0, 7, 12), (2, 0, 12)], ids=str)
def test_nothing_is_attended_to(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    given = weights(dtype="float32")
    output = rw.multi_head_attention(x, **given, rotary=FREQUENCIES, causal=True)
    assert output.shape == (*shape[:-1], 5)
    assert output.dtype == np.float32
    of_keys = {name: given[name] for name in ("heads", "query_weight", "key_weight")}
    found = rw.multi_head_attention_weights(x, **of_keys)
    assert found.shape == (*shape[:-2], 6, shape[-2], shape[-2])


# What is refused

BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "rows of the query weight": (
        {"query_weight": np.ones((11, 24))}, ValueError,
        "query_weight must have shape (12, columns), a row for each feature, got shape (11, 24)",
    ),
    "a flat weight": (
        {"value_weight": np.ones(12)}, ValueError,
        "value_weight must have shape (12, columns), a row for each feature, got shape (12,)",
    ),
    "rows of the output weight": (
        {"output_weight": np.ones((17, 5))}, ValueError,
        "output_weight must have shape (18, columns), a row for each feature, got shape (17, 5)",
    ),
    "columns that heads do not divide": (
        {"query_weight": np.ones((12, 25))}, ValueError,
        "query_weight must have 1 or more columns that heads=6 divides, got 25",
    ),
    "keys of another width": (
        {"key_weight": np.ones((12, 9))}, ValueError,
        "key_weight must have columns of heads as wide as those of query, 4, and as many heads as "
        "divide 6, got 9 columns",
    ),
    "key heads that do not divide the heads": (
        {"key_weight": np.ones((12, 16))}, ValueError,
        "key_weight must have columns of heads as wide as those of query, 4, and as many heads as "
        "divide 6, got 16 columns",
    ),
    "no key heads": (
        {"key_weight": np.ones((12, 0))}, ValueError,
        "key_weight must have columns of heads as wide as those of query, 4, and as many heads as "
        "divide 6, got 0 columns",
    ),
    "values of other heads": (
        {"value_weight": np.ones((12, 7))}, ValueError,
        "value_weight must have 1 or more columns that the number of heads of key (2) divides, "
        "got 7",
    ),
    "a bias of another length": (
        {"key_bias": np.ones(7)}, ValueError,
        "key_bias must have shape (8,), a number for each column of key_weight, got shape (7,)",
    ),
    "a bias without its weight": (
        {"output_weight": None, "output_bias": np.ones(18)}, ValueError,
        "output_bias needs an output_weight, got None",
    ),
    "complex weights": (
        {"query_weight": np.ones((12, 24), complex)}, TypeError,
        "query_weight must be integers, float64, float32, float16 or bfloat16, got dtype "
        "complex128",
    ),
    "no heads": (
        {"heads": 0}, ValueError, "heads must be an integer from 1 to 1048576, got 0",
    ),
    "a fraction of heads": ({"heads": 6.0}, TypeError, "heads must be an integer, got 6.0"),
    "positions without rotary": (
        {"positions": range(7)}, ValueError,
        "positions need rotary, which says how they turn queries and keys, got None",
    ),
    "key positions without rotary": (
        {"key_positions": range(7)}, ValueError,
        "key_positions need rotary, which says how they turn queries and keys, got None",
    ),
    "a result for rotary": (
        {"rotary": {"frequencies": FREQUENCIES, "out": np.ones((6, 7, 4))}}, TypeError,
        "rotary must hold options of rotate, base, frequencies, pairing, rotary_dim, inverse, got "
        "'out'",
    ),
    "positions for rotary": (
        {"rotary": {"positions": range(7)}}, TypeError,
        "rotary must hold options of rotate, base, frequencies, pairing, rotary_dim, inverse, got "
        "'positions'",
    ),
    "a number for a name of rotary": (
        {"rotary": {1: 2}}, TypeError,
        "rotary must hold options of rotate, base, frequencies, pairing, rotary_dim, inverse, got "
        "1",
    ),
    "key positions that do not fit": (
        {"rotary": FREQUENCIES, "key_positions": [0, 1]}, ValueError,
        "key_positions must have no axis, one as long as axis -2 of key, or as many as key before "
        "its last one, each as long or 1, for key of shape (2, 7, 12); got shape (2,); for axis 0 "
        "of key write key_positions[:, None]",
    ),
    "a range of key positions that does not fit": (
        {"rotary": FREQUENCIES, "key_positions": range(3)}, ValueError,
        "key_positions must have no axis, one as long as axis -2 of key, or as many as key before "
        "its last one, each as long or 1, for key of shape (2, 7, 12); got shape (3,)",
    ),
    "an offset that is too large": (
        {"rotary": FREQUENCIES, "causal": True, "offset": 2**53}, ValueError,
        "offset must leave the last query a position of at most 2**53, got 9007199254740998 for it",
    ),
    "key positions that are no numbers": (
        {"rotary": FREQUENCIES, "key_positions": [math.nan] * 7}, ValueError,
        "key_positions must be finite and at most 2**53 in size, got nan",
    ),
    "offsets that do not fit": (
        {"rotary": FREQUENCIES, "causal": True, "offset": [0, 1, 2]}, ValueError,
        "offset must broadcast to the leading axes of the query, (2,), got shape (3,)",
    ),
    "a mask of numbers": (
        {"mask": np.ones((7, 7))}, TypeError,
        "mask must be boolean, True where a query sees a key, got dtype float64; what is added to "
        "the scores is bias",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused(case: str) -> None:
    changed, error, message = BAD[case]
    with pytest.raises(error, match=exactly(message)):
        rw.multi_head_attention(rows((2, 7, 12)), **(weights() | changed))


@pytest.mark.parametrize("shape", [(12,), ()], ids=str)
def test_data_must_have_rows(shape: tuple[int, ...]) -> None:
    x, given = np.ones(shape), weights()
    with pytest.raises(ValueError, match=r"^query must have (shape|at least one dimension)"):
        rw.multi_head_attention(x, **given)
    with pytest.raises(ValueError, match=r"^key must have (shape|at least one dimension)"):
        rw.multi_head_attention(rows((7, 12)), x, **given)
    with pytest.raises(ValueError, match=r"^x must have (shape|at least one dimension)"):
        rw.split_heads(x, 1)
    with pytest.raises(ValueError, match=r"^x must have (shape|at least one dimension)"):
        rw.merge_heads(x)


def test_heads_must_divide_the_features() -> None:
    message = "x must have 1 or more columns that heads=5 divides, got 12"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.split_heads(np.ones((7, 12)), 5)
    with pytest.raises(ValueError, match=r"^x must have 1 or more .* heads=2 divides, got 0$"):
        rw.split_heads(np.ones((7, 0)), 2)


@pytest.mark.parametrize(
    "rotary", [rw.frequencies.standard(6), {"frequencies": rw.frequencies.standard(6)}]
)
def test_frequencies_must_be_as_wide_as_a_head(rotary: Any) -> None:
    message = (
        "rotary must have 2 pairs to turn 4 features of each head, got 3; rotary_dim says how many "
        "of them are turned"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        rw.multi_head_attention(rows((7, 12)), **weights(), rotary=rotary)


def test_heads_of_an_odd_width_have_no_pairs() -> None:
    names = ("query_weight", "key_weight", "value_weight")
    given: dict[str, Any] = dict.fromkeys(names, np.eye(14))
    with pytest.raises(ValueError, match=r"^each head must have an even number of .*, got 7; "):
        rw.multi_head_attention(rows((5, 14)), heads=2, rotary={}, **given)
    with pytest.raises(ValueError, match=r"^rotary_dim .* 7 features of each head, got 8$"):
        rw.multi_head_attention(rows((5, 14)), heads=2, rotary={"rotary_dim": 8}, **given)


def test_an_offset_of_one_batch_is_taken_with_rotation_as_without() -> None:
    x, given = rows((7, 12)), weights()
    for rotary in (None, FREQUENCIES):
        expected = rw.multi_head_attention(x, **given, rotary=rotary, causal=True, offset=2)
        found = rw.multi_head_attention(x, **given, rotary=rotary, causal=True, offset=[2])
        assert_same_bits(found, expected)
    batch = rows((2, 3, 7, 12))
    for offset in ([1, 2, 3], [[1, 2, 3]], [[1], [2]]):
        found = rw.multi_head_attention(
            batch, **given, rotary=FREQUENCIES, causal=True, offset=offset
        )
        each = np.broadcast_to(offset, (2, 3))
        for i, j in np.ndindex(2, 3):
            expected = rw.multi_head_attention(
                batch[i, j], **given, rotary=FREQUENCIES, causal=True, offset=int(each[i, j])
            )
            np.testing.assert_allclose(found[i, j], expected, rtol=0, atol=1e-12)


def test_positions_must_fit_the_data() -> None:
    with pytest.raises(ValueError, match=r"^positions must"):
        rw.multi_head_attention(
            rows((2, 7, 12)), **weights(), rotary=FREQUENCIES, positions=np.arange(8)
        )


@pytest.mark.parametrize("name", ["is_causal", "out"])
def test_unknown_options_are_refused(name: str) -> None:
    options: dict[str, Any] = {name: None}
    with pytest.raises(TypeError, match=name):
        rw.multi_head_attention(rows((7, 12)), **weights(), **options)


def test_heads_are_axis_3_from_the_end() -> None:
    with pytest.raises(ValueError, match=r"^x must have shape"):
        rw.merge_heads(np.ones((2, 4)))


def test_positions_of_queries_are_none_of_other_keys() -> None:
    x, y, unit = rows((3, 8)), rows((3, 8), seed=1), np.eye(8)
    options: dict[str, Any] = {"heads": 2, "query_weight": unit, "key_weight": unit}
    options |= {"rotary": rw.frequencies.standard(4), "positions": [5, 6, 7]}
    expected = rw.multi_head_attention_weights(x, y, key_positions=range(3), **options)
    assert_same_bits(rw.multi_head_attention_weights(x, y, **options), expected)


def test_results_beyond_the_largest_number_warn_of_nothing() -> None:
    x, unit = np.full((2, 4), 1e36, np.float32), np.eye(4, dtype=np.float32)
    with np.errstate(all="raise"):
        found = rw.multi_head_attention(
            x,
            heads=2,
            query_weight=0 * unit,
            key_weight=0 * unit,
            value_weight=unit,
            output_weight=unit,
            output_bias=np.full(4, np.finfo(np.float32).max),
        )
    assert np.isinf(found).all()
