"""What the README shows runs, and the files it names are there."""

import re
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=range(1, len(BLOCKS) + 1))
def test_code_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    exec(compile(code, "README.md", "exec"), {})
    plt.close("all")


def test_code_is_found() -> None:
    assert BLOCKS


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)([^)#]+)\)", README))
def test_linked_files_exist(target: str) -> None:
    assert (ROOT / target).exists()
