// Charts as SVG: bars, curves and maps. On the page they have the colours of the theme, in files fixed colours.

const SCREEN = {
  ink: "var(--ink)",
  soft: "var(--soft)",
  line: "var(--line)",
  accent: "var(--accent)",
  paper: "var(--paper)",
};
const PRINT = { ink: "#1b1f24", soft: "#57606a", line: "#d0d7de", accent: "#2f5fd0", paper: "#ffffff" };
const FONT = { "font-family": "system-ui, sans-serif", "font-size": 12 };

// A bar in a row of a table, with an interval if there is one. The row has the same values as numbers.
function bar(value, most, low = null, high = null) {
  const x = (v) => (100 * clamp(v / (most || 1), 0, 1)).toFixed(2);
  return svg(
    "svg",
    { class: "barcell", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { x: 0, y: 2, width: x(value), height: 8, rx: 0.6, class: "fill" }),
    low !== null && [
      svg("line", { x1: x(low), x2: x(high), y1: 6, y2: 6, class: "whisker" }),
      [low, high].map((end) => svg("line", { x1: x(end), x2: x(end), y1: 3.5, y2: 8.5, class: "whisker" })),
    ],
  );
}

function frame(width, height, colours, ...children) {
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, ...FONT },
    svg("rect", { width, height, fill: colours.paper }),
    children,
  );
}

const text = (x, y, content, properties = {}) => svg("text", { x, y, fill: PRINT.ink, ...properties }, String(content));

// Estimate the width of names: 7 for a letter, 12 for an East Asian character. Long names are cut.
const textWidth = (name) => [...String(name)].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 12 : 7), 0);
const room = (names, most) => clamp(largest(names.map(textWidth)), 0, most);
function cut(name, most) {
  if (textWidth(name) <= most) return name;
  const letters = [...String(name)];
  while (letters.length && textWidth(letters.join("")) > most - 12) letters.pop();
  return `${letters.join("").trim()}…`;
}
const LONGEST = 420;

// rows: {name, value, text, low, high}
function barsPicture(title, rows) {
  const step = 22;
  const names = room(rows.map((row) => row.name), LONGEST);
  const left = Math.max(names + 20, 250);
  const wide = left + 510;
  const most = largest(rows.map((row) => Math.max(row.value, row.high ?? 0)));
  const x = (value) => left + ((wide - left - 70) * clamp(value, 0, most)) / most;
  return frame(
    wide,
    46 + step * rows.length,
    PRINT,
    text(12, 24, title, { "font-size": 15, "font-weight": 600 }),
    rows.map((row, i) => {
      const y = 42 + step * i;
      return [
        text(left - 8, y + 13, cut(row.name, LONGEST), { "text-anchor": "end" }),
        svg("rect", { x: left, y: y + 2, width: x(row.value) - left, height: 14, fill: PRINT.accent, opacity: 0.75 }),
        (row.low ?? null) !== null &&
          svg("path", { d: `M${x(row.low)} ${y + 5}v8m0-4H${x(row.high)}m0-4v8`, stroke: PRINT.ink, fill: "none" }),
        text(wide - 8, y + 13, row.text, { "text-anchor": "end", fill: PRINT.soft }),
      ];
    }),
  );
}

function ticks(low, high, n = 4) {
  const raw = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= raw) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  return range(Math.floor(high / step + 1e-9) - first + 1).map((i) => Number(((first + i) * step).toPrecision(12)));
}

