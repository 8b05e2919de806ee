// What differs too little from what is behind it: text 4.5 to 1, or 3 to 1 where it is large; lanes, and
// the edges of ribbons and inputs, 3 to 1.
const channel = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]) => 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
const parse = (text) => {
  const parts = text.match(/^rgba?\((.*)\)$/)?.[1].split(/[,/ ]+/).map(Number);
  if (!parts) throw new Error(`no colour: ${text}`);
  return [...parts.slice(0, 3), parts[3] ?? 1];
};
const behind = (element) => {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const style = getComputedStyle(e);
    if (Number(style.opacity) !== 1) throw new Error(`${e.tagName} is translucent`);
    layers.push(parse(style.backgroundColor));
    if (layers.at(-1)[3] === 1) break;
  }
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
};

const ratio = (colour, back) => {
  const [light, dark] = [luminance(over(parse(colour), back)), luminance(back)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
};

const wrong = new Set();
const check = (element, what, colour, least) => {
  const is = ratio(colour, behind(element));
  if (is < least) wrong.add(`${is.toFixed(2)} ${element.tagName}.${element.getAttribute("class")}: ${what.slice(0, 40)}`);
};
const checkText = (element, text, style) => {
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  check(element, text, element instanceof SVGElement ? style.fill : style.color, isLarge ? 3 : 4.5);
};

let checked = 0;
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const [text, element] = [texts.currentNode.data.trim(), texts.currentNode.parentElement];
  // The browser's own lists have its own colours.
  if (!text || ["OPTION", "SCRIPT", "NOSCRIPT", "title"].includes(element.tagName) || !element.checkVisibility()) continue;
  checkText(element, text, getComputedStyle(element));
  checked += 1;
}
for (const element of document.querySelectorAll("input, select")) {
  checkText(element, element.value, getComputedStyle(element));
  if (element.placeholder) checkText(element, element.placeholder, getComputedStyle(element, "::placeholder"));
  check(element, "border", getComputedStyle(element).borderTopColor, 3);
}
for (const lane of document.querySelectorAll(".lane")) check(lane, "lane", getComputedStyle(lane).fill, 3);
for (const ribbon of document.querySelectorAll(".ribbon")) check(ribbon, "edge", getComputedStyle(ribbon).stroke, 3);
return { checked, wrong: [...wrong] };
