// Components: the list of all, with what each serves.

const ABOUT_COMPONENTS = "A component is a group of terms that tend to occur together. It is named by three terms that describe it.";

views.components = { title: "Components", draw: drawComponents };

// Links between the list of components and the map
const listOrMap = (here) =>
  data.labels.length > 0 &&
  el(
    "nav",
    { class: "under", "aria-label": "Components as" },
    [
      ["components", "List"],
      ["map", "Map"],
    ].map(([view, title]) => el("a", { class: "button small", href: address(view), "aria-current": view === here && "page" }, title)),
  );

function drawComponents() {
  const most = largest(data.components.map((component) => component.mass));
  const npmi = data.quality?.npmi_documents;
  const rows = data.order.components;
  const shown = pages("row", rows.length, 200, "components");
  const served = (k) => data.labels.filter((_, l) => data.use[l][k] >= MATTERS).length;
  return [
    heading(data.labels.length ? "Components" : "What the model found"),
    listOrMap("components"),
    el(
      "p",
      { class: "lead" },
      `${plural(rows.length, "component")}. Similar ones are neighbours. ${ABOUT_COMPONENTS} Its weight is the share of the training documents' weight that it explains.`,
    ),
    controls(
      shown.control,
      downloads(
        "components",
        () => [
          ["component", "name", ...(scopes ? ["scope"] : []), "weight", ...(npmi ? ["NPMI by documents"] : [])],
          ...rows.map((k) => [
            k,
            data.components[k].name,
            ...(scopes ? [scopeWords(k)] : []),
            data.components[k].mass,
            ...(npmi ? [npmi[k]] : []),
          ]),
        ],
        () =>
          barsPicture(
            "Components by weight",
            rows.map((k) => ({
              name: componentName(k),
              value: data.components[k].mass,
              text: percent(data.components[k].mass),
            })),
          ),
      ),
    ),
    table({
      caption: "Components",
      sorting: "sort",
      roving: true,
      className: "list",
      rows: rows.slice(shown.begin, shown.end),
      columns: [
        { name: "Component", heading: true, cell: (k) => componentLink(k), value: (k) => data.components[k].name },
        ...(data.labels.length
          ? [
              scopes
                ? { name: "Which labels it serves", className: "names", cell: (k) => bdi(scopeWords(k)), value: (k) => scopeWords(k) }
                : { name: "Labels it serves", right: true, cell: (k) => count(served(k)), value: served },
            ]
          : []),
        {
          name: "Weight",
          right: true,
          cell: (k) => percent(data.components[k].mass),
          value: (k) => data.components[k].mass,
        },
        { name: "", wide: true, cell: (k) => bar(data.components[k].mass, most) },
      ],
    }),
  ];
}