// A curve through points [x, y], with dots if `dots`, and with the diagonal if `unit`
function curvePicture(points, { x: xName, y: yName, label, colours = SCREEN, dots = false, unit = false }) {
  const [width, height, left, bottom] = [640, 280, 104, 44];
  const [xs, ys] = [0, 1].map((i) => (unit ? [0, 1] : points.map((point) => point[i])));
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const x = (v) => left + ((width - left - 16) * (v - x0)) / (x1 - x0 || 1);
  const y = (v) => height - bottom - ((height - bottom - 16) * (v - y0)) / (y1 - y0 || 1);
  const drawn = frame(
    width,
    height,
    colours,
    ticks(y0, y1).map((v) => [
      svg("line", { x1: left, x2: width - 16, y1: y(v), y2: y(v), stroke: colours.line }),
      text(left - 8, y(v) + 4, count(v), { "text-anchor": "end", fill: colours.soft }),
    ]),
    ticks(x0, x1, 6).map((v) =>
      text(x(v), height - bottom + 18, count(v), { "text-anchor": "middle", fill: colours.soft }),
    ),
    text(left + (width - left) / 2, height - 8, xName, { "text-anchor": "middle", fill: colours.soft }),
    text(16, height / 2, yName, {
      "text-anchor": "middle",
      fill: colours.soft,
      transform: `rotate(-90 16 ${height / 2})`,
    }),
    unit && svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), stroke: colours.soft, "stroke-dasharray": "4 4" }),
    svg("polyline", {
      points: points.map(([a, b]) => `${x(a)},${y(b)}`).join(" "),
      fill: "none",
      stroke: colours.accent,
      "stroke-width": 2,
    }),
    (dots || points.length === 1) &&
      points.map(([a, b]) => svg("circle", { cx: x(a), cy: y(b), r: 4, fill: colours.accent })),
  );
  return put(drawn, { class: "curve", role: "img", "aria-label": label }, []);
}

// values[row][column] from 0 to 1 is the shade, texts[row][column] what is written, blocks those of columns
function mapPicture(rows, columns, values, texts, blocks = []) {
  const [longest, cell] = [260, 30];
  const left = room(rows, longest) + 20;
  const high = room(columns, longest); // of names, which lean
  const top = Math.ceil(0.82 * high) + 24;
  const bottom = top + 20 * rows.length;
  const shade = (part) => {
    const mix = (from, to) => Math.round(from + (to - from) * part);
    return `rgb(${mix(255, 106)} ${mix(255, 165)} ${mix(255, 250)})`;
  };
  let free = 0; // titles of narrow blocks are shifted if they would overlap
  const titled = blocks.map(({ name, begin, size }) => {
    const half = 3.5 * name.length;
    const x = Math.max(left + cell * (begin + size / 2), free + half);
    free = x + half + 6;
    return text(x, bottom + 18, name, { "text-anchor": "middle", fill: PRINT.soft });
  });
  return frame(
    Math.max(left + cell * columns.length + Math.ceil(0.58 * high) + 10, free),
    bottom + (blocks.length ? 30 : 12),
    PRINT,
    columns.map((name, j) => {
      const x = left + cell * (j + 0.6);
      return text(x, top - 8, cut(name, longest), { transform: `rotate(-55 ${x} ${top - 8})`, "font-size": 11 });
    }),
    rows.map((name, i) => [
      text(left - 8, top + 20 * i + 14, cut(name, longest), { "text-anchor": "end" }),
      columns.map((_, j) => [
        svg("rect", {
          x: left + cell * j,
          y: top + 20 * i,
          width: cell,
          height: 20,
          fill: shade(values[i][j]),
          stroke: PRINT.line,
        }),
        texts[i][j] &&
          text(left + cell * (j + 0.5), top + 20 * i + 14, texts[i][j], { "text-anchor": "middle", "font-size": 11 }),
      ]),
    ]),
    blocks.slice(1).map(({ begin }) => {
      const x = left + cell * begin;
      return svg("line", { x1: x, x2: x, y1: top, y2: bottom, stroke: PRINT.ink, "stroke-width": 1.5 });
    }),
    titled,
  );
}

