// Review: documents whose label looks like an error, one after the other. Decisions are kept in the browser, by the
// content of the page, and saved as CSV or for Label Studio.

if (data.overview) views.review = { title: "Review", draw: drawReview };

const DECISIONS = { keep: "kept", change: "changed", skip: "skipped" };
const storeName = `vbnmf-review-${data.key}`;
let decisions = loadDecisions(); // by document, given and suggested label: {decision, label}

function loadDecisions() {
  try {
    return JSON.parse(localStorage.getItem(storeName)) ?? {};
  } catch {
    return {}; // not allowed in some frames: they are kept until the page is closed
  }
}

function keepDecisions() {
  try {
    localStorage.setItem(storeName, JSON.stringify(decisions));
  } catch {
    /* as above */
  }
}

// Names of labels as in the file, also if they were renamed on the page
const nameOr = (l, none) => (l >= 0 ? originalLabel(l) : none);
const decisionKey = (docs, { d, given, suggested }) => JSON.stringify([docs.ids[d], nameOr(given, ""), nameOr(suggested, "")]);

function drawReview() {
  return withDocuments(reviewOf, entitle);
}

function reviewOf(docs) {
  const l = integer("l", data.documents.names.length);
  const listed = (of, all) => suspects(of, all).filter(({ d }) => inColumns(docs, d));
  const queue = listed(l, param("which") === "all");
  const at = clamp(integer("at", Math.max(queue.length, 1)) ?? firstOpen(docs, queue), 0, Math.max(queue.length - 1, 0));
  const made = queue.map((one) => decisions[decisionKey(docs, one)]?.decision).filter(Boolean);
  const of = (decision) => made.filter((one) => one === decision).length;
  const total = Object.keys(decisions).length;
  const names = [["", "all labels"], ...range(data.documents.names.length).filter((m) => listed(m, true).length).map((m) => [m, `${labelName(m)} (${count(listed(m, param("which") === "all").length)})`])];
  return [
    heading("Review"),
    el("p", { class: "lead" }, reviewLead()),
    controls(
      choice("which", "Show", [
        ["", `to check (${count(listed(l).length)})`],
        ["all", `every difference (${count(listed(l, true).length)})`],
      ]),
      choice("l", "Given label", names),
      columnChoices(),
      el(
        "div",
        { class: "downloads" },
        el("button", { type: "button", class: "small", "aria-label": "Download decisions as CSV", disabled: !total, onclick: () => download("decisions.csv", "text/csv", csv(decisionRows())) }, "Decisions as CSV"),
        el("button", { type: "button", class: "small", "aria-label": "Download decisions for Label Studio", disabled: !total, onclick: () => download("decisions-label-studio.json", "application/json", JSON.stringify(labelStudio(docs), null, 1)) }, "Label Studio"),
      ),
    ),
    el("p", { class: "quiet", id: "decided" }, `${count(made.length)} of ${count(queue.length)} decided: ${count(of("keep"))} kept, ${count(of("change"))} changed, ${count(of("skip"))} skipped.`),
    el("div", { class: "progress", "aria-hidden": "true" }, el("span", { "--part": queue.length ? made.length / queue.length : 0 })),
    queue.length ? suspectCard(docs, queue, at) : el("p", { class: "quiet" }, "Nothing to check."),
  ];
}

function reviewLead() {
  const { errors, judged, at_most } = data.overview;
  const said = { wrong: "given labels are probably errors", missing: "labels are probably missing", superfluous: "labels are probably superfluous" };
  // Where the model is not sure, it is often the model that is wrong.
  const estimates = Object.entries(errors).map(([kind, [n, low, high]]) => `${at_most.includes(kind) ? "at most " : ""}about ${count(Math.round(n))} ${said[kind]} (${count(Math.floor(low))} to ${count(Math.ceil(high))})`);
  return `An estimate: ${estimates.join(", ")}. ${judged} Decisions stay in this browser until you save them.`;
}

const firstOpen = (docs, queue) => Math.max(queue.findIndex((one) => !decisions[decisionKey(docs, one)]), 0);

