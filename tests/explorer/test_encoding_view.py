"""The view of the encoding: numbers, waves and hands are the reference's, whatever the controls."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.explorer.conftest import Shown, numbers
from traitlets import TraitError

import ropewalk as rw
from ropewalk.explorer._view import View

Show = Callable[[View], Shown]
POSITIONS = range(6)
SHAPE = (6, 8)
DIGITS = 5.1e-5  # the page shows five digits of a float32


def table(frequencies: Any) -> NDArray[np.float64]:
    return np.array(reference.sinusoidal_encoding(POSITIONS, frequencies), dtype=np.float64)


def drawn_curve(shown: Shown) -> NDArray[np.float64]:
    """The points of the curve, in units of the picture."""
    d = shown.page.locator(".curve").get_attribute("d") or ""
    return np.array([point.split() for point in d[1:].split("L")], dtype=np.float64)


def drawn_hands(shown: Shown) -> NDArray[np.float64]:
    """The tips of the hands from the middle of their clocks, upwards positive."""
    paths = shown.page.locator(".hand").evaluate_all("all => all.map(x => x.getAttribute('d'))")
    tips = [path.split("l")[1].split() for path in paths]
    return np.array(tips, dtype=np.float64) * [1, -1]


def test_every_number_can_be_read_under_the_pointer(show: Show) -> None:
    shown = show(rw.explorer.encoding(POSITIONS, 8))
    expected = table(reference.standard_frequencies(8))
    np.testing.assert_allclose(shown.read(SHAPE), expected, rtol=DIGITS)


def test_the_wave_is_the_column_of_the_chosen_dimension(show: Show) -> None:
    shown = show(rw.explorer.encoding(POSITIONS, 8))
    shown.point(3, 2, SHAPE)
    x, y = drawn_curve(shown).T
    expected = table(reference.standard_frequencies(8))[:, 2]
    np.testing.assert_allclose(np.diff(x), 420 / 5, rtol=1e-6)
    np.testing.assert_allclose((105 - y) / 75, expected, atol=1e-6)  # 0 is at 105, 1 at 30
    text = shown.page.locator("svg[aria-label='Wave of a dimension']").text_content() or ""
    assert "dimension 3 (sin), wavelength 62.832" in text  # 2 pi 10


def test_the_wave_is_drawn_where_its_positions_are(show: Show) -> None:
    shown = show(rw.explorer.encoding([-1.0, 0.0, 0.5, 9.0], 4))
    shown.point(1, 0, (4, 4))
    np.testing.assert_allclose(drawn_curve(shown)[:, 0], 68 + 42 * np.array([0, 1, 1.5, 10]))
    marked = shown.page.locator("svg[aria-label='Wave of a dimension'] circle")
    assert float(marked.get_attribute("cx") or "") == pytest.approx(68 + 42)


@pytest.mark.parametrize("positions", [[3.0, 1.0, 2.0], [1.0, 1.0, 2.0]])
def test_positions_that_do_not_ascend_are_dots(show: Show, positions: list[float]) -> None:
    shown = show(rw.explorer.encoding(positions, 4))
    d = shown.page.locator(".curve").get_attribute("d") or ""
    dots = np.array([dot.split() for dot in d[1:].removesuffix("h0").split("h0M")], np.float64)
    expected = [[68 + 210 * i, 105 - 75 * math.sin(at)] for i, at in enumerate(positions)]
    np.testing.assert_allclose(dots, expected, atol=1e-4)


def test_one_position_has_a_wave(show: Show) -> None:
    shown = show(rw.explorer.encoding([2.0], 4))
    np.testing.assert_allclose(drawn_curve(shown), [[68, 105 - 75 * math.sin(2)]], atol=1e-4)


def test_hands_point_at_cosine_and_sine_of_the_chosen_position(show: Show) -> None:
    shown = show(rw.explorer.encoding(POSITIONS, 8))
    shown.point(3, 2, SHAPE)
    angles = 3 * 10.0 ** -np.arange(4)
    expected = 16 * np.transpose([np.cos(angles), np.sin(angles)])
    np.testing.assert_allclose(drawn_hands(shown), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("standard", reference.standard_frequencies(8, 100.0)),
        ("linear", reference.linear_frequencies(8, 10.0, 100.0)),
        ("ntk", reference.ntk_frequencies(8, 10.0, 100.0)),
        ("yarn", reference.yarn_frequencies(8, 10.0, 64, base=100.0)),
    ],
)
def test_controls_choose_the_frequencies(show: Show, schedule: str, expected: Any) -> None:
    view = rw.explorer.encoding(POSITIONS, 16, trained_length=64)
    shown = show(view)
    shown.set("schedule", schedule)
    shown.set("base", 2)  # a power of ten
    shown.set("factor", 1)
    shown.set("dim", 8)
    assert (view.schedule, view.base, view.factor, view.dim) == (schedule, 100.0, 10.0, 8)
    np.testing.assert_allclose(shown.read(SHAPE), table(expected), rtol=DIGITS)


def test_the_cursor_stays_in_a_table_that_becomes_narrower(show: Show) -> None:
    shown = show(rw.explorer.encoding(POSITIONS, 16))
    shown.page.locator(".map").focus()
    shown.page.keyboard.press("End")
    assert shown.readout.startswith("position 0 · dimension 16 (cos)")
    shown.set("dim", 8)
    assert shown.readout.startswith("position 0 · dimension 8 (cos)")


def test_fractional_and_negative_positions_have_their_names(show: Show) -> None:
    shown = show(rw.explorer.encoding([-1.5, 2.0], 4))
    assert numbers(shown.readout)[0] == -1.5
    assert shown.number == pytest.approx(math.sin(-1.5), rel=DIGITS)


def test_a_position_has_the_fewest_digits_that_tell_it(show: Show) -> None:
    positions = [-(2.0**53), -0.1, 1e-30, 0.1, 0.30000000000000004, 7.0, 2.0**53 - 1]
    view = rw.explorer.encoding(positions, 4)
    expected = ["-9007199254740992", "-0.1", "1e-30", "0.1", "0.30000000000000004", "7"]
    assert view.rows == [*expected, "9007199254740991"]
    shown = show(view)
    shown.point(3, 0, (7, 4))
    assert shown.readout.startswith("position 0.1 · ")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((range(0), 4), {}, ValueError, r"positions must have shape .* got \(0,\)"),
        (
            (range(10**9), 4),
            {},
            ValueError,
            "positions must be at most 4096 in number, got range",
        ),
        ((range(10**30), 4), {}, ValueError, "positions must be at most 4096 in number, got range"),
        (([[1], [1, 2]], 4), {}, ValueError, "positions must be a number, a range or "),
        (([[1.0]], 4), {}, ValueError, r"positions must have shape .* got \(1, 1\)"),
        ((7, 4), {}, ValueError, r"positions must have shape .* got \(\)"),
        (([2**53 + 1], 4), {}, ValueError, f"at most 2\\*\\*53 in size, got {2**53 + 1}"),
        (([1j], 4), {}, TypeError, "positions must be integers, float64"),
        ((range(4), 2), {}, ValueError, "dim must be an even integer from 4 to 4096, got 2"),
        ((range(4), 5), {}, ValueError, "dim must be an even integer"),
        ((range(4), 4), {"base": 0}, ValueError, "base must be positive and finite"),
        ((range(4), 4), {"schedule": "none"}, ValueError, "schedule must be one of 'standard'"),
        (
            (range(4), 4),
            {"factor": 0.5},
            ValueError,
            "factor must be a number from 1.0 to ",
        ),
        ((range(4), 4), {"trained_length": 0}, ValueError, "trained_length must be an integer"),
    ],
)
def test_bad_input_is_refused(
    arguments: tuple[Any, Any], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rw.explorer.encoding(*arguments, **options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("schedule", "none"),
        *(("factor", 0.5), ("factor", True)),
        *(("dim", 7), ("dim", True), ("base", -1.0), ("base", True)),
    ],
)
def test_a_control_refuses_what_it_cannot_show(name: str, value: object) -> None:
    view = rw.explorer.encoding(POSITIONS, 8)
    with pytest.raises(TraitError, match=name):
        setattr(view, name, value)
    assert view.frequencies() == rw.frequencies.standard(8)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("base", 2.0, "trained_length must leave a ramp"), ("factor", math.nan, "factor must be")],
)
def test_a_control_that_does_not_suit_the_others_stays_as_it_was(
    name: str, value: float, message: str
) -> None:
    view = rw.explorer.encoding(POSITIONS, 64, schedule="yarn")
    chosen, picture = view.frequencies(), view.picture
    with pytest.raises(TraitError, match=message):
        setattr(view, name, value)
    assert view.frequencies() == chosen
    assert view.picture == picture
    view.factor = 2.0
    assert view.frequencies() == rw.frequencies.yarn(64, factor=2.0, trained_length=2048)
    assert view.picture != picture


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_drawing_that_is_broken_off_leaves_what_was_drawn(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    view = rw.explorer.encoding(POSITIONS, 8)
    picture = view.picture
    with monkeypatch.context() as patch:
        patch.setattr("ropewalk.explorer._encoding.sinusoidal_encoding", fail)
        with pytest.raises(error):
            view.set_state({"base": 100.0, "dim": 16})
    assert (view.base, view.dim, view.picture) == (10000.0, 8, picture)
    view.base = 100.0
    drawn = np.frombuffer(view.picture["table"]["values"], "<f4").reshape(SHAPE)
    np.testing.assert_allclose(drawn, table(reference.standard_frequencies(8, 100.0)), atol=1e-7)


@pytest.mark.parametrize("base", [10000.0, 0.5])
def test_controls_that_change_together_and_do_not_suit_stay_as_they_were(base: float) -> None:
    view = rw.explorer.encoding(POSITIONS, 64, base=base)
    chosen, picture = view.frequencies(), view.picture
    with pytest.raises(TraitError, match="base must be above 1"):
        view.set_state({"base": 0.3, "schedule": "yarn"})
    assert view.frequencies() == chosen
    assert view.picture == picture
    view.factor = 2.0
    assert view.frequencies() == rw.frequencies.standard(64, base=base)