// A map that fits one slide, with a title. Names are left out where there is no room to read them.
function slidePicture(title, rows, columns, values) {
  const [width, height, top0] = [1280, 720, 56];
  const low = 6; // smallest letters that can be read
  const sized = (n, space) => clamp(space / n - 1, 0, 13);
  const [left0, high0] = [Math.min(room(rows, 260), 260), Math.min(room(columns, 220), 220)];
  const rowSize = sized(rows.length, height - top0 - 40 - high0 * 0.6);
  const columnSize = sized(columns.length, width - left0 - 60);
  const [named, headed] = [rowSize >= low, columnSize >= low];
  const left = named ? 24 + (left0 * rowSize) / 12 : 24;
  const top = top0 + (headed ? 0.75 * ((high0 * columnSize) / 12) + 12 : 12);
  const right = headed ? 0.6 * ((high0 * columnSize) / 12) : 0;
  const cell = [(width - left - 24 - right) / columns.length, (height - top - 24) / rows.length].map((size) => Math.min(size, 48));
  const mix = (from, to, part) => Math.round(from + (to - from) * clamp(part, 0, 1));
  const shade = (part) => `rgb(${mix(255, 47, part)} ${mix(255, 95, part)} ${mix(255, 208, part)})`;
  return frame(
    width,
    height,
    PRINT,
    text(24, 36, cut(title, 1000), { "font-size": 22, "font-weight": 600 }),
    headed &&
      columns.map((name, j) => {
        const x = left + cell[0] * (j + 0.6);
        return text(x, top - 6, cut(name, 220), { transform: `rotate(-55 ${x} ${top - 6})`, "font-size": columnSize });
      }),
    rows.map((name, i) => [
      named && text(left - 6, top + cell[1] * (i + 0.5) + rowSize * 0.35, cut(name, 260), { "text-anchor": "end", "font-size": rowSize }),
      columns.map(
        (_, j) =>
          (values[i][j] > 0 || (i + j) % 2 === 0) && // empty cells: every other one is tinted, so that rows can be followed
          svg("rect", {
            x: left + cell[0] * j,
            y: top + cell[1] * i,
            width: cell[0],
            height: cell[1],
            fill: values[i][j] > 0 ? shade(values[i][j]) : "#f6f8fa",
          }),
      ),
    ]),
    svg("rect", { x: left, y: top, width: cell[0] * columns.length, height: cell[1] * rows.length, fill: "none", stroke: PRINT.line }),
  );
}

// Paint a picture on a canvas, because the policy of the page allows no images; resolves to a PNG
function painted(picture, scale = 2) {
  const [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
  const canvas = el("canvas", { width: Math.ceil(scale * width), height: Math.ceil(scale * height) });
  const at = canvas.getContext("2d");
  at.scale(scale, scale);
  const paint = (node) => {
    const get = (name, fallback = 0) => Number(node.getAttribute(name) ?? fallback);
    const [fill, stroke] = [node.getAttribute("fill") ?? "#000", node.getAttribute("stroke")];
    at.save();
    at.globalAlpha = get("opacity", 1);
    [at.fillStyle, at.strokeStyle, at.lineWidth] = [fill, stroke ?? "#000", get("stroke-width", 1)];
    at.setLineDash((node.getAttribute("stroke-dasharray") ?? "").split(" ").filter(Boolean).map(Number));
    const turn = /^rotate\((\S+) (\S+) (\S+)\)$/.exec(node.getAttribute("transform") ?? "")?.slice(1).map(Number);
    if (turn) {
      at.translate(turn[1], turn[2]);
      at.rotate((turn[0] * Math.PI) / 180);
      at.translate(-turn[1], -turn[2]);
    }
    if (node.tagName === "text") {
      at.font = `${node.getAttribute("font-weight") ?? 400} ${get("font-size", FONT["font-size"])}px ${FONT["font-family"]}`;
      at.textAlign = node.getAttribute("text-anchor") ?? "start";
      if (at.textAlign === "middle" || node.getAttribute("text-anchor") === "middle") at.textAlign = "center";
      at.fillText(node.textContent, get("x"), get("y"));
    } else {
      const path = new Path2D(node.tagName === "path" ? node.getAttribute("d") : undefined);
      if (node.tagName === "rect") path.rect(get("x"), get("y"), get("width"), get("height"));
      if (node.tagName === "circle") path.arc(get("cx"), get("cy"), get("r"), 0, 2 * Math.PI);
      if (node.tagName === "line") path.addPath(new Path2D(`M${get("x1")} ${get("y1")}L${get("x2")} ${get("y2")}`));
      if (node.tagName === "polyline") path.addPath(new Path2D(`M${node.getAttribute("points").split(" ").join("L")}`));
      if (fill !== "none" && node.tagName !== "line") at.fill(path);
      if (stroke) at.stroke(path);
    }
    at.restore();
  };
  for (const node of picture.querySelectorAll("rect, circle, line, polyline, path, text")) paint(node);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
