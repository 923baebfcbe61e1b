// Search: one box over labels, words, components and documents. The key / moves to it, Enter opens the first result.

const SHOWN = { label: 5, word: 6, component: 4, document: 5 }; // most results of each kind

// How well a name matches: 0 the same, 1 it begins so, 2 one of its words does, 3 it contains it; null if not at all
function rankOf(name, wanted) {
  const at = name.indexOf(wanted);
  if (at < 0) return null;
  if (name === wanted) return 0;
  return at === 0 ? 1 : /[\s._:/,#-]/.test(name[at - 1]) ? 2 : 3;
}

// The places of the best matches among names in lower case, the best first
function bestMatches(names, wanted, most, order = null) {
  const found = [];
  for (const i of order ?? names.keys()) {
    const rank = rankOf(names[i], wanted);
    if (rank !== null) found.push([rank, i]);
  }
  return found.sort(([a], [b]) => a - b).slice(0, most);
}

const lowerNames = {
  label: data.labels.map((label) => label.name.toLowerCase()),
  component: data.components.map((component, k) => `${component.name} #${k}`.toLowerCase()),
};

// Results of a search: groups of {kind, exact, options: [{href, text, more}]}; docs: null before they are unpacked
function searchResults(typed, docs) {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return [];
  const group = (kind, title, names, order, shown) => {
    const found = bestMatches(names, wanted, SHOWN[kind], order);
    return { kind, title, exact: found[0]?.[0] === 0, options: found.map(([, i]) => shown(i)) };
  };
  const groups = [
    group("label", "Labels", lowerNames.label, data.order.labels, (l) => ({
      href: address("label", { l }),
      text: labelName(l),
      more: plural(data.labels[l].documents, "document"),
    })),
    group("word", "Words", termNames, byFrequency, (w) => ({ href: address("term", { w }), text: termName(w), more: "" })),
    group("component", "Components", lowerNames.component, null, (k) => ({
      href: address("component", { k }),
      text: componentName(k),
      more: scopeWords(k) ?? "",
    })),
  ];
  if (docs?.texts && !groups[1].exact && !/\s/.test(wanted))
    groups[1].options.push({ href: address("term", { word: typed.trim() }), text: `“${typed.trim()}” in context`, more: "" });
  if (docs) {
    const found = matchingDocuments(docs, typed);
    const ids = found.filter((d) => docs.ids[d].toLowerCase() === wanted);
    const options = [...new Set([...ids, ...found])].slice(0, SHOWN.document).map((d) => ({
      href: address("document", { d, query: typed.trim() }),
      text: docs.ids[d],
      more: matchSnippet(docs, d, typed, 40),
    }));
    if (found.length > 1)
      options.push({ href: address("document", { query: typed.trim() }), text: `All ${plural(found.length, "document")} with “${typed.trim()}”`, more: "" });
    groups.push({ kind: "document", title: "Documents", exact: ids.length > 0, options });
  }
  // groups with an exact match first, so that Enter opens what was typed
  return groups.filter(({ options }) => options.length).sort((a, b) => Number(b.exact) - Number(a.exact));
}

function searchBox() {
  const results = el("div", { id: "results", role: "listbox", "aria-label": "Results", hidden: true });
  const input = el("input", {
    type: "search",
    id: "search",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Search labels, words, components and documents",
    "aria-expanded": "false",
    "aria-controls": "results",
    "aria-autocomplete": "list",
    placeholder: data.documents ? "Search labels, words, documents   /" : "Search labels, words, components   /",
  });
  let options = [];
  let at = 0;
  let docs = null;
  const close = () => {
    results.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = () => {
    options.forEach(({ element }, i) => element.setAttribute("aria-selected", String(i === at)));
    const active = options[at]?.element;
    if (!active) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", active.id);
    return active.scrollIntoView({ block: "nearest" });
  };
  const open = (href) => {
    close();
    input.value = "";
    visit(href);
  };
  const fill = () => {
    const groups = searchResults(input.value, docs);
    options = [];
    at = 0;
    results.replaceChildren(
      ...groups.map(({ title, options: found }) =>
        el(
          "div",
          { role: "group", "aria-label": title },
          el("div", { class: "kind", "aria-hidden": "true" }, title),
          found.map(({ href, text, more }) => {
            const element = el(
              "div",
              { role: "option", id: `result-${options.length}`, "aria-selected": "false", onmousedown: (event) => event.preventDefault(), onclick: () => open(href) },
              bdi(text),
              more && [" ", el("span", { class: "more", dir: "auto" }, more)],
            );
            options.push({ href, element });
            return element;
          }),
        ),
      ),
      ...(groups.length || !input.value.trim() ? [] : [el("p", { class: "quiet" }, docs || !data.documents ? "Nothing found." : "Searching …")]),
    );
    results.hidden = !input.value.trim();
    input.setAttribute("aria-expanded", String(!results.hidden));
    mark();
    if (!results.hidden) say(plural(options.length, "result"));
  };
  put(
    input,
    {
      oninput: () => {
        fill();
        if (data.documents && !docs)
          documents().then((found) => {
            docs = found;
            if (input.value.trim()) fill();
          }, () => {});
      },
      onfocus: () => input.value.trim() && fill(),
      onblur: close,
      onkeydown: (event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && options.length) {
          event.preventDefault();
          at = (at + step + options.length) % options.length;
          mark();
        } else if (event.key === "Enter" && options[at] && !results.hidden) open(options[at].href);
        else if (event.key === "Escape") close();
      },
    },
    [],
  );
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  return el("div", { class: "search", role: "search" }, input, results);
}

// ---- documents that have all words of a search

const lowerTexts = new Map(); // texts in lower case, made once
function lowerText(docs, d) {
  if (!lowerTexts.has(d)) lowerTexts.set(d, `${docs.ids[d]} ${documentText(docs, d)}`.toLowerCase());
  return lowerTexts.get(d);
}

// Make them in small steps when documents are unpacked, so that the first letter of a search need not wait
function readForSearch(docs) {
  let d = 0;
  const some = () => {
    for (const end = Math.min(d + 250, docs.ids.length); d < end; d += 1) lowerText(docs, d);
    if (d < docs.ids.length) setTimeout(some);
  };
  setTimeout(some);
  return docs;
}

const searchedWords = (typed) => typed.toLowerCase().split(/\s+/).filter(Boolean);

function matchingDocuments(docs, typed) {
  const words = searchedWords(typed);
  return range(docs.ids.length).filter((d) => words.every((word) => lowerText(docs, d).includes(word)));
}

// The text around the first match of a search, as plain text; the beginning if only the id matches
function matchSnippet(docs, d, typed, around = 90) {
  const whole = documentText(docs, d).replace(/\s+/g, " ").trim();
  const lower = whole.toLowerCase();
  const places = searchedWords(typed).map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const first = places.length ? Math.min(...places) : 0;
  const begin = first <= around ? 0 : whole.indexOf(" ", first - around) + 1 || first - around;
  const from = begin > first ? first - around : begin;
  const piece = whole.slice(from, from + 2 * around + 20);
  return `${from > 0 ? "… " : ""}${piece}${from + piece.length < whole.length ? " …" : ""}`;
}

// A text with the words of a search marked
function markedWords(text, typed) {
  const words = searchedWords(typed);
  if (!words.length) return text;
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
  return text.split(pattern).map((piece, i) => (i % 2 ? el("mark", null, piece) : piece));
}
