"""The notebooks run from a clean kernel, and what is committed is what they give."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


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


def figures(notebook: Any) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem, scope="module")
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
        client = NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            coalesce_streams=True,  # what a cell prints may come in any number of pieces
            resources={"metadata": {"path": directory}},
        )
        client.execute()
    return notebook


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


def test_notebook_runs_without_a_word_on_standard_error(executed: Any) -> None:
    assert [output for output in outputs(executed) if output.get("name") == "stderr"] == []


def test_figures_come_out_and_are_committed(path: Path, executed: Any) -> None:
    assert figures(executed) > 0
    assert figures(read(path)) == figures(executed)


def test_committed_text_is_what_the_notebook_gives(path: Path, executed: Any) -> None:
    assert texts(read(path)) == texts(executed)


def test_notebook_is_a_lesson_of_small_cells(path: Path) -> None:
    cells = read(path).cells
    assert len(cells) <= 40
    assert cells[0].source.startswith("# ")
    assert cells[-1].source.startswith("## Sources")
    assert max(len(cell.source.splitlines()) for cell in cells if cell.cell_type == "code") <= 10


def test_committed_cells_were_run_in_order_from_a_clean_kernel(path: Path) -> None:
    counts = [cell.execution_count for cell in read(path).cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
