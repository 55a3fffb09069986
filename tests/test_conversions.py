"""What is taken for a number, an option or an array, by every function alike, and other dtypes."""

import decimal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import data
from tests.data import LAYOUTS, assert_same_bits, by_threads, layouts, rows
from tests.refusals import exactly

import ropewalk as rw
from ropewalk import _core, _options, _results
from ropewalk._conversions import in_dtype

F = rw.frequencies
ONES = np.ones((3, 8))
Call = Callable[[Any], object]


SWITCHES: dict[str, Call] = {
    "truncate": lambda x: F.yarn(8, factor=2.0, trained_length=64, truncate=x),
    "hard": lambda x: F.clipped(8, pairs=2, hard=x),
    "turns": lambda x: F.axial(8, turns=x),
    "interleaved": lambda x: F.mrope(8, sections=(2, 1, 1), interleaved=x),
    "inverse": lambda x: rw.rotate(ONES, inverse=x),
    "causal": lambda x: rw.attention(ONES, ONES, ONES, causal=x),
    "bidirectional": lambda x: rw.bias.t5_buckets(3, bidirectional=x),
}


@pytest.mark.parametrize("value", ["no", 1, None, np.ones(2)], ids=repr)
@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_is_true_or_false(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be True or False, got "):
        SWITCHES[name](value)


NUMBERS: dict[str, Call] = {
    "base": lambda x: F.standard(4, base=x),
    "factor": lambda x: F.linear(4, factor=x),
    "fraction": lambda x: F.partial(4, fraction=x),
    "scale": lambda x: rw.embed([0], ONES, scale=x),
    "scale_base": lambda x: F.xpos_scales(3, 4, scale_base=x),
}
INTEGERS: dict[str, Call] = {
    "dim": F.standard,
    "heads": lambda x: rw.split_heads(ONES, x),
    "axis": lambda x: rw.softmax(ONES, axis=x),
    "each side of window": lambda x: rw.attention(ONES, ONES, ONES, window=(x, 0)),
}


def test_numbers_of_numpy_are_numbers_to_type_checkers_too() -> None:
    dim, base, true = np.int64(8), np.float32(500), np.True_
    assert F.yarn(dim, factor=np.float32(2), trained_length=np.int32(64), truncate=true, base=base)
    assert F.mrope(dim, sections=[np.int64(1), np.int64(3)], interleaved=np.False_, base=base)
    whole = rw.rotate(ONES, base=base, rotary_dim=dim, inverse=true)
    assert_same_bits(whole, rw.rotate(ONES, base=500.0, rotary_dim=8, inverse=True))
    seen = rw.attention(ONES, ONES, ONES, causal=true, window=[dim, None], scale=base)
    assert_same_bits(seen, rw.attention(ONES, ONES, ONES, causal=True, window=(8, None), scale=500))
    assert_same_bits(rw.softmax(ONES, axis=np.int64(0)), rw.softmax(ONES, axis=0))
    assert_same_bits(rw.split_heads(ONES, np.uint8(2)), rw.split_heads(ONES, 2))
    assert rw.bias.causal_mask(dim, np.int16(8)).shape == (8, 8)


@pytest.mark.parametrize("name", ["base", "factor"])
def test_an_array_without_axes_is_a_number(name: str) -> None:
    assert NUMBERS[name](np.array(2.5)) == NUMBERS[name](2.5)
    assert NUMBERS[name](np.array(3)) == NUMBERS[name](3)


@pytest.mark.parametrize(
    "value",
    [True, np.False_, np.array(True), np.array([1.0]), "1", 1j]
    + [np.timedelta64(3, unit) for unit in ("s", "ns")],
)
@pytest.mark.parametrize("name", NUMBERS)
def test_only_numbers_are_numbers(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be a real number, got "):
        NUMBERS[name](value)


@pytest.mark.parametrize("value", [True, np.False_, "1", 1.0])
@pytest.mark.parametrize("name", INTEGERS)
def test_only_integers_are_integers(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be an integer, got "):
        INTEGERS[name](value)


class Index:
    """An integer in NumPy's sense."""

    def __index__(self) -> int:
        return 2


def test_whatever_python_takes_for_an_index_is_an_integer() -> None:
    weight, index = np.eye(8), cast("int", Index())
    two, same = (
        rw.multi_head_attention(
            ONES, heads=heads, query_weight=weight, key_weight=weight, value_weight=weight
        )
        for heads in (2, index)
    )
    assert (two == same).all()
    found = rw.properties.length_independence(lambda n: np.ones((n, 2)), index, index)
    assert found.value == 0


MASKED: dict[str, Call] = {
    "radians": F.from_radians,
    "directions": lambda x: F.mixed(8, directions=x),
    "short_factors": lambda x: F.longrope(
        4, short_factors=x, long_factors=x, trained_length=64, length=32
    ),
    "slopes": lambda x: rw.bias.alibi(x, 3),
    "x": rw.properties.softmax_sum,
    "positions": lambda x: rw.rotary_tables(x, 4),
}


HALF_MASKED = np.ma.array([1.0, 0.5], mask=[False, True])


@pytest.mark.parametrize(
    "values",
    [
        HALF_MASKED,
        [HALF_MASKED, HALF_MASKED],
        ([1.0, 0.5], HALF_MASKED),
        [[[1.0, 0.5]], (HALF_MASKED,)],
        [[[HALF_MASKED]]],
        [1.0, np.ma.masked],
    ],
    ids=["array", "list", "tuple", "nested", "deep", "number"],
)
@pytest.mark.parametrize("name", MASKED)
def test_masks_are_not_lost(name: str, values: Any) -> None:
    message = exactly(f"{name} must not be a masked array, whose mask would be lost")
    with pytest.raises(TypeError, match=message):
        MASKED[name](values)


def test_a_list_in_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match=r"^positions must be a number, a range or an array"):
        MASKED["positions"](endless)


DTYPES: dict[str, Call] = {
    "sinusoidal_encoding": lambda dtype: rw.sinusoidal_encoding(3, 4, dtype=dtype),
    "rotary_tables": lambda dtype: rw.rotary_tables(3, 4, dtype=dtype),
}


@pytest.mark.parametrize("dtype", ["foo", "i4,,", 5, [("a", "f8")] * 2], ids=repr)
@pytest.mark.parametrize("name", DTYPES)
def test_what_is_no_dtype_is_refused(name: str, dtype: object) -> None:
    message = exactly(f"dtype must be float64, float32, float16 or bfloat16, got {dtype!r}")
    with pytest.raises(TypeError, match=message):
        DTYPES[name](dtype)


OUTS: dict[str, Call] = {
    "sinusoidal_encoding": lambda out: rw.sinusoidal_encoding(range(3), 8, out=out),
    "rotate": lambda out: rw.rotate(ONES, out=out),
    "rotate_by": lambda out: rw.rotate_by(ONES, ONES[:, :4], ONES[:, :4], out=out),
    "softmax": lambda out: rw.softmax(ONES, out=out),
    "attention": lambda out: rw.attention(ONES, ONES, ONES, out=out),
    "merge_attention": lambda out: rw.merge_attention([ONES], [ONES[:, 0]], out=out),
    "embed": lambda out: rw.embed([0, 1, 2], ONES, out=out),
}


@pytest.mark.parametrize("name", OUTS)
@pytest.mark.parametrize("step", [1, 2])
def test_no_result_is_written_behind_a_mask(name: str, step: int) -> None:
    out = np.ma.array(np.zeros((3, 8 * step)), mask=True, hard_mask=True)[:, ::step]
    message = exactly("out must not be a masked array, whose mask would be lost")
    with pytest.raises(TypeError, match=message):
        OUTS[name](out)
    assert not out.data.any()


EYE = np.eye(8)
CONFIG: dict[str, Any] = {"model_type": "llama", "head_dim": 16}
HUGE: dict[str, Call] = {
    "causal": SWITCHES["causal"],
    "precision": lambda x: rw.softmax([1.0], precision=x),
    "pairing": lambda x: rw.rotate(ONES, pairing=x),
    "attention_factor": lambda x: F.yarn(8, factor=2.0, trained_length=64, attention_factor=x),
    "centre": lambda x: F.xpos_scales(3, 4, centre=x),
    "window": lambda x: rw.attention(ONES, ONES, ONES, window=x),
    "dtype": lambda x: rw.rotary_tables(0, 4, dtype=x),
    "base": lambda x: rw.rotate(ONES, base=x, frequencies=F.standard(8)),
    "mscale and mscale_all_dim": lambda x: F.yarn(8, factor=2.0, trained_length=64, mscale=x),
    "shape": rw.grid_positions,
    "sections": lambda x: F.mrope(8, sections=x),
    "rotary": lambda x: rw.multi_head_attention(
        ONES, heads=2, query_weight=EYE, key_weight=EYE, value_weight=EYE, rotary=x
    ),
    "rope_ratio": lambda x: rw.rotary_from_config(CONFIG | {"rope_ratio": x}),
    "text_config": lambda x: rw.rotary_from_config(CONFIG | {"text_config": x}),
    "alpha": lambda x: rw.rotary_from_config(CONFIG | {"rope_scaling": {"alpha": x}}),
    "rope_theta and rotary_emb_base": lambda x: rw.rotary_from_config(
        CONFIG | {"rope_theta": 1e4, "rotary_emb_base": x}
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_integers_that_python_does_not_print_are_named(name: str) -> None:
    with pytest.raises(
        (TypeError, ValueError), match=f"^{name} (must|is) .* (got|and) an integer of 16610 bits"
    ):
        HUGE[name](10**5000)


TEXTS: dict[str, Call] = {
    "shape": rw.grid_positions,
    "sections": lambda x: F.mrope(8, sections=x),
    "dims": lambda x: rw.properties.scale_law(x, seed=0),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", ["ab", b"\x02\x02", bytearray(b"\x02\x02")], ids=repr)
def test_a_text_is_no_sequence_of_integers(name: str, value: object) -> None:
    message = f"{name} must be a sequence of integers, got {value!r}"
    with pytest.raises(TypeError, match=exactly(message)):
        TEXTS[name](value)


@pytest.mark.parametrize(
    "scale_base", [np.float16(np.inf), np.float16(np.nan), 2**53 + 1, np.int64(2**53 + 1)]
)
def test_bounds_hold_in_every_type(scale_base: Any) -> None:
    with pytest.raises(ValueError, match=r"^scale_base must be a number from 1\.0 to "):
        F.xpos_scales(3, 4, scale_base=scale_base)
    narrow: Any = np.float16(512)
    assert (F.xpos_scales(3, 4, scale_base=narrow) == F.xpos_scales(3, 4, scale_base=512)).all()


PROMOTE = np.result_type


def promote_as_before(*arrays: Any) -> np.dtype[Any]:
    """Promote as NumPy does beside an ml_dtypes before 0.7."""
    if set(HALVES) <= {PROMOTE(array) for array in arrays}:
        raise np.exceptions.DTypePromotionError
    return PROMOTE(*arrays)


@pytest.mark.parametrize("promote", [PROMOTE, promote_as_before])
@pytest.mark.parametrize(
    "call",
    [
        rw.similarity,
        lambda a, b: rw.attention(a, b, b),
        lambda a, b: rw.attention(a, a, b),
        lambda a, b: rw.merge_attention([a, b], np.zeros((2, 3)))[0],
        lambda a, b: rw.multi_head_attention(
            a, heads=3, query_weight=b.T, key_weight=b.T, value_weight=b.T
        ),
    ],
    ids=["similarity", "keys", "values", "merged parts", "projections"],
)
def test_half_types_together_are_float32(
    call: Callable[[Any, Any], NDArray[Any]], promote: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np, "result_type", promote)
    a, b = rows((3, 8), "float16"), rows((3, 8), "bfloat16", seed=1)
    wide = [array.astype(np.float32) for array in (a, b)]
    assert_same_bits(call(a, b), call(*wide))
    assert_same_bits(call(b, a), call(*wide[::-1]))


RAMP = np.arange(24.0).reshape(3, 8)
INTO: dict[str, Call] = {
    "softmax": lambda out: rw.softmax(RAMP, out=out),
    "softmax, in place": lambda out: rw.softmax(out, out=out),
    "softmax, masked": lambda out: rw.softmax(RAMP, mask=RAMP > 0, out=out),
    "rotate": lambda out: rw.rotate(RAMP, out=out),
    "rotate, in place": lambda out: rw.rotate(out, out=out),
    "rotate_by": lambda out: rw.rotate_by(RAMP, np.ones(4), np.ones(4), out=out),
    "rerotate": lambda out: rw.rerotate(RAMP, 1, out=out),
    "attention": lambda out: rw.attention(RAMP, RAMP, RAMP, out=out),
    "merge_attention": lambda out: rw.merge_attention([RAMP, RAMP[::-1]], RAMP.T[:2], out=out)[0],
    "embed": lambda out: rw.embed([0, 1, 2], RAMP, out=out),
    "sinusoidal_encoding": lambda out: rw.sinusoidal_encoding(range(3), 8, out=out),
}


@pytest.mark.parametrize("strides", [(8, 8), (0, 8), (32, 8), (-8, 8), (56, 8)], ids=str)
@pytest.mark.parametrize("name", INTO)
def test_out_must_not_overlap_itself(name: str, strides: tuple[int, int]) -> None:
    memory = np.zeros(64)
    out = np.lib.stride_tricks.as_strided(memory[32:], (3, 8), strides)
    message = f"out must not overlap itself, got shape (3, 8) and strides {strides}"
    with pytest.raises(ValueError, match=exactly(message)):
        INTO[name](out)
    assert not memory.any()


@pytest.mark.parametrize("strides", [(64, 8), (-64, -8), (72, 8), (8, 24), (64, -8)], ids=str)
@pytest.mark.parametrize("name", INTO)
def test_out_may_lie_in_any_order(name: str, strides: tuple[int, int]) -> None:
    memory = np.zeros(128)
    out = np.lib.stride_tricks.as_strided(memory[64:], (3, 8), strides)
    out[...] = RAMP
    assert INTO[name](out) is out
    expected = RAMP.copy()
    INTO[name](expected)
    assert_same_bits(out.copy(), expected)


CONVERTED: dict[str, Callable[[Any, Any], object]] = {
    "softmax": lambda x, out: rw.softmax(x, out=out),
    "rotate": lambda x, out: rw.rotate(x, out=out),
    "rotate_by": lambda x, out: rw.rotate_by(x, np.ones(2), np.ones(2), out=out),
    "rotate_by, tables": lambda x, out: rw.rotate_by(np.ones((4, 8)), x, x, out=out),
    "rerotate": lambda x, out: rw.rerotate(x, 1, out=out),
    "attention": lambda x, out: rw.attention(x, x, x, out=out),
    "merge_attention": lambda x, out: rw.merge_attention([x, x], np.ones((2, 4)), out=out),
    "merge_attention, lses": lambda x, out: rw.merge_attention(np.ones((2, 4, 4)), x[:2], out=out),
    "embed": lambda x, out: rw.embed([0, 1, 2, 3], x, out=out),
    "embed, ids": lambda x, out: rw.embed(x[0], np.ones((4, 4)), out=out),
}


@pytest.mark.parametrize("dtype", ["i8", ">i8"])
@pytest.mark.parametrize("name", CONVERTED)
def test_out_must_not_lie_where_what_is_converted_does(name: str, dtype: str) -> None:
    x = np.zeros((4, 8 if name.endswith("tables") else 4), dtype)
    out, x = x.view(np.float64), x[:, :4]
    message = "out must not overlap another argument, got memory that both share"
    with pytest.raises(ValueError, match=exactly(message)):
        CONVERTED[name](x, out)
    assert not x.any()


SEVERAL: dict[str, Call] = {
    "similarity": lambda x: rw.similarity(x, x),
    "attention": lambda x: rw.attention(x[0], x, x),
    "attention_stages": lambda x: rw.attention_stages(x[0], x, x).output,
    "packed_mask": lambda x: rw.bias.packed_mask(x.astype(int), x.astype(int)),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_more_axes_than_numpy_broadcasts_are_taken(name: str) -> None:
    x = rows((1,) * 38 + (3, 4))
    found, expected = (np.asarray(SEVERAL[name](y)) for y in (x, x.reshape(1, 3, 4)))
    assert_same_bits(found.reshape(expected.shape), expected)


MORE_AXES: dict[str, Call] = {
    "rotary_tables": lambda x: rw.rotary_tables(x, 4),
    "sinusoidal_encoding": lambda x: rw.sinusoidal_encoding(x, 4),
    "integer_encoding": lambda x: rw.integer_encoding(x, 4),
    "binary_encoding": lambda x: rw.binary_encoding(x, 4),
    "embed": lambda x: rw.embed(x, ONES),
    "packed_mask": rw.bias.packed_mask,
    "alibi": lambda x: rw.bias.alibi(x[..., 0], 2),
    "split_heads": lambda x: rw.split_heads(x, 1),
    "multi_head_attention": lambda x: rw.multi_head_attention(
        x, heads=1, query_weight=[[1.0]], key_weight=[[1.0]], value_weight=[[1.0]]
    ),
}


@pytest.mark.parametrize("name", MORE_AXES)
def test_results_of_more_axes_than_numpy_has_are_refused(name: str) -> None:
    message = exactly("a result would have 65 dimensions, and NumPy has 64 at most")
    with pytest.raises(ValueError, match=message):
        MORE_AXES[name](np.zeros((1,) * 64, int))


AS_MANY_AXES: dict[str, Callable[[Any], Any]] = {
    "position_kernel": lambda x: rw.position_kernel(x, 4),
    "convert_pairing": lambda x: rw.convert_pairing(x, source="half", target="interleaved"),
    "packed_mask": lambda x: rw.bias.packed_mask(x[0].astype(int)),
}


@pytest.mark.parametrize("name", AS_MANY_AXES)
def test_results_may_have_as_many_axes_as_numpy_has(name: str) -> None:
    values = np.arange(4.0)
    found = np.asarray(AS_MANY_AXES[name](values.reshape((1,) * 63 + (4,))))
    assert found.ndim == 64
    assert (found.reshape(-1) == np.ravel(AS_MANY_AXES[name](values[None]))).all()


class Convertible:
    """What turns itself into an array, as arrays of other libraries do."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return self.array


@pytest.mark.parametrize("name", MASKED)
def test_the_mask_of_what_turns_itself_into_an_array_is_not_lost(name: str) -> None:
    message = exactly(f"{name} must not be a masked array, whose mask would be lost")
    with pytest.raises(TypeError, match=message):
        MASKED[name](Convertible(HALF_MASKED))


def test_what_turns_itself_into_an_array_is_one() -> None:
    assert (rw.softmax(cast("Any", Convertible(ONES))) == rw.softmax(ONES)).all()


class Refusing:
    """A tensor that cannot become an array."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        msg = "use tensor.detach().numpy()"
        raise self.error(msg)


@pytest.mark.parametrize("error", [RuntimeError, TypeError])
def test_a_tensor_that_cannot_become_an_array_is_named(error: type[Exception]) -> None:
    message = r"^x must be .*: use tensor.detach\(\).numpy\(\)$"
    with pytest.raises(TypeError, match=message):
        rw.softmax(cast("Any", Refusing(error)))


def test_a_number_of_bfloat16_is_a_number() -> None:
    scale = ml_dtypes.bfloat16(0.3)
    assert (rw.softmax(ONES, scale=scale) == rw.softmax(ONES, scale=float(scale))).all()


HALF, TINY = np.full((2, 2), 2.0**-14, np.float16), [1.0, 1e-310]
SMALLER = [[1e-200]]
SMALL: dict[str, Callable[[], Any]] = {
    "similarity": lambda: rw.similarity([1e200, 1e-200], [1.0, 1.0]),
    "similarity, inner": lambda: rw.similarity(HALF, HALF, measure="inner"),
    "similarity, euclidean": lambda: rw.similarity(TINY, [1.0, 0.0], measure="euclidean"),
    "embed": lambda: rw.embed([0], [TINY], scale=0.1),
    "merge_attention": lambda: rw.merge_attention([[[1.0]], [[1.0]]], [[0.0], [-740.0]])[0],
    "multi_head_attention": lambda: rw.multi_head_attention(
        HALF, heads=1, query_weight=HALF, key_weight=HALF, value_weight=HALF
    ),
    "multi_head_attention, products": lambda: rw.multi_head_attention(
        SMALLER, heads=1, query_weight=SMALLER, key_weight=SMALLER, value_weight=SMALLER
    ),
    "integer_encoding": lambda: rw.integer_encoding(1e-310, 2, length=3),
    "xpos_scales": lambda: F.xpos_scales(1e-310, 4),
    "entropy": lambda: rw.properties.entropy([1.0, 3e-323]),
    "signal_to_noise": lambda: rw.properties.signal_to_noise([1.0, 1e-200], [1.0]),
    "scores_by_distance": lambda: rw.properties.scores_by_distance(TINY, TINY, range(3)),
    "area": lambda: rw.geometry.area([[0, 0], [1e-200, 0], [0, 1e-200]]),  # type: ignore[arg-type]
    "distance_to_hull": lambda: rw.geometry.distance_to_hull([TINY], [[1e-200, 0], [0, 1e-200]]),
    "rotary_tables": lambda: rw.rotary_tables(1e-45, 4, angles="float32"),
    "rotate_by": lambda: rw.rotate_by(
        np.ones((2, 2), np.float32), np.array([[1e-300], [1e300]]), np.zeros((2, 1))
    ),
    "width": lambda: rw.geometry.width([[0, 0], [1, 0]], [1e-200, 1e200]),
    "diameter": lambda: rw.geometry.diameter([[0, 0], [1e200, 1e-200]]),  # type: ignore[arg-type]
    "alibi": lambda: rw.bias.alibi([1e308, -1e308], 3),
    "multi_head_attention, sums": lambda: rw.multi_head_attention(
        [[1e308]],
        heads=1,
        query_weight=[[0.0]],
        key_weight=[[0.0]],
        value_weight=[[1.0]],
        value_bias=[1e308],
    ),
    "fitted_shift": lambda: rw.properties.fitted_shift([TINY, [3.0, 1e-200], [4.0, 1e-310]]).matrix,
}


@pytest.mark.parametrize("name", SMALL)
def test_results_heed_no_handling_of_floating_point_errors(name: str) -> None:
    expected = SMALL[name]()
    with np.errstate(all="raise"):
        assert np.array_equal(SMALL[name](), expected)


@pytest.mark.parametrize("name", ["mixed", "longrope", "from_radians"])
def test_schedules_heed_no_trap_of_floats(name: str) -> None:
    schedules: dict[str, Callable[[], F.Frequencies]] = {
        "from_radians": lambda: F.from_radians([0.1]),
        "longrope": lambda: F.longrope(
            4, short_factors=[1.1, 2], long_factors=[3, 4], trained_length=64, factor=2.5
        ),
        "mixed": lambda: F.mixed(8, directions=0.1),
    }
    expected = schedules[name]()
    with decimal.localcontext() as context:
        context.traps[decimal.FloatOperation] = True
        assert schedules[name]() == expected


def test_the_package_loads_where_decimals_of_floats_are_trapped() -> None:
    command = """
import decimal
decimal.DefaultContext.traps[decimal.FloatOperation] = True
decimal.setcontext(decimal.Context())
import ropewalk as rw
assert rw.frequencies.longrope(
    4, short_factors=[1, 2], long_factors=[3, 4], trained_length=64, factor=2.5, base=1e4
).attention_factor > 1
"""
    subprocess.run([sys.executable, "-c", command], check=True, timeout=120)


@pytest.mark.parametrize("precision", [1, 12])
def test_articles_heed_no_decimal_context(precision: int) -> None:
    with decimal.localcontext(prec=precision) as context:
        context.traps[decimal.FloatOperation] = True
        assert all(entry.reproduced() for entry in rw.articles.ledger("003", kind="V"))


def test_integers_that_no_one_could_mean_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^axis must be an integer of at most 1000 bits"):
        rw.softmax([1.0], axis=2**1500)


def test_a_masked_integer_is_none() -> None:
    hidden: Any = np.ma.array(2, mask=True)
    with pytest.raises(TypeError, match=r"^axis must be an integer, got masked_array\("):
        rw.softmax(np.ones((1, 1, 1)), axis=hidden)


def test_what_is_long_is_cut_short_in_a_message() -> None:
    with pytest.raises(TypeError) as refused:
        rw.rotary_tables(128, list(range(100_000)))  # type: ignore[arg-type]
    message = str(refused.value)
    assert message.startswith("dim must be an integer, got [0, 1, 2, 3,")
    assert message.endswith("... (688890 characters)")
    assert len(message) < 400


@pytest.mark.parametrize("empty", [range(10**30, 0), range(-(10**30), -(10**40))], ids=str)
def test_where_an_empty_range_would_begin_is_no_matter(empty: range) -> None:
    assert rw.integer_encoding(empty, 3).shape == (0, 3)
    assert rw.binary_encoding(empty, 3).shape == (0, 3)
    assert F.xpos_scales(empty, 6).shape == (0, 3)
    assert rw.rotary_tables(empty, 6, angles="float32")[0].shape == (0, 3)


def test_a_field_makes_no_frequencies_of_records() -> None:
    records = np.rec.array(np.zeros(2, [("attention_factor", "f8")]))
    with pytest.raises(TypeError, match=r"^x must be .* got dtype"):
        rw.softmax(records)


def test_sets_are_no_strings() -> None:
    with pytest.raises(TypeError, match=r"^labels must be strings"):
        _options.strings("labels", frozenset("ab"), 2)


# Numbers in another dtype, beside NumPy's own conversion and that of ml_dtypes: so many that these
# do not make it

HALVES = [data.DTYPES["float16"], data.DTYPES["bfloat16"]]
FLOAT32 = np.dtype(np.float32)
halves = pytest.mark.parametrize("half", HALVES, ids=str)


@halves
def test_every_number_of_a_half_type_has_one_in_float32(half: np.dtype[Any]) -> None:
    every = np.tile(np.arange(1 << 16, dtype=np.uint16).view(half), 5)
    found, expected = in_dtype(every, FLOAT32), every.astype(np.float32)
    assert found.dtype == FLOAT32
    np.testing.assert_array_equal(found, expected)
    assert_same_bits(np.signbit(found), np.signbit(expected))


@halves
def test_float32_is_rounded_to_the_nearest_number_of_a_half_type(half: np.dtype[Any]) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(half).astype(np.float32)
    numbers = every[np.isfinite(every)]
    between = (numbers.astype(np.float64) + np.roll(numbers, -1)) / 2  # of neighbours, mostly
    middle = between.astype(np.float32)
    with np.errstate(all="ignore"):
        near = [np.nextafter(middle, np.float32(side)) for side in (-np.inf, np.inf)]
        x = np.concatenate([every, middle, *near, [3.4e38, -3.4e38, 1e-45]]).astype(np.float32)
        expected = x.astype(half)
    found = in_dtype(x, half)
    nan = np.isnan(x)
    assert np.isnan(found[nan]).all()
    assert_same_bits(found[~nan], expected[~nan])


@pytest.mark.parametrize("threads", [1, 3])
@layouts
@halves
def test_other_dtypes_of_arrays_that_lie_anyhow(
    half: np.dtype[Any], layout: str, threads: int
) -> None:
    x = LAYOUTS[layout](rows((3, 340, 263), str(half)))
    wide = by_threads(threads, lambda: in_dtype(x, FLOAT32))
    assert_same_bits(wide, x.astype(np.float32))
    assert_same_bits(by_threads(threads, lambda: in_dtype(wide, half)), np.array(x))
    transposed = by_threads(threads, lambda: in_dtype(x.T, FLOAT32))
    assert_same_bits(transposed, x.T.astype(np.float32))


@pytest.mark.parametrize("order", ["C", "F"])
def test_other_dtypes_of_another_byte_order(order: Any) -> None:
    x = np.asarray(rows((600, 500), "float16"), ">f2", order=order)
    assert_same_bits(in_dtype(x, FLOAT32), x.astype(np.float32))


def test_numbers_of_a_dtype_are_themselves_in_it() -> None:
    every: list[np.dtype[Any]] = [np.dtype(np.float64), FLOAT32, *HALVES]
    for dtype in every:
        x = np.ones(3, dtype)
        assert in_dtype(x, dtype) is x


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1)])
@halves
def test_other_dtypes_of_small_arrays(half: np.dtype[Any], shape: tuple[int, ...]) -> None:
    x = np.full(shape, 1.5, half)
    assert_same_bits(in_dtype(x, FLOAT32), np.full(shape, 1.5, np.float32))
    assert_same_bits(in_dtype(in_dtype(x, FLOAT32), half), x)


def test_between_others_numpy_converts_without_a_word() -> None:
    assert in_dtype(np.array([1e300, -np.inf]), FLOAT32).tolist() == [np.inf, -np.inf]
    assert in_dtype(np.array([1e300]), HALVES[0]).tolist() == [np.inf]
    assert in_dtype(np.array([1.5], HALVES[0]), np.dtype(HALVES[1])).tolist() == [1.5]


# Arrays whose rows do not lie side by side, brought in order.


def lying(axes: tuple[int, ...], x: NDArray[Any]) -> NDArray[Any]:
    """Return the same array, whose axes lie in that order in memory, the last one side by side."""
    return x.transpose(axes).copy().transpose(np.argsort(axes))


# More rows than a task has, and more columns; some that are no whole vectors, or few; three axes
# that follow each other as one.
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((2100, 70), (1, 0)),
        ((70, 2100), (1, 0)),
        ((1, 300), (1, 0)),
        ((300, 1), (1, 0)),
        ((3, 333, 40), (0, 2, 1)),
        ((40, 3, 333), (2, 1, 0)),
        ((40, 3, 333), (1, 2, 0)),
        ((2, 7, 5, 4, 17), (0, 4, 1, 2, 3)),
        ((4, 6, 30, 20), (1, 0, 3, 2)),
        ((300, 7), (1, 0)),
        ((7, 300), (1, 0)),
        ((0, 30, 20), (0, 2, 1)),
        ((3, 0, 20), (0, 2, 1)),
        ((3, 30, 0), (0, 2, 1)),
    ],
)
@pytest.mark.parametrize("dtype", data.DTYPES)
def test_rows_are_brought_in_order_with_all_their_bits(
    dtype: str, shape: tuple[int, ...], axes: tuple[int, ...], threads: int
) -> None:
    wanted = data.DTYPES[dtype]
    words = np.random.default_rng(0).integers(0, 256, (*shape, wanted.itemsize), np.uint8)
    x = words.view(wanted)[..., 0]  # NaN of all kinds among them
    begun = [lying(axes, x), lying(axes, np.pad(x, 1))[(slice(1, -1),) * len(shape)]]
    for given in begun:  # not by NumPy
        assert _core.transpose(given, np.empty_like(x), threads) == (x.size > 0 and 1 not in shape)
    for given in (*begun, begun[0][..., ::-1], begun[0][::2], np.broadcast_to(x, (2, *shape))):
        found = by_threads(threads, partial(_results.in_order, given))
        assert found.flags.c_contiguous
        assert_same_bits(found, np.array(given, order="C"))
        assert_same_bits(by_threads(threads, partial(_results.with_rows, given)), found)


def test_rows_that_repeat_are_brought_in_order_once() -> None:
    x = rows((2, 1, 40, 30), "float32").swapaxes(-1, -2)
    found = _results.with_rows(np.broadcast_to(x, (5, 2, 8, 30, 40)))
    assert found.shape == (5, 2, 8, 30, 40)
    assert found.strides == (0, 4800, 0, 160, 4)
    assert_same_bits(found[3, :, 6:7], x.copy())


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("axes", list(permutations(range(3))), ids=str)
def test_results_are_written_in_the_order_of_their_axes(
    axes: tuple[int, ...], threads: int
) -> None:
    x = rows((30, 40, 50), "float32")
    out = lying(axes, np.zeros_like(x))
    by_the_core = _results._filled_in_its_order(out, x)
    assert by_the_core == (axes[-1] != 2)  # else rows lie side by side
    assert_same_bits(out, x if by_the_core else np.zeros_like(x))
    assert by_threads(threads, lambda: rw.softmax(x, out=out)) is out
    assert_same_bits(out, rw.softmax(x))
    part = np.zeros((60, 50, 40), np.float32)[::2].swapaxes(1, 2)  # with gaps
    rw.softmax(x, out=part)
    assert_same_bits(part, out)
    table = lying((1, 0), np.zeros((500, 64)))
    by_threads(threads, lambda: rw.sinusoidal_encoding(range(500), 64, out=table))
    assert_same_bits(table, rw.sinusoidal_encoding(range(500), 64))
