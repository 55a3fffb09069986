"""`Frequencies` is a value: immutable, equal by content, picklable. Schedules are those published.

How exact the angles are that it leads to is tested in test_exact.py.
"""

import copy
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.extra.numpy
import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference

import ropewalk as rw
from ropewalk.frequencies import (
    Frequencies,
    axial,
    clipped,
    dynamic_ntk,
    from_radians,
    linear,
    llama3,
    longrope,
    mixed,
    mrope,
    ntk,
    partial,
    proportional,
    standard,
    xpos_scales,
    yarn,
)

NAN, INF = float("nan"), float("inf")
GOLDEN = Path(__file__).parent / "golden"
DIMS = [2, 6, 100, 128, 512]
BASES = [10000.0, 500000.0, 1e7, 7.3, 1.0, 0.5]
STANDING = from_radians([0.0, -0.25, 2.0])
ON_TWO_AXES = from_radians([[1.0, 0.0, 0.5], [0.0, 2.0, -0.25]])
WARM = yarn(8, factor=4.0, trained_length=1000)


def assert_relatively_close(actual: NDArray[np.float64], expected: list[reference.Real]) -> None:
    np.testing.assert_allclose(actual, np.array(expected, float), rtol=1e-15, atol=0)


def assert_is_the_nearest(f: Frequencies, expected: list[list[reference.Real]]) -> None:
    """Compare angles to the last bit kept: fixed point with 192 bits of a turn behind the point."""
    mp = reference.mp
    numbers = iter(f._numbers())
    assert (f.axes, len(f)) == (len(expected), len(expected[0]))
    for row in expected:
        for radians in row:
            exact = mp.ldexp(radians / (2 * mp.pi), 192)
            assert abs(next(numbers) - exact) < 0.5 + 1e-6


# Schedules


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("dim", DIMS)
def test_standard_frequencies_are_those_of_the_paper(dim: int, base: float) -> None:
    expected = reference.standard_frequencies(dim, base)
    assert_relatively_close(standard(dim, base=base).radians, expected)
    assert_is_the_nearest(standard(dim, base=base), [expected])


def test_powers_of_ten_come_out_as_the_nearest_floats() -> None:
    np.testing.assert_array_equal(standard(8).radians, [1.0, 0.1, 0.01, 0.001])


def test_base_is_10000_unless_it_is_said() -> None:
    assert standard(6) == standard(6, base=10000.0)
    assert linear(6, factor=2.0) == linear(6, factor=2.0, base=10000.0)
    assert axial(8) == axial(8, base=10000.0)
    assert mrope(8, sections=(2, 2)) == mrope(8, sections=(2, 2), base=10000.0)


def test_other_bases_are_those_of_their_papers() -> None:
    assert llama3(8, factor=8.0, trained_length=64) == llama3(
        8, factor=8.0, trained_length=64, base=500000.0
    )
    assert mixed(8, directions=1.0) == mixed(8, directions=1.0, base=10.0)


@pytest.mark.parametrize("factor", [1.0, 8.0, 0.3, 1e6])
@pytest.mark.parametrize("base", [10000.0, 7.3])
def test_linear_frequencies_are_divided_by_the_factor(base: float, factor: float) -> None:
    expected = reference.linear_frequencies(100, factor, base)
    assert_is_the_nearest(linear(100, factor=factor, base=base), [expected])


@pytest.mark.parametrize("factor", [1.0, 8.0, 0.3, 1000.0])
@pytest.mark.parametrize(("dim", "base"), [(4, 10000.0), (100, 7.3), (128, 5e5)])
def test_ntk_frequencies_have_a_larger_base(dim: int, base: float, factor: float) -> None:
    f = ntk(dim, factor=factor, base=base)
    assert_is_the_nearest(f, [reference.ntk_frequencies(dim, factor, base)])
    slowed = standard(dim, base=base).radians / f.radians
    np.testing.assert_allclose(slowed[[0, -1]], [1.0, factor], rtol=1e-15)


@pytest.mark.parametrize("length", [1, 4095, 4096, 4097, 65536, 2**53])
@pytest.mark.parametrize("factor", [1.0, 6.0, 0.3])
def test_dynamic_ntk_frequencies_follow_the_length(factor: float, length: int) -> None:
    f = dynamic_ntk(100, factor=factor, trained_length=4096, length=length, base=7.3)
    expected = reference.dynamic_ntk_frequencies(100, factor, 4096, length, 7.3)
    assert_is_the_nearest(f, [expected])


YARNS: list[tuple[int, dict[str, Any]]] = [
    (128, {"factor": 4.0, "trained_length": 32768, "base": 1e6}),
    (64, {"factor": 32.0, "trained_length": 4096, "truncate": False, "base": 150000.0}),
    (64, {"factor": 40.0, "trained_length": 4096}),
    (2, {"factor": 3.0, "trained_length": 500}),
    (8, {"factor": 3.0, "trained_length": 7}),
    (100, {"factor": 0.3, "trained_length": 999, "base": 7.3}),
    (100, {"factor": 5.0, "trained_length": 999, "beta_fast": 9.5, "beta_slow": 0.3}),
    (100, {"factor": 5.0, "trained_length": 999, "beta_fast": 2.0, "beta_slow": 2.0}),
    (
        100,
        {
            "factor": 5.0,
            "trained_length": 999,
            "beta_fast": 2.0,
            "beta_slow": 2.0,
            "truncate": False,
        },
    ),
]


@pytest.mark.parametrize(("dim", "options"), YARNS)
def test_yarn_frequencies_are_blended_along_a_ramp(dim: int, options: dict[str, Any]) -> None:
    f = yarn(dim, **options)
    assert_is_the_nearest(f, [reference.yarn_frequencies(dim, **options)])
    assert f.attention_factor == float(reference.yarn_attention_factor(options["factor"]))


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.707, 1.0), (2.0, 0.1)], ids=str)
@pytest.mark.parametrize("factor", [0.5, 1.0, 4.0, 40.0])
def test_mscale_is_the_quotient_of_two_factors(factor: float, weights: tuple[float, float]) -> None:
    above, below = weights
    f = yarn(8, factor=factor, trained_length=99, mscale=above, mscale_all_dim=below)
    assert f.attention_factor == float(reference.yarn_attention_factor(factor, above, below))


