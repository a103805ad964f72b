// The page's policy lets in no attribute "style", and what a script sets.
const put = (node, name, value) => name === 'style' ? node.style.cssText = value : node.setAttribute(name, value);
const el = (tag, attributes, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) on(node, name.slice(2), value);
    else if (value !== undefined && value !== false) put(node, name, value === true ? '' : value);
  }
  node.append(...children.filter(child => child !== undefined && child !== null && child !== ''));
  return node;
};
const SVG = Object.assign(document.createElement('div'), {innerHTML: '<svg></svg>'}).firstChild.namespaceURI;
const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) put(node, name, value);
  node.append(...children);
  return node;
};
const button = (attributes, ...words) => el('button', {type: 'button', ...attributes}, ...words);
const scroll = (words, child) => el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': words}, child);
const section = (id, words, ...rest) => el('section', {id, 'aria-labelledby': id + '-h'}, el('h2', {id: id + '-h'}, words), ...rest);
const choices = (attributes, ...list) => el('select', attributes, ...list.map(([value, words]) => el('option', {value}, words)));
const soft = (...words) => el('p', {class: 'soft'}, ...words);
const bdi = s => el('bdi', {}, s);
const andVerdict = run => verdictOf(run) < 0 ? '' : ', ' + VERDICTS[verdictOf(run)];
const badge = v => v < 0 ? '-' : el('span', {class: 'v ' + VERDICTS[v]}, MARKS[v] + ' ' + VERDICTS[v]);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A ramp that the colour-blind can read: dark blue to yellow, by brightness.
const RAMP = [[54, 26, 98], [51, 84, 148], [27, 142, 142], [88, 193, 102], [250, 228, 60]];
const ramp = (share, of = RAMP) => {
  const place = clamp(share, 1) * (of.length - 1), low = Math.min(Math.floor(place), of.length - 2);
  return of[low].map((from, k) => Math.round(from + (of[low + 1][k] - from) * (place - low)));
};
const rgb = c => `rgb(${c[0]},${c[1]},${c[2]})`;
const rampBar = () => el('span', {class: 'ramp', style:
  'background:linear-gradient(90deg,' + RAMP.map(rgb).join(',') + ')'});
const quote = word => /^[\w\-./=,:+@%]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
