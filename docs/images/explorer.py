"""Take the pictures of the explorer for the documentation, from the page of `vbnmf demo`.

    vbnmf demo
    python docs/images/explorer.py vbnmf-demo/demo.html

It needs Playwright for Python and Chromium (`pip install playwright`).
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURES = {
    "explorer-labels": "view=labels",
    "explorer-compare": "view=compare",
    "explorer-document": "view=document&d=0",
    "explorer-review": "view=review&which=all",
}
"""Places of the page by the names of pictures."""


def main(page: Path) -> None:
    """Write the pictures beside this file."""
    folder = Path(__file__).parent
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        for name, place in PICTURES.items():
            tab.goto("about:blank")
            tab.goto(f"{page.resolve().as_uri()}#{place}")
            tab.wait_for_selector("html[data-ready]")
            tab.wait_for_selector("main:not(:has([aria-busy]))")
            tab.screenshot(path=folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
