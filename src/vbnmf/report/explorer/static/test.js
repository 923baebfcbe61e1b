// Test yourself: find the word or document that does not belong to a component. Nothing is said before the end; answers
// are kept in the browser, by the content of the page, and saved as a file for `vbnmf evaluate --human`.

const TASKS = {
  words: { title: "Words", many: "words", ask: "Five of these words describe one component. Which one does not belong?" },
  documents: { title: "Documents", many: "documents", ask: "Three of these documents are mostly of one component. Which one does not belong?" },
};
const testTasks = Object.keys(TASKS).filter((task) => data.test?.[task].length);
if (testTasks.length) views.test = { title: "Test yourself", draw: drawTest };

const trustOrTest = (here) =>
  views.test &&
  views.trust &&
  under("Trust", here, [
    ["trust", "Predictions"],
    ["test", "Test yourself"],
  ]);

const answersName = `vbnmf-test-${data.key}-${data.title}`;
let answers = loadAnswers(); // by task: [{chosen: place or null, seconds}, …], in the order of the questions
let asked = performance.now(); // when the question was shown

function loadAnswers() {
  const none = { words: [], documents: [] };
  try {
    return { ...none, ...JSON.parse(localStorage.getItem(answersName)) };
  } catch {
    return none; // not allowed in some frames: they are kept until the page is closed
  }
}

function keepAnswers() {
  try {
    localStorage.setItem(answersName, JSON.stringify(answers));
  } catch {
    /* as above */
  }
}

const questions = (task) => data.test[task].map(([k, items, intruder, source]) => ({ k, items, intruder, source }));

function drawTest() {
  const task = testTasks.includes(param("task")) ? param("task") : testTasks[0];
  return data.documents ? withDocuments((docs) => testOf(docs, task), entitle) : testOf(null, task);
}

function testOf(docs, task) {
  const all = questions(task);
  const at = answers[task].length;
  return [
    heading("Test yourself"),
    trustOrTest("test"),
    el(
      "p",
      { class: "lead" },
      "Do the components mean something to a person? Find the item that does not belong. Components are drawn at random and their names are hidden; what was right is said at the end. Answers stay in this browser until you save them.",
    ),
    controls(
      testTasks.length > 1 && choice("task", "Questions about", testTasks.map((one) => [one, TASKS[one].many]), testTasks[0]),
      el(
        "div",
        { class: "downloads" },
        el("button", { type: "button", class: "small", disabled: !testTasks.some((one) => answers[one].length), "aria-label": "Download answers as JSON", onclick: () => download("answers.json", "application/json", answersFile(docs)) }, "Answers as JSON"),
        el(
          "button",
          {
            type: "button",
            class: "small",
            id: "start-again",
            disabled: !at,
            onclick: () => {
              answers[task] = [];
              keepAnswers();
              redraw();
            },
          },
          "Start again",
        ),
      ),
    ),
    el("p", { class: "quiet", id: "asked" }, `${count(Math.min(at, all.length))} of ${count(all.length)} answered.`),
    el("div", { class: "progress", "aria-hidden": "true" }, el("span", { "--part": at / all.length })),
    at < all.length ? oneQuestion(docs, task, all[at]) : testResult(docs, task, all),
  ];
}

const EXCERPT = 420; // characters of a document in a question
const itemText = (docs, task, item) => {
  if (task === "words") return termName(item);
  const text = documentText(docs, item).replace(/\s+/g, " ").trim();
  return text.length > EXCERPT ? `${text.slice(0, EXCERPT).replace(/\S{1,20}$/, "").trim()} …` : text;
};

function oneQuestion(docs, task, { items }) {
  asked = performance.now();
  const answer = (chosen) => {
    answers[task].push({ chosen, seconds: Number(((performance.now() - asked) / 1000).toFixed(1)) });
    keepAnswers();
    redraw();
    document.querySelector("#question button")?.focus({ preventScroll: true });
  };
  answering = (i) => i < items.length && answer(i < 0 ? null : i);
  const option = (item, i) =>
    el("button", { type: "button", class: `option of-${task}`, "aria-keyshortcuts": String(i + 1), onclick: () => answer(i) }, el("kbd", null, String(i + 1)), " ", el("span", { dir: "auto" }, bdi(itemText(docs, task, item))));
  return el(
    "div",
    { id: "question" },
    el("h3", null, TASKS[task].ask),
    el("div", { class: `options of-${task}` }, items.map(option)),
    el("button", { type: "button", id: "cannot-tell", class: "small", "aria-keyshortcuts": "0", onclick: () => answer(null) }, "I cannot tell ", el("kbd", null, "0")),
  );
}

let answering = null; // what the number keys do
document.addEventListener("keydown", (event) => {
  if (current() !== "test" || !document.getElementById("question") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea") || !/^[0-9]$/.test(event.key)) return;
  event.preventDefault();
  answering?.(Number(event.key) - 1);
});

function testResult(docs, task, all) {
  const rows = all.map((question, i) => ({ ...question, chosen: answers[task][i].chosen, right: answers[task][i].chosen === question.intruder }));
  const right = rows.filter((row) => row.right).length;
  const [low, high] = shareInterval(right, rows.length);
  const name = (row, i) => (i === null ? "I cannot tell" : itemText(docs, task, row.items[i]).slice(0, 90));
  const item = (row, i) => (i === null ? "I cannot tell" : task === "words" ? termLink(row.items[i]) : link("document", { d: row.items[i] }, bdi(docs.ids[row.items[i]])));
  return section(
    `${count(right)} of ${count(rows.length)} right: ${percent(right / rows.length)}`,
    `The 95 % interval for all components is ${percent(low)} to ${percent(high)}. By chance ${percent(1 / all[0].items.length)} would be right. What was missed is of components that mean little to you, or whose list has a word too many.`,
    downloads(`test-${task}`, () => [["component", "name", "does not belong", "chosen", "right"], ...rows.map((row) => [row.k, data.components[row.k].name, name(row, row.intruder), name(row, row.chosen), row.right])]),
    table({
      caption: "Answers",
      rows: [...rows].sort((a, b) => a.right - b.right),
      columns: [
        { name: "Component", heading: true, cell: ({ k }) => componentLink(k) },
        { name: "Does not belong", cell: (row) => [item(row, row.intruder), el("span", { class: "tag" }, " of "), componentLink(row.source)] },
        { name: "Chosen", cell: (row) => (row.right ? "right" : [el("span", { class: "badge" }, "other"), " ", item(row, row.chosen)]) },
      ],
    }),
  );
}

// All answers as a file that `vbnmf evaluate --human` reads; names are those of the model
function answersFile(docs) {
  const rows = testTasks.flatMap((task) =>
    questions(task)
      .slice(0, answers[task].length)
      .map(({ k, items, intruder }, i) => ({
        task,
        component: k,
        name: data.components[k].original,
        shown: items.map((item) => (task === "words" ? termName(item) : docs.ids[item])),
        intruder,
        ...answers[task][i],
      })),
  );
  return JSON.stringify({ kind: data.test.kind, page: data.title, answers: rows }, null, 1);
}
