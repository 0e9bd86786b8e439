/* Draws each chart of a page from the table below it, and copies its picture and its numbers. */

const colors = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5', '--series-6'];
const dark = matchMedia('(prefers-color-scheme: dark)');
const longestName = 26;
const drawn = new Map();

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The texts of the cells are shown as they are; their plain values are drawn. */
function read(figure) {
  const { tHead, tBodies } = figure.querySelector('table');
  const rows = [...tBodies[0].rows].map(({ cells }) => [...cells]);
  const [, ...names] = [...tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  return {
    labels: rows.map(([head]) => head.textContent.trim()),
    series: names.map((name, index) => ({
      name,
      values: rows.map((cells) => Number(cells[index + 1].dataset.value)),
      texts: rows.map((cells) => cells[index + 1].textContent),
    })),
  };
}

/** Lakhs and crores of rupees: the largest value decides for the whole axis. */
function formatTick(currency, value, largest) {
  const digits = { maximumFractionDigits: 2 };
  if (!currency) return new Intl.NumberFormat('en-IN', digits).format(value);
  const money = { ...digits, style: 'currency', currency, minimumFractionDigits: 0 };
  if (currency !== 'INR') {
    return new Intl.NumberFormat(`en-${currency.slice(0, 2)}`, { ...money, notation: 'compact' }).format(
      value,
    );
  }
  const [size, unit] = largest >= 1e7 ? [1e7, ' Cr'] : largest >= 1e5 ? [1e5, ' L'] : [1, ''];
  return new Intl.NumberFormat('en-IN', money).format(value / size) + (value === 0 ? '' : unit);
}

function axes({ dataset }, labels, series) {
  const areNames = dataset.chart === 'names';
  const stacked = dataset.stacked === 'true';
  const axis = { stacked, grid: { color: color('--line') }, ticks: { color: color('--soft') } };
  const shorten = (name) => (name.length > longestName ? `${name.slice(0, longestName - 1)}…` : name);
  const isWhole = series.every(({ values }) => values.every(Number.isInteger));
  const groups = {
    ...axis,
    grid: { display: false },
    ticks: {
      ...axis.ticks,
      autoSkip: !areNames,
      autoSkipPadding: 16,
      maxRotation: 0,
      callback: (_, index) => (areNames ? shorten(labels[index]) : labels[index]),
    },
  };
  const values = {
    ...axis,
    beginAtZero: true,
    border: { display: false },
    ticks: {
      ...axis.ticks,
      maxTicksLimit: 6,
      maxRotation: 0,
      precision: isWhole && !dataset.currency ? 0 : undefined,
      callback: (value, _, ticks) =>
        formatTick(dataset.currency, value, Math.max(...ticks.map((tick) => Math.abs(tick.value)))),
    },
  };
  return areNames ? { x: values, y: groups } : { x: groups, y: values };
}

/** Says which labels are shown where there is no room for all. */
const ruleOfLabels = {
  id: 'rule of labels',
  afterUpdate({ scales, canvas }) {
    const [first, second] = scales.x.ticks;
    const step = scales.x.type === 'category' && second ? second.value - first.value : 1;
    const rule = canvas.closest('figure').querySelector('.rule');
    rule.textContent = step > 1 ? `One label in ${step} is shown. All are under “Data”.` : '';
  },
};

function draw(figure) {
  const { labels, series } = read(figure);
  const { chart: kind, compared } = figure.dataset;
  const comparedWith = compared ? compared.split(' ').map(Number) : [];
  const own = series.length - comparedWith.length;
  const datasets = series.map(({ name, values, texts }, index) => {
    const base = index < own ? index : comparedWith[index - own];
    const shade = color(colors[base % colors.length]);
    const isCompared = index >= own;
    return {
      label: name,
      texts,
      data: values,
      stack: isCompared ? 'compared' : 'own',
      borderColor: shade,
      backgroundColor: isCompared ? `${shade}55` : shade,
      borderWidth: kind === 'line' ? 2 : isCompared ? 1 : 0,
      borderDash: isCompared && kind === 'line' ? [5, 4] : [],
      borderRadius: kind === 'line' ? 0 : 2,
      maxBarThickness: 40,
      pointRadius: 0,
      // Straight: a curve shows amounts between the days that nobody paid.
      tension: 0,
    };
  });
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  return new Chart(figure.querySelector('canvas'), {
    type: kind === 'line' ? 'line' : 'bar',
    data: { labels, datasets },
    plugins: [ruleOfLabels],
    options: {
      indexAxis: kind === 'names' ? 'y' : 'x',
      responsive: true,
      maintainAspectRatio: false,
      animation: false,
      interaction: { mode: 'index', axis: kind === 'names' ? 'y' : 'x', intersect: false },
      scales: axes(figure, labels, series),
      plugins: {
        legend: {
          display: series.length > 1,
          position: 'bottom',
          labels: { color: color('--ink'), boxWidth: 12, boxHeight: 12 },
        },
        tooltip: {
          callbacks: {
            title: ([at]) => labels[at.dataIndex],
            label: ({ dataset, dataIndex }) => ` ${dataset.label}: ${dataset.texts[dataIndex]}`,
          },
        },
      },
    },
  });
}

/** The chart with its title, on its paper: a canvas itself is transparent. */
function picture(figure) {
  drawOnce(figure);
  const canvas = figure.querySelector('canvas');
  const scale = canvas.width / canvas.clientWidth;
  const head = 44 * scale;
  const paper = Object.assign(document.createElement('canvas'), {
    width: canvas.width,
    height: canvas.height + head,
  });
  const context = paper.getContext('2d');
  context.fillStyle = color('--card');
  context.fillRect(0, 0, paper.width, paper.height);
  context.drawImage(canvas, 0, head);
  context.fillStyle = color('--ink');
  context.font = `600 ${16 * scale}px ${getComputedStyle(document.body).fontFamily}`;
  context.fillText(titleOf(figure), 12 * scale, 28 * scale, paper.width - 24 * scale);
  return new Promise((resolve) => paper.toBlob(resolve, 'image/png'));
}

const titleOf = (figure) => figure.querySelector('figcaption').textContent.trim();

/** For a spreadsheet; values as they are drawn. */
function numbers(figure) {
  const { labels, series } = read(figure);
  const lines = labels.map((label, row) => [label, ...series.map(({ values }) => values[row])]);
  const text = [['', ...series.map(({ name }) => name)], ...lines].map((line) => line.join('\t')).join('\n');
  return new Blob([text], { type: 'text/plain' });
}

/** @returns what was done: a browser has no clipboard for pages without TLS, and some take no picture */
async function copy(make, figure, ending) {
  const content = Promise.resolve(make(figure));
  try {
    // A browser may allow it only at once: it waits for the content.
    const type = ending === 'png' ? 'image/png' : 'text/plain';
    await navigator.clipboard.write([new ClipboardItem({ [type]: content })]);
    return 'Copied.';
  } catch {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await content);
    link.download = `${titleOf(figure)}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    return 'Saved as a file, because the clipboard is not available.';
  }
}

/** Adds what takes a script. */
function equip(figure) {
  const bar = figure.querySelector('.copy');
  bar.innerHTML = `<button type="button" class="small second">Copy picture</button>
    <button type="button" class="small second">Copy numbers</button> <span role="status"></span> <span class="rule"></span>`;
  const [ofPicture, ofNumbers] = bar.querySelectorAll('button');
  const status = bar.querySelector('[role]');
  ofPicture.addEventListener('click', async () => {
    status.textContent = await copy(picture, figure, 'png');
  });
  ofNumbers.addEventListener('click', async () => {
    status.textContent = await copy(numbers, figure, 'tsv');
  });
}

const figures = document.querySelectorAll('figure[data-chart]');

function drawOnce(figure) {
  near.unobserve(figure);
  if (!drawn.has(figure)) drawn.set(figure, draw(figure));
}

/** A chart is drawn when somebody is about to see it, or prints it. */
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) drawOnce(target);
  },
  { rootMargin: '200px' },
);

for (const figure of figures) {
  equip(figure);
  near.observe(figure);
}
dark.addEventListener('change', () => {
  for (const [figure, chart] of drawn) {
    chart.destroy();
    drawn.set(figure, draw(figure));
  }
});
for (const moment of ['beforeprint', 'afterprint']) {
  addEventListener(moment, () => {
    for (const figure of figures) drawOnce(figure);
    for (const chart of drawn.values()) chart.resize();
  });
}
