// The data: columns of numbers, and texts by their number.
const raw = JSON.parse(document.getElementById('d').textContent);
const KINDS = {u8: Uint8Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array};
const column = text => {
  const star = text.indexOf('*'), colon = text.indexOf(':');
  const bytes = Uint8Array.from(atob(text.slice(colon + 1)), c => c.charCodeAt(0));
  if (star < 0 || star > colon) return new KINDS[text.slice(0, colon)](bytes.buffer);
  const kind = KINDS[text.slice(star + 1, colon)];
  return new kind(Number(text.slice(0, star))).fill(new kind(bytes.buffer)[0]);
};
const columns = object => {
  const made = {};
  for (const key of Object.keys(object || {}))
    made[key] = typeof object[key] === 'string' ? column(object[key]) : object[key];
  return made;
};
const ops = columns(raw.ops), runs = columns(raw.runs), tensors = columns(raw.tensors);
const edges = columns(raw.edges), pictures = columns(raw.pictures);
if (tensors.run_after) { let run = 0; tensors.run = Uint32Array.from(tensors.run_after, after => run += after); }
const farthest = columns(raw.farthest), hist = columns(raw.hist), goldenHist = columns(raw.golden_hist);
const places = raw.places, limits = raw.limits || [], compared = Boolean(raw.limits);
const opCount = ops.name.length, runCount = runs.op.length, tensorCount = tensors.run.length;
const VERDICTS = ['agrees', 'culprit', 'victim', 'diverges', 'unpaired'];
const MARKS = ['\u2713', '\u25b2', '\u25c6', '\u25cf', '\u25cb'];
const on = (node, name, use, how) => node.addEventListener(name, use, how);
const known = (key, none = NaN) => run => at(runs[key], run, none);
const clamp = (x, most) => Math.max(0, Math.min(most, x));
const upTo = count => Array.from({length: count}, (_, i) => i);
const everyRun = () => upTo(runCount);
// From the range of the data to that of the picture; where all are equal, its middle.
const scaled = (low, high, from, to) => v => high > low ? from + (v - low) / (high - low) * (to - from) : (from + to) / 2;
const addTo = (map, key, value) => map.has(key) ? map.get(key).push(value) : map.set(key, [value]);
const NO_ULP = 0xffffffff;

// What would change the direction of writing, or is no text, shows as '?'.
const ODD = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const plain = s => s.replace(ODD, '?');
const shown = new Map();
const text = number => {
  if (!shown.has(number)) shown.set(number, plain(raw.strings[number]));
  return shown.get(number);
};
const at = (col, i, none) => col ? col[i] : none;
const num = x => x === undefined || isNaN(x) ? '-' : !Number.isFinite(x) ? (x > 0 ? 'inf' : '-inf') :
  x !== 0 && Math.abs(x) < 1e-3 ? Number(x.toPrecision(6)).toExponential() : String(Number(x.toPrecision(6)));
const three = x => num(Number(x.toPrecision(3)));
const percent = (share, digits) => isNaN(share) ? '-' : (100 * share).toFixed(digits) + ' %';
const bytesText = b => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; b >= 1023.95 && unit < 4; ++unit) b /= 1024;
  return (unit ? b.toFixed(1) : b) + ' ' + units[unit];
};
const timeText = us => us ? new Date(us / 1000).toISOString().replace('T', ' ').replace('Z', '') + ' UTC' : '-';
const short = (s, n) => s.length <= n ? s : s.slice(0, n / 2 | 0) + '\u2026' + s.slice(-(n / 2 | 0));
const opName = op => short(text(ops.name[op]), 200);
const opType = op => short(text(ops.type[op]), 60);
const label = run => (opType(runs.op[run]) + ' ' + opName(runs.op[run])).trim();
const placeAt = known('place', 0);
const placeOf = run => places[placeAt(run)];
const placeText = run => short(plain(placeOf(run).text), 120);
const verdictOf = run => runs.verdict && runs.verdict[run] < 5 ? runs.verdict[run] : -1;
