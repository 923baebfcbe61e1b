// About: how the page was made: measures of components, the fit, its settings and versions.

views.about = {
  title: "About",
  draw() {
    return [
      heading("About this page"),
      !data.quality &&
        el(
          "p",
          { class: "lead" },
          "This page was made without documents and describes the fit only. With `--documents FILE` it also shows accuracy, confusions, documents and words in context.",
        ),
      namesSection(),
      setting(),
      measures(),
      scopes && scopeMeasures(),
      bound(),
    ];
  },
};

function measures() {
  const rows = measuresAbout("components");
  return section(
    "Components",
    `How well the components predict held-out terms, how distinct they are, and how often their terms occur together. Measures that need no labels are of all documents.${data.overview?.are_training ? " The components were fitted to these documents, so what is measured on them is too good." : ""}`,
    downloads(
      "measures",
      () => [["measure", "value", "of"], ...rows.map(({ name, value, of }) => [name, value, of])],
      () =>
        barsPicture(
          "Measures",
          rows.map((one) => ({ name: one.name, value: Math.max(one.value, 0), text: measureText(one) })),
        ),
    ),
    table({
      caption: "Measures of components",
      rows,
      columns: [
        { name: "Measure", heading: true, cell: ({ name }) => name },
        { name: "Value", right: true, cell: measureText },
        { name: "Of", cell: ({ of }) => of },
        { name: "Meaning", cell: ({ meaning }) => meaning },
      ],
    }),
  );
}

function bound() {
  const points = data.fit.bound.filter(([, value]) => value !== null);
  const label = `Lower bound: from ${number(points[0]?.[1], 6)} to ${number(points.at(-1)?.[1], 6)} in ${plural(data.fit.iterations, "iteration")}`;
  const options = { x: "iteration", y: "lower bound", label };
  return section(
    "The fit",
    `The lower bound of the log-probability of the training documents, by iteration. After ${plural(data.fit.iterations, "iteration")} it was ${number(data.fit.final_bound, 9)}.`,
    downloads(
      "bound",
      () => [["iteration", "bound"], ...points],
      points.length > 0 && (() => curvePicture(points, { ...options, colours: PRINT })),
    ),
    points.length > 0 && curvePicture(points, options),
  );
}

function setting() {
  const rows = [
    ["model", data.fit.model],
    ...(data.fit.classifier ? [["prediction head", data.fit.classifier]] : []),
    ...(data.fit.classifier_reason ? [["reason", data.fit.classifier_reason]] : []),
    ["components", data.fit.n_components_reason],
    ["terms", count(data.terms.total)],
    ["training documents without a known term", count(data.fit.empty)],
    ...(data.fit.threshold === null ? [] : [["probability threshold of a label", number(data.fit.threshold)]]),
    ...Object.entries(data.fit.hyperparameters).map(([name, value]) => [name, number(value, 4)]),
    ...Object.entries(data.fit.versions),
    ...(data.command ? [["command", data.command]] : []),
  ];
  return section(
    "How it was made",
    null,
    downloads("setting", () => [["name", "value"], ...rows]),
    table({
      caption: "How it was made",
      rows,
      columns: [
        { name: "Name", heading: true, cell: ([name]) => name },
        { name: "Value", cell: ([, value]) => bdi(value) },
      ],
    }),
  );
}