def test_an_attention_factor_that_is_given_counts() -> None:
    f = yarn(8, factor=4.0, trained_length=99, mscale=2.0, mscale_all_dim=1.0, attention_factor=1.5)
    assert f.attention_factor == 1.5
    lists: dict[str, Any] = {"short_factors": SHORT, "long_factors": LONG, "trained_length": 4096}
    g = longrope(8, **lists, attention_factor=1.25, factor=32.0, max_length=4096)
    assert g.attention_factor == 1.25
    assert longrope(8, **lists, factor=1.0, max_length=131072).attention_factor == 1.0


SHORT, LONG = [1.0, 1.5, 0.1, 2.0], [3.0, 20.7, 64.0, 1e3]


@pytest.mark.parametrize(
    ("length", "factors"), [(None, SHORT), (1, SHORT), (4096, SHORT), (4097, LONG), (2**53, LONG)]
)
def test_longrope_frequencies_change_beyond_the_trained_length(
    length: int | None, factors: list[float]
) -> None:
    f = longrope(
        8,
        short_factors=np.array(SHORT),
        long_factors=LONG,
        trained_length=4096,
        length=length,
        factor=2.0,
        base=7.3,
    )
    assert_is_the_nearest(f, [reference.longrope_frequencies(8, factors, 7.3)])


@pytest.mark.parametrize(
    ("options", "factor"),
    [
        ({"factor": 32.0}, 32),
        ({"max_length": 131072}, 32),
        ({"max_length": 5000}, reference.mp.mpf(5000) / 4096),
        ({"factor": 0.5}, 0.5),
        ({"factor": 0.9}, 0.9),
        ({"factor": 1.0}, 1),
        ({"max_length": 4096}, 1),
        ({"max_length": 100}, reference.mp.mpf(100) / 4096),
    ],
    ids=str,
)
def test_the_attention_factor_of_longrope(options: dict[str, Any], factor: Any) -> None:
    f = longrope(8, short_factors=SHORT, long_factors=LONG, trained_length=4096, **options)
    assert f.attention_factor == float(reference.longrope_attention_factor(4096, factor))


@pytest.mark.parametrize(
    ("dim", "options"),
    [
        (128, {"factor": 8.0, "trained_length": 8192}),
        (64, {"factor": 32.0, "trained_length": 8192}),
        (100, {"factor": 0.3, "trained_length": 100, "base": 7.3}),
        (
            100,
            {
                "factor": 5.0,
                "trained_length": 5000,
                "low_frequency_factor": 0.25,
                "high_frequency_factor": 77.7,
            },
        ),
    ],
)
def test_llama3_frequencies_are_blended_by_turns(dim: int, options: dict[str, Any]) -> None:
    expected = reference.llama3_frequencies(dim, **options)
    assert_is_the_nearest(llama3(dim, **options), [expected])


@pytest.mark.parametrize(
    ("dim", "fraction", "rotary_dim"),
    [(128, 1.0, 128), (96, 0.25, 24), (128, 0.5, 64), (20, 0.7, 14), (100, 0.29, 28), (8, 1, 8)],
)
def test_partial_frequencies_are_the_standard_ones_of_a_prefix(
    dim: int, fraction: float, rotary_dim: int
) -> None:
    expected = reference.standard_frequencies(rotary_dim, 7.3)
    assert_is_the_nearest(partial(dim, fraction=fraction, base=7.3), [expected])


@pytest.mark.parametrize(
    ("dim", "fraction", "live"),
    [(512, 0.25, 64), (128, 1, 64), (128, 0, 0), (10, 0.5, 2), (10, 0.59, 2), (10, 0.6, 3)],
)
@pytest.mark.parametrize("factor", [1.0, 8.0])
def test_proportional_frequencies_stand_still_at_the_end(
    dim: int, fraction: float, live: int, factor: float
) -> None:
    f = proportional(dim, fraction=fraction, factor=factor, base=7.3)
    assert_is_the_nearest(f, [reference.proportional_frequencies(dim, live, factor, 7.3)])


@pytest.mark.parametrize(("dim", "pairs"), [(128, 20), (128, 64), (8, 1), (8, 2), (2, 1)])
@pytest.mark.parametrize("hard", [False, True])
def test_clipped_frequencies_fade_out(dim: int, pairs: int, hard: bool) -> None:
    f = clipped(dim, pairs=pairs, hard=hard, base=7.3)
    assert_is_the_nearest(f, [reference.clipped_frequencies(dim, pairs, hard, 7.3)])


def test_twenty_pairs_are_clipped_softly_unless_it_is_said() -> None:
    assert clipped(128) == clipped(128, pairs=20, hard=False)


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_axial_frequencies_start_again_on_every_axis(axes: int) -> None:
    expected = reference.restarted_frequencies([8] * axes, 7.3)
    assert_is_the_nearest(axial(16 * axes, axes=axes, base=7.3), expected)


def test_axial_sections_need_not_be_equal() -> None:
    f = axial(128, sections=(8, 28, 28))
    assert_is_the_nearest(f, reference.restarted_frequencies([8, 28, 28]))
    assert f == axial(128, axes=3, sections=[8, 28, 28])
    assert axial(8, sections=(2, 2)) == axial(8)


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_axial_frequencies_are_dealt_out(axes: int) -> None:
    dim = 16 * axes
    dealt = axial(dim, axes=axes, layout="dealt", base=7.3)
    assert_is_the_nearest(dealt, reference.dealt_frequencies(dim, axes, 7.3))
    alternating = axial(dim, axes=axes, layout="alternating", base=7.3)
    assert_is_the_nearest(alternating, reference.alternating_frequencies(dim, axes, 7.3))


@pytest.mark.parametrize("layout", ["restarted", "dealt", "alternating"])
def test_axial_frequencies_in_turns_are_two_pi_times_as_fast(layout: Any) -> None:
    two_pi = 2 * reference.mp.pi
    of_layout = {
        "restarted": reference.restarted_frequencies([16, 16], 100.0),
        "dealt": reference.dealt_frequencies(64, 2, 100.0),
        "alternating": reference.alternating_frequencies(64, 2, 100.0),
    }
    expected = [[two_pi * w for w in row] for row in of_layout[layout]]
    assert_is_the_nearest(axial(64, layout=layout, turns=True, base=100.0), expected)


SECTIONS = [((16, 24, 24), False), ((3, 1), False), ((24, 20, 20), True), ((11, 11, 10), True)]


