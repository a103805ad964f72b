// ---- one tensor
const NAMES = {l2: 'norm', nan: 'NaN', inf: 'Inf', saturated: 'at ends', by_expected: 'by expected'};
const named = keys => keys.map(key => [key, NAMES[key] || key]);
const MEASURED = named(['cosine', 'euclid', 'max_abs', 'max_rel', 'by_expected']);
const SHOWN = named(['min', 'max', 'mean', 'std', 'l2', 'zeros', 'nan', 'inf', 'saturated']);
const pairs = list => el('dl', {class: 'stats'}, ...list.filter(Boolean).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
const trendTensors = [];
let opDraws = [];
let updateTrends = () => {};

const tensorView = (run, t) => {
  const note = at(tensors.note, t, 0), quant = at(tensors.quant, t, 0), original = at(tensors.original, t, 0);
  const view = el('div', {class: 'tensor', 'data-tensor': t},
    el('h3', {}, tensorLabel(t), at(tensors.diverges, t, 0) ? el('span', {class: 'v culprit'}, ' \u25b2 diverges') : ''),
    soft(`${raw.dtypes[tensors.dtype[t]]} ${raw.formats[tensors.format[t]]} ${text(tensors.dims[t])} ${bytesText(tensors.bytes[t])}`, original ? ', of ' : '', original ? bdi(short(text(original), 100)) : ''));
  if (quant) view.append(el('p', {}, 'Quantised: ' + text(quant) + '; numbers are what it stands for'));
  if (note) view.append(el('p', {}, short(text(note), 300)));
  view.append(pairs(SHOWN.map(([key, name]) => tensors[key] && !isNaN(tensors[key][t]) &&
    (tensors[key][t] !== 0 || !['nan', 'inf'].includes(key)) ? [name, num(tensors[key][t])] : null)));
  if (compared && tensors.paired_by[t]) {
    view.append(soft(`Golden: ${at(tensors.golden_dtype, t, 0) ? text(tensors.golden_dtype[t]) : raw.dtypes[tensors.dtype[t]]} ${text(at(tensors.golden_dims, t, 0) || tensors.dims[t])}, paired by ${raw.paired_by[tensors.paired_by[t] - 1]}` +
      (tensors.golden_min ? `; min ${num(tensors.golden_min[t])}, max ${num(tensors.golden_max[t])}, mean ${num(at(tensors.golden_mean, t, NaN))}` : '') +
      (tensors.golden_saturated && tensors.golden_saturated[t] >= 0 ? `, at ends ${num(tensors.golden_saturated[t])}` : '')));
    const measured = pairs(MEASURED.map(([key, name]) => tensors[key] && !isNaN(tensors[key][t]) ? [name, num(tensors[key][t])] : null)
      .concat([tensors.euclid && tensors.euclid[t] >= 0 ? ['snr, dB', num(-20 * Math.log10(tensors.euclid[t]))] : null,
        tensors.equal && tensors.equal[t] >= 0 ? ['equal', (100 * tensors.equal[t]).toFixed(2) + ' %'] : null,
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
      pictures.pair[p] && pictures.ends[pictureAt[p].end + 6] ? thumbnail(p, 2, '|error|') : '', ...(pictures.pair[p] ? errorPictures(p) : [])), pictureTables(p));
  }
  const same = runsOfOp.get(runs.op[run]);
  if (same.length > 1) {
    const over = same.map(r => tensorsOf(r).find(o => tensors.role[o] === tensors.role[t] && index8(o) === index8(t)));
    const now = over.indexOf(t);
    view.append(el('div', {class: 'pics'}, ...[['mean', 'mean'], ['std', 'std'], ['max', 'max'], ['euclid', 'error']].filter(([key]) => tensors[key]).map(([key, name]) => {
      const line = sparkline(over.map(o => o === undefined ? NaN : tensors[key][o]), now, name);
      return line ? el('figure', {}, line, el('figcaption', {}, name + ' over steps')) : '';
    })), asTable('Over steps', ['At', 'mean', 'std', 'max', 'error'], () => over.map((o, i) => [placeText(same[i]),
      ...['mean', 'std', 'max', 'euclid'].map(key => num(o === undefined ? NaN : at(tensors[key], o, NaN)))]), 'Steps as a table'), button({onclick: () => {
      const key = [runs.op[run], tensors.role[t], index8(t)];
      if (!trendTensors.some(k => k.join() === key.join())) trendTensors.push(key);
      if (trendTensors.length > 6) trendTensors.shift();
      updateTrends();
      live.textContent = tensorLabel(t) + ' added to the trends';
    }}, 'Add to trends'));
  }
  return view;
};
