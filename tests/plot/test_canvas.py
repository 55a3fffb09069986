"""What all figures promise: new ones on demand, settings untouched, languages, refusals."""

import itertools
import pickle
import re
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from numpy.typing import NDArray
from tests.plot.examples import ON_AXES, PANELS, SPEAKING, example, figures_of

import ropewalk as rw
from ropewalk.plot import _canvas

Drawing = Callable[..., Any]
DRAWINGS = [rw.plot.clock_hands, rw.plot.heatmap, rw.plot.number_table, rw.plot.waves]
TABLE = rw.sinusoidal_encoding(range(4), 4)


# What is said of every figure with words, whole texts.
SPOKEN = {
    "addition": {
        "次元",
        "位置符号: \N{MINUS SIGN}0.98999 〜 0.99955",
        "和: \N{MINUS SIGN}1.49 〜 2.03",
    },
    "angle_error": {
        "位置 (トークン)",
        "角度の誤差 (ラジアン)",
        "全ての組での最大値",
        "二乗平均平方根",
    },
    "article_animations": {"組 3", "位置 0", "次元", "値"},
    "article_figures": {"t (位置)", "キー", "クエリ", "凸包", "正弦波"},
    "attention_arrows": {"キー", "クエリ"},
    "attention_mask": {"キー", "クエリ", "マスク", "見える"},
    "attention_stages": {"キー", "クエリ", "マスク", "スコア", "重み", "出力", "特徴"},
    "attention_weights": {"キー", "クエリ", "ヘッド 11"},
    "clock_hands": {"組 0", "組 1"},
    "exponential": {"どの x でも 0 より大きい", "x が大きいほど大きい"},
    "heatmap": {"キー", "クエリ", "有限の値なし"},
    "linear_map": {"変換前", "変換後: 面積は 1 倍"},
    "long_term_decay": {"上界", "距離 (トークン)", "距離 32 で初めて負"},
    "moving_vector": {"位置 0", "次元", "値"},
    "number_table": {"t (位置)"},
    "path": {"位置 (トークン)", "成分 1", "成分 2"},
    "polygon_contraction": {"凸包", "トークン順の多角形", "出力: 周長 3.07、面積 0.416"},
    "position_kernel": {"位置の差 (トークン)", "内積"},
    "right_triangle": {"底辺 4", "高さ 3", "斜辺 5"},
    "rotating_pairs": {"組 0", "組 1", "位置 0"},
    "rotation": {"位置 (トークン)", "組 0", "組 1"},
    "scale_law": {"分散", "q · k の分散", "q · k / √D の分散"},
    "score_by_distance": {"距離 (トークン)", "スコア / (|クエリ| |キー|)"},
    "scorecard": {"整数", "一意", "定義なし"},
    "sine": {"周期 2π"},
    "temperature": {"最大の重み", "スコアのスケール", "one"},
    "transformer": {"エンコーダー", "デコーダー", "位置符号"},
    "wavelengths": {"組", "波長 (トークン)", "学習時の長さ 4096"},
    "waves": {"t (位置)", "値", "次元 1 (sin)"},
}
# Names, and labels that the examples give.
OF_NO_LANGUAGE = {"cos", "sin", "bfloat", "RoPE", "ALiBi", "AB", "standard", "one", "other"}
OF_NO_LANGUAGE |= {"the", "cat", "dog", "car", "sleeps"}


def _texts(drawn: Any) -> list[str]:
    found = []
    for figure in figures_of(drawn):
        cells = [table.get_celld().values() for ax in figure.axes for table in ax.tables]
        found += [*figure.findobj(Text), *(cell.get_text() for cell in chain(*cells))]
    return [text.get_text() for text in found]


def _axes_for(name: str, figure: Figure) -> Any:
    panels = figure.subplots(PANELS.get(name, 1), squeeze=False)
    return panels if name in PANELS else panels.item()


@pytest.mark.parametrize("name", ON_AXES)
def test_a_new_figure_is_made_only_where_none_is_given(name: str) -> None:
    given = Figure()
    axes = _axes_for(name, given)
    drawn = example(name, ax=axes)
    assert figures_of(drawn) == [given]
    if not isinstance(drawn, FuncAnimation):
        assert drawn == (axes.ravel().tolist() if name in PANELS else axes)
    assert plt.get_fignums() == []
    drawn = example(name)
    assert figures_of(drawn) == [plt.gcf()]
    assert len(plt.get_fignums()) == 1
    at_every_frame = isinstance(plt.gcf().get_layout_engine(), ConstrainedLayoutEngine)
    assert at_every_frame != isinstance(drawn, FuncAnimation)