@pytest.mark.parametrize(("sections", "interleaved"), [*SECTIONS, ((4, 2, 2, 2), True)], ids=str)
def test_mrope_frequencies_are_shared_out(sections: tuple[int, ...], interleaved: bool) -> None:
    dim = 2 * sum(sections)
    f = mrope(dim, sections=sections, interleaved=interleaved, base=7.3)
    owners = reference.mrope_owners(sections, interleaved)
    shared = reference.standard_frequencies(dim, 7.3)
    assert_is_the_nearest(f, reference.on_axes(shared, owners, len(sections)))


@pytest.mark.parametrize(("sections", "interleaved"), SECTIONS, ids=str)
def test_mrope_with_equal_positions_is_its_one_axis_schedule(
    sections: tuple[int, ...], interleaved: bool
) -> None:
    shared = yarn(2 * sum(sections), factor=4.0, trained_length=999)
    f = mrope(sections=list(sections), interleaved=interleaved, frequencies=shared)
    assert f.attention_factor == shared.attention_factor
    np.testing.assert_array_equal(f.radians.sum(axis=0), shared.radians)
    assert ((f.radians != 0).sum(axis=0) == 1).all()
    positions = np.repeat(np.array([[0], [1], [-70], [2**31]]), len(sections), axis=1)
    np.testing.assert_array_equal(
        rw.sinusoidal_encoding(positions, frequencies=f, dtype=np.float32),
        rw.sinusoidal_encoding(positions[:, 0], frequencies=shared, dtype=np.float32),
    )


@pytest.mark.parametrize(
    "directions",
    [[0.0, 1.0, -2.0, 100.5], [np.pi, np.pi / 2, -np.pi / 2, 3e15], [2.0**53, 1, 2, 3]],
    ids=str,
)
def test_mixed_frequencies_point_in_their_directions(directions: list[float]) -> None:
    f = mixed(16, directions=directions, base=7.3)
    assert_is_the_nearest(f, reference.mixed_frequencies(16, directions, 7.3))


def test_one_direction_holds_for_all_pairs() -> None:
    assert mixed(16, directions=1) == mixed(16, directions=[1.0] * 4)


# The same in other words

ONE_AXIS: dict[str, Frequencies] = {
    "linear": linear(64, factor=1.0),
    "ntk": ntk(64, factor=1.0),
    "dynamic_ntk, trained": dynamic_ntk(64, factor=9.0, trained_length=4096, length=4096),
    "dynamic_ntk, shorter": dynamic_ntk(64, factor=9.0, trained_length=4096, length=7),
    "yarn": yarn(64, factor=1.0, trained_length=4096),
    "longrope": longrope(
        64, short_factors=[1] * 32, long_factors=[9] * 32, trained_length=4096, factor=1.0
    ),
    "llama3": llama3(64, factor=1.0, trained_length=4096, base=10000.0),
    "partial": partial(64, fraction=1.0),
    "proportional": proportional(64, fraction=1.0),
    "clipped": clipped(64, pairs=1),
    "from_radians": from_radians([1.0]),
}


@pytest.mark.parametrize("name", ONE_AXIS)
def test_schedules_that_change_nothing_are_the_standard_one(name: str) -> None:
    f = ONE_AXIS[name]
    if name in {"yarn", "llama3"}:  # blends round once more
        np.testing.assert_array_equal(f.radians, standard(64).radians)
        assert f.attention_factor == 1.0
    else:
        assert f == standard(2 * len(f))


def test_dynamic_ntk_is_ntk_with_the_factor_of_its_length() -> None:
    f = dynamic_ntk(64, factor=6.0, trained_length=1024, length=2048)
    assert f == ntk(64, factor=7.0)


def test_hard_clipping_is_proportional() -> None:
    assert clipped(64, pairs=8, hard=True) == proportional(64, fraction=0.75)


def test_yarn_keeps_fast_pairs_and_divides_slow_ones() -> None:
    f = yarn(128, factor=4.0, trained_length=32768, base=1e6)
    slowed = standard(128, base=1e6).radians / f.radians
    assert (np.diff(slowed) > -1e-12).all()
    np.testing.assert_allclose(slowed[[0, -1]], [1.0, 4.0], rtol=1e-15)


def test_the_dinov3_angle_is_a_turn_for_each_unit() -> None:
    f = axial(64, turns=True, base=100.0)
    np.testing.assert_allclose(f.wavelengths[0, :16], 100.0 ** (np.arange(16) / 16), rtol=1e-15)


# Published models


def golden_schedules() -> dict[str, dict[str, Any]]:
    return {case["model"]: case for case in json.loads((GOLDEN / "schedules.json").read_text())}


@pytest.mark.parametrize("model", golden_schedules())
def test_published_models_have_their_frequencies(model: str) -> None:
    case = golden_schedules()[model]
    f = getattr(rw.frequencies, case["function"])(case["dim"], **case["options"])
    radians = np.atleast_2d(f.radians)[:, case["pairs"]]
    np.testing.assert_allclose(radians, np.array(case["radians"], float), rtol=1e-15, atol=0)
    assert f.attention_factor == float(case["attention_factor"])


def test_the_stored_schedules_are_what_their_script_prints() -> None:
    command = [sys.executable, str(GOLDEN / "schedules.py")]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    assert printed.stdout == (GOLDEN / "schedules.json").read_text()


# The attention factors that the configurations of these models lead to, as published to 6 decimals.
@pytest.mark.parametrize(
    ("model", "attention_factor"),
    [
        ("Qwen 2.5 with YaRN", 1.138629),
        ("gpt-oss", 1.346574),
        ("DeepSeek-V3", 1.0),
        ("Ministral 3", 1.0),
        ("Phi-3-mini-128k, beyond", 1.190238),
    ],
)
def test_published_attention_factors(model: str, attention_factor: float) -> None:
    assert round(float(golden_schedules()[model]["attention_factor"]), 6) == attention_factor


# From an array


@pytest.mark.parametrize("make", [standard, lambda dim: linear(dim, factor=4.0)], ids=["st", "li"])
def test_there_is_one_frequency_for_every_pair(make: Callable[[int], Frequencies]) -> None:
    for dim in DIMS:
        assert len(make(dim)) == dim // 2


