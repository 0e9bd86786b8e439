/* Draws each chart of a page from the table below it. */

const families = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5', '--series-6'];
const dark = matchMedia('(prefers-color-scheme: dark)');
const numbers = new Intl.NumberFormat('en-IN', { maximumFractionDigits: 2 });
const drawn = [];

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function read(table) {
  const [, ...heads] = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const rows = [...table.tBodies[0].rows];
  return {
    labels: rows.map((row) => row.cells[0].textContent.trim()),
    series: heads.map((name, column) => ({
      name,
      values: rows.map((row) => Number(row.cells[column + 1].dataset.value)),
    })),
  };
}

function options(figure, series) {
  const stacked = figure.dataset.stacked === 'true';
  const isWhole = series.every(({ values }) => values.every(Number.isInteger));
  const axis = { stacked, grid: { color: color('--line') }, ticks: { color: color('--soft') } };
  return {
    responsive: true,
    maintainAspectRatio: false,
    animation: false,
    interaction: { mode: 'index', intersect: false },
    scales: {
      x: { ...axis, grid: { display: false }, ticks: { ...axis.ticks, maxRotation: 0, autoSkipPadding: 16 } },
      y: {
        ...axis,
        beginAtZero: true,
        border: { display: false },
        ticks: {
          ...axis.ticks,
          maxTicksLimit: 6,
          precision: isWhole ? 0 : undefined,
          callback: (value) => numbers.format(value),
        },
      },
    },
    plugins: {
      legend: {
        display: series.length > 1,
        position: 'bottom',
        labels: { color: color('--ink'), boxWidth: 12, boxHeight: 12 },
      },
      tooltip: { callbacks: { label: (at) => ` ${at.dataset.label}: ${numbers.format(at.raw)}` } },
    },
  };
}

function draw(figure) {
  const { labels, series } = read(figure.querySelector('table'));
  const kind = figure.dataset.chart;
  const datasets = series.map(({ name, values }, index) => {
    const own = color(families[index % families.length]);
    return {
      label: name,
      data: values,
      borderColor: own,
      backgroundColor: own,
      borderWidth: kind === 'line' ? 2 : 0,
      borderRadius: kind === 'bar' ? 2 : 0,
      maxBarThickness: 40,
      pointRadius: labels.length > 1 ? 0 : 3,
      // Straight: a curve shows amounts between the days that nobody paid.
      tension: 0,
    };
  });
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  return new Chart(figure.querySelector('canvas'), {
    type: kind,
    data: { labels, datasets },
    options: options(figure, series),
  });
}

function place(figure) {
  const frame = document.createElement('div');
  frame.className = 'canvas';
  const canvas = document.createElement('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `Chart: ${figure.querySelector('figcaption').textContent}`);
  frame.append(canvas);
  figure.querySelector('figcaption').after(frame);
}

function drawAll() {
  for (const chart of drawn.splice(0)) chart.destroy();
  for (const figure of document.querySelectorAll('figure[data-chart]')) drawn.push(draw(figure));
}

for (const figure of document.querySelectorAll('figure[data-chart]')) place(figure);
drawAll();
dark.addEventListener('change', drawAll);
