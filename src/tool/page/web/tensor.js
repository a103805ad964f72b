// ---- one tensor
const NAMES = {l2: 'norm', nan: 'NaN', inf: 'Inf', saturated: 'at ends', by_expected: 'by expected'};
const named = keys => keys.map(key => [key, NAMES[key] || key]);
const MEASURED = named(['cosine', 'euclid', 'max_abs', 'max_rel', 'by_expected']);
const SHOWN = named(['min', 'max', 'mean', 'std', 'l2', 'zeros', 'nan', 'inf', 'saturated']);
const OVER_STEPS = [['mean', 'mean'], ['std', 'std'], ['max', 'max'], ['euclid', 'error']];
const pairs = list => el('dl', {class: 'stats'}, ...list.filter(Boolean).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
const trendTensors = [];
let opDraws = [];
let updateTrends = () => {};

// What a cell of the pictures stands for.
const cellsText = (dims, p) => {
  const list = (dims.match(/\d+/g) || []).map(Number), many = list.reduce((a, b) => a * b, 1);
  const before = list.slice(0, -2).reduce((a, b) => a * b, 1), each = many / (pictures.rows[p] * pictures.columns[p]);
  return (list.length < 2 ? 'Pictures: the elements in rows' : 'Pictures: rows and columns are the last two dims') +
    (before > 1 ? `, over all ${before} of the dims before` : '') +
    (each > 1 ? `; a cell is the mean of some ${num(Math.round(each))} elements` + (pictures.pair[p] ? ', of |error| their greatest' : '') : '') + '.';
};

const tensorView = (run, t) => {
  const value = key => at(tensors[key], t, NaN), note = at(tensors.note, t, 0), quant = at(tensors.quant, t, 0), original = at(tensors.original, t, 0);
  const view = el('div', {class: 'tensor', 'data-tensor': t},
    el('h3', {}, tensorLabel(t), at(tensors.diverges, t, 0) ? el('span', {class: 'v culprit'}, ' \u25b2 diverges') : ''),
    soft(`${raw.dtypes[tensors.dtype[t]]} ${raw.formats[tensors.format[t]]} ${text(tensors.dims[t])} ${bytesText(tensors.bytes[t])}`, original ? ', of ' : '', original ? bdi(short(text(original), 100)) : ''));
  if (quant) view.append(el('p', {}, 'Quantised: ' + text(quant) + '; numbers are what it stands for'));
  if (note) view.append(el('p', {}, short(text(note), 300)));
  view.append(pairs(SHOWN.map(([key, name]) => !isNaN(value(key)) && (value(key) !== 0 || !['nan', 'inf'].includes(key)) ? [name, num(value(key))] : null)));
  if (compared && tensors.paired_by[t]) {
    view.append(soft(`Golden: ${at(tensors.golden_dtype, t, 0) ? text(tensors.golden_dtype[t]) : raw.dtypes[tensors.dtype[t]]} ${text(at(tensors.golden_dims, t, 0) || tensors.dims[t])}, paired by ${raw.paired_by[tensors.paired_by[t] - 1]}` +
      (tensors.golden_min ? `; min ${num(tensors.golden_min[t])}, max ${num(tensors.golden_max[t])}, mean ${num(value('golden_mean'))}` : '') +
      (value('golden_saturated') >= 0 ? `, at ends ${num(value('golden_saturated'))}` : '')));
    const measured = pairs(MEASURED.map(([key, name]) => !isNaN(value(key)) ? [name, num(value(key))] : null)
      .concat([value('euclid') >= 0 ? ['snr, dB', num(-20 * Math.log10(value('euclid')))] : null,
        value('equal') >= 0 ? ['equal', percent(value('equal'), 2)] : null,
        tensors.ulp[t] !== NO_ULP ? ['ulp', num(tensors.ulp[t])] : null]));
    measured.dataset.measured = t;
    view.append(measured);
    const far = farthestOf.get(t);
    if (far !== undefined)
      view.append(el('p', {}, `Farthest apart at ${text(farthest.at[far])}: mine ${num(farthest.mine[far])}, golden ${num(farthest.golden[far])}`));
  }
  const p = pictureOf.get(t);
  view.append(histogramCanvas(t));
  if (p !== undefined) {
    view.append(el('div', {class: 'pics'}, thumbnail(p, 0, compared ? 'mine' : 'cells'), pictures.pair[p] ? thumbnail(p, 1, 'golden') : '',
      pictures.pair[p] && pictures.ends[pictureAt[p].end + 6] ? thumbnail(p, 2, '|error|') : '', ...(pictures.pair[p] ? errorPictures(p) : [])), soft(cellsText(text(tensors.dims[t]), p)), pictureTables(p));
  }
  const same = runsOfOp.get(runs.op[run]);
  if (same.length > 1) {
    const over = same.map(r => tensorAt(r, tensors.role[t], index8(t)));
    const now = over.indexOf(t);
    view.append(el('div', {class: 'pics'}, ...OVER_STEPS.filter(([key]) => tensors[key]).map(([key, name]) => {
      const line = sparkline(over.map(o => o === undefined ? NaN : tensors[key][o]), now, name);
      return line ? figure(line, name + ' over steps') : '';
    })), asTable('Over steps', ['At', ...OVER_STEPS.map(([, name]) => name)], () => over.map((o, i) => [placeText(same[i]),
      ...OVER_STEPS.map(([key]) => num(o === undefined ? NaN : at(tensors[key], o, NaN)))]), 'Steps as a table'), button({onclick: () => {
      const key = [runs.op[run], tensors.role[t], index8(t)];
      if (!trendTensors.some(k => k.join() === key.join())) trendTensors.push(key);
      if (trendTensors.length > 6) trendTensors.shift();
      updateTrends();
      live.textContent = tensorLabel(t) + ' added to the trends';
    }}, 'Add to trends'));
  }
  return view;
};
