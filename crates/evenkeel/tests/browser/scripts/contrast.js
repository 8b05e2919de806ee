// Text that differs too little from what is behind it: 4.5 to 1, and 3 to 1 where it is large.
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

const wrong = new Set();
const check = (element, text, style) => {
  const back = behind(element);
  const colour = parse(element instanceof SVGElement ? style.fill : style.color);
  const [light, dark] = [luminance(over(colour, back)), luminance(back)].sort((a, b) => b - a);
  const ratio = (light + 0.05) / (dark + 0.05);
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (isLarge ? 3 : 4.5)) wrong.add(`${ratio.toFixed(2)} ${element.tagName}.${element.getAttribute("class")}: ${text.slice(0, 40)}`);
};

let checked = 0;
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const [text, element] = [texts.currentNode.data.trim(), texts.currentNode.parentElement];
  // The browser's own lists have its own colours.
  if (!text || ["OPTION", "SCRIPT", "NOSCRIPT", "title"].includes(element.tagName) || !element.checkVisibility()) continue;
  check(element, text, getComputedStyle(element));
  checked += 1;
}
for (const element of document.querySelectorAll("input, select")) {
  check(element, element.value, getComputedStyle(element));
  if (element.placeholder) check(element, element.placeholder, getComputedStyle(element, "::placeholder"));
}
return { checked, wrong: [...wrong] };
