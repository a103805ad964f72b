// ---- what has no partner
const makePairs = () => {
  if (!compared) return '';
  const counts = new Map();
  let none = 0;
  for (let t = 0; t < tensorCount; ++t) {
    const by = tensors.paired_by[t];
    if (by) counts.set(by, (counts.get(by) || 0) + 1);
    else ++none;
  }
  const list = el('ul', {class: 'list'});
  for (const [by, n] of counts) list.append(el('li', {}, `${n} tensors paired by ${raw.paired_by[by - 1]}`));
  if (none) list.append(el('li', {}, `${none} tensors without a golden partner: `, button({onclick: () => {
    const only = document.getElementById('only');
    only.value = 'verdict:unpaired';
    only.dispatchEvent(new Event('change'));
    document.getElementById('table').focus();
  }}, 'show operators')));
  if (raw.only_golden_count) {
    list.append(el('li', {}, folded(`${raw.only_golden_count} golden tensors without a partner`, () =>
      el('p', {}, bdi(short(raw.only_golden.map(s => short(plain(s), 100)).join(', '), 8000))))));
  }
  return section('pairs', 'How tensors were paired', list);
};
