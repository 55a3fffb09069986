"""A browser, and views in a page of it whose model is the widget of this process."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Dialog, Locator, Page

from ropewalk.explorer._view import MODULE, STYLE, View

# The model that Jupyter would give the module: changes go to Python, which answers with all traits.
MOUNT = """async ([code, style, text]) => {
  const read = (text) => JSON.parse(text, (_, part) => {
    if (part?.bytes === undefined) return part;
    return new DataView(Uint8Array.from(atob(part.bytes), (c) => c.charCodeAt(0)).buffer);
  });
  let [state, changes, listeners] = [read(text), {}, {}];
  window.pending = 0;
  window.listeners = listeners;
  window.fromPython = (text) => {
    const [old, fresh] = [state, read(text)];
    state = fresh;
    for (const name in fresh) {
      const isData = name === "picture" || name === "thumbnails";
      if (isData || JSON.stringify(old[name]) !== JSON.stringify(fresh[name])) {
        (listeners[`change:${name}`] ?? []).forEach((heard) => heard());
      }
    }
  };
  const model = {
    get: (name) => state[name],
    set: (name, value) => { changes[name] = state[name] = value; },
    save_changes: async () => {
      const sent = changes;
      changes = {};
      window.pending++;
      try { window.fromPython(await window.toPython(sent)); } finally { window.pending--; }
    },
    on: (event, heard) => (listeners[event] ??= []).push(heard),
    off: (event, heard) => { listeners[event] = listeners[event].filter((h) => h !== heard); },
  };
  document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const el = document.createElement("div");
  document.body.append(el);
  window.close = widget.render({ model, el });
}"""

# Red, green, blue and opacity in the middle of each cell of a picture of rows and columns. As text,
# which a browser hands over in a tenth of the time of many small arrays.
PIXELS = """async (image, [rows, columns]) => {
  const copy = new Image();
  copy.src = image.getAttribute("href");
  await copy.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [copy.width, copy.height];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(copy, 0, 0);
  const { data } = context.getImageData(0, 0, copy.width, copy.height);
  const middle = (i, count, size) => Math.floor(((i + 0.5) * size) / count);
  const cells = Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => {
    const at = 4 * (middle(i, rows, copy.height) * copy.width + middle(j, columns, copy.width));
    return [...data.subarray(at, at + 4)];
  }));
  return JSON.stringify(cells);
}"""


class Shown:
    """A view that a page shows."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text))
        page.on("dialog", self._refuse)
        page.expose_function("toPython", self._from_page)

    def _refuse(self, dialog: Dialog) -> None:
        self.errors.append(dialog.message)
        dialog.dismiss()  # until then the page stands still

    def mount(self, view: View) -> None:
        self.view = view
        self.page.evaluate(MOUNT, [MODULE, STYLE, self._state()])

    def _from_page(self, changes: dict[str, Any]) -> str:
        self.view.set_state(changes)
        return self._state()

    def _state(self) -> str:
        names = [name for name in self.view.traits(sync=True) if not name.startswith("_")]
        names = [name for name in names if name not in {"layout", "tabbable", "tooltip"}]
        state = {name: getattr(self.view, name) for name in names}
        return json.dumps(state, default=lambda data: {"bytes": b64encode(data).decode()})

    def update(self) -> None:
        """Tell the page what changed in Python."""
        self.page.evaluate("(text) => window.fromPython(text)", self._state())

    def settle(self) -> None:
        """Wait until Python has answered all that the page asked."""
        self.page.wait_for_function("window.pending === 0")

    def python_is_busy(self) -> None:
        """Leave the page without an answer from now on."""
        self.page.evaluate("() => { window.toPython = () => new Promise(() => {}); }")

    def control(self, text: str) -> Locator:
        return self.page.locator("label", has_text=text).locator("input, select")

    def set(self, text: str, value: object) -> None:
        """Set a control as a user does: a slider, a number, a box or a choice."""
        control = self.control(text)
        kind = control.get_attribute("type")
        if kind == "checkbox":
            control.set_checked(bool(value))
        elif kind is None:
            control.select_option(str(value))
        else:
            control.fill("" if value is None else str(value))
        self.settle()

    @property
    def readout(self) -> str:
        return self.page.locator(".readout").text_content() or ""

    @property
    def number(self) -> float:
        """The last number of the readout."""
        return numbers(self.readout)[-1]

    def point(self, row: int, column: int, shape: tuple[int, int]) -> None:
        """Move the pointer to the middle of a cell of the map."""
        box = self.page.locator(".map image").first.bounding_box()
        assert box is not None
        x = box["x"] + box["width"] * (column + 0.5) / shape[1]
        self.page.mouse.move(x, box["y"] + box["height"] * (row + 0.5) / shape[0])

    def read(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return the numbers that the page says when the pointer is over each cell."""
        table = np.empty(shape)
        for row, column in np.ndindex(shape):
            self.point(row, column, shape)
            table[row, column] = self.number
        return table

    def colours(self, shape: tuple[int, int]) -> NDArray[np.int64]:
        """Return red, green, blue and opacity of each cell of the map."""
        return np.array(json.loads(self.page.locator(".map image").first.evaluate(PIXELS, shape)))


def numbers(text: str) -> list[float]:
    plain = text.replace("\N{MINUS SIGN}", "-").replace("∞", "inf")
    return [float(one) for one in re.findall(r"-?(?:inf|\d+(?:\.\d+)?(?:e[-+]?\d+)?)", plain)]


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """An empty page; it has no network."""
    context = chromium.new_context(viewport={"width": 1200, "height": 900}, offline=True)
    context.set_default_timeout(180_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def show(page: Page) -> Iterator[Callable[[View], Shown]]:
    """Show a view with its widget behind it; whatever the page complains of is an error."""
    shown = Shown(page)

    def mount(view: View) -> Shown:
        shown.mount(view)
        return shown

    yield mount
    assert shown.errors == []
    assert [url for url in shown.requests if not url.startswith(("blob:", "data:"))] == []


@pytest.fixture
def open_saved(page: Page, tmp_path: Path) -> Iterator[Callable[[View], Shown]]:
    """Save a view, and open the file; whatever the page complains of is an error."""
    shown = Shown(page)
    path = tmp_path / "view.html"

    def open_page(view: View) -> Shown:
        view.save(path)
        page.goto(path.as_uri())
        return shown

    yield open_page
    assert shown.errors == []
    assert [url for url in shown.requests if not url.startswith("data:")] == [path.as_uri()]
