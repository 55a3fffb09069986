"""Bad input to attention gives a clear error, and nothing has been written by then."""

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from tests.refusals import exactly

import ropewalk as rw
from ropewalk import _arrays, _core

NAN, INF = float("nan"), float("inf")
# A batch of 2, 6 query heads on 3 key heads.
QUERY, KEY, VALUE = np.ones((2, 6, 5, 4)), np.ones((2, 3, 7, 4)), np.ones((2, 3, 7, 8))

# All that take the options of attention: (query, key, value, **options).
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "attention": rw.attention,
    "attention_with_lse": rw.attention_with_lse,
    "attention_stages": rw.attention_stages,
    "attention_weights": lambda query, key, _, **options: rw.attention_weights(
        query, key, **options
    ),
}
functions = pytest.mark.parametrize("function", FUNCTIONS)


# Data

NO_DATA: dict[str, tuple[Any, str]] = {
    "complex": (np.ones((7, 4), complex), "complex128"),
    "objects": (np.ones((7, 4), object), "object"),
    "texts": ([["1", "2"]], "<U1"),
    "truths": (np.ones((7, 4), bool), "bool"),
    "dates": (np.zeros((7, 4), "M8[D]"), "datetime64[D]"),
    "long double": (np.zeros((7, 4), np.longdouble), np.dtype(np.longdouble).name),
    "8-bit floats": (np.zeros((7, 4), ml_dtypes.float8_e5m2), "float8_e5m2"),
}


@pytest.mark.parametrize("case", NO_DATA)
@functions
def test_all_data_must_be_numbers(function: str, case: str) -> None:
    x, found = NO_DATA[case]
    message = f"query must be integers, float64, float32, float16 or bfloat16, got dtype {found}"
    with pytest.raises(TypeError, match=exactly(message)):
        FUNCTIONS[function](x, x, x)


@pytest.mark.parametrize("case", NO_DATA)
@pytest.mark.parametrize(
    ("function", "place"),
    [
        (function, place)
        for function in FUNCTIONS
        for place in ("query", "key", "value")
        if (function, place) != ("attention_weights", "value")
    ],
)
def test_data_must_be_numbers(function: str, place: str, case: str) -> None:
    x, found = NO_DATA[case]
    data = {"query": QUERY, "key": KEY, "value": VALUE} | {place: x}
    message = f"{place} must be integers, float64, float32, float16 or bfloat16, got dtype {found}"
    with pytest.raises(TypeError, match=exactly(message)):
        FUNCTIONS[function](*data.values())


@pytest.mark.parametrize("x", [None, {1.0}], ids=repr)
@functions
def test_data_must_be_arrays(function: str, x: Any) -> None:
    with pytest.raises(TypeError, match=exactly(f"key must be an array of numbers, got {x!r}")):
        FUNCTIONS[function](QUERY, x, VALUE)


@pytest.mark.parametrize("x", [3, 2.5, [1.0, 2.0], []], ids=repr)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_data_must_have_rows(place: int, x: Any) -> None:
    data: list[Any] = [QUERY, KEY, VALUE]
    data[place] = x
    name = ["query", "key", "value"][place]
    with pytest.raises(ValueError, match=rf"^{name} must have (shape|at least one dimension)"):
        rw.attention(*data)


def test_ragged_data_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^key must be an array of numbers: "):
        rw.attention(QUERY, [[1.0, 2.0], [3.0]], VALUE)


