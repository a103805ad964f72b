// ---- one operator
const makeOp = () => {
  const body = el('div', {}), heading = el('h2', {id: 'op-h', tabindex: -1}, 'Operator');
  const panel = el('section', {class: 'side', id: 'op', 'aria-labelledby': 'op-h', tabindex: 0}, heading, body);
  body.append(el('p', {}, 'Choose an operator in the map, the error strip or a table.'));
  watchers.push(focus => {
    const run = chosen, v = verdictOf(run), own = tensorsOf(run);
    opDraws = [];
    heading.replaceChildren(bdi(short(label(run), 160)));
    const folder = at(runs.folder, run, 0), file = at(runs.file, run, 0);
    const path = file ? [raw.root, text(folder), text(file)].filter(Boolean).join('/') : '';
    const list = el('ul', {class: 'list'});
    const tell = (e, end, ...roles) => list.append(el('li', {}, roles.map(role => `${role} ${edges[role][e]}`).join(' is ') + ' of ', runLink(edges[end][e])));
    for (const e of (producers.get(run) || []).slice(0, 20)) tell(e, 'from', 'input', 'output');
    for (const e of (consumers.get(run) || []).slice(0, 20)) tell(e, 'to', 'output', 'input');
    const same = runsOfOp.get(runs.op[run]), here = same.indexOf(run);
    const hop = (to, name) => button({onclick: () => choose(to, true), ...(to === undefined || to < 0 || to >= runCount ? {disabled: true} : {})}, name);
    body.replaceChildren(
      el('p', {}, v < 0 ? '' : badge(v), v < 0 ? '' : ' ', placeText(run) ? 'at ' + placeText(run) + ', ' : '', `record ${run + 1} of ${runCount}`,
        at(runs.time, run, 0) ? ', ' + timeText(runs.time[run]) : ''),
      runs.replayed[run] ? el('p', {id: 'replayed'}, (at(runs.own_fault, run, 0) ? 'Off by itself: ' : 'Not recomputed: ') + short(plain(runs.replayed[run]), 500)) :
        at(runs.isolated, run, NaN) >= 0 ? el('p', {id: 'replayed'}, 'Recomputed: its outputs are what its inputs make, isolated error ' + num(runs.isolated[run])) : '',
      runs.evidence[run] ? el('p', {id: 'evidence'}, short(plain(runs.evidence[run]), 500)) : '',
      el('div', {class: 'tools'}, hop(run - 1, '\u2190 before'), hop(run + 1, 'after \u2192'),
        ...(same.length > 1 ? [hop(same[here - 1], '\u2191 step'), hop(same[here + 1], '\u2193 step')] : [])),
      ...own.filter(t => tensors.role[t]).concat(own.filter(t => !tensors.role[t])).map(t => tensorView(run, t)),
      own.length ? '' : el('p', {}, 'Its tensors were left out of this page for their number; make one with --op or --step, or a greater --max-bytes.'),
      ...neighbourhood(run), list.childElementCount ? list : '',
      path ? soft('File: ', el('code', {}, bdi(short(path, 400)))) : '',
      path ? soft('As arrays: ', el('code', {}, bdi((raw.image ? 'opdump extract ' + quote(raw.image) + ' -o dump && ' : '') + 'opdump convert -d ' + quote((raw.image ? 'dump/' : '') + short(path, 400)) + ' -out arrays'))) : '');
    opDraws.forEach(draw => draw());
    if (focus) {
      heading.focus({preventScroll: true});
      panel.scrollTop = 0;
      heading.scrollIntoView({block: 'start'});
    }
  });
  redraws.push(() => opDraws.forEach(draw => draw()));
  return panel;
};
