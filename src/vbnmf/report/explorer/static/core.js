// The data of the page, elements, numbers as text, and the state, which is the part of the address after #.

async function unpack(id) {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old. Use one of 2024 or later");
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i); // a function for each would take seconds
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const data = await unpack("payload").catch((error) => {
  document.getElementById("main").textContent = `The page cannot be shown: ${error.message}.`;
});
if (!data) return; // all scripts are the body of one function
const views = {}; // by name: {title, draw(main)}; each file of a view adds its own

// ---- elements: text is only ever set as text, so that nothing in the data can become markup

function put(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

const el = (tag, properties, ...children) => put(document.createElement(tag), properties, children);
const svg = (tag, properties, ...children) =>
  put(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
// isolate the text direction of data; only long words, such as addresses, may break anywhere
const bdi = (text) => el("bdi", null, ...String(text).split(/(\S{20,})/).map((part, i) => (i % 2 ? el("span", { class: "long" }, part) : part)));
const say = (text) => {
  document.getElementById("said").textContent = text;
};

// ---- numbers as text

// Only nothing is 0 % and only all is 100 %. fine: always with a decimal
const percent = (part, fine = false) => {
  if (part === null || part === undefined) return "–";
  const value = 100 * part;
  const decimal = (fine && value < 100) || value < 9.95 || (value >= 99.5 && value < 100);
  const text = value <= 0 ? "0" : value < 0.1 ? "<0.1" : value >= 99.95 && value < 100 ? ">99.9" : value.toFixed(decimal ? 1 : 0);
  return `${text}\u00a0%`; // in one line
};
// In whole per cent, without the sign; rounded: whether 0 and 100 may stand for parts near them
const whole = (part, rounded = false) => {
  if ((part > 0 || rounded) && part < 0.005) return "<1";
  return part >= 0.995 && (part < 1 || rounded) ? ">99" : (100 * part).toFixed(0);
};
const times = (value) =>
  value === null ? "–" : `${value < 9.95 ? value.toFixed(1) : count(Math.round(value))}\u00a0×`;
const number = (value, digits = 3) =>
  value === null || value === undefined
    ? "–"
    : Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
const count = (value) => value.toLocaleString("en");
const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
const range = (n) => Array.from({ length: n }, (_, i) => i);
const largest = (values, least = 1e-12) => values.reduce((most, value) => Math.max(most, value), least);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// What a record has under a name that comes from the address or from the documents, such as "constructor"
const own = (record, name) => (Object.hasOwn(record, name) ? record[name] : undefined);

// ---- state

const KEPT = ["pins"]; // parameters that are kept in all views
const read = () => new URLSearchParams(location.hash.slice(1));
let state = read();

const param = (name, fallback = "") => state.get(name) ?? fallback;
const integer = (name, limit) => {
  const value = Number.parseInt(param(name), 10);
  return Number.isInteger(value) && value >= 0 && value < limit ? value : null;
};

function address(view, parameters = {}) {
  const next = new URLSearchParams({ view });
  for (const name of KEPT) if (state.get(name)) next.set(name, state.get(name));
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  return `#${next}`;
}

// Change parameters of this view without a step in the history. Draw it again only if requested.
function adjust(parameters, { draw = false } = {}) {
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === "" || value === false) state.delete(name);
    else state.set(name, value);
  }
  try {
    history.replaceState(null, "", `#${state}`);
  } catch {
    /* not allowed in some frames: the state is kept here */
  }
  if (draw) redraw();
}

function visit(target) {
  state = new URLSearchParams(target.slice(1));
  try {
    history.pushState(null, "", target);
  } catch {
    /* as above */
  }
  redraw({ arrived: true });
}

// ---- links between views

const link = (view, parameters, ...children) => el("a", { href: address(view, parameters) }, children);
const componentName = (k) => `#${k} ${data.components[k].name}`;
const componentLink = (k, name) =>
  put(
    link("component", { k }, name ?? [el("span", { class: "tag" }, `#${k}`), " ", bdi(data.components[k].name)]),
    { title: data.scopes?.components[k].words },
    [],
  );
const labelName = (l) => (data.documents && l >= data.labels.length ? data.documents.names[l] : data.labels[l].name);
const labelLink = (l) =>
  l < data.labels.length
    ? link("label", { l }, bdi(labelName(l)))
    : el("span", null, bdi(labelName(l)), " (not in the model)");
const termName = (w) => (typeof w === "string" ? w : w < 0 ? "a term that is not listed" : data.terms.names[w]);
const termLink = (w) => (typeof w === "string" || w < 0 ? el("span", null, termName(w)) : link("term", { w }, bdi(termName(w))));

// ---- documents, which are unpacked when a view needs them

let unpacked = null;

function documents() {
  unpacked ??= unpack("packed").then(withTerms).then(readForSearch);
  return unpacked;
}

// The evidence has terms as places in the list of their document, or as -2 - w if they are not in it; -1: not listed
function withTerms(docs) {
  docs.why?.forEach((whys, d) => {
    const term = (code) => (typeof code === "string" || code === -1 ? code : code < 0 ? -2 - code : docs.terms[d][code]);
    for (const why of whys) for (const at of [3, 5]) why[at] = why[at].map((one, i) => (i % 2 ? one : term(one)));
  });
  return docs;
}

// An element that is filled when the documents are unpacked; done is called after that.
function withDocuments(fill, done = () => {}) {
  const place = el("div", { "aria-busy": "true" }, el("p", { class: "quiet" }, "Unpacking documents …"));
  const notice = (error) => el("p", { class: "notice" }, `The documents cannot be shown: ${error.message}.`);
  documents()
    .then((docs) => {
      try {
        return fill(docs);
      } catch (error) {
        reportError(error); // a fault of the page: it is said, and logged
        return notice(error);
      }
    }, notice)
    .then((filled) => {
      place.replaceChildren(...[filled].flat(Infinity).filter(Boolean));
      place.removeAttribute("aria-busy");
      done();
    });
  return place;
}
