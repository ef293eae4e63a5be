// What can be checked of accessibility without another's code. Returns what is wrong, in words.
() => {
  const problems = [];
  const is = (good, what, node) => good || problems.push(`${what}: ${node?.outerHTML?.slice(0, 160) ?? ""}`);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const isSeen = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility !== "hidden";
  const nameOf = (node) => (node.getAttribute("aria-label") ?? node.getAttribute("aria-labelledby") ?? node.textContent).trim();

  is(document.documentElement.lang, "the page has no language");
  is(document.title, "the page has no title");
  is(all("h1").length === 1, "a page has one main heading");
  for (const landmark of ["header", "nav", "main", "[role=status]"]) is(all(landmark).length >= 1, `no ${landmark}`);
  let level = 0;
  for (const heading of all("h1, h2, h3, h4").filter(isSeen)) {
    is(Number(heading.tagName[1]) <= level + 1, "a heading leaves a level out", heading);
    level = Number(heading.tagName[1]);
  }
  for (const field of all("input, select, textarea")) is(field.labels?.length || field.ariaLabel, "a field without a label", field);
  for (const each of all("button, a[href], summary")) is(nameOf(each), "a control without a name", each);
  for (const image of all("img")) is(image.hasAttribute("alt"), "a picture without a text", image);
  for (const image of all("svg")) is(image.getAttribute("role") === "img" && nameOf(image), "a chart without a text", image);
  for (const table of all("main .scroll table")) is(table.caption && table.querySelector("th[scope=col]") && table.querySelector("th[scope=row]"), "a table without caption or headings", table);
  for (const region of all("[role=region], nav, form, dialog")) is(nameOf(region), "a region without a name", region);
  for (const box of all("pre, .scroll")) is(box.tabIndex === 0, "a box that keys cannot scroll", box);
  const ids = all("[id]").map((each) => each.id);
  is(new Set(ids).size === ids.length, `an id comes twice: ${ids.filter((id, index) => ids.indexOf(id) !== index)}`);
  for (const each of all("[aria-labelledby], [aria-describedby]"))
    for (const id of `${each.getAttribute("aria-labelledby") ?? ""} ${each.getAttribute("aria-describedby") ?? ""}`.split(" ").filter(Boolean))
      is(document.getElementById(id), `refers to nothing: ${id}`, each);
  for (const each of all("button, nav a")) is(!isSeen(each) || each.getBoundingClientRect().height >= 24, "smaller than 24 pixels", each);
  is(document.documentElement.scrollWidth <= document.documentElement.clientWidth, "the page is wider than its window");

  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((each) => (each / 255 <= 0.03928 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const groundOf = (node) => {
    for (let each = node; each; each = each.parentElement) {
      const ground = numbers(getComputedStyle(each).backgroundColor);
      if (ground.length === 3 || ground[3] > 0) return ground;
    }
    return [255, 255, 255];
  };
  for (const node of all("body *").filter((each) => isSeen(each) && !each.closest(".unseen, .skip, noscript"))) {
    if (![...node.childNodes].some((each) => each.nodeType === 3 && each.data.trim())) continue;
    const style = getComputedStyle(node);
    const [one, other] = [numbers(node.closest("svg") ? style.fill : style.color), groundOf(node)].map(luminance).sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    is(contrast >= 4.5, `a contrast of ${contrast.toFixed(2)}`, node);
  }
  return problems;
}
