"""One notebook in a real JupyterLab: what the page asks, its kernel answers."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from tests import reference
from tests.explorer.conftest import numbers

CODE = """import numpy as np
import ropewalk as rw
scores = np.arange(12.0).reshape(3, 2, 2) ** 2 / 70
rw.explorer.attention(rw.softmax(scores), tokens=["猫", "犬"])"""

NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": CODE,
        }
    ],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    "nbformat": 4,
    "nbformat_minor": 4,
}


# It asks no server in the network for news or for newer versions.
OFFLINE = [
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdates",
]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a notebook in a JupyterLab that serves nothing else."""
    (tmp_path / "notebook.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    folders = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    places = {f"JUPYTER_{name}": str(tmp_path / name) for name in folders}
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *OFFLINE],
        cwd=tmp_path,
        env=os.environ | places | {"IPYTHONDIR": str(tmp_path / "ipython")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    runtime = tmp_path / "RUNTIME_DIR"
    try:
        # Once it listens, on a port that it found free, it writes where, and then this page.
        while not [*runtime.glob("jpserver-*-open.html")]:
            assert server.poll() is None
            time.sleep(0.2)
        [facts] = (json.loads(path.read_text()) for path in runtime.glob("jpserver-*.json"))
        yield f"{facts['url']}lab/tree/notebook.ipynb?token={facts['token']}"
    finally:
        server.terminate()
        server.wait(120)


@pytest.fixture
def notebook(lab: str, chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    context.set_default_timeout(180_000)
    expect.set_options(timeout=180_000)
    page = context.new_page()
    page.goto(lab)
    yield page
    context.close()


def test_a_notebook_shows_a_view_that_asks_its_kernel(notebook: Page) -> None:
    # JupyterLab loses cells that are run before it is connected to the kernel. The status bar says
    # when it is; the sign at the kernel's name is that of an idle kernel also before there is one.
    notebook.get_by_text("| Idle").wait_for()
    notebook.locator(".jp-CodeCell .cm-content").first.press("Shift+Enter")
    notebook.locator(".ropewalk .map image").first.wait_for()
    head = notebook.get_by_role("button", name="head 2")
    head.click()
    expect(head).to_have_attribute("aria-pressed", "true")  # drawn together with the numbers
    readout = notebook.locator(".ropewalk .readout")
    shown = [numbers(readout.inner_text())[-1]]
    notebook.get_by_label("causal").check()
    expect(readout).to_have_text("query 0 “猫” · key 0 “猫” · weights 1")
    notebook.locator(".ropewalk .map").press("ArrowDown")
    expect(readout).to_contain_text("query 1 “犬”")
    shown.append(numbers(readout.inner_text())[-1])
    scores = np.arange(12.0).reshape(3, 2, 2) ** 2 / 70
    expected = [reference.softmax(row)[0] for row in scores[2].tolist()]
    assert shown == pytest.approx(expected, rel=5.1e-5)
