"""Calls whose arguments need no conversion take a short way: it says and gives the same."""

import re
import threading
from functools import partial
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.data import DTYPES, LARGEST, PAIRINGS, assert_same_bits, dtypes, pairings, rows

import ropewalk as rw
from ropewalk import _core
from ropewalk._options import Pairing

pytestmark = pytest.mark.thread_unsafe(reason="functions of the core are replaced")


POSITIONS: dict[str, Any] = {
    "none": None,
    "number": 4096,
    "range": range(7, 1007),
    "range downwards": range(LARGEST, LARGEST - 3000, -3),
    "integers": np.arange(1000)[::-1].copy(),
    "floats": np.linspace(-5, 5, 1000),
    "for each head": np.arange(3)[:, None],
    "for each row": np.arange(3000).reshape(3, 1000),
}


SHORT = (
    "rotate_plainly",
    "rotate_by_plainly",
    "encode_plainly",
    "attend_plainly",
    "softmax_plainly",
    "logsumexp_plainly",
    "merge_plainly",
)


# What they leave alone.
GENERAL = ("rotate", "rotate_by", "fill_sinusoidal", "attend", "softmax", "logsumexp")


def general(function: Any, *args: Any, **options: Any) -> NDArray[Any]:
    """Call where no short way takes anything."""
    with pytest.MonkeyPatch.context() as patch:
        for name in SHORT:
            patch.setattr(_core, name, lambda *_: None)
        result: NDArray[Any] = function(*args, **options)
    return result


def short(function: Any, *args: Any, **options: Any) -> Any:
    """Call where the short way alone can."""
    with pytest.MonkeyPatch.context() as patch:
        for name in GENERAL:
            patch.setattr(_core, name, None)
        return function(*args, **options)


@dtypes
@pairings
@pytest.mark.parametrize("positions", POSITIONS.values(), ids=POSITIONS)
@pytest.mark.parametrize("inverse", [False, True])
def test_rotation_has_the_bits_of_the_general_way(
    dtype: str, pairing: Pairing, positions: Any, inverse: bool
) -> None:
    x = rows((3, 1000, 16), dtype)
    for data in (x, x[:, :, :8]):
        expected = general(rw.rotate, data, positions, pairing=pairing, inverse=inverse)
        options: Any = {"pairing": pairing, "inverse": inverse}
        assert_same_bits(short(rw.rotate, data, positions, **options), expected)
        out = np.empty_like(data)
        assert short(rw.rotate, data, positions, **options, out=out) is out
        assert_same_bits(out, expected)
        out = data.copy(order="K")
        assert short(rw.rotate, out, positions, **options, out=out) is out
        assert_same_bits(out, expected)
    strided = np.asfortranarray(x)[::-1]  # which it leaves alone
    expected = general(rw.rotate, strided, positions, **options)
    assert_same_bits(rw.rotate(strided, positions, **options), expected)


@pairings
@dtypes
def test_rotation_by_tables_has_the_bits_of_the_general_way(dtype: str, pairing: Pairing) -> None:
    x = rows((3, 100, 16), dtype)
    table_dtype = np.float64 if dtype == "float64" else np.float32
    for shape in [(), (100,), (3, 1), (3, 100)]:
        for pairs in (3, 8):
            c, s = rows((2, *shape, pairs), seed=1).astype(table_dtype)
            expected = general(rw.rotate_by, x, c, s, pairing=pairing)
            assert_same_bits(short(rw.rotate_by, x, c, s, pairing=pairing), expected)
            found = short(rw.rotate_by, x, c, s, pairing=pairing, out=x.copy())
            assert_same_bits(found, expected)


