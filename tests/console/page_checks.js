// What is wrong on the page as it is shown now, in words: what does not fit, and what axe-core finds at the levels A and AA.
async () => {
  const problems = [];
  // Fields scroll by themselves; the navigation does where it is narrow, and shows it; what is unseen is a pixel wide, as
  // the heads of tables whose rows are cards.
  const isFree = (node) => node.closest("thead")?.clientWidth === 1 || node.closest("nav, .unseen, .skip, svg, option, noscript") || ["INPUT", "SELECT", "TEXTAREA"].includes(node.tagName);
  for (const node of document.querySelectorAll("html, body, body *")) {
    if (isFree(node) || !node.clientWidth || !node.checkVisibility()) continue;
    if (node.scrollWidth > node.clientWidth + 1) problems.push(`wider than its box, ${node.scrollWidth} in ${node.clientWidth}: ${node.outerHTML.slice(0, 160)}`);
    const [box, around] = [node, node.parentElement ?? node].map((each) => each.getBoundingClientRect());
    const isPlaced = ["fixed", "absolute"].includes(getComputedStyle(node).position) || node.tagName === "DIALOG";
    if (!isPlaced && getComputedStyle(node).display !== "inline" && box.right > around.right + 1) problems.push(`beyond its parent by ${Math.round(box.right - around.right)}: ${node.outerHTML.slice(0, 160)}`);
  }
  const { violations } = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"], resultTypes: ["violations"] });
  for (const { id, nodes } of violations) problems.push(...nodes.map((each) => `${id}: ${each.html.slice(0, 160)} ${each.failureSummary.slice(0, 200)}`));
  return problems;
}