@pytest.mark.parametrize("animate", [rw.plot.moving_vector, rw.plot.rotating_pairs])
def test_axes_of_an_animation_stay_where_a_layout_puts_them(animate: Drawing) -> None:
    animation = animate(TABLE)
    figure = plt.gcf()
    (ax,) = figure.axes
    held = ax.get_position().bounds
    assert held[0] > 0.01
    animation.to_jshtml()
    assert ax.get_position().bounds == held
    figure.set_layout_engine("constrained")
    figure.draw_without_rendering()
    np.testing.assert_allclose(ax.get_position().bounds, held, rtol=0, atol=1e-3)


@pytest.mark.parametrize("name", PANELS)
def test_axes_are_as_many_as_panels(name: str) -> None:
    axes = list(Figure().subplots(PANELS[name] + 1))
    with pytest.raises(ValueError, match=rf"^ax must be {PANELS[name]} Axes, got {len(axes)}$"):
        example(name, ax=axes)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, "bfloat16"])
@pytest.mark.parametrize("draw", DRAWINGS)
def test_tables_of_every_dtype_are_drawn(draw: Drawing, dtype: str) -> None:
    table = rw.sinusoidal_encoding(range(4), 4, dtype=dtype)
    figure = Figure(layout="constrained")
    draw(table, ax=figure.add_subplot())
    figure.draw_without_rendering()


def test_labels_are_japanese_where_a_font_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Meiryo", "DejaVu Sans"])
    ax = rw.plot.heatmap(TABLE, ax=Figure().add_subplot(), lang="ja")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("t (位置)", "次元")
    assert ax.xaxis.label.get_fontfamily() == [*mpl.rcParams["font.family"], "Meiryo"]


