// ---- the filter of the table: words, type:Conv, nan>0
const TRAITS = {nan: 'only_mine', dtype: 'other_dtype', own: 'own_fault'};
const FIELDS = {inf: 'nan', error: 'err', cosine: 'cos'};
const has = (words, value) => words.toLowerCase().includes(value);
const filterOf = words => {
  const tests = [];
  for (const word of words.split(/\s+/).filter(Boolean)) {
    const named = /^(type|name|step|verdict|model|is):(.+)$/i.exec(word), bound = /^(\w+)(<=|>=|<|>|=)(-?[\d.eE+-]+)$/.exec(word);
    if (named) {
      const [, key, value] = named.map(part => part.toLowerCase());
      if (key === 'step') {
        const [low, high] = value.split('-').map(Number);
        tests.push(run => { const s = placeOf(run).step; return s >= low && s <= (high ?? low); });
      } else if (key === 'verdict') {
        tests.push(run => verdictOf(run) >= 0 && VERDICTS[verdictOf(run)].startsWith(value));
      } else if (key === 'is') {
        tests.push(run => at(runs[TRAITS[value]], run, 0) === 1);
      } else if (key === 'model') {
        tests.push(run => has(placeOf(run).model, value));
      } else {
        const list = key === 'type' ? ops.type : ops.name;
        tests.push(run => has(text(list[runs.op[run]]), value));
      }
    } else if (bound) {
      const field = bound[1].toLowerCase(), sign = bound[2], limit = Number(bound[3]);
      const c = COLUMNS.find(c => c[0] === (FIELDS[field] || field));
      if (!c) { tests.push(() => false); continue; }
      tests.push(run => { const v = c[2](run); return sign.includes('=') && v === limit || sign[0] === '<' && v < limit || sign[0] === '>' && v > limit; });
    } else {
      const value = word.toLowerCase();
      tests.push(run => has(label(run), value));
    }
  }
  return run => tests.every(test => test(run));
};