@dtypes
@pytest.mark.parametrize("shape", [(5, 8), (3, 70, 16), (2, 4, 33, 8)], ids=str)
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"scale": -0.3}], ids=str)
def test_attention_has_the_bits_of_the_general_way(
    dtype: str, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    query, key = rows((2, *shape), dtype)
    value = rows((*shape[:-1], 5), dtype, seed=1)
    expected = general(rw.attention, query, key, value, **options)
    assert_same_bits(short(rw.attention, query, key, value, **options), expected)
    out = np.empty_like(value)
    assert short(rw.attention, query, key, value, **options, out=out) is out
    assert_same_bits(out, expected)
    apart = np.empty((*shape, 5), out.dtype)[..., 0, :]  # which it leaves alone
    assert rw.attention(query, key, value, **options, out=apart) is apart
    assert_same_bits(apart, expected)


@dtypes
@pytest.mark.parametrize("options", [{}, {"causal": True, "sinks": 0.5}, {"precision": "float64"}])
def test_weights_and_log_sum_exps_have_the_bits_of_the_general_way(
    dtype: str, options: dict[str, Any]
) -> None:
    query, key, value = rows((3, 2, 4, 33, 8), dtype)
    expected = general(rw.attention_weights, query, key, **options)
    takes = dtype == "float64" or (dtype == "float32" and "precision" not in options)
    weights = partial(short, rw.attention_weights) if takes else rw.attention_weights
    assert_same_bits(weights(query, key, **options), expected)
    whole = general(rw.attention_with_lse, query, key, value, **options)
    out = np.empty_like(value)
    for found in (
        short(rw.attention_with_lse, query, key, value, **options),
        short(rw.attention_with_lse, query, key, value, **options, out=out),
    ):
        for actual, of_whole in zip(found, whole, strict=True):
            assert_same_bits(actual, of_whole)
    assert found[0] is out


@dtypes
def test_merging_has_the_bits_of_the_general_way(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs, lses = rows((3, 2, 33, 8), dtype), rows((3, 2, 33))
    expected = general(rw.merge_attention, outputs, lses)
    monkeypatch.setattr(_core, "merge", None)
    for of_outputs, of_lses in (
        (outputs, lses),
        (list(outputs), tuple(lses)),
        (tuple(outputs), list(lses)),
    ):
        for actual, of_general in zip(
            rw.merge_attention(of_outputs, of_lses), expected, strict=True
        ):
            assert_same_bits(actual, of_general)


NUMBERS = [2, -1, 1 / np.sqrt(8), np.float64(0.3), np.float32(0.3), np.int8(3), np.array(0.25)]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_of_any_kind_have_the_bits_of_the_general_way(number: Any) -> None:
    query, key, value = rows((3, 4, 33, 8), "float32")
    options = {"scale": number, "softcap": abs(number)}
    expected = general(rw.attention, query, key, value, **options)
    assert_same_bits(rw.attention(query, key, value, **options), expected)
    expected = rw.attention(query, key, value, scale=float(number), softcap=float(abs(number)))
    assert_same_bits(rw.attention(query, key, value, **options), expected)


@pytest.mark.parametrize("number", [True, 2**53 + 1, 10**400, float("nan"), 1e39, "1", [1.0]])
def test_the_short_way_leaves_refused_numbers_to_the_general_way(number: Any) -> None:
    x = rows((4, 8), "float32")
    for name in ("scale", "softcap"):
        options: dict[str, Any] = {name: number}
        try:
            expected = general(rw.attention, x, x, x, **options)
        except (TypeError, ValueError) as refusal:
            with pytest.raises(type(refusal), match=re.escape(str(refusal))):
                rw.attention(x, x, x, **options)
        else:
            assert_same_bits(rw.attention(x, x, x, **options), expected)


def test_no_values_are_no_weights() -> None:
    x, nothing = rows((4, 8), "float32"), cast("Any", None)
    for function in (rw.attention, rw.attention_with_lse, rw.attention_stages):
        with pytest.raises(TypeError, match=r"^value must be an array of numbers, got None$"):
            function(x, x, nothing)


SCORES = {
    "of two axes": (33, 33),
    "of keys": (1, 33),
    "of queries": (33, 1),
    "of one": (1, 1),
    "of heads": (4, 33, 33),
    "of all": (2, 4, 33, 33),
    "of a batch": (2, 1, 1, 33),
    "of keys alone": (33,),
    "of more axes": (1, 2, 4, 33, 33),
}


def scores_of(shape: tuple[int, ...], dtype: str) -> dict[str, dict[str, Any]]:
    bias = rows(shape, dtype)
    mask = rows(shape, seed=3) > -0.5
    return {
        "mask": {"mask": mask, "causal": True},
        "bias": {"bias": bias, "softcap": 2.5},
        "both": {"mask": mask, "bias": bias, "scale": 0.2},
        "other way round": {"mask": mask[..., ::-1], "bias": bias[..., ::-1]},
        "another dtype": {"bias": bias.astype("f8" if dtype == "float32" else "f4")},
        "no arrays": {"mask": mask.tolist(), "bias": bias.tolist(), "softcap": 3},
    }


@dtypes
@pytest.mark.parametrize("shape", SCORES.values(), ids=SCORES)
def test_attention_with_scores_has_the_bits_of_the_general_way(
    dtype: str, shape: tuple[int, ...]
) -> None:
    query, key, value = rows((3, 2, 4, 33, 8), dtype)
    for options in scores_of(shape, dtype).values():
        try:
            expected = general(rw.attention, query, key, value, **options)
        except ValueError as refusal:
            with pytest.raises(ValueError, match=re.escape(str(refusal))):
                rw.attention(query, key, value, **options)
        else:
            assert_same_bits(rw.attention(query, key, value, **options), expected)


def test_small_calls_of_any_arrays_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((4, 2), np.float32)
    heads, half, scores = np.ones((2, 3, 4, 2), np.float32), x.astype(np.float16), x @ x.T
    called: list[object] = []
    monkeypatch.setattr(_core, "attend", lambda *_: called.append(None))
    for options in (
        {"mask": scores > 0},
        {"mask": (scores > 0).tolist()},
        {"bias": scores},
        {"bias": scores.astype(np.float64)},
        {"bias": scores.astype(np.float16)},
        {"bias": scores.tolist()},
        {"mask": scores[0] > 0},
        {"bias": scores[0]},
        {"softcap": 5.0},
        {"softcap": 5},
        {"scale": np.float32(0.5)},
        {"causal": True, "window": [2, 0]},
    ):
        rw.attention(x, x, x, **options)
    rw.attention_weights(x, x, causal=True, mask=scores[0] > 0)
    rw.attention_with_lse(x, x, x, causal=True, bias=scores)
    rw.attention(half, half, half, bias=scores)
    rw.attention(half, half, half, bias=scores.astype(np.float16))
    rw.attention(x.tolist(), x.astype(int).tolist(), x)
    rw.attention(x, x.astype(np.float64), half)
    rw.attention(x[:, ::-1], np.asfortranarray(x), x)
    rw.attention(heads, x, heads[:1, :1])
    assert not called
    rw.attention(x, heads[0], x)  # the result has the axes of the keys
    assert called


LEADING = [(), (1,), (2,), (4,), (3, 4), (3, 2), (3, 1), (1, 4), (1, 2), (1, 1)]


@pytest.mark.parametrize("keys", LEADING, ids=str)
@pytest.mark.parametrize("values", LEADING, ids=str)
def test_keys_and_values_of_fewer_axes_or_heads_are_those_of_their_queries(
    keys: tuple[int, ...], values: tuple[int, ...]
) -> None:
    query = rows((3, 4, 5, 8), "float32")
    key, value = rows((*keys, 6, 8), "float32", seed=1), rows((*values, 6, 7), "float32", seed=2)
    whole = []
    for array in (key, value):
        heads = array if array.ndim > 2 else array[None]
        each = np.repeat(heads, 4 // heads.shape[-3], axis=-3)
        whole.append(np.broadcast_to(each, (3, 4, *array.shape[-2:])))
    expected = np.empty((3, 4, 5, 7), np.float32)
    for at in np.ndindex(3, 4):
        expected[at] = rw.attention(query[at], whole[0][at], whole[1][at])
    assert_same_bits(rw.attention(query, key, value), expected)
    assert_same_bits(general(rw.attention, query, key, value), expected)


def test_heads_that_do_not_divide_are_refused() -> None:
    query = np.ones((3, 4, 5, 8))
    for shape in [(3,), (2, 4), (3, 3)]:
        other = np.ones((*shape, 5, 8))
        with pytest.raises(ValueError, match=r"must (have heads|broadcast)"):
            rw.attention(query, other, other)
    with pytest.raises(ValueError, match="must broadcast"):
        rw.attention(query[0], other[:2, 0], other[:2, 0])  # heads without a batch do not group


def test_attention_refuses_an_out_that_another_argument_shares() -> None:
    x, memory = np.ones((4, 4)), np.zeros((4, 4))
    shared: list[dict[str, Any]] = [
        {"bias": memory},
        {"mask": memory.view(np.bool_)[:, :4]},
        {"slopes": memory[0, :1].reshape(())},
        {"sinks": memory[0, :1].reshape(())},
        {"key_lengths": memory.view(np.int64)[0, :1].reshape(())},
        {"offset": memory.view(np.int64)[0, :1].reshape(())},
    ]
    for options in shared:
        with pytest.raises(ValueError, match="out must not overlap another argument"):
            rw.attention(x, x, x, **options, out=memory)
    for softcap in (0.0, -1.0, 1e-310, np.inf, np.nan):
        with pytest.raises(ValueError, match="softcap must be"):
            rw.attention(x, x, x, softcap=softcap)


@dtypes
@pytest.mark.parametrize("shape", [(7,), (5, 8), (3, 7, 700)], ids=str)
@pytest.mark.parametrize("options", [{}, {"scale": -0.3}, {"axis": 0}, {"axis": -1}], ids=str)
def test_softmax_has_the_bits_of_the_general_way(
    dtype: str, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    x = rows(shape, dtype)
    for data in (x, x[..., 1:], x[::-1]):
        expected = general(rw.softmax, data, **options)
        assert_same_bits(rw.softmax(data, **options), expected)
        out = np.empty_like(data)
        assert rw.softmax(data, **options, out=out) is out
        assert_same_bits(out, expected)
        out = data.copy()
        assert rw.softmax(out, **options, out=out) is out
        assert_same_bits(out, expected)


@dtypes
@pytest.mark.parametrize(
    "shape", [(12,), (1,), (7, 12), (7, 1), (1, 12), (5, 7, 12), (5, 1, 1), (1, 7, 12)], ids=str
)
def test_masked_softmax_has_the_bits_of_the_general_way(dtype: str, shape: tuple[int, ...]) -> None:
    x = rows((5, 7, 12), dtype)
    mask = rows(shape, seed=3) > -0.5
    x[~np.broadcast_to(mask, x.shape)] = np.nan
    for of_mask in (mask, np.asfortranarray(mask), np.repeat(mask, 2, axis=0)[::2]):
        for axis in (-1, 0, 1, -2):
            expected = general(rw.softmax, x, mask=of_mask, axis=axis)
            assert not np.isnan(expected).any()
            assert_same_bits(rw.softmax(x, mask=of_mask, axis=axis), expected)
            out = np.empty_like(x)
            assert rw.softmax(x, mask=of_mask, axis=axis, out=out) is out
            assert_same_bits(out, expected)


def test_softmax_of_arrays_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    x = rows((5, 8), "float32")
    called: list[object] = []
    monkeypatch.setattr(_core, "softmax", lambda *_: called.append(None))
    monkeypatch.setattr(_core, "logsumexp", lambda *_: called.append(None))
    for data in (x, x.astype(np.float64)):
        rw.softmax(data, axis=0, mask=x > -0.5)
        rw.logsumexp(data, axis=0, mask=x > -0.5)
    rw.softmax(x.astype(np.float16), scale=-0.3)
    assert not called
    rw.softmax(x.tolist())
    rw.logsumexp(x.tolist())
    assert len(called) == 2


@dtypes
@pytest.mark.parametrize("shape", [(7,), (1, 1), (5, 8), (3, 7, 700)], ids=str)
@pytest.mark.parametrize("axis", [-1, 0])
def test_logsumexp_has_the_bits_of_the_general_way(
    dtype: str, shape: tuple[int, ...], axis: int
) -> None:
    x = rows(shape, dtype)
    spoiled = x.copy()
    spoiled[..., -1] = np.inf
    for data in (x, x[..., 1:], x[::-1], spoiled, np.full_like(x, 1e-4)):
        for mask in (None, rows(shape[-1:], seed=3)[-data.shape[-1] :] > -0.5):
            expected = general(rw.logsumexp, data, axis=axis, mask=mask)
            # No short way takes half types, or nothing.
            takes = dtype in {"float64", "float32"} and data.size
            call = partial(short, rw.logsumexp) if takes else rw.logsumexp
            actual = call(data, axis=axis, mask=mask)
            assert isinstance(actual, np.ndarray)
            assert_same_bits(actual, expected)


def test_the_short_way_of_a_masked_softmax_leaves_refusals_to_the_general_way() -> None:
    x = np.ones((4, 8), np.float32)
    memory = np.zeros((4, 8), np.float32)
    wrong: list[tuple[Any, type[Exception], str]] = [
        (np.ones((4, 8)), TypeError, "mask must be boolean, .* got dtype float64"),
        (np.ones((3, 8), bool), ValueError, r"mask must .* got shape \(3, 8\)"),
        (np.ones((1, 4, 8), bool), ValueError, r"mask must .* got shape \(1, 4, 8\)"),
        (np.ma.ones((4, 8), bool), TypeError, "mask must not be a masked array"),
        (memory.view(np.bool_)[:, ::4], ValueError, "out must not overlap another argument"),
    ]
    for mask, error, message in wrong:
        with pytest.raises(error, match=message):
            rw.softmax(x, mask=mask, out=memory)
    assert not memory.any()


def test_the_short_way_of_softmax_leaves_refusals_to_the_general_way() -> None:
    x, memory = np.ones((4, 6), np.float32), np.zeros((4, 6), np.float32)
    read_only = np.zeros((4, 6), np.float32)
    read_only.flags.writeable = False
    wrong: list[tuple[NDArray[Any], str]] = [
        (memory.view(">f4"), "out must have dtype float32, got >f4"),
        (read_only, "out must be writable"),
        (memory.reshape(6, 4), r"out must have shape \(4, 6\), got \(6, 4\)"),
    ]
    for out, message in wrong:
        with pytest.raises(ValueError, match=message):
            rw.softmax(x, out=out)
    with pytest.raises(ValueError, match="share no memory"):  # from the same place on
        rw.softmax(memory[:2, :3], out=memory.reshape(8, 3)[:2])
    with pytest.raises(TypeError, match=r"mask must be boolean, .* got dtype int8"):
        rw.softmax(x, mask=np.ones((4, 6), np.int8), out=memory)
    assert not memory.any()


def test_attention_refuses_an_out_that_does_not_fit() -> None:
    x = np.ones((4, 6))
    read_only = np.zeros((4, 6))
    read_only.flags.writeable = False
    wrong: list[tuple[NDArray[Any], str]] = [
        (np.zeros((4, 5)), r"out must have shape \(4, 6\), got \(4, 5\)"),
        (np.zeros((1, 4, 6)), r"out must have shape \(4, 6\), got \(1, 4, 6\)"),
        (np.zeros((4, 6), np.float32), "out must have dtype float64, got float32"),
        (np.zeros((4, 6), ">f8"), "out must have dtype float64, got >f8"),
        (read_only, "out must be writable"),
        (x, "out must not overlap another argument"),
    ]
    for out, message in wrong:
        with pytest.raises(ValueError, match=message):
            rw.attention(x, x, x, out=out)
    for scale in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="scale must be finite"):
            rw.attention(x, x, x, scale=scale)
    with pytest.raises(ValueError, match="scale must be finite in float32"):
        rw.attention(*np.ones((3, 4, 6), np.float32), scale=1e39)
    with pytest.raises(TypeError, match="scale must be a real number"):
        rw.attention(x, x, x, scale=True)
    assert np.all(x == 1)


def test_most_calls_take_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        msg = "the general way"
        raise AssertionError(msg)

    for name in ("rotate", "rotate_by", "fill_sinusoidal", "attend", "softmax"):
        monkeypatch.setattr(_core, name, refuse)
    x = np.ones((4, 8), np.float32)
    table = np.ones((4, 4), np.float32)
    for positions in (None, 5, range(4), np.arange(4), np.arange(4.0)):
        rw.rotate(x, positions, out=x)
    rw.rotate_by(x, table, table)
    rw.attention(x, x, x)
    rw.attention(x, x, x, causal=True, scale=0.5, out=np.empty_like(x))
    rw.softmax(x, axis=1, scale=0.5, out=x)
    rw.softmax(x[0])
    rw.softmax(x, mask=x > 0)
    rw.softmax(x, axis=0)
    rw.softmax(x, mask=x > 0, axis=-2, out=x)
    rw.softmax(x, mask=np.ones((4, 1), bool), out=x)
    rw.sinusoidal_encoding(range(4), 4)
    rw.sinusoidal_encoding(10**6, 4, dtype=np.float32)
    rw.sinusoidal_encoding(np.arange(4), 4, dtype="float32")
    rw.sinusoidal_encoding(np.arange(4.0)[:, None], 4, dtype=np.dtype(np.float64))
    rw.sinusoidal_encoding(range(4), 8, out=x)
    rw.sinusoidal_encoding(3, 8, out=x[0].astype(np.float16))
    with pytest.raises(AssertionError, match="the general way"):
        rw.rotate(x, np.arange(4, dtype=np.int32))


@pairings
@pytest.mark.parametrize("width", [2, 6, 64, 128])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_kept_rows_have_the_bits_of_others(dtype: str, width: int, pairing: Pairing) -> None:
    turning = rw.frequencies.from_radians([1.0 / (i + 1) for i in range(width // 2 - 1)] + [0.0])
    x = rows((1100, width + 2), dtype)
    order = np.random.default_rng(0).permutation(len(x))
    options: Any = {"frequencies": turning, "pairing": pairing, "rotary_dim": width}
    expected = np.empty_like(x)
    expected[order] = rw.rotate(x[order], order, **options)  # evaluated row by row
    for begin, end in [(0, 1), (0, 1024), (0, 1100), (5, 900), (1000, 1024), (1000, 1025)]:
        found = rw.rotate(x[begin:end], range(begin, end), **options)
        assert_same_bits(found, expected[begin:end])
        assert_same_bits(rw.rotate(x[end - 1 : end], end - 1, **options), expected[end - 1 : end])


def test_many_threads_that_come_first_see_whole_rows() -> None:
    x = rows((1000, 128), "float32")
    expected = rw.rotate(x)
    for round_ in range(20):
        turning = rw.frequencies.from_radians(
            [*rw.frequencies.standard(128).radians[:-1], 1e-5 * (round_ + 1)]
        )
        barrier = threading.Barrier(4)
        results: list[NDArray[Any]] = []

        def turn(barrier: threading.Barrier, results: list[NDArray[Any]], by: Any) -> None:
            barrier.wait()
            results.append(rw.rotate(x, frequencies=by))

        threads = [
            threading.Thread(target=turn, args=(barrier, results, turning)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            np.testing.assert_allclose(result[:, :-2], expected[:, :-2], rtol=0, atol=1e-5)
            assert_same_bits(result, results[0])


@pytest.mark.parametrize(
    "positions",
    [
        2**53 + 1,
        -(2**53) - 1,
        2**70,
        range(2**53, 2**53 + 4),
        range(-(2**53) - 1, -(2**53) + 3),
        range(0, -(2**60), -(2**58)),
    ],
    ids=str,
)
def test_positions_too_large_are_refused(positions: Any) -> None:
    with pytest.raises(ValueError, match=r"positions must be finite and at most 2\*\*53 in size"):
        rw.rotate(np.ones((4, 8)), positions)
    with pytest.raises(ValueError, match=r"positions must be finite and at most 2\*\*53 in size"):
        rw.sinusoidal_encoding(positions, 8)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_memory_shared_with_positions_or_tables_is_refused(pairing: Pairing) -> None:
    memory = np.zeros((4, 8))
    x = np.ones((4, 8))
    with pytest.raises(ValueError, match="out must not overlap another argument"):
        rw.rotate(x, memory.reshape(-1)[:4], pairing=pairing, out=memory)
    with pytest.raises(ValueError, match="out must not overlap another argument"):
        rw.rotate_by(x, memory.reshape(-1)[:4], np.ones(4), pairing=pairing, out=memory)
    with pytest.raises(ValueError, match="out must be x itself or share no memory with it"):
        rw.rotate(memory[:2], out=memory[1:3], pairing=pairing)
    with pytest.raises(ValueError, match="out must not overlap another argument"):
        rw.sinusoidal_encoding(memory.reshape(-1)[:4], 8, pairing=pairing, out=memory)


ENCODED: list[Any] = [
    5,
    -3,
    LARGEST,
    range(9),
    range(5, -90, -7),
    range(3, 4),
    np.array(7),
    np.arange(200)[:, None],
    np.linspace(-5, 5, 12).reshape(2, 6),
]


@dtypes
@pytest.mark.parametrize("positions", ENCODED, ids=str)
def test_encodings_have_the_bits_of_the_general_way(dtype: str, positions: Any) -> None:
    options: Any
    for options in ({}, {"pairing": "half"}, {"order": "cos-sin"}):
        expected = general(rw.sinusoidal_encoding, positions, 6, dtype=dtype, **options)
        takes = dtype in {"float64", "float32"}  # half types it takes by `out` alone
        call = partial(short, rw.sinusoidal_encoding) if takes else rw.sinusoidal_encoding
        for name in (dtype, DTYPES[dtype], DTYPES[dtype].type):
            assert_same_bits(call(positions, 6, dtype=name, **options), expected)
            out = np.empty_like(expected)
            assert call(positions, 6, dtype=name, out=out, **options) is out
            assert_same_bits(out, expected)
        out = np.empty_like(expected)
        assert short(rw.sinusoidal_encoding, positions, 6, out=out, **options) is out
        assert_same_bits(out, expected)
        if dtype == "float64":
            assert_same_bits(short(rw.sinusoidal_encoding, positions, 6, **options), expected)


@dtypes
@pytest.mark.parametrize("positions", [range(0), np.arange(12)[::2]], ids=["none", "strided"])
def test_encodings_that_the_short_way_leaves_alone(dtype: str, positions: Any) -> None:
    expected = general(rw.sinusoidal_encoding, positions, 6, dtype=dtype)
    assert_same_bits(rw.sinusoidal_encoding(positions, 6, dtype=dtype), expected)


@pairings
def test_a_range_of_one_position_turns_every_row(pairing: Pairing) -> None:
    for shape in [(1, 8), (5, 8), (3, 1, 8)]:
        x = rows(shape, "float32")
        expected = general(rw.rotate, x, range(7, 8), pairing=pairing)
        assert_same_bits(rw.rotate(x, range(7, 8), pairing=pairing), expected)
        assert_same_bits(rw.rotate(x, 7, pairing=pairing), expected)


@dtypes
def test_every_type_takes_the_short_way(dtype: str) -> None:
    def taken(x: NDArray[Any]) -> bool:
        others = False, None, None, None, None, None, None
        found = _core.attend_plainly((x, x, x), None, None, None, None, others, None, False, 1)
        return found is not None

    assert taken(rows((4, 2), dtype))
    assert not taken(np.zeros((4, 2), [("half", "u2")]))
    assert not taken(np.zeros((4, 2), ml_dtypes.float8_e4m3))


@pytest.mark.parametrize("call", [rw.rotate, rw.softmax])
def test_an_output_that_goes_backwards_through_the_input_is_refused(call: Any) -> None:
    memory = np.ones((20, 8), np.float32)
    message = "^out must be x itself or share no memory with it, got memory that both share$"
    with pytest.raises(ValueError, match=message):
        call(memory[:10], out=memory[14:4:-1])
    assert (memory == 1).all()


@pytest.mark.parametrize("kind", ["field of packed records", "odd address"])
def test_rows_that_are_not_aligned_are_computed(kind: str) -> None:
    x: NDArray[Any]
    if kind == "odd address":
        x = np.frombuffer(bytearray(8 * 40 + 1), np.uint8)[1:].view(np.float64).reshape(5, 8)
    else:
        x = np.zeros(5, np.dtype([("a", "<f8", (8,)), ("b", "u1")]))["a"]
    x[...] = np.random.default_rng(0).standard_normal((5, 8))
    plain = x.copy()
    for call in (rw.softmax, rw.rotate, rw.logsumexp, lambda y: rw.attention(y, y, y)):
        assert_same_bits(call(x), call(plain))