@pytest.mark.filterwarnings("ignore:Glyph")  # that font is not there
@pytest.mark.parametrize("name", SPEAKING)
def test_every_figure_speaks_japanese(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Noto Sans CJK JP"])
    said = _texts(example(name, "ja"))
    assert SPOKEN[name] <= set(said)
    assert set(re.findall("[A-Za-z]{2,}", " ".join(said))) <= OF_NO_LANGUAGE


LABELLED: dict[str, Callable[[str, Axes], object]] = {
    "waves": lambda label, ax: rw.plot.waves(TABLE[:, :2], labels=[label, "b"], ax=ax),
    "a table": lambda label, ax: rw.plot.number_table(TABLE[:2, :2], labels=[label, "b"], ax=ax),
    "clocks": lambda label, ax: rw.plot.clock_hands(TABLE[:3, :2], labels=[label], ax=ax),
    "wavelengths": lambda label, ax: rw.plot.wavelengths(
        {label: rw.frequencies.standard(8), "b": rw.frequencies.standard(4)}, ax=ax
    ),
    "wavelengths of axes": lambda label, ax: rw.plot.wavelengths(
        {label: rw.frequencies.axial(8, axes=2)}, ax=ax
    ),
    "a product": lambda label, ax: rw.plot.matrix_product(
        [[1]], [[2]], labels=(label, "b", "c"), ax=ax
    ),
    "weights": lambda label, ax: rw.plot.attention_weights({label: np.eye(2)}, ax=ax),
    "scores": lambda label, ax: rw.plot.score_by_distance(
        np.ones((1, 2)), np.ones((1, 2)), range(3), labels=[label], ax=ax
    ),
}


@pytest.mark.parametrize("family", ["STIXGeneral", "none"])
@pytest.mark.parametrize("draw", LABELLED)
def test_own_labels_are_drawn_in_a_font_that_has_their_letters(
    draw: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STIX stands in for a Japanese font: it has the letter that DejaVu Sans has not."""
    label = "\N{TELEPHONE RECORDER}"
    monkeypatch.setattr("ropewalk.plot._canvas.JAPANESE_FONTS", (family,))
    ax = Figure().add_subplot()
    LABELLED[draw](label, ax)
    ax.figure.figure.draw_without_rendering()  # a letter that is missing would be an error
    assert any(label in text for text in _texts(ax)) == (family != "none")


@pytest.mark.parametrize("name", SPEAKING)
def test_labels_are_english_where_no_font_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans"])
    assert _texts(example(name, "ja")) == _texts(example(name, "en"))


@pytest.mark.parametrize("name", SPEAKING)
def test_an_unknown_language_is_refused_and_nothing_drawn(name: str) -> None:
    with pytest.raises(ValueError, match=r"^lang must be one of 'en', 'ja', got 'fr'$"):
        example(name, "fr")
    assert not plt.get_fignums()
    if name in ON_AXES:
        figure = Figure()
        axes = _axes_for(name, figure)
        before = figure.findobj()
        with pytest.raises(ValueError, match=r"^lang must be one of 'en', 'ja', got 'fr'$"):
            example(name, "fr", ax=axes)
        assert figure.findobj() == before


@pytest.mark.parametrize(
    "draw", [rw.plot.projection, rw.plot.inner_product, rw.plot.matrix_product]
)
def test_what_is_refused_leaves_no_figure(draw: Drawing) -> None:
    with pytest.raises(ValueError, match="must"):
        draw([1, 0], [0, 0, 1])
    assert not plt.get_fignums()


HUGE = np.array([[1.7e308, -1.7e308], [-1.7e308, 1e308], [5e-324, 0.0]])
TOO_LARGE: dict[str, tuple[str, Callable[[], object]]] = {
    "addition": ("encoding", lambda: rw.plot.addition([1.0], [1e308])),
    "clock_hands": ("table", lambda: rw.plot.clock_hands(HUGE)),
    "linear_map": ("points", lambda: rw.plot.linear_map(HUGE, np.eye(2))),
    "linear_map by": ("matrix", lambda: rw.plot.linear_map([[1, 2]], HUGE[:2])),
    "long_term_decay": ("bound", lambda: rw.plot.long_term_decay([8, 9], [1e308] * 2, [1, 1])),
    "long_term_decay of": (
        "mean_cosine",
        lambda: rw.plot.long_term_decay([8, 9], [1, 1], [1e308, -1e308]),
    ),
    "matrix_product": ("a", lambda: rw.plot.matrix_product([[1e200]], [[1]])),
    "matrix_product by": ("b", lambda: rw.plot.matrix_product([[1]], [[1e200]])),
    "moving_vector": ("table", lambda: rw.plot.moving_vector(HUGE)),
    "path": ("points", lambda: rw.plot.path(HUGE)),
    "polygon_contraction": (
        "outputs",
        lambda: rw.plot.polygon_contraction(np.eye(2), 1e160 * np.eye(2)),
    ),
    "position_kernel": ("kernel", lambda: rw.plot.position_kernel([1, 2, 3], HUGE.T)),
    "right_triangle": ("opposite", lambda: rw.plot.right_triangle(1.0, 1e308)),
    "rotating_pairs": ("table", lambda: rw.plot.rotating_pairs(HUGE)),
    "rotation": ("table", lambda: rw.plot.rotation(HUGE)),
    "sine": ("x", lambda: rw.plot.sine([-1e308, 1e308], [0, 0], period=1.0)),
    "temperature": (
        "scales",
        lambda: rw.plot.temperature(rw.properties.temperature([1.0], scales=[1e160])),
    ),
    "waves": ("table", lambda: rw.plot.waves(HUGE)),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_to_draw_is_refused_by_name_and_leaves_no_figure(name: str) -> None:
    argument, draw = TOO_LARGE[name]
    with pytest.raises(ValueError, match=rf"^{argument} must be at most 1e\+100 in size, got "):
        draw()
    assert not plt.get_fignums()


BY_POSITION = [*DRAWINGS, rw.plot.moving_vector, rw.plot.path, rw.plot.rotating_pairs]
BY_POSITION += [rw.plot.rotation]


@pytest.mark.parametrize("draw", BY_POSITION)
def test_far_positions_are_refused_and_leave_no_figure(draw: Drawing) -> None:
    with pytest.raises(ValueError, match=r"^positions must be finite and at most 2\*\*53 in size"):
        draw(TABLE[:, :2], positions=[-1e308, 0, 1, 1e308])
    with pytest.raises(ValueError, match=r"^offsets must be finite and at most 2\*\*53 in size"):
        rw.plot.position_kernel([-1e308, 1e308], [1, 2])
    assert not plt.get_fignums()


ENDLESS = range(2**53)  # of which no array can be made


@pytest.mark.parametrize("draw", BY_POSITION)
def test_a_long_range_is_refused_before_it_becomes_an_array(draw: Drawing) -> None:
    with pytest.raises(ValueError, match=r"^positions must have shape \(4,\)"):
        draw(TABLE[:, :2], positions=ENDLESS)
    with pytest.raises(ValueError, match=r"^kernel must have shape \(9007199254740992,\)"):
        rw.plot.position_kernel(ENDLESS, [1, 2])
    with pytest.raises(ValueError, match=r"must have one shape"):
        rw.plot.long_term_decay(ENDLESS, [1, 2], [1, 2])


@pytest.mark.parametrize("ax", ["x", 1, Figure()], ids=repr)
@pytest.mark.parametrize("name", ON_AXES)
def test_axes_are_those_of_matplotlib(name: str, ax: Any) -> None:
    with pytest.raises(TypeError, match=r"^ax must be Axes of Matplotlib, got "):
        example(name, ax=[ax] * PANELS.get(name, 1))


@pytest.fixture(params=["polar", "3d", "aitoff", "removed"])
def unsuitable(request: pytest.FixtureRequest) -> Axes:
    removed = request.param == "removed"
    ax = Figure().add_subplot(projection="rectilinear" if removed else request.param)
    if removed:
        ax.remove()
    return ax


@pytest.mark.parametrize("name", ON_AXES)
def test_nothing_is_drawn_where_it_would_not_fit(name: str, unsuitable: Axes) -> None:
    drawn = unsuitable.get_children()
    with pytest.raises(ValueError, match=r"ax must be Axes of (rectilinear projection|a figure), "):
        example(name, ax=[unsuitable] * PANELS[name] if name in PANELS else unsuitable)
    assert unsuitable.get_children() == drawn


def test_axes_of_a_kind_of_their_own_are_drawn_on() -> None:
    own = type("Own", (Axes,), {"name": "own"})
    ax = own(Figure(), (0.1, 0.1, 0.8, 0.8))
    ax.figure.add_axes(ax)
    assert rw.plot.waves(TABLE, ax=ax) is ax


@pytest.mark.parametrize("parts", [False, True])
def test_several_axes_are_those_of_one_figure(parts: bool) -> None:
    whole = Figure()
    cells = whole.add_gridspec(2)
    figures = [whole.add_subfigure(cells[i]) if parts else Figure() for i in range(2)]
    given = [figure.add_subplot() for figure in figures]
    with pytest.raises(
        ValueError, match="ax must be Axes of one figure or subfigure, got those of 2"
    ):
        rw.plot.attention_weights(np.full((2, 2, 2), 0.5), ax=given)
    assert not any(ax.images for ax in given)
    law = rw.properties.temperature([1.0, 2.0], scales=[0.5, 1.0])
    assert rw.plot.temperature(law, ax=given) == given  # which share nothing


NO_TABLES = [TABLE * 1j, [["1.5"]], [[None]], 10**400]
FOR_HEATMAP = [np.ma.array(TABLE), TABLE > 0]  # heatmap draws booleans and what is masked


@pytest.mark.parametrize(
    ("draw", "table"),
    [
        *itertools.product(DRAWINGS, NO_TABLES),
        *itertools.product([draw for draw in DRAWINGS if draw is not rw.plot.heatmap], FOR_HEATMAP),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_a_table_holds_real_numbers(draw: Drawing, table: Any) -> None:
    with pytest.raises(TypeError, match="must"):
        draw(table, ax=Figure().add_subplot())


@pytest.mark.parametrize("table", [np.zeros(4), np.zeros((0, 4)), np.zeros((2, 2, 2))])
@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_table_has_two_dimensions_and_is_not_empty(
    draw: Drawing, table: NDArray[np.float64]
) -> None:
    with pytest.raises(ValueError, match=f"not be empty, got {re.escape(str(table.shape))}"):
        draw(table, ax=Figure().add_subplot())


@pytest.mark.parametrize("draw", DRAWINGS)
def test_positions_are_as_many_as_rows(draw: Drawing) -> None:
    with pytest.raises(ValueError, match=r"positions must have shape \(4,\), .* got \(3,\)"):
        draw(TABLE, positions=range(3), ax=Figure().add_subplot())


def test_curves_do_not_run_back_and_forth() -> None:
    with pytest.raises(ValueError, match=r"^positions must be ascending, got 2 before 1$"):
        rw.plot.waves(TABLE, positions=[0, 2, 1, 3])
    with pytest.raises(ValueError, match=r"^offsets must be ascending, got 3 before -1$"):
        rw.plot.position_kernel([3, -1], [1, 2])
    assert not plt.get_fignums()
    scores = rw.plot.score_by_distance([1, 0], [1, 0], [2, 0, 1], ax=Figure().add_subplot())
    np.testing.assert_array_equal(scores.lines[1].get_xdata(), [0, 1, 2])
    np.testing.assert_allclose(
        np.asarray(scores.lines[1].get_ydata()), np.cos([0, 1, 2]), rtol=1e-14
    )
    mixed, sorted_ = (
        rw.plot.temperature(
            rw.properties.temperature([1.0, 2.0], scales=scales), ax=Figure().subplots(2)
        )
        for scales in ([5, 0.1, 3], [0.1, 3, 5])
    )
    for panel, expected in zip(mixed, sorted_, strict=True):
        np.testing.assert_array_equal(panel.lines[0].get_xydata(), expected.lines[0].get_xydata())


@pytest.mark.parametrize("draw", [rw.plot.clock_hands, rw.plot.number_table, rw.plot.waves])
def test_labels_are_as_many_as_there_are_things_to_name(draw: Drawing) -> None:
    with pytest.raises(ValueError, match=r"labels must be [24] strings, got 1"):
        draw(TABLE, labels=["one"], ax=Figure().add_subplot())


@pytest.mark.parametrize(
    "labels",
    [5, [1, "b"], ["a", None], [b"a", "b"], b"ab", {"a"}, {"a": 1, "b": 2}, [["a", "b"]]],
    ids=repr,
)
@pytest.mark.parametrize("draw", [rw.plot.rotation, rw.plot.waves, rw.plot.matrix_product])
def test_labels_are_strings(draw: Drawing, labels: Any) -> None:
    data = [TABLE, TABLE] if draw is rw.plot.matrix_product else [TABLE]
    ax = Figure().add_subplot()
    with pytest.raises(TypeError, match=r"^labels must be strings, got "):
        draw(*data, labels=labels, ax=ax)
    assert not ax.texts


@pytest.mark.parametrize("mark", [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2066, 0x2069])
def test_tokens_that_turn_letters_round_are_numbers(mark: int) -> None:
    tokens = ["a", f"b{chr(mark)}c"]
    (ax,) = rw.plot.attention_weights(np.eye(2), tokens=tokens, ax=Figure().add_subplot())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "1"]


def test_tokens_of_an_iterator_are_refused() -> None:
    tokens: Any = iter("ab")  # which would be at its end when keys are named
    message = r"^tokens must be a sequence of strings, got <str_"
    with pytest.raises(TypeError, match=message):
        rw.plot.attention_weights(np.eye(2), tokens=tokens, ax=Figure().add_subplot())
    with pytest.raises(TypeError, match=message):
        rw.explorer.attention(np.eye(2), tokens=tokens)


def test_without_matplotlib_the_error_names_the_extra(run_python: Callable[..., Any]) -> None:
    result = run_python("import sys; sys.modules['matplotlib'] = None; import ropewalk.plot")
    last_line = result.stderr.splitlines()[-1]
    assert last_line == (
        "ImportError: ropewalk.plot needs Matplotlib: pip install 'ropewalk[plot]'"
    )


def test_ropewalk_does_not_import_matplotlib_by_itself(run_python: Callable[..., Any]) -> None:
    code = "import sys, ropewalk.articles, ropewalk.__main__; print('matplotlib' in sys.modules)"
    assert run_python(code).stdout == "False\n"


@pytest.mark.parametrize("draw", [*DRAWINGS, rw.plot.moving_vector])
def test_positions_are_finite_numbers(draw: Drawing) -> None:
    with pytest.raises(TypeError, match=r"positions must be integers, .* got dtype <U1"):
        draw(TABLE, positions=["a"] * 4)
    with pytest.raises(ValueError, match=r"positions must be finite and .* got nan"):
        draw(TABLE, positions=[0, 1, np.nan, 3])


FAR = range(10**6, 10**6 + 3)  # which six digits do not tell apart


@pytest.mark.parametrize("draw", [rw.plot.number_table, rw.plot.clock_hands, rw.plot.path])
def test_far_positions_are_told_apart(draw: Drawing) -> None:
    table = rw.sinusoidal_encoding(FAR, 2, base=2.0)
    assert {"1000000", "1000001", "1000002"} <= set(_texts(draw(table, positions=FAR)))


def test_far_positions_are_told_apart_in_animations() -> None:
    table = rw.sinusoidal_encoding(FAR, 2)
    for animate in (rw.plot.moving_vector, rw.plot.rotating_pairs):
        ax = Figure().add_subplot()
        animation: Any = animate(table, positions=FAR, ax=ax)
        animation._init_draw()
        animation._draw_frame(2)
        assert "position 1000002" in _texts(ax)


def test_far_positions_are_numbered_in_full_on_every_axis() -> None:
    table = rw.sinusoidal_encoding(FAR, 2)
    for draw in (
        partial(rw.plot.path, table, positions=FAR),
        partial(rw.plot.rotation, table, positions=FAR),
        partial(rw.plot.position_kernel, FAR, [1.0, 2.0, 3.0]),
        partial(rw.plot.score_by_distance, [1.0, 0.0], [1.0, 0.0], FAR),
    ):
        figure = Figure()
        draw(ax=figure.add_subplot())
        figure.draw_without_rendering()
        axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
        assert {axis.get_offset_text().get_text() for axis in axes} == {""}, draw
        said = {label.get_text() for axis in axes for label in axis.get_ticklabels()}
        assert "1000001" in said, draw


def test_numbers_are_whole_or_of_fifteen_digits() -> None:
    given = [0.0, -3.0, 2.0**53, 0.1, 0.1 + 0.2, 1e300]
    said = ["0", "\N{MINUS SIGN}3", "9007199254740992", "0.1", "0.3", "1e+300"]
    assert [_canvas.number(value) for value in given] == said


@pytest.mark.parametrize("unicode", [False, True])
def test_a_minus_is_that_of_the_axes(unicode: bool) -> None:
    minus = "\N{MINUS SIGN}" if unicode else "-"
    with mpl.rc_context({"axes.unicode_minus": unicode}):
        assert _canvas.number(-0.5) == f"{minus}0.5"
        assert _canvas.factor(_canvas.number(-3)) == f"({minus}3)"
        ax = rw.plot.heatmap([[-1.0, -0.5]], ax=Figure().add_subplot())
        assert [text.get_text() for text in ax.texts] == [f"{minus}1.00", f"{minus}0.50"]
        table = rw.plot.number_table([[-0.25]], positions=[-2], ax=Figure().add_subplot())
        assert {f"{minus}2", f"{minus}0.2500"} <= set(_texts(table))
        curve = rw.plot.wavelengths(
            {"half-2": rw.frequencies.axial(8, axes=2)}, ax=Figure().add_subplot()
        )
        assert "half-2, axis 0" in _texts(curve)  # a name is no number


def test_long_names_stand_below_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_canvas, "_letters", lambda _: set("aアb"))
    for name, columns in (("a" * 28, 2), ("a" * 29, 1), ("ア" * 18, 2), ("ア" * 19, 1)):
        ax = Figure().add_subplot()
        rw.plot.waves(TABLE[:, :2], labels=[name, "b" * 28], ax=ax)
        legend: Any = ax.get_legend()
        assert legend._ncols == columns


def test_long_tokens_are_whole_in_a_new_figure() -> None:
    long = ["a" * 49] * 5
    arrows = rw.plot.attention_arrows(np.full((5, 5), 0.2), long)
    cells = rw.plot.heatmap(np.eye(5), kind="matrix", rows=long, columns=long)
    for ax, texts in (
        (arrows, arrows.texts),
        (cells, [*cells.get_xticklabels(), *cells.get_yticklabels()]),
    ):
        figure = ax.figure.figure
        figure.draw_without_rendering()
        for text in texts:
            box = text.get_window_extent()
            assert min(box.x0, box.y0) >= 0, text
            assert box.x1 <= figure.bbox.x1, text
        assert min(ax.get_window_extent().size) > 150


def test_long_titles_of_clocks_stand_apart() -> None:
    label = "a label of twenty-seven let"
    for draw in (rw.plot.clock_hands, rw.plot.rotating_pairs):
        (figure,) = figures_of(draw(rw.sinusoidal_encoding(range(3), 16), labels=[label] * 8))
        figure.draw_without_rendering()
        titles = [text for text in figure.axes[0].texts if text.get_text()[0] == "a"]
        assert [" ".join(text.get_text().split()) for text in titles] == [label] * 8
        boxes = [title.get_window_extent().padded(-1) for title in titles]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    for given, lines in (
        ("ラベル" * 6, ["ラベル" * 3] * 2),
        ("a\n b of sixteen letters", ["a", " b of sixteen", "letters"]),
        ("", [""]),
    ):
        assert _canvas.broken({"text": given}, 4)["text"] == "\n".join(lines)


def test_many_names_leave_room_for_their_curves() -> None:
    names = [f"curve {i}" for i in range(30)]
    table = rw.sinusoidal_encoding(range(9), 30)
    for ax in (
        rw.plot.waves(table, labels=names),
        rw.plot.wavelengths(dict.fromkeys(names, rw.frequencies.standard(8))),
        rw.plot.score_by_distance(np.ones((30, 2)), np.ones((30, 2)), range(9), labels=names),
        rw.plot.position_kernel(range(9), table.T, labels=names),
        rw.plot.temperature(rw.properties.temperature(table.T, scales=[1.0, 2.0]), labels=names)[0],
    ):
        few = rw.plot.waves(table[:, :2]).get_window_extent().height / 3
        figure: Any = ax.figure
        figure.draw_without_rendering()
        assert ax.get_window_extent().height > few
        legend: Any = ax.get_legend()
        assert legend._ncols == 4
        box = legend.get_window_extent()
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1


NAMED_ABOVE: dict[str, Callable[[Axes], object]] = {
    "waves": lambda ax: rw.plot.waves(TABLE[:, :2], ax=ax),
    "wavelengths": lambda ax: rw.plot.wavelengths({"a": rw.frequencies.standard(8)}, ax=ax),
    "scores": lambda ax: rw.plot.score_by_distance([1, 0], [1, 0], [0, 1], labels=["a"], ax=ax),
    "scale_law": lambda ax: rw.plot.scale_law(rw.properties.scale_law([4, 8], seed=1), ax=ax),
    "heatmap": lambda ax: rw.plot.heatmap([[1.0, np.nan]], ax=ax),
}


@pytest.mark.parametrize("place", ["left", "center", "right"])
@pytest.mark.parametrize("layout", ["constrained", "none"])
@pytest.mark.parametrize("name", NAMED_ABOVE)
def test_a_title_that_is_set_later_lies_on_no_legend(name: str, layout: Any, place: Any) -> None:
    figure = Figure(layout=layout)
    ax = figure.add_subplot()
    NAMED_ABOVE[name](ax)
    figure.draw_without_rendering()
    legend = ax.get_legend()
    assert legend is not None
    # Half a size of the font, as Matplotlib has it around a legend.
    gap = legend.get_window_extent().y0 - ax.get_window_extent().y1
    assert gap == pytest.approx(5 / 72 * figure.dpi, abs=1)
    title = ax.set_title("a title\nof two lines", loc=place)
    figure.draw_without_rendering()
    box = legend.get_window_extent()
    assert title.get_window_extent().y1 < box.y0
    assert title.get_window_extent().y0 > ax.get_window_extent().y1
    if layout == "constrained":
        assert box.y1 <= figure.bbox.y1
    pickle.dumps(figure)


def test_a_legend_goes_where_it_is_moved() -> None:
    ax = rw.plot.waves(TABLE)
    legend = ax.get_legend()
    assert legend is not None
    legend.set_bbox_to_anchor((1, 0.5))
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    anchor = legend.get_bbox_to_anchor()
    assert anchor.x0 == pytest.approx(ax.bbox.x1)
    assert anchor.y0 == pytest.approx((ax.bbox.y0 + ax.bbox.y1) / 2)


def test_a_curve_of_one_point_is_seen() -> None:
    for draw in (
        partial(rw.plot.position_kernel, [5], [3.0]),
        partial(rw.plot.score_by_distance, [1.0, 0.0], [1.0, 0.0], [5]),
        partial(rw.plot.wavelengths, {"a": rw.frequencies.standard(2)}),
    ):
        ax = draw(ax=Figure().add_subplot())
        assert ax.lines[-1].get_marker() == "."