@pytest.mark.parametrize(
    "radians",
    [
        [1.0, 0.1, 1e-20],
        (3, 2, 1),
        [-1.0, 0.0, -1e18],
        np.array([0.1, 0.7], np.float32),
        np.array([0.1, 0.7], np.float16),
        np.array([0.1, 0.7], ">f8"),
        np.array([1, 0, 250], np.uint8),
        np.linspace(1, 2, 9)[::-3],
    ],
    ids=["list", "tuple", "signs", "float32", "float16", "big-endian", "uint8", "strided"],
)
def test_radians_are_the_exact_numbers_that_were_given(radians: Any) -> None:
    f = from_radians(radians)
    assert (len(f), f.axes) == (len(radians), 1)
    np.testing.assert_array_equal(f.radians, np.asarray(radians, np.float64))


def test_the_smallest_and_the_largest_frequency_are_taken() -> None:
    turn = 2 * np.pi
    radians = [turn * 2.0**-100 * (1 + 2**-50), turn * 2.0**60 * (1 - 2**-50)]
    np.testing.assert_allclose(from_radians(radians).wavelengths, [2.0**100, 2.0**-60], rtol=1e-14)


def test_frequencies_of_a_float32_array_keep_its_error() -> None:
    rounded = np.float32(10000.0) ** -np.linspace(0, 1, 4, endpoint=False, dtype=np.float32)
    assert from_radians(rounded) == from_radians(rounded.astype(np.float64))
    assert from_radians(rounded) != standard(8)


FLOATS = st.one_of(
    st.just(0.0),
    st.floats(6e-30, 7e18),
    st.floats(-7e18, -6e-30),
    st.sampled_from([1.0, -0.5, 2.0**60]),
)
TABLES = hypothesis.extra.numpy.arrays(
    np.float64,
    st.one_of(st.tuples(st.integers(1, 9)), st.tuples(st.integers(2, 5), st.integers(1, 9))),
    elements=FLOATS,
)


@hypothesis.given(TABLES)
def test_any_table_of_radians_is_taken_as_it_is(table: NDArray[np.float64]) -> None:
    f = from_radians(table)
    assert f.axes == (1 if table.ndim == 1 else len(table))
    assert len(f) == table.shape[-1]
    # What is kept is 192 bits of a turn behind the point, with sizes down to 2**-100.
    np.testing.assert_allclose(f.radians, table, rtol=1e-15, atol=0)
    assert f.radians.shape == f.wavelengths.shape == table.shape
    assert pickle.loads(pickle.dumps(f)) == f
    if table.ndim == 2:
        rows = [from_radians(row) for row in table]
        np.testing.assert_array_equal(f.radians, [row.radians for row in rows])


# What it shows


def test_wavelengths_are_positions_per_turn() -> None:
    expected = [reference.wavelength(w) for w in reference.standard_frequencies(100, 7.3)]
    assert_relatively_close(standard(100, base=7.3).wavelengths, expected)


def test_wavelengths_have_no_sign_and_are_infinite_at_rest() -> None:
    np.testing.assert_array_equal(STANDING.wavelengths, [np.inf, 8 * np.pi, np.pi])


def test_most_schedules_have_attention_factor_1() -> None:
    others = [ntk(6, factor=4.0), llama3(6, factor=4.0, trained_length=9), axial(8)]
    for f in (standard(6), linear(6, factor=4.0), STANDING, ON_TWO_AXES, *others):
        assert f.attention_factor == 1.0


def test_most_schedules_have_one_axis() -> None:
    assert [standard(6).axes, STANDING.axes, WARM.axes] == [1, 1, 1]
    assert standard(6).radians.shape == standard(6).wavelengths.shape == (3,)


def test_several_axes_come_first() -> None:
    assert (ON_TWO_AXES.axes, len(ON_TWO_AXES)) == (2, 3)
    np.testing.assert_array_equal(ON_TWO_AXES.radians, [[1.0, 0.0, 0.5], [0.0, 2.0, -0.25]])
    assert_relatively_close(
        ON_TWO_AXES.wavelengths / np.pi, [[2, reference.mp.inf, 4], [reference.mp.inf, 1, 8]]
    )


def test_scaling_says_the_schedule_and_its_parameters() -> None:
    assert standard(6).scaling == "standard(6, base=10000.0)"
    assert linear(6, factor=4, base=7.3).scaling == "linear(6, factor=4.0, base=7.3)"
    assert STANDING.scaling == "from_radians(3 values)"
    assert ON_TWO_AXES.scaling == "from_radians(6 values)"


SCALINGS: list[tuple[Frequencies, str]] = [
    (ntk(8, factor=2), "ntk(8, factor=2.0, base=10000.0)"),
    (
        dynamic_ntk(8, factor=2, trained_length=9, length=7),
        "dynamic_ntk(8, factor=2.0, trained_length=9, length=7, base=10000.0)",
    ),
    (
        WARM,
        "yarn(8, factor=4.0, trained_length=1000, beta_fast=32.0, beta_slow=1.0, truncate=True, "
        "base=10000.0)",
    ),
    (
        longrope(4, short_factors=[1, 1], long_factors=[2, 2], trained_length=9, factor=2.0),
        "longrope(4, short factors, trained_length=9, base=10000.0)",
    ),
    (
        longrope(
            4, short_factors=[1, 1], long_factors=[2, 2], trained_length=9, length=10, factor=2.0
        ),
        "longrope(4, long factors, trained_length=9, base=10000.0)",
    ),
    (
        llama3(8, factor=2, trained_length=9),
        "llama3(8, factor=2.0, trained_length=9, low_frequency_factor=1.0, "
        "high_frequency_factor=4.0, base=500000.0)",
    ),
    (partial(8, fraction=0.5), "partial(8, fraction=0.5, base=10000.0)"),
    (proportional(8, fraction=0.5), "proportional(8, fraction=0.5, factor=1.0, base=10000.0)"),
    (clipped(8, pairs=2), "clipped(8, pairs=2, hard=False, base=10000.0)"),
    (axial(8), "axial(8, axes=2, layout='restarted', turns=False, base=10000.0)"),
    (
        axial(8, sections=[1, 3], turns=True),
        "axial(8, sections=(1, 3), layout='restarted', turns=True, base=10000.0)",
    ),
    (
        mrope(8, sections=[2, 2]),
        "mrope(standard(8, base=10000.0), sections=(2, 2), interleaved=False)",
    ),
    (mixed(8, directions=1.0), "mixed(8, base=10.0)"),
]


