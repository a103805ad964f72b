// ---- table of records
const COLUMNS = [
  ['order', '#', run => run, run => String(run + 1), 56, true],
  ['type', 'Type', run => opType(runs.op[run]), null, 90, false],
  ['name', 'Name', run => opName(runs.op[run]), null, 130, false],
  ['step', 'At', placeAt, placeText, 72, false],
  ['verdict', 'Verdict', run => [4, 0, 2, 1, 3][verdictOf(run)] ?? 5, run => badge(verdictOf(run)), 94, false],
  ['err', 'Error', known('error'), null, 84, true],
  ['cos', 'Cosine', known('cosine'), null, 84, true],
  ['isolated', 'Isolated', known('isolated'), null, 84, true],
  ['expected', 'By expected', known('by_expected'), null, 100, true],
  ['nan', 'NaN, Inf', known('nonfinite', 0), null, 80, true],
  ['max', 'max |x|', known('peak'), null, 95, true],
  ['zeros', 'Zeros', known('zeros'), run => percent(known('zeros')(run), 1), 75, true],
  ['sat', 'At ends', known('saturated'), run => percent(known('saturated')(run), 1), 75, true],
  ['bytes', 'Bytes', known('bytes'), run => bytesText(runs.bytes[run]), 85, true],
  ['time', 'Time', known('time'), run => timeText(runs.time[run]), 240, false],
].filter(c => (compared || !['verdict', 'err', 'cos'].includes(c[0])) && (c[0] !== 'sat' || runs.saturated) &&
  (c[0] !== 'isolated' || runs.isolated) && (c[0] !== 'expected' || runs.by_expected) &&
  (c[0] !== 'time' || runs.time));
