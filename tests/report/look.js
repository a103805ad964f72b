// Opens pages in Chromium and tells what it saw as JSON: look.js MODULES JOBS.json. A job has "page", "theme", "width",
// "height", "steps" and "shot"; without "script": the page's own script does not run.
'use strict';
const {createRequire} = require('module');
const fs = require('fs');
const path = require('path');

const [modules, jobsFile] = process.argv.slice(2);
const needed = createRequire(path.join(path.resolve(modules), 'none.js'));
const puppeteer = needed('puppeteer-core');
const axe = fs.readFileSync(needed.resolve('axe-core/axe.min.js'), 'utf-8');
const {chromium, jobs} = JSON.parse(fs.readFileSync(jobsFile, 'utf-8'));

// What the page says of the operator that it shows, and how large it is.
const state = () => ({
  verdict: document.querySelector('h1').textContent,
  heading: (document.querySelector('#op-h') || {}).textContent,
  evidence: (document.querySelector('#evidence') || {}).textContent,
  measured: [...document.querySelectorAll('[data-measured]')].map(list => [list.parentElement.querySelector('h3').textContent,
    Object.fromEntries([...list.querySelectorAll('div')].map(div => [div.children[0].textContent, div.children[1].textContent]))]),
  replayed: (document.querySelector('#replayed') || {}).textContent,
  tables: Object.fromEntries([...(document.querySelector('#op [data-tensor]') || document.head).querySelectorAll('details[open]')].map(details =>
    [details.firstChild.textContent, details.querySelectorAll('tbody tr').length])),
  count: (document.querySelector('#count') || {}).textContent,
  rows: [...document.querySelectorAll('#table tbody tr[data-run]')].slice(0, 5).map(row => [...row.children].map(cell => cell.textContent)),
  worst: document.querySelectorAll('#worst tbody tr').length,
  nodes: document.querySelectorAll('*').length,
  ready: Number(document.body.dataset.ready),
  took: Number(document.body.dataset.took),
  hash: location.hash,
  title: document.title,
  images: document.querySelectorAll('img').length,
  live: (document.querySelector('#live') || {}).textContent,
  focus: document.activeElement.id,
  top: Math.round((document.querySelector('#op-h') || document.body).getBoundingClientRect().top),
  // Whether the row of what is chosen can be seen in the table.
  row: (() => {
    const row = document.querySelector('#table tbody tr.on'), box = document.querySelector('#table');
    if (!row) return false;
    const [r, b] = [row, box].map(node => node.getBoundingClientRect());
    return r.top >= b.top && r.bottom <= b.bottom;
  })(),
  charts: ['#errors canvas', '#heat canvas'].map(name => document.querySelector(name)).filter(Boolean)
    .map(canvas => Math.round(canvas.getBoundingClientRect().right)),
  printed: [...document.querySelectorAll('canvas')].filter(canvas => canvas.getClientRects().length).length,
  app: getComputedStyle(document.querySelector('#app')).display,
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
});

const run = async (browser, job) => {
  const page = await browser.newPage();
  const saw = {requests: [], errors: [], states: []};
  page.on('request', request => { if (!request.url().startsWith('data:')) saw.requests.push(request.url()); });
  page.on('console', message => { if (message.type() !== 'log') saw.errors.push(message.text()); });
  page.on('pageerror', error => saw.errors.push(String(error.stack || error)));
  page.on('dialog', dialog => { saw.errors.push('a dialog'); dialog.dismiss(); });
  await page.setViewport({width: job.width || 1280, height: job.height || 900});
  await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: job.theme || 'light'}, {name: 'prefers-reduced-motion', value: 'reduce'}]);
  if (job.script === false) await page.setJavaScriptEnabled(false);
  const client = await page.createCDPSession();
  await client.send('Performance.enable');
  await page.goto('file://' + job.page + (job.hash || ''), {waitUntil: 'load', timeout: 300000});
  if (job.media) await page.emulateMediaType(job.media);
  if (job.script === false) {
    saw.text = await client.send('DOM.getDocument').then(({root}) => client.send('DOM.querySelector', {nodeId: root.nodeId, selector: 'body'}))
      .then(({nodeId}) => client.send('DOM.getOuterHTML', {nodeId})).then(({outerHTML}) => outerHTML);
  } else {
    await page.waitForFunction(() => document.body.dataset.ready, {timeout: 300000}).catch(error => {
      throw new Error(`${job.page}: not ready: ${saw.errors.join('; ') || error}`);
    });
    saw.states.push(await page.evaluate(state));
    const {metrics} = await client.send('Performance.getMetrics');
    saw.heap = metrics.find(metric => metric.name === 'JSHeapUsedSize').value;
    saw.paint = await page.evaluate(() => (performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime);
  }
  for (const [action, selector, value] of job.steps || []) {
    if (action === 'click') await page.click(selector);
    if (action === 'focus') await page.focus(selector);
    if (action === 'press') await page.keyboard.press(selector);
    if (action === 'type') await page.$eval(selector, (node, text) => { node.value = text; node.dispatchEvent(new Event('input')); }, value);
    // At a share of the width of what `selector` has, half its height down.
    if (action === 'at') {
      await page.$eval(selector, node => node.scrollIntoView({block: 'center', behavior: 'instant'}));
      const box = await (await page.$(selector)).boundingBox();
      await page.mouse.click(box.x + value * box.width, box.y + box.height / 2);
    }
    if (action === 'select') await page.select(selector, value);
    if (action === 'open') await page.$$eval(selector, nodes => nodes.forEach(node => { node.open = true; }));
    if (action === 'scroll') await page.$eval(selector, (node, top) => { node.scrollTop = top; }, value);
    await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
    saw.states.push(await page.evaluate(state));
  }
  if (job.shot) await page.screenshot({path: job.shot, fullPage: Boolean(job.full)});
  if (job.axe) {
    // Only here, after all else: it stands for no part of the page.
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
    saw.violations = found.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 5).map(n => n.html.slice(0, 200) + ' ' + (n.any[0] || n.all[0] || n.none[0] || {}).message)}));
  }
  await page.close();
  return saw;
};

(async () => {
  const browser = await puppeteer.launch({executablePath: chromium, headless: true, timeout: 300000,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--allow-file-access-from-files']});
  const results = [];
  try {
    for (const job of jobs) results.push(await run(browser, job));
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(results));
})().catch(error => { console.error(error); process.exit(1); });