@pytest.mark.parametrize(("f", "scaling"), SCALINGS, ids=[scaling for _, scaling in SCALINGS])
def test_scaling_names_the_function_that_was_called(f: Frequencies, scaling: str) -> None:
    assert f.scaling == scaling


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (standard(2), "standard(2, base=10000.0): 1 pair, wavelengths 6.28319 to 6.28319"),
        (standard(4), "standard(4, base=10000.0): 2 pairs, wavelengths 6.28319 to 628.319"),
        (STANDING, "from_radians(3 values): 3 pairs, wavelengths 3.14159 to inf"),
        (ON_TWO_AXES, "from_radians(6 values): 3 pairs on 2 axes, wavelengths 3.14159 to inf"),
        (
            Frequencies(standard(2)._words, 1, 1.25, "warm"),
            "warm: 1 pair, wavelengths 6.28319 to 6.28319, attention factor 1.25",
        ),
    ],
    ids=["one pair", "two pairs", "standing", "two axes", "warm"],
)
def test_repr_says_scaling_pairs_and_wavelengths(f: Frequencies, text: str) -> None:
    assert repr(f) == f"<Frequencies {text}>"


# A value


def test_frequencies_are_equal_when_all_angles_are() -> None:
    assert standard(4, base=16.0) == from_radians([1.0, 0.25])
    assert standard(2) == from_radians([1.0])
    assert from_radians([0.0]) == from_radians([-0.0])


def test_axes_and_attention_factor_make_a_difference() -> None:
    words = standard(8)._words
    values = {Frequencies(words, axes, factor, "") for axes in (1, 2, 4) for factor in (1.0, 1.5)}
    assert len(values) == 6
    assert Frequencies(words, 2, 1.5, "one name") == Frequencies(words, 2, 1.5, "another")


@pytest.mark.parametrize(
    "other",
    [standard(8), standard(6, base=10001.0), linear(6, factor=2.0), "standard(6)", None, 3],
    ids=repr,
)
def test_frequencies_differ_when_anything_does(other: object) -> None:
    assert standard(6) != other


def test_the_order_of_the_pairs_matters() -> None:
    assert from_radians([1.0, 2.0]) != from_radians([2.0, 1.0])


def test_equal_frequencies_have_equal_hashes() -> None:
    assert len({standard(2), from_radians([1.0]), from_radians([1]), standard(4)}) == 2


@pytest.mark.parametrize(
    "f", [standard(100), linear(6, factor=3.0), STANDING, ON_TWO_AXES, WARM], ids=repr
)
@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda f, p=p: pickle.loads(pickle.dumps(f, p)) for p in range(2, 6)),
    ],
    ids=["copy", "deepcopy", "pickle 2", "pickle 3", "pickle 4", "pickle 5"],
)
def test_a_copy_is_the_same_value(f: Frequencies, copied: Callable[[Frequencies], Any]) -> None:
    other = copied(f)
    assert other == f
    assert repr(other) == repr(f)
    np.testing.assert_array_equal(other.radians, f.radians)


def test_a_copy_gives_the_same_table() -> None:
    f = standard(10, base=7.3)
    expected = rw.sinusoidal_encoding(range(100), frequencies=f)
    other = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(rw.sinusoidal_encoding(range(100), frequencies=other), expected)


@pytest.mark.parametrize(
    "name", ["radians", "wavelengths", "axes", "attention_factor", "scaling", "other"]
)
def test_no_attribute_can_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(standard(6), name, 1.0)


@pytest.mark.parametrize("name", ["radians", "wavelengths", "axes", "attention_factor", "scaling"])
def test_no_attribute_can_be_deleted(name: str) -> None:
    with pytest.raises(AttributeError):
        delattr(standard(6), name)


def test_radians_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        standard(6).radians[0] = 2.0


def test_wavelengths_that_were_written_are_not_kept() -> None:
    f = standard(6)
    before = f.wavelengths.copy()
    f.wavelengths[...] = 0
    np.testing.assert_array_equal(f.wavelengths, before)


def test_the_array_that_was_given_is_not_kept() -> None:
    radians = np.array([1.0, 2.0])
    f = from_radians(radians)
    radians[0] = 5.0
    np.testing.assert_array_equal(f.radians, [1.0, 2.0])


# As an array


def test_as_an_array_it_is_its_radians() -> None:
    f = standard(8)
    np.testing.assert_array_equal(np.asarray(f), f.radians)
    assert np.asarray(f).dtype == np.float64


def test_as_an_array_of_another_dtype_it_is_converted() -> None:
    f = standard(8)
    np.testing.assert_array_equal(np.asarray(f, dtype=np.float32), f.radians.astype(np.float32))


def test_a_copy_as_an_array_can_be_written() -> None:
    f = standard(8)
    copied = np.array(f, copy=True)
    copied[0] = 7.0
    assert f.radians[0] == 1.0


def test_an_array_without_a_copy_is_the_one_inside() -> None:
    f = standard(8)
    assert np.shares_memory(np.asarray(f, copy=False), f.radians)


def test_an_array_of_another_dtype_needs_a_copy() -> None:
    with pytest.raises(ValueError, match="copy"):
        np.asarray(standard(8), dtype=np.float32, copy=False)


def test_numpy_functions_take_it() -> None:
    np.testing.assert_allclose(np.multiply(standard(8), 10), [10.0, 1.0, 0.1, 0.01], rtol=1e-15)


# xPos


def scales_apart(
    positions: Any, dim: int, scale_base: float = 512.0, centre: float = 0.0
) -> list[float]:
    """Return how far scales are from the exact ones (ulp)."""
    scales = xpos_scales(positions, dim, scale_base=scale_base, centre=centre)
    apart = []
    for position, row in zip(np.atleast_1d(positions), np.atleast_2d(scales), strict=True):
        for pair, scale in enumerate(row):
            exact = reference.xpos_scale(position.item(), pair, dim, scale_base, centre)
            apart.append(float(abs(reference.mp.mpf(float(scale)) - exact) / np.spacing(scale)))
    return apart


@pytest.mark.parametrize("dim", [2, 10, 64])
@pytest.mark.parametrize(
    ("scale_base", "centre"), [(512.0, 0.0), (512.0, 1000.5), (64.0, -0.1), (1.0, 7), (1e6, 0)]
)
def test_xpos_scales_are_those_of_the_paper(
    rng: np.random.Generator, dim: int, scale_base: float, centre: float
) -> None:
    reach = 550 * scale_base
    near = np.array([0, 1, -1, 2.5, 512, -4096])
    near = near[abs(near - centre) < reach]
    positions = np.concatenate([near, rng.uniform(-reach, reach, 20) + centre])
    assert max(scales_apart(positions, dim, scale_base, centre)) < 2.0