function suspectCard(docs, queue, at) {
  const one = queue[at];
  const { d, given, suggested, pGiven, pSuggested } = one;
  const made = decisions[decisionKey(docs, one)];
  const go = (to) => to >= 0 && to < queue.length && adjust({ at: to }, { draw: true });
  const target = el(
    "select",
    { id: "change-to", "aria-label": "Change to" },
    data.labels.map((label, m) => el("option", { value: m, selected: m === (made?.decision === "change" && made.label ? data.labels.findIndex(({ original }) => original === made.label) : suggested) }, label.name)),
  );
  const single = given >= 0 && suggested >= 0;
  const decide = (decision) => {
    const label = decision === "change" ? (single ? originalLabel(Number(target.value)) : nameOr(suggested, "")) : nameOr(given, "");
    decisions[decisionKey(docs, one)] = { decision, label };
    keepDecisions();
    say(`${docs.ids[d]}: ${DECISIONS[decision]}.`);
    if (at + 1 < queue.length) go(at + 1);
    else redraw();
  };
  deciding = { keep: () => decide("keep"), change: () => decide("change"), skip: () => decide("skip"), back: () => go(at - 1), next: () => go(at + 1) };
  const button = (decision, key, title) =>
    el("button", { type: "button", id: `decide-${decision}`, "aria-pressed": String(made?.decision === decision), "aria-keyshortcuts": key, onclick: () => decide(decision) }, title, " ", el("kbd", null, key));
  const why = (l) => docs.why[d].find(([m]) => m === l);
  const words = (l) => {
    const found = why(l) ? pairs(why(l)[3]).filter(([, part]) => Math.abs(part) >= 0.005).slice(0, 6) : [];
    return found.length ? el("p", { class: "quiet" }, "words for it: ", found.map(([w, part], i) => [i > 0 && ", ", termLink(w), ` ${signed(part)}`])) : null;
  };
  const side = (title, l, p, none) =>
    el("div", null, el("h3", null, title, " ", l >= 0 ? labelLink(l) : none, p === null ? "" : ` ${percent(p)}`), l >= 0 && words(l));
  const shadedBy = (suggested >= 0 && why(suggested)) || (given >= 0 && why(given));
  return el(
    "div",
    { class: "review", id: "suspect", "data-id": docs.ids[d] },
    el(
      "div",
      null,
      el("p", { class: "quiet" }, `${count(at + 1)} of ${count(queue.length)}: `, link("document", { d, only: "check", check: param("l") }, bdi(docs.ids[d])), made ? ` (${DECISIONS[made.decision]})` : ""),
      el("div", { class: "paper", tabindex: 0, role: "region", "aria-label": "Text", dir: "auto" }, shadedBy && docs.texts ? shadedText(docs, d, shadedBy) : documentText(docs, d)),
    ),
    el(
      "div",
      null,
      el(
        "div",
        { class: "versus" },
        side("Given", given, pGiven, "nothing"),
        side(given < 0 ? "Missing" : "Suggested", suggested, pSuggested, "without it"),
      ),
      el(
        "div",
        { class: "decide" },
        button("keep", "K", "Keep"),
        button("change", "C", given < 0 ? "Add it" : suggested < 0 ? "Remove it" : "Change"),
        button("skip", "S", "Skip"),
      ),
      single && el("label", { class: "choice", for: "change-to" }, el("span", null, "Change to"), target),
      el(
        "div",
        { class: "decide" },
        el("button", { type: "button", id: "back", disabled: at === 0, onclick: () => go(at - 1), "aria-label": "Previous document" }, "←"),
        el("button", { type: "button", id: "next", disabled: at === queue.length - 1, onclick: () => go(at + 1), "aria-label": "Next document" }, "→"),
      ),
    ),
  );
}

let deciding = null; // what the keys do
document.addEventListener("keydown", (event) => {
  if (current() !== "review" || !deciding || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea, [role=region]") && event.key.startsWith("Arrow")) return;
  if (event.target.closest?.("input, select, textarea")) return;
  const act = { k: "keep", c: "change", s: "skip", arrowleft: "back", arrowright: "next" }[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  deciding[act]();
});

// Decisions as a table that `vbnmf review --apply` reads; skipped ones too
const decisionRows = () => [
  ["id", "kind", "given", "suggested", "decision", "label"],
  ...Object.entries(decisions).map(([key, { decision, label }]) => {
    const [id, given, suggested] = JSON.parse(key);
    const kind = !given ? "missing" : !suggested ? "superfluous" : "wrong";
    return [id, kind, given, suggested, decision, decision === "change" ? label : given];
  }),
];

// Decisions as tasks of Label Studio: a task for each document, with all labels that it has after them
function labelStudio(docs) {
  const place = new Map(docs.ids.map((id, d) => [id, d]));
  const tasks = new Map();
  for (const [key, { decision, label }] of Object.entries(decisions)) {
    const [id, given, suggested] = JSON.parse(key);
    if (decision === "skip") continue;
    const d = place.get(id);
    const before = d === undefined ? [given].filter(Boolean) : docs.truth[d].map(originalLabel);
    const task = tasks.get(id) ?? { text: d === undefined ? "" : documentText(docs, d), before, labels: before, suggested: [] };
    if (suggested) task.suggested.push(suggested);
    if (decision === "change") task.labels = [...task.labels.filter((one) => one !== given && one !== label), ...(label ? [label] : [])];
    tasks.set(id, task);
  }
  const choices = (labels) => [{ from_name: "label", to_name: "text", type: "choices", value: { choices: labels } }];
  return [...tasks].map(([id, { text, before, labels, suggested }]) => ({
    data: { id, text, given: before.join("; "), suggested: suggested.join("; ") },
    annotations: [{ result: choices(labels) }],
  }));
}