MISMATCHES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], str]] = {
    "features": (
        (5, 4), (7, 3), (7, 2),
        "key must have the 4 features of query, got 3 (shapes (5, 4) and (7, 3))",
    ),
    "no features": (
        (5, 0), (7, 0), (7, 2),
        "query must have one feature or more, got shape (5, 0)",
    ),
    "lengths": (
        (5, 4), (7, 4), (6, 2),
        "value must have the 7 rows of key, got 6 (shapes (7, 4) and (6, 2))",
    ),
    "batches": (
        (2, 5, 4), (3, 7, 4), (3, 7, 2),
        "the leading axes of query, key, value must broadcast, got shapes "
        "(2, 5, 4), (3, 7, 4), (3, 7, 2)",
    ),
    "batches of values": (
        (2, 1, 5, 4), (2, 1, 7, 4), (3, 1, 7, 2),
        "the leading axes of query, key, value must broadcast, got shapes "
        "(2, 1, 5, 4), (2, 1, 7, 4), (3, 1, 7, 2)",
    ),
    "heads of keys": (
        (2, 6, 5, 4), (2, 4, 7, 4), (2, 4, 7, 2),
        "key must have heads (axis -3) that divide the 6 of query, got 4",
    ),
    "more heads of keys": (
        (2, 3, 5, 4), (2, 6, 7, 4), (2, 6, 7, 2),
        "key must have heads (axis -3) that divide the 3 of query, got 6",
    ),
    "no heads of keys": (
        (2, 6, 5, 4), (2, 0, 7, 4), (2, 0, 7, 2),
        "key must have heads (axis -3) that divide the 6 of query, got 0",
    ),
    "heads of values": (
        (2, 6, 5, 4), (2, 3, 7, 4), (2, 5, 7, 2),
        "value must have heads (axis -3) that divide the 6 of query, got 5",
    ),
    "grouped heads in three dimensions": (
        (6, 5, 4), (3, 7, 4), (3, 7, 2),
        "the leading axes of query, key, value must broadcast, got shapes "
        "(6, 5, 4), (3, 7, 4), (3, 7, 2); heads that share keys need a batch axis before them, as "
        "query[None]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISMATCHES)
def test_shapes_must_fit_each_other(case: str) -> None:
    *shapes, message = MISMATCHES[case]
    with pytest.raises(ValueError, match=exactly(message)):
        rw.attention(*map(np.ones, shapes))


def test_shapes_of_queries_and_keys_alone_must_fit_too() -> None:
    message = "the leading axes of query, key must broadcast, got shapes (2, 5, 4), (3, 7, 4)"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.attention_weights(np.ones((2, 5, 4)), np.ones((3, 7, 4)))


# Options

BAD_OPTIONS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "causal of another kind": (
        {"causal": 1, "offset": 0}, TypeError, "causal must be True or False, got 1",
    ),
    "a mask of numbers": (
        {"mask": np.ones((5, 7))}, TypeError,
        "mask must be boolean, True where a query sees a key, got dtype float64; what is added to "
        "the scores is bias",
    ),
    "a mask of integers": (
        {"mask": np.ones((5, 7), int)}, TypeError,
        "mask must be boolean, True where a query sees a key, got dtype int64; what is added to "
        "the scores is bias",
    ),
    "a mask of another shape": (
        {"mask": np.ones((5, 6), bool)}, ValueError,
        "mask must broadcast to (..., query length, key length), (2, 6, 5, 7), got shape (5, 6)",
    ),
    "a mask of key heads": (
        {"mask": np.ones((2, 3, 5, 7), bool)}, ValueError,
        "mask must broadcast to (..., query length, key length), (2, 6, 5, 7), got shape "
        "(2, 3, 5, 7)",
    ),
    "a mask with more axes": (
        {"mask": np.ones((1, 2, 6, 5, 7), bool)}, ValueError,
        "mask must broadcast to (..., query length, key length), (2, 6, 5, 7), got shape "
        "(1, 2, 6, 5, 7)",
    ),
    "a mask of a batch": (
        {"mask": np.ones((2, 5, 7), bool)}, ValueError,
        "mask must broadcast to (..., query length, key length), (2, 6, 5, 7), got shape (2, 5, 7)",
    ),
    "a boolean bias": (
        {"bias": np.ones((5, 7), bool)}, TypeError,
        "bias must be real numbers, got dtype bool; what says which keys a query sees is mask",
    ),
    "a complex bias": (
        {"bias": np.ones((5, 7), complex)}, TypeError,
        "bias must be real numbers, got dtype complex128",
    ),
    "a bias of another shape": (
        {"bias": np.ones((4, 7))}, ValueError,
        "bias must broadcast to (..., query length, key length), (2, 6, 5, 7), got shape (4, 7)",
    ),
    "a window of one": (
        {"window": 3, "offset": 0}, TypeError, "window must be a pair (left, right), got 3",
    ),
    "a window of letters": (
        {"window": "ab", "offset": 0}, TypeError, "window must be a pair (left, right), got 'ab'",
    ),
    "a window of three": (
        {"window": (1, 2, 3), "offset": 0}, ValueError,
        "window must be a pair (left, right), got (1, 2, 3)",
    ),
    "a negative window": (
        {"window": (-1, 2), "offset": 0}, ValueError,
        "window must be a pair of distances, 0 or more, or None, got (-1, 2)",
    ),
    "a window of fractions": (
        {"window": (None, 1.5), "offset": 0}, TypeError,
        "each side of window must be an integer, got 1.5",
    ),
    "negative key lengths": (
        {"key_lengths": [3, -1]}, ValueError,
        "key_lengths must be integers from 0 to 7, got -1",
    ),
    "key lengths above the keys": (
        {"key_lengths": 8}, ValueError, "key_lengths must be integers from 0 to 7, got 8",
    ),
    "an array of key lengths above the keys": (
        {"key_lengths": np.array([3, 8])}, ValueError,
        "key_lengths must be integers from 0 to 7, got 8",
    ),
    "an array of negative key lengths": (
        {"key_lengths": np.array([3, -1])}, ValueError,
        "key_lengths must be integers from 0 to 7, got -1",
    ),
    "enormous key lengths": (
        {"key_lengths": np.array([3, 2**64 - 1], np.uint64)}, ValueError,
        "key_lengths must be integers from 0 to 7, got 18446744073709551615",
    ),
    "key lengths of another batch": (
        {"key_lengths": [1, 2, 3]}, ValueError,
        "key_lengths must broadcast to the leading axes before the heads, (2,), got shape (3,)",
    ),
    "key lengths of heads": (
        {"key_lengths": np.ones((2, 6), int)}, ValueError,
        "key_lengths must broadcast to the leading axes before the heads, (2,), got shape (2, 6)",
    ),
    "key lengths of fractions": (
        {"key_lengths": 3.0}, TypeError, "key_lengths must be integers, got dtype float64",
    ),
    "an offset of a fraction": (
        {"offset": 0.5}, TypeError, "offset must be integers, got dtype float64",
    ),
    "an offset of another batch": (
        {"offset": [0, 1, 2]}, ValueError,
        "offset must broadcast to the leading axes before the heads, (2,), got shape (3,)",
    ),
    "an enormous offset": (
        {"offset": 2**53 + 1}, ValueError,
        f"offset must be integers from {-(2**53)} to {2**53}, got {2**53 + 1}",
    ),
    "an array of enormous offsets": (
        {"offset": np.array([0, -(2**53) - 1])}, ValueError,
        f"offset must be integers from {-(2**53)} to {2**53}, got {-(2**53) - 1}",
    ),
    "a scale of NaN": ({"scale": NAN}, ValueError, "scale must be finite, got nan"),
    "an infinite scale": ({"scale": INF}, ValueError, "scale must be finite, got inf"),
    "a scale of text": ({"scale": "1"}, TypeError, "scale must be a real number, got '1'"),
    "a scale of many": (
        {"scale": [1.0]}, TypeError, "scale must be a real number, got [1.0]",
    ),
    "a softcap of text": ({"softcap": "1"}, TypeError, "softcap must be a real number, got '1'"),
    "an infinite softcap": ({"softcap": INF}, ValueError, "softcap must be finite, got inf"),
    "a softcap of NaN": ({"softcap": NAN}, ValueError, "softcap must be finite, got nan"),
    "sinks of another shape": (
        {"sinks": np.ones(3)}, ValueError,
        "sinks must broadcast to the leading axes, (2, 6), got shape (3,)",
    ),
    "sinks of NaN": (
        {"sinks": NAN}, ValueError, "sinks must be -inf or finite in float64, got nan",
    ),
    "infinite sinks": (
        {"sinks": np.array([1, INF, 1, 1, 1, -INF])}, ValueError,
        "sinks must be -inf or finite in float64, got inf",
    ),
    "sinks of text": ({"sinks": "1"}, TypeError, "sinks must be real numbers, got dtype <U1"),
    "slopes of another shape": (
        {"slopes": np.ones((6, 1)), "offset": 0}, ValueError,
        "slopes must broadcast to the leading axes, (2, 6), got shape (6, 1)",
    ),
    "slopes of NaN": (
        {"slopes": np.full(6, NAN), "offset": 0}, ValueError,
        "slopes must be finite in float64, got nan",
    ),
    "infinite slopes": (
        {"slopes": np.full((2, 1), -INF), "offset": 0}, ValueError,
        "slopes must be finite in float64, got -inf",
    ),
    "slopes of objects": (
        {"slopes": np.array([None] * 6), "offset": 0}, TypeError,
        "slopes must be real numbers, got dtype object",
    ),
    "sinks of objects": (
        {"sinks": np.array([None] * 6)}, TypeError, "sinks must be real numbers, got dtype object",
    ),
    "an unknown precision": (
        {"precision": "float32"}, ValueError,
        "precision must be one of 'float64', 'bfloat16', 'bfloat16x3', got 'float32'",
    ),
    "a precision of another kind": (
        {"precision": np.float64}, ValueError,
        "precision must be one of 'float64', 'bfloat16', 'bfloat16x3', got <class 'numpy.float64'>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_OPTIONS)
@functions
def test_options_must_be_right(function: str, case: str) -> None:
    options, error, message = BAD_OPTIONS[case]
    with pytest.raises(error, match=exactly(message)):
        FUNCTIONS[function](QUERY, KEY, VALUE, **options)


@pytest.mark.parametrize("leading", [(2, 3), (2, 2, 3), (2, 5, 2, 3)], ids=str)
def test_a_mask_of_keys_for_each_sequence_is_told_how_to_fit(leading: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal((*leading, 7, 4))
    lengths = np.array([2, 6])
    mask = np.arange(7) < lengths[:, None]
    with pytest.raises(ValueError, match="of keys for each sequence of a batch: mask") as refusal:
        rw.attention(x, x, x, mask=mask)
    found = re.search(r"mask(\[[:, None]+\])", str(refusal.value))
    assert found
    fitting = eval(found[0], {"mask": mask})
    of_sequences = lengths.reshape(2, *[1] * (len(leading) - 2))
    expected = rw.attention(x, x, x, key_lengths=of_sequences)
    np.testing.assert_array_equal(rw.attention(x, x, x, mask=fitting), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_bias_that_was_broadcast_must_still_fit(dtype: type) -> None:
    x = np.ones((4, 2), np.float32)
    for shape in [(7, 7), (4, 7), (3, 4, 4)]:
        message = exactly(
            f"bias must broadcast to (..., query length, key length), (4, 4), got shape {shape}"
        )
        for first in ([2.0], [[2.0]] * shape[-2]):
            bias: NDArray[Any] = np.broadcast_to(np.array(first, dtype), shape)
            with pytest.raises(ValueError, match=message):
                rw.attention(x, x, x, bias=bias)
            with pytest.raises(ValueError, match=message):
                rw.attention(x, x, x, bias=bias, precision="float64")


@pytest.mark.parametrize("softcap", [0, 0.0, -1.0, 1e-320], ids=repr)
@functions
def test_softcap_must_be_positive(function: str, softcap: float) -> None:
    with pytest.raises(ValueError, match=rf"^softcap must be positive .*, got {softcap!r}$"):
        FUNCTIONS[function](QUERY, KEY, VALUE, softcap=softcap)


@pytest.mark.parametrize("name", ["scale", "softcap"])
def test_numbers_must_be_finite_in_the_type_that_computes(name: str) -> None:
    data = [x.astype(np.float32) for x in (QUERY, KEY, VALUE)]
    options: dict[str, Any] = {name: 1e300}
    message = f"{name} must be finite in float32, got 1e+300"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.attention(*data, **options)
    rw.attention(*data, precision="float64", **options)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"causal": True}, "causal"),
        ({"window": (3, 0)}, "window"),
        ({"slopes": [0.5] * 6}, "slopes"),
    ],
)
@pytest.mark.parametrize("queries", [5, 9])
@functions
def test_unequal_lengths_need_an_offset(
    function: str, queries: int, options: dict[str, Any], name: str
) -> None:
    message = (
        f"{name} needs offset where {queries} queries meet 7 keys: offset=0 aligns the first query "
        f"with the first key (upper left), offset={7 - queries} the last with the last (lower "
        "right)"
    )
    query = np.ones((2, 6, queries, 4))
    with pytest.raises(ValueError, match=exactly(message)):
        FUNCTIONS[function](query, KEY, VALUE, **options)
    FUNCTIONS[function](query, KEY, VALUE, offset=7 - queries, **options)


def test_options_have_names() -> None:
    with pytest.raises(TypeError, match="positional arguments"):
        rw.attention(QUERY, KEY, VALUE, True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="is_causal"):
        rw.attention(QUERY, KEY, VALUE, is_causal=True)  # type: ignore[call-arg]


# out

BAD_OUTS: dict[str, tuple[Any, type[Exception], str]] = {
    "a list": ([[0.0]], TypeError, "out must be a NumPy array, got list"),
    "another shape": (
        np.empty((2, 6, 5, 7)), ValueError, "out must have shape (2, 6, 5, 8), got (2, 6, 5, 7)",
    ),
    "another dtype": (
        np.empty((2, 6, 5, 8), np.float32), ValueError, "out must have dtype float64, got float32",
    ),
    "another byte order": (
        np.empty((2, 6, 5, 8), ">f8"), ValueError, "out must have dtype float64, got >f8",
    ),
    "read-only": (
        np.broadcast_to(0.0, (2, 6, 5, 8)), ValueError,
        "out must be writable, got a read-only array",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_OUTS)
@pytest.mark.parametrize("function", [rw.attention, rw.attention_with_lse])
def test_out_must_fit(function: Callable[..., Any], case: str) -> None:
    out, error, message = BAD_OUTS[case]
    with pytest.raises(error, match=exactly(message)):
        function(QUERY, KEY, VALUE, out=out)


OVERLAPS = ["query", "key", "value", "bias", "sinks"]


@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize("function", [rw.attention, rw.attention_with_lse])
def test_out_must_not_overlap_an_argument(function: Callable[..., Any], name: str) -> None:
    arguments: dict[str, Any] = {
        "query": np.ones((4, 4)), "key": np.ones((4, 4)), "value": np.ones((4, 4)),
        "bias": np.ones((4, 4)), "sinks": np.ones(()),
    }  # fmt: skip
    out = np.full((4, 4), 7.0)
    arguments[name] = out.T if arguments[name].ndim else out[2, 2:3].reshape(())
    query, key, value, bias, sinks = arguments.values()
    message = "out must not overlap another argument, got memory that both share"
    with pytest.raises(ValueError, match=exactly(message)):
        function(query, key, value, bias=bias, sinks=sinks, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_nothing_is_written_before_a_refusal(case: str) -> None:
    options, error, _ = BAD_OPTIONS[case]
    out = np.full((2, 6, 5, 8), 7.0)
    with pytest.raises(error):
        rw.attention(QUERY, KEY, VALUE, out=out, **options)
    assert (out == 7).all()


@pytest.mark.parametrize("back", [False, True])
def test_slopes_and_sinks_are_looked_at_where_they_lie(back: bool) -> None:
    x = np.ones((2, 3, 4))
    bad = np.array([1.0, 2.0, np.nan, 4.0])[::2]
    bad = bad[::-1] if back else bad
    with pytest.raises(ValueError, match=r"^slopes must be finite in float64, got nan$"):
        rw.attention(x, x, x, slopes=bad)
    with pytest.raises(ValueError, match=r"^sinks must be -inf or finite in float64, got nan$"):
        rw.attention(x, x, x, sinks=bad)


@pytest.mark.parametrize("heads", [4, np.int64(4), np.array(4)], ids=repr)
def test_a_number_of_heads_is_no_slope(heads: Any) -> None:
    message = (
        "slopes must be one number a head, as bias.alibi_slopes gives for that many heads, got 4"
    )
    x = np.ones((4, 3, 2))
    with pytest.raises(ValueError, match=exactly(message)):
        rw.attention(x, x, x, slopes=heads)
    with pytest.raises(ValueError, match=exactly(message)):
        rw.attention_weights(x, x, slopes=heads)
    assert (rw.attention(x, x, x, slopes=1) == rw.attention(x, x, x, slopes=1.0)).all()
    with pytest.raises(
        ValueError, match=r"^slopes must be one number a head, .* an integer of 16610 bits$"
    ):
        rw.attention(x, x, x, slopes=10**5000)


def test_masked_arrays_are_refused() -> None:
    x = np.ones((3, 2))
    ma: Any = np.ma
    masked = ma.masked_array(x, x > 0)
    calls: dict[str, Callable[[], object]] = {
        "query": lambda: rw.attention(masked, x, x),
        "bias": lambda: rw.attention(x, x, x, bias=masked[:1, :1]),
        "x": lambda: rw.softmax(masked),
        "positions": lambda: rw.rotate(x, masked[:, 0]),
    }
    for name, call in calls.items():
        message = f"{name} must not be a masked array, whose mask would be lost"
        with pytest.raises(TypeError, match=exactly(message)):
            call()


@pytest.mark.parametrize("name", ["offset", "key_lengths"])
def test_integers_that_cannot_be_printed_are_refused(name: str) -> None:
    x = np.ones((3, 2))
    options: dict[str, Any] = {name: 10**5000}
    with pytest.raises(ValueError, match=f"^{name} must be .*, got an integer of 16610 bits$"):
        rw.attention(x, x, x, **options)


def test_a_window_that_cannot_be_printed_is_refused() -> None:
    x = np.ones((3, 2))
    with pytest.raises(ValueError, match=r"^each side of window .*, got an integer of 16610 bits$"):
        rw.attention(x, x, x, window=(10**5000, None))


# Sizes


def test_results_beyond_all_memory_are_refused() -> None:
    query, key = np.broadcast_to(np.ones(4), (2**40, 4)), np.broadcast_to(np.ones(4), (2**30, 4))
    message = f"a result of shape ({2**40}, {2**30}) and dtype float64 is larger than any memory"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.attention_weights(query, key)
    with pytest.raises(ValueError, match=exactly(message)):
        rw.attention_stages(query, key, key)


def test_results_beyond_the_memory_at_hand_are_refused() -> None:
    query, key = np.broadcast_to(np.ones(4), (2**40, 4)), np.ones((3, 4))
    with pytest.raises(MemoryError, match="Unable to allocate"):
        rw.attention(query, key, key)
    with pytest.raises(MemoryError, match="Unable to allocate"):
        rw.attention_weights(query, key)


def test_lengths_that_another_thread_raises_after_they_were_checked_read_no_other_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = 9000  # of one query, in parts
    rng = np.random.default_rng(5)
    memory = rng.standard_normal((2 * keys, 4))
    memory[keys:] = np.nan
    query, key = rng.standard_normal((1, 4)), memory[:keys]
    expected = rw.attention(query, key, key)
    monkeypatch.setattr(_core, "attend_plainly", lambda *_: None)
    monkeypatch.setattr(_arrays, "integers", lambda *_: np.array(2 * keys))
    assert_array_equal(rw.attention(query, key, key, key_lengths=keys), expected)


def test_numbers_are_finite_and_normal_in_the_type_computed_with() -> None:
    x, heads = np.ones((2, 4), np.float32), np.ones((1, 2, 3, 4), np.float32)
    message = "scale must be finite in float32, got -1e+39"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.attention(x, x, x, scale=-1e39)
    with pytest.raises(ValueError, match=r"^softcap must be positive and a normal float32"):
        rw.attention(x, x, x, softcap=1e-40)
    message = "sinks must be -inf or finite in float32, got inf"
    for other in (-INF, float(np.finfo(np.float32).max)):
        with pytest.raises(ValueError, match=exactly(message)):
            rw.attention(heads, heads, heads, sinks=[other, INF])


def test_no_heads_of_keys_are_none_to_share() -> None:
    none = np.ones((0, 3, 8))
    with pytest.raises(ValueError, match=r"^the leading axes of query, key, value must broadcast"):
        rw.attention(np.ones((4, 3, 8)), none, none)


def test_out_must_not_overlap_what_lends_its_memory() -> None:
    x: Any = np.ones((2, 4), np.float32)
    lent: Any = memoryview(x)
    with pytest.raises(ValueError, match=r"^out must not overlap another argument"):
        rw.attention(lent, x.copy(), x.copy(), out=x)
