"""One notebook in a real JupyterLab: what the page asks, its kernel answers."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from tests import reference
from tests.explorer.conftest import numbers

TOKEN = "ropewalk"
CODE = """import numpy as np
import ropewalk as rw
scores = np.arange(12.0).reshape(3, 2, 2) / 7
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


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a notebook in a JupyterLab that serves nothing else."""
    (tmp_path / "notebook.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    places = {f"JUPYTER_{name}": str(tmp_path / name) for name in folders}
    options = [f"--ServerApp.port={port}", f"--IdentityProvider.token={TOKEN}"]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *options],
        cwd=tmp_path,
        env=os.environ | places | {"IPYTHONDIR": str(tmp_path / "ipython")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    root = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                with urlopen(f"{root}/api?token={TOKEN}"):
                    break
            except URLError:
                assert server.poll() is None
                time.sleep(0.5)
        yield f"{root}/lab/tree/notebook.ipynb?token={TOKEN}"
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture
def notebook(lab: str, chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    context.set_default_timeout(90_000)
    page = context.new_page()
    page.goto(lab)
    yield page
    context.close()


def test_a_notebook_shows_a_view_that_asks_its_kernel(notebook: Page) -> None:
    notebook.locator(".jp-CodeCell .cm-content").first.click()
    notebook.keyboard.press("Shift+Enter")
    notebook.locator(".ropewalk .map image").first.wait_for()
    notebook.get_by_role("button", name="head 2").click()
    readout = notebook.locator(".ropewalk .readout")
    shown = [numbers(readout.inner_text())[-1]]
    notebook.get_by_label("causal").check()
    expect(readout).to_have_text("query 0 “猫” · key 0 “猫” · weights 1", timeout=30_000)
    notebook.locator(".ropewalk .map").focus()
    notebook.keyboard.press("ArrowDown")
    expect(readout).to_contain_text("query 1 “犬”")
    shown.append(numbers(readout.inner_text())[-1])
    scores = np.arange(12.0).reshape(3, 2, 2) / 7
    expected = [reference.softmax(row)[0] for row in scores[2].tolist()]
    assert shown == pytest.approx(expected, rel=5.1e-5)
