// The frame of all views: navigation, theme, and what is drawn when the address changes.

const ORDER = ["map", "component", "label", "document", "term", "quality"];
if (!data.labels.length) delete views.label;
const available = ORDER.filter((name) => views[name]);
const current = () => (views[param("view")] ? param("view") : "map");

function drawHead() {
  const kept = pins();
  document.getElementById("head").replaceChildren(
    el("div", { class: "title" }, el("h1", null, bdi(data.title)), themeButton()),
    el(
      "nav",
      { "aria-label": "Views" },
      el(
        "ul",
        null,
        available.map((name) =>
          el(
            "li",
            null,
            el("a", { href: address(name), "aria-current": name === current() && "page" }, views[name].title),
          ),
        ),
      ),
    ),
    (kept.length > 0 &&
      el(
        "nav",
        { class: "pins", "aria-label": "Pinned components" },
        el("span", { class: "quiet" }, "Pinned"),
        el(
          "ul",
          { class: "chips" },
          kept.map((k) => el("li", null, componentLink(k))),
        ),
      )) ||
      "",
  );
}

function themeButton() {
  const root = document.documentElement;
  const isDark = () =>
    (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = el("button", {
    type: "button",
    id: "theme",
    class: "small",
    onclick: () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      name();
    },
  });
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use the ${isDark() ? "light" : "dark"} colours`);
  };
  name();
  return button;
}

function redraw({ arrived = false } = {}) {
  const focused = document.activeElement?.id;
  drawHead();
  document.getElementById("main").replaceChildren(...[views[current()].draw()].flat(Infinity).filter(Boolean));
  if (arrived) {
    scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  } else if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  entitle();
}

// Set the title of the page to that of the view, and move the focus to the heading after a link was followed.
function entitle() {
  const shown = document.getElementById("heading");
  document.title = `${shown?.textContent ?? views[current()].title} – ${data.title}`;
  if (document.activeElement?.id === "main") shown?.focus({ preventScroll: true });
}

// Handle links here, because in a frame without its own address a browser would leave the page.
document.addEventListener("click", (event) => {
  const target = event.target.closest?.("a[href^='#']")?.getAttribute("href");
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button !== 0) return;
  event.preventDefault();
  if (target === "#main") document.getElementById("main").focus();
  else visit(target);
});
addEventListener("popstate", () => {
  state = read();
  redraw();
});
addEventListener("hashchange", () => {
  if (`${read()}` !== `${state}`) {
    state = read();
    redraw();
  }
});

document
  .getElementById("foot")
  .append(`Made by vbnmf ${data.fit.versions.vbnmf}. This page is a single file. It makes no network requests.`);
redraw();
document.documentElement.dataset.ready = performance.now().toFixed(0); // milliseconds until the page was ready, for tests