def test_xpos_scales_hold_for_the_largest_positions() -> None:
    positions = np.arange(2**53 - 200, 2**53)
    assert max(scales_apart(positions, 6, scale_base=1.0, centre=2.0**53 - 300.5)) < 2.0


def test_xpos_scales_are_1_at_the_centre() -> None:
    np.testing.assert_array_equal(xpos_scales([0, 700], 8, centre=700)[1], np.ones(4))
    np.testing.assert_array_equal(xpos_scales(-3.5, 8, centre=-3.5), np.ones(4))


@pytest.mark.parametrize(
    ("positions", "shape"),
    [(3, ()), (range(5), (5,)), ([], (0,)), (np.ones((2, 3), np.float32), (2, 3))],
    ids=["number", "range", "none", "float32"],
)
def test_xpos_scales_have_the_shape_of_their_positions(positions: Any, shape: Any) -> None:
    scales = xpos_scales(positions, 8)
    assert (scales.shape, scales.dtype) == ((*shape, 4), np.dtype(np.float64))
    assert scales.flags.c_contiguous
    assert scales.flags.writeable


def test_xpos_scales_decay_within_512_positions_unless_it_is_said() -> None:
    np.testing.assert_allclose(xpos_scales(512, 10), (np.arange(5) / 5 + 0.4) / 1.4, rtol=1e-15)


# 565 steps of zeta = 2 / 7 are 2^1021.2, one more is 2^1023.
@pytest.mark.parametrize("sign", [-1, 1])
def test_xpos_scales_and_their_reciprocals_are_floats(sign: int) -> None:
    scale = xpos_scales(565 * sign, 2, scale_base=1.0)[0]
    assert abs(np.log2(scale)) < 1022
    with pytest.raises(ValueError, match=f"got {566.0 * sign} positions from it"):
        xpos_scales(566 * sign, 2, scale_base=1.0)


def test_xpos_scores_depend_on_the_distance_alone() -> None:
    queries, keys = xpos_scales([900, 100], 64), xpos_scales([800, 0], 64)
    near, far = queries / keys
    np.testing.assert_allclose(near, far, rtol=1e-14)
    assert (np.diff(near) > 0).all()  # fast pairs fade faster


# Refusals