const cellText = (c, run) => {
  if (c[3]) return c[3](run);
  const v = c[2](run);
  return typeof v === 'string' ? v : num(v);
};
const makeTable = () => {
  const ROW = 29;
  let sort = 'order', down = false, hidden = new Set(['time']), rows = [];
  const filter = el('input', {type: 'search', id: 'filter', 'aria-label': 'Filter of the table', placeholder: compared ? 'conv  type:Relu  err>0.05  step:3  verdict:culprit' : 'conv  type:Relu  nan>0  step:3', autocomplete: 'off', spellcheck: 'false'});
  const only = choices({'aria-label': 'Verdict', id: 'only'}, ['', 'all verdicts'],
    ...['culprit', 'diverges', 'victim', 'unpaired', 'agrees'].map(v => ['verdict:' + v, v]),
    ...[['nan', 'NaN in mine alone'], ['dtype', 'another dtype'], ['own', 'off by itself']].filter(([key]) => runs[TRAITS[key]])
      .map(([key, words]) => ['is:' + key, words]));
  const count = el('span', {class: 'soft', id: 'count', role: 'status'});
  const head = el('tr', {}), body = el('tbody', {}), groups = el('colgroup', {});
  const table = el('table', {'aria-rowcount': runCount + 1}, groups, el('thead', {}, head), body);
  const box = el('div', {class: 'vt', id: 'table', tabindex: 0, role: 'region', 'aria-label': 'Records; arrow keys move, Enter opens'}, table);
  const visible = () => COLUMNS.filter(c => !hidden.has(c[0]));
  const paint = () => {
    const many = Math.min(48, Math.ceil(box.clientHeight / ROW) + 10);
    const first = clamp(Math.floor(box.scrollTop / ROW) - 4, rows.length - many);
    const last = Math.min(rows.length, first + many), cols = visible();
    const pad = (n, key) => el('tr', {class: 'pad', 'aria-hidden': 'true'}, el('td', {colspan: cols.length, style: `height:${n * ROW}px`}));
    const list = [];
    if (first > 0) list.push(pad(first));
    for (let i = first; i < last; ++i) {
      const run = rows[i];
      list.push(el('tr', {class: run === chosen ? 'on' : undefined, 'aria-rowindex': i + 2, 'data-run': run}, ...cols.map(c =>
        c[0] === 'name' ? el('th', {scope: 'row'}, el('a', {href: linkOf(run), tabindex: -1, title: short(opName(runs.op[run]), 80)}, bdi(opName(runs.op[run])))) :
          el('td', c[5] ? {class: 'n'} : {}, cellText(c, run)))));
    }
    if (last < rows.length) list.push(pad(rows.length - last));
    body.replaceChildren(...list);
  };
  const show = at => {
    if ((at + 2) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (at + 3) * ROW - box.clientHeight;
    if (at >= 0 && at * ROW < box.scrollTop) box.scrollTop = at * ROW;
  };
  const heads = () => {
    const cols = visible();
    groups.replaceChildren(...cols.map(c => el('col', {style: `width:${c[4]}px`})));
    table.style.minWidth = cols.reduce((sum, c) => sum + c[4], 0) + 'px';
    head.replaceChildren(...cols.map(c => el('th', {scope: 'col', class: c[5] ? 'n' : undefined,
      'aria-sort': sort === c[0] ? (down ? 'descending' : 'ascending') : undefined},
    button({onclick: () => {
      down = sort === c[0] ? !down : c[5] && c[0] !== 'order' && c[0] !== 'cos';
      sort = c[0];
      update();
    }}, c[1] + (sort === c[0] ? (down ? ' \u25bc' : ' \u25b2') : '')))));
  };
  const update = () => {
    const started = performance.now();
    const test = filterOf(filter.value + ' ' + only.value);
    const kept = [];
    for (let run = 0; run < runCount; ++run) if (test(run)) kept.push(run);
    rows = kept;
    if (sort !== 'order' || down) {
      const c = COLUMNS.find(c => c[0] === sort);
      const keys = kept.map(run => c[2](run)), order = keys.map((_, i) => i), sign = down ? -1 : 1;
      // What is not known stays at the end.
      if (typeof keys[0] === 'string') {
        const rank = new Map([...new Set(keys)].sort().map((key, i) => [key, i]));
        order.sort((a, b) => sign * (rank.get(keys[a]) - rank.get(keys[b])) || a - b);
      } else {
        order.sort((a, b) => isNaN(keys[a]) || isNaN(keys[b]) ? isNaN(keys[a]) - isNaN(keys[b]) || a - b :
          keys[a] === keys[b] ? a - b : keys[a] < keys[b] ? -sign : sign);
      }
      rows = order.map(i => kept[i]);
    }
    count.textContent = `${rows.length} of ${runCount}`;
    table.setAttribute('aria-rowcount', rows.length + 1);
    heads();
    box.scrollTop = 0;
    paint();
    document.body.dataset.took = (performance.now() - started).toFixed(1);
  };
  on(box, 'scroll', soon(paint));
  on(box, 'click', event => {
    const row = event.target.closest('tr[data-run]');
    if (!row) return;
    event.preventDefault();
    choose(Number(row.dataset.run), Boolean(event.target.closest('a')));
  });
  on(box, 'keydown', event => {
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -runCount, End: runCount}[event.key];
    if (event.target !== box) return;
    if (event.key === 'Enter' && chosen >= 0) { event.preventDefault(); choose(chosen, true); }
    if (!step || !rows.length) return;
    event.preventDefault();
    const now = rows.indexOf(chosen), next = clamp(now < 0 ? 0 : now + step, rows.length - 1);
    choose(rows[next], false);
  });
  on(filter, 'input', update);
  on(only, 'change', update);
  watchers.push(() => {
    show(rows.indexOf(chosen));
    for (const row of body.children) row.className = row.dataset.run === String(chosen) ? 'on' : row.className === 'on' ? '' : row.className;
  });
  const copy = button({onclick: async () => {
    const cols = visible();
    const lines = [cols.map(c => c[1]).join('\t')];
    for (const run of rows) lines.push(cols.map(c => {
      const cell = c[0] === 'name' ? opName(runs.op[run]) : cellText(c, run);
      return (typeof cell === 'string' ? cell : cell.textContent).replace(/^[=+@-](?=.*[^\d.e+-])/i, "'$&");
    }).join('\t'));
    try { await navigator.clipboard.writeText(lines.join('\n')); live.textContent = `${rows.length} rows copied`; } catch { live.textContent = 'The browser does not let pages copy'; }
  }}, 'Copy as TSV');
  const columnsBox = el('details', {}, el('summary', {}, 'Columns'), el('div', {class: 'tools'}, ...COLUMNS.filter(c => c[0] !== 'name').map(c => {
    const check = el('input', {type: 'checkbox', style: 'flex:none', ...(hidden.has(c[0]) ? {} : {checked: true}), onchange: () => {
      check.checked ? hidden.delete(c[0]) : hidden.add(c[0]);
      heads(); paint();
    }});
    return el('label', {}, check, ' ' + c[1]);
  })));
  redraws.push(paint);
  const made = section('tab', 'Records',
    el('div', {class: 'tools'}, filter, compared ? only : '', copy, count), box, columnsBox);
  return [made, update];
};
