// ---- what has no partner
const makePairs = () => {
  if (!compared) return '';
  const counts = new Map();
  let none = 0;
  for (let t = 0; t < tensorCount; ++t) {
    const by = tensors.paired_by[t];
    if (by) counts.set(by, (counts.get(by) || 0) + 1); else ++none;
  }
  const list = el('ul', {class: 'list'});
  for (const [by, n] of counts) list.append(el('li', {}, `${n} tensors paired by ${raw.paired_by[by - 1]}`));
  if (none) list.append(el('li', {}, `${none} tensors without a golden partner: `, button({onclick: () => {
    document.getElementById('only').value = 'verdict:unpaired';
    document.getElementById('only').dispatchEvent(new Event('change'));
    document.getElementById('table').focus();
  }}, 'show operators')));
  if (raw.only_golden_count) {
    const details = el('details', {}, el('summary', {}, `${raw.only_golden_count} golden tensors without a partner`));
    on(details, 'toggle', () => { if (details.childElementCount === 1) details.append(el('p', {}, bdi(short(raw.only_golden.map(s => short(plain(s), 100)).join(', '), 8000)))); });
    list.append(el('li', {}, details));
  }
  return section('pairs', 'How tensors were paired', list);
};