LISTS: dict[str, Any] = {"short_factors": [1.0, 2.0], "long_factors": [1.0, 2.0]}
REFUSALS: dict[str, tuple[Callable[[], object], str]] = {
    "ntk of one pair": (
        lambda: ntk(2, factor=2.0),
        "dim must be an even integer from 4 to 1048576, got 2",
    ),
    "dynamic_ntk of one pair": (
        lambda: dynamic_ntk(2, factor=2.0, trained_length=9, length=9),
        "dim must be an even integer from 4 to 1048576, got 2",
    ),
    "no length": (
        lambda: dynamic_ntk(4, factor=2.0, trained_length=9, length=0),
        "length must be an integer from 1 to 9007199254740992, got 0",
    ),
    "no trained length": (
        lambda: llama3(4, factor=2.0, trained_length=-1),
        "trained_length must be an integer from 1 to 9007199254740992, got -1",
    ),
    "length too long": (
        lambda: longrope(4, **LISTS, trained_length=9, length=2**53 + 1, factor=2.0),
        "length must be an integer from 1 to 9007199254740992, got 9007199254740993",
    ),
    "base 1 in yarn": (
        lambda: yarn(8, factor=2.0, trained_length=99, base=1.0),
        "base must be above 1 in yarn, got 1.0",
    ),
    "betas the wrong way round": (
        lambda: yarn(8, factor=2.0, trained_length=99, beta_fast=1.0, beta_slow=1.5),
        "beta_fast must not be below beta_slow, 1.5, got 1.0",
    ),
    "no beta_fast": (
        lambda: yarn(8, factor=2.0, trained_length=99, beta_fast=0.0),
        "beta_fast must be positive and finite, got 0.0",
    ),
    "infinite beta_slow": (
        lambda: yarn(8, factor=2.0, trained_length=99, beta_slow=INF),
        "beta_slow must be positive and finite, got inf",
    ),
    "ramp before the first pair": (
        lambda: yarn(8, factor=2.0, trained_length=3, truncate=False),
        "trained_length must leave a ramp within 8 channels, got 3",
    ),
    "ramp beyond the last pair": (
        lambda: yarn(8, factor=2.0, trained_length=10**9, base=1.5),
        "trained_length must leave a ramp within 8 channels, got 1000000000",
    ),
    "mscale alone": (
        lambda: yarn(8, factor=2.0, trained_length=99, mscale=1.0),
        "mscale and mscale_all_dim must be given together, got 1.0 and None",
    ),
    "mscale_all_dim alone": (
        lambda: yarn(8, factor=2.0, trained_length=99, mscale_all_dim=1.0),
        "mscale and mscale_all_dim must be given together, got None and 1.0",
    ),
    "mscale 0": (
        lambda: yarn(8, factor=2.0, trained_length=99, mscale=0.0, mscale_all_dim=1.0),
        "mscale must be positive and finite, got 0.0",
    ),
    "mscale_all_dim NaN": (
        lambda: yarn(8, factor=2.0, trained_length=99, mscale=1.0, mscale_all_dim=NAN),
        "mscale_all_dim must be positive and finite, got nan",
    ),
    "attention factor NaN": (
        lambda: yarn(8, factor=2.0, trained_length=99, attention_factor=NAN),
        "attention_factor must be a number from 0.0625 to 16.0, got nan",
    ),
    "attention factor too large": (
        lambda: longrope(4, **LISTS, trained_length=9, attention_factor=17),
        "attention_factor must be a number from 0.0625 to 16.0, got 17",
    ),
    "attention factor too small": (
        lambda: Frequencies(standard(2)._words, 1, 0.0624, ""),
        "attention_factor must be a number from 0.0625 to 16.0, got 0.0624",
    ),
    "no attention factor": (
        lambda: longrope(4, **LISTS, trained_length=9),
        "one of max_length, factor and attention_factor must be given in longrope, got none",
    ),
    "logarithm of 1": (
        lambda: longrope(4, **LISTS, trained_length=1, factor=2.0),
        "trained_length must be at least 2 where the attention factor follows from it, got 1",
    ),
    "short list": (
        lambda: longrope(
            4, short_factors=[1.0], long_factors=[1.0, 2.0], trained_length=9, factor=2.0
        ),
        "short_factors must have shape (2,), one factor a pair, got (1,)",
    ),
    "lists of lists": (
        lambda: longrope(
            4, short_factors=[1.0, 2.0], long_factors=[[1.0, 2.0]], trained_length=9, factor=2.0
        ),
        "long_factors must have shape (2,), one factor a pair, got (1, 2)",
    ),
    "negative factor in a list": (
        lambda: longrope(
            4, short_factors=[1.0, -2.0], long_factors=[1.0, 2.0], trained_length=9, factor=2.0
        ),
        "short_factors must be positive, got -2.0",
    ),
    "NaN in a list": (
        lambda: longrope(
            4, short_factors=[1.0, 2.0], long_factors=[NAN, 2.0], trained_length=9, factor=2.0
        ),
        "long_factors must be finite, got nan",
    ),
    "factors the wrong way round": (
        lambda: llama3(4, factor=2.0, trained_length=9, low_frequency_factor=5),
        "low_frequency_factor must be at most high_frequency_factor, 4.0, got 5.0",
    ),
    "no high_frequency_factor": (
        lambda: llama3(4, factor=2.0, trained_length=9, high_frequency_factor=0),
        "high_frequency_factor must be positive and finite, got 0.0",
    ),
    "fraction above 1": (
        lambda: partial(8, fraction=1.5),
        "fraction must be a number from 0.0 to 1.0, got 1.5",
    ),
    "fraction NaN": (
        lambda: proportional(8, fraction=NAN),
        "fraction must be a number from 0.0 to 1.0, got nan",
    ),
    "fraction below 0": (
        lambda: proportional(8, fraction=-0.25),
        "fraction must be a number from 0.0 to 1.0, got -0.25",
    ),
    "no prefix": (
        lambda: partial(8, fraction=0.0),
        "fraction must leave an even width of at least 2, got 0.0 of 8, which is 0",
    ),
    "odd prefix": (
        lambda: partial(10, fraction=0.5),
        "fraction must leave an even width of at least 2, got 0.5 of 10, which is 5",
    ),
    "no pairs clipped": (
        lambda: clipped(8, pairs=0),
        "pairs must be an integer from 1 to 4, got 0",
    ),
    "all pairs clipped and more": (
        lambda: clipped(8),
        "pairs must be an integer from 1 to 4, got 20",
    ),
    "one axis": (
        lambda: axial(8, axes=1),
        "axes must be an integer from 2 to 64, got 1",
    ),
    "more axes than dimensions": (
        lambda: axial(130, axes=65),
        "axes must be an integer from 2 to 64, got 65",
    ),
    "pairs that cannot be split": (
        lambda: axial(8, axes=3),
        "dim must be a multiple of 6 for 3 axes, got 8",
    ),
    "axes and sections": (
        lambda: axial(8, axes=3, sections=(2, 2)),
        "axes must be 2, the number of sections, got 3",
    ),
    "dealt sections": (
        lambda: axial(8, sections=(2, 2), layout="dealt"),
        "sections must not be given with the layout 'dealt', got (2, 2)",
    ),
    "unknown layout": (
        lambda: axial(8, layout="xy"),  # type: ignore[arg-type]
        "layout must be one of 'restarted', 'dealt', 'alternating', got 'xy'",
    ),
    "sections of axial": (
        lambda: axial(8, sections=(2, 3)),
        "sections must sum to 4, the number of pairs, got (2, 3)",
    ),
    "sections of mrope": (
        lambda: mrope(128, sections=[24, 20, 21]),
        "sections must sum to 64, the number of pairs, got [24, 20, 21]",
    ),
    "one section": (
        lambda: mrope(8, sections=(4,)),
        "sections must be 2 to 64, one an axis, got 1",
    ),
    "65 sections": (
        lambda: mrope(130, sections=[1] * 65),
        "sections must be 2 to 64, one an axis, got 65",
    ),
    "empty section": (
        lambda: mrope(8, sections=(4, 0)),
        "sections must be an integer from 1 to 4, got 0",
    ),
    "sections that cannot be dealt out": (
        lambda: mrope(64, sections=(8, 12, 12), interleaved=True),
        "sections must be such that 32 pairs can be dealt out in turn, got (8, 12, 12), of which "
        "the axes would get (11, 11, 10)",
    ),
    "mrope of several axes": (
        lambda: mrope(sections=(1, 1), frequencies=axial(4)),
        "frequencies must have one axis, got 2",
    ),
    "mrope of two schedules": (
        lambda: mrope(4, sections=(1, 1), base=2.0, frequencies=standard(4)),
        "base must not be given together with frequencies, got 2.0",
    ),
    "half a quarter": (
        lambda: mixed(6, directions=0.0),
        "dim must be a multiple of 4, got 6",
    ),
    "too many directions": (
        lambda: mixed(8, directions=[1, 2, 3]),
        "directions must be a number or have shape (2,), got (3,)",
    ),
    "no direction": (
        lambda: mixed(8, directions=INF),
        "directions must be finite, got inf",
    ),
    "direction too large": (
        lambda: mixed(8, directions=[1.0, -1e30]),
        "directions must be a number from -9007199254740992.0 to 9007199254740992.0, got -1e+30",
    ),
    "frequency too slow": (
        lambda: from_radians([[1.0, 1.0, 1.0], [1.0, 1.0, 1e-40]]),
        "a frequency must be 0 or from 2**-100 to 2**60 turns per position in size, got 1.592e-41 "
        "for pair 2 of axis 1",
    ),
    "scale_base below 1": (
        lambda: xpos_scales(0, 8, scale_base=0.5),
        "scale_base must be a number from 1.0 to 9007199254740992.0, got 0.5",
    ),
    "centre too far": (
        lambda: xpos_scales(0, 8, centre=-1e16),
        "centre must be a number from -9007199254740992.0 to 9007199254740992.0, got -1e+16",
    ),
    "scales too large": (
        lambda: xpos_scales([[0, -9000]], 8, scale_base=12.0, centre=1),
        "positions must be near enough to centre for scales from 2**-1022 to 2**1022, "
        "got -9001.0 positions from it; a larger scale_base reaches further",
    ),
    "scales too small": (
        lambda: xpos_scales(2**53, 8),
        "positions must be near enough to centre for scales from 2**-1022 to 2**1022, "
        "got 9007199254740992.0 positions from it; a larger scale_base reaches further",
    ),
    "position NaN": (
        lambda: xpos_scales([0, NAN], 8),
        "positions must be finite and at most 2**53 in size, got nan",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_values_out_of_range_are_refused(case: str) -> None:
    call, message = REFUSALS[case]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


WRONG_KINDS: dict[str, tuple[Callable[[], object], str]] = {
    "length": (
        lambda: dynamic_ntk(4, factor=2.0, trained_length=9, length=9.0),  # type: ignore[arg-type]
        "length must be an integer, got 9.0",
    ),
    "trained_length": (
        lambda: yarn(4, factor=2.0, trained_length="9"),  # type: ignore[arg-type]
        "trained_length must be an integer, got '9'",
    ),
    "beta_fast": (
        lambda: yarn(4, factor=2.0, trained_length=9, beta_fast="9"),  # type: ignore[arg-type]
        "beta_fast must be a real number, got '9'",
    ),
    "attention_factor": (
        lambda: yarn(4, factor=2.0, trained_length=9, attention_factor=1j),  # type: ignore[arg-type]
        "attention_factor must be a real number, got 1j",
    ),
    "mscale": (
        lambda: yarn(4, factor=2.0, trained_length=9, mscale="1", mscale_all_dim=1),  # type: ignore[arg-type]
        "mscale must be a real number, got '1'",
    ),
    "short_factors": (
        lambda: longrope(4, short_factors="12", long_factors=[1, 2], trained_length=9, factor=2.0),
        "short_factors must be integers, float64, float32 or float16, got dtype <U2",
    ),
    "fraction": (
        lambda: partial(8, fraction=None),  # type: ignore[arg-type]
        "fraction must be a real number, got None",
    ),
    "pairs": (
        lambda: clipped(8, pairs=2.0),  # type: ignore[arg-type]
        "pairs must be an integer, got 2.0",
    ),
    "axes": (
        lambda: axial(8, axes=2.0),  # type: ignore[arg-type]
        "axes must be an integer, got 2.0",
    ),
    "sections": (
        lambda: mrope(8, sections=4),  # type: ignore[arg-type]
        "sections must be a sequence of integers, got 4",
    ),
    "a section": (
        lambda: mrope(8, sections=(2, 2.0)),  # type: ignore[arg-type]
        "sections must be an integer, got 2.0",
    ),
    "no dim": (
        lambda: mrope(sections=(2, 2)),
        "dim must be given where frequencies is not",
    ),
    "frequencies": (
        lambda: mrope(sections=(2, 2), frequencies=[1.0] * 4),  # type: ignore[arg-type]
        "frequencies must come from ropewalk.frequencies (from_radians takes an array), got list",
    ),
    "directions": (
        lambda: mixed(8, directions=[1j, 2]),
        "directions must be integers, float64, float32 or float16, got dtype complex128",
    ),
    "scale_base": (
        lambda: xpos_scales(0, 8, scale_base="512"),  # type: ignore[arg-type]
        "scale_base must be a real number, got '512'",
    ),
}


@pytest.mark.parametrize("case", WRONG_KINDS)
def test_values_of_a_wrong_kind_are_refused(case: str) -> None:
    call, message = WRONG_KINDS[case]
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        call()


WITH_WIDTH: dict[str, Callable[..., Any]] = {
    "ntk": lambda dim, **base: ntk(dim, factor=2.0, **base),
    "dynamic_ntk": lambda dim, **base: dynamic_ntk(
        dim, factor=2.0, trained_length=9, length=9, **base
    ),
    "yarn": lambda dim, **base: yarn(dim, factor=2.0, trained_length=99, **base),
    "longrope": lambda dim, **base: longrope(dim, **LISTS, trained_length=9, factor=2.0, **base),
    "llama3": lambda dim, **base: llama3(dim, factor=2.0, trained_length=9, **base),
    "partial": lambda dim, **base: partial(dim, fraction=0.5, **base),
    "proportional": lambda dim, **base: proportional(dim, fraction=0.5, **base),
    "clipped": lambda dim, **base: clipped(dim, pairs=1, **base),
    "axial": axial,
    "mrope": lambda dim, **base: mrope(dim, sections=(1, 1), **base),
    "mixed": lambda dim, **base: mixed(dim, directions=0.0, **base),
    "xpos_scales": lambda dim: xpos_scales(0, dim),
}


@pytest.mark.parametrize("dim", [0, 7, -2, 2**20 + 2], ids=str)
@pytest.mark.parametrize("name", WITH_WIDTH)
def test_an_odd_width_is_refused(name: str, dim: int) -> None:
    message = f"^dim must be an even integer from 2 to 1048576, got {dim}$"
    with pytest.raises(ValueError, match=message):
        WITH_WIDTH[name](dim)


@pytest.mark.parametrize("base", [0.0, -1.0, NAN, INF], ids=str)
@pytest.mark.parametrize("name", sorted(set(WITH_WIDTH) - {"xpos_scales"}))
def test_a_base_that_is_not_positive_is_refused(name: str, base: float) -> None:
    with pytest.raises(ValueError, match=f"^base must be positive and finite, got {base}$"):
        WITH_WIDTH[name](4, base=base)


FACTORS: dict[str, Callable[[float], Any]] = {
    "ntk": lambda factor: ntk(4, factor=factor),
    "dynamic_ntk": lambda factor: dynamic_ntk(4, factor=factor, trained_length=9, length=9),
    "yarn": lambda factor: yarn(4, factor=factor, trained_length=99),
    "longrope": lambda factor: longrope(4, **LISTS, trained_length=9, factor=factor),
    "llama3": lambda factor: llama3(4, factor=factor, trained_length=9),
    "proportional": lambda factor: proportional(4, fraction=0.5, factor=factor),
}


@pytest.mark.parametrize("factor", [0.0, -2.0, NAN, INF], ids=str)
@pytest.mark.parametrize("name", FACTORS)
def test_a_factor_that_is_not_positive_is_refused(name: str, factor: float) -> None:
    with pytest.raises(ValueError, match=f"^factor must be positive and finite, got {factor}$"):
        FACTORS[name](factor)
