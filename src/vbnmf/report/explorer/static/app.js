// The frame of all views: navigation, theme, and what is drawn when the address changes.

// Tabs in their order; the views that belong to each, the first of which it opens
const TABS = [
  ["Labels", ["labels", "label"]],
  ["Components", ["components", "map", "component"]],
  ["Compare", ["compare", "structure"]],
  ["Words", ["term"]],
  ["Documents", ["document", "columns"]],
  ["Review", ["review"]],
  ["Trust", ["trust", "test"]],
  ["New", ["new"]],
  ["About", ["about"]],
];
const RENAMED = { quality: "trust" }; // views that links of older pages name
const tabs = TABS.map(([title, names]) => [title, names.filter((name) => views[name])]).filter(([, names]) => names.length);
const current = () => {
  const name = own(RENAMED, param("view")) ?? param("view");
  return own(views, name) ? name : tabs[0][1][0];
};

// The title, the search and the theme stay; the tabs and the pins are drawn again with each view.
const navigation = el("nav", { class: "tabs", "aria-label": "Views" });
const pinned = el("nav", { class: "pins", "aria-label": "Pinned components" });
document
  .getElementById("head")
  .replaceChildren(
    el("div", { class: "title" }, el("h1", null, bdi(data.title)), searchBox(), themeButton()),
    navigation,
    pinned,
  );

function drawHead() {
  const kept = pins();
  navigation.replaceChildren(
    el(
      "ul",
      null,
      tabs.map(([title, names]) =>
        el("li", { id: address(names[0]).slice(1) }, el("a", { href: address(names[0]), "aria-current": names.includes(current()) && "page" }, title)),
      ),
    ),
  );
  const here = navigation.querySelector("[aria-current]");
  if (here) navigation.scrollLeft = here.offsetLeft - 48; // on a narrow screen the tabs scroll
  pinned.hidden = !kept.length;
  pinned.replaceChildren(
    el("span", { class: "quiet" }, "Pinned"),
    el(
      "ul",
      { class: "chips" },
      kept.map((k) => el("li", null, componentLink(k))),
    ),
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
  const scrolled = arrived ? [] : [...document.querySelectorAll("main .scroll")].map((one) => [one.ariaLabel, one.scrollLeft, one.scrollTop]);
  const gone = resolveName();
  drawHead();
  document.getElementById("main").replaceChildren(...(gone ? [el("p", { class: "notice", id: "gone" }, gone)] : []), ...[views[current()].draw()].flat(Infinity).filter(Boolean));
  if (arrived) {
    scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  } else if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  for (const [name, left, top] of scrolled) {
    const same = [...document.querySelectorAll("main .scroll")].find((one) => one.ariaLabel === name);
    if (same) [same.scrollLeft, same.scrollTop] = [left, top];
  }
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

// On paper a map is as small as the page needs it to be. Letters are smaller there, so it is not wider than here.
const PAPER = 960; // pixels of a sheet on its side, without margins
addEventListener("beforeprint", () => {
  for (const map of document.querySelectorAll(".map")) map.style.setProperty("--fit", Math.min(1, PAPER / map.firstElementChild.offsetWidth).toFixed(3));
});

document
  .getElementById("foot")
  .append(`Made by vbnmf ${data.fit.versions.vbnmf}. This page is a single file. It makes no network requests.`);
redraw();
document.documentElement.dataset.ready = performance.now().toFixed(0); // milliseconds until the page was ready, for tests
