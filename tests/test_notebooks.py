"""The notebooks run from a clean kernel, and what is committed is what they give."""

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient, output_widget

import ropewalk as rw

ROOT = Path(__file__).parents[1]
ENGLISH = sorted((ROOT / "notebooks").glob("*.ipynb"))
NOTEBOOKS = [*ENGLISH, *(path.parent / "ja" / path.name for path in ENGLISH)]
NAMES = {"rw": rw}
# What docs/articles.md lists.
IDS = set(re.findall(r"[FVGCSNE]\d{3}\.\d+", (ROOT / "docs" / "articles.md").read_text("utf-8")))
# What a notebook finds, by an expression of its names, and what it must be by calculation.
RESULTS = {
    "00_tour": (
        "[len(entries), after <= tau * before, card['RoPE', 'relative only'].holds]",
        [len(IDS), True, True],
    ),
    "01_sinusoidal": (
        "[*phi[:8].tolist(), round(float((table[7] ** 2).sum()), 12)]",
        [0, 0, 2, 2, 4, 4, 6, 6, 64.0],
    ),
    # 2 * 255 changes of eight digits, but for carries that 255 has not made: 502 in 255 steps.
    "02_rotation": ("[*binary[252].tolist(), int(flips.sum())]", [0, 0, 1, 1, 1, 1, 1, 1, 502]),
    "03_schedules": ("[int(unfinished.sum()), round(float(max(right)), 12)]", [18, 1.0]),
    "04_attention": ("(demo / demo.sum()).round(4).tolist()", [0.3529, 0.1176, 0.4706, 0.0588]),
    "05_polygons": ("[round(areas[0], 12), round(ratio, 12)]", [6.0, round(2 / 3, 12)]),
    "06_properties": ("[len(slow), int(scores.argmax())]", [18, 5000]),
}


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def texts(notebook: Any) -> list[str]:
    """What is printed and shown but the pictures, whose bytes are Matplotlib's affair."""
    shown = (output.get("data", output) for output in outputs(notebook))
    return [
        data.get("text/markdown") or data.get("text") or data.get("text/plain") for data in shown
    ]


def tables_on_pages(notebook: Any) -> list[str]:
    """What a page shows where a terminal shows its text."""
    return [
        output.data["text/html"]
        for output in outputs(notebook)
        if "text/html" in output.get("data", {})
    ]


def code(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def figures(notebook: Any) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


def name(path: Path) -> str:
    return f"ja-{path.stem}" if path.parent.name == "ja" else path.stem


@pytest.fixture(params=ENGLISH, ids=name, scope="module")
def path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture(scope="module")
def executed(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run every cell, in a directory of its own; a cell that fails raises."""
    directory = tmp_path_factory.mktemp("notebook")
    notebook = read(path)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        environment.setenv("IPYTHONDIR", str(directory))
        # Telling the kernel what its sliders show would use the socket on which its reply is waited
        # for, and can miss it.
        environment.setattr(output_widget.OutputWidget, "send", lambda *_, **__: None)
        client = NotebookClient(
            notebook,
            timeout=240,
            startup_timeout=240,
            iopub_timeout=240,  # what a cell shows may come after the word that it is done
            kernel_name="python3",
            coalesce_streams=True,  # what a cell prints may come in any number of pieces
            resources={"metadata": {"path": directory}},
        )
        result = nbformat.v4.new_code_cell(f"print({RESULTS[path.stem][0]})")  # type: ignore[no-untyped-call]
        notebook.cells.append(result)
        client.execute()
        notebook.cells.remove(result)
    notebook.result = result.outputs[0].text
    return notebook


def test_the_course_is_complete() -> None:
    lessons = ["tour", "sinusoidal", "rotation", "schedules", "attention", "polygons", "properties"]
    assert [path.stem for path in ENGLISH] == [f"0{i}_{lesson}" for i, lesson in enumerate(lessons)]


@pytest.mark.parametrize("english", ENGLISH, ids=name)
def test_the_japanese_notebook_has_the_same_code_and_results(english: Path) -> None:
    """So it need not be run. What the articles say is shown in Japanese, though."""
    japanese, same = read(english.parent / "ja" / english.name), read(english)
    assert [cell.replace(', lang="ja")', ")") for cell in code(japanese)] == code(same)
    tables = [cell.splitlines()[-1] for cell in code(same) if "rw.articles.show(" in cell]
    in_japanese = {
        str(eval(table, NAMES)): str(eval(table[:-1] + ', lang="ja")', NAMES)) for table in tables
    }
    assert texts(japanese) == [in_japanese.get(text, text) for text in texts(same)]
    assert figures(japanese) == figures(same)


@pytest.mark.parametrize("english", ENGLISH, ids=name)
def test_the_japanese_notebook_has_the_same_cells(english: Path) -> None:
    japanese = read(english.parent / "ja" / english.name)
    cells = [(cell.id, cell.cell_type) for cell in japanese.cells]
    assert cells == [(cell.id, cell.cell_type) for cell in read(english).cells]


@pytest.mark.parametrize("english", ENGLISH, ids=name)
def test_the_japanese_notebook_speaks_japanese(english: Path) -> None:
    japanese = read(english.parent / "ja" / english.name)
    prose = [cell.source for cell in japanese.cells if cell.cell_type == "markdown"]
    assert [text for text in prose if not re.search("[ぁ-んァ-ン]", text)] == []


def test_notebook_finds_what_it_must(path: Path, executed: Any) -> None:
    assert ast.literal_eval(executed.result) == RESULTS[path.stem][1]


def test_notebook_runs_without_a_word_on_standard_error(executed: Any) -> None:
    assert [output for output in outputs(executed) if output.get("name") == "stderr"] == []


def test_figures_come_out_and_are_committed(path: Path, executed: Any) -> None:
    assert figures(executed) > 0
    assert figures(read(path)) == figures(executed)


def test_committed_text_is_what_the_notebook_gives(path: Path, executed: Any) -> None:
    assert texts(read(path)) == texts(executed)
    assert tables_on_pages(read(path)) == tables_on_pages(executed)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_notebook_is_a_lesson_of_small_cells(path: Path) -> None:
    cells = read(path).cells
    assert len(cells) <= 40
    assert cells[0].source.startswith("# ")
    assert cells[-1].source.startswith(("## Sources", "## 出典"))
    assert max(len(cell.source.splitlines()) for cell in cells if cell.cell_type == "code") <= 10


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_committed_cells_were_run_in_order_from_a_clean_kernel(path: Path) -> None:
    counts = [cell.execution_count for cell in read(path).cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
