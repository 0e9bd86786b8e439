import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Service } from '../../src/service/service.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import type { Sample } from './exposition.ts';
import { adminToken, scrape } from './scraping.ts';

interface Panel {
  id: number;
  type: string;
  gridPos: { h: number; w: number; x: number; y: number };
  datasource?: { uid: string };
  targets?: { expr: string; datasource: { uid: string } }[];
}

interface AlertsFile {
  groups: { rules: { alert: string; expr: string }[] }[];
}

const read = (file: string) => readFileSync(`${process.cwd()}/deploy/${file}`, 'utf8');
const dashboard = JSON.parse(read('grafana-dashboard.json')) as {
  panels: Panel[];
  templating: { list: { datasource?: { uid: string }; definition?: string }[] };
};
const variables = dashboard.templating.list.filter(({ datasource }) => datasource);
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const { load } = createRequire(__filename)('js-yaml') as { load: (text: string) => AlertsFile };
const rules = load(read('alerts.yml')).groups.flatMap((group) => group.rules);
const queries = [
  ...[...panels.flatMap(({ targets }) => targets!), ...rules].map(({ expr }) => expr),
  ...variables.map(({ definition }) => /^label_values\((.+), *\w+\)$/.exec(definition!)![1]!),
];

let database: TestDatabase;
let redis: TestRedis;
let service: Service & { url: string };
let samples: Sample[];
beforeAll(async () => {
  [database, redis] = await Promise.all([createDatabase(), startRedis()]);
  const metrics = { port: undefined, cacheMs: 0 };
  service = await startTestService({
    databaseUrl: database.url,
    redisUrl: redis.url,
    adminToken,
    metrics,
  });
  await post(service.url + paths.receipt, receiptCallback());
  const { metrics: scraped } = await until(async () => {
    const now = await scrape(service.url);
    const isApplied = now.value('receiver_deliveries_applied_total') === 1;
    return isApplied && now.metrics.has('receiver_fallback_acknowledges') ? now : undefined;
  });
  samples = [...scraped.values()].flatMap((metric) => metric.samples);
});
afterAll(async () => {
  await service.stop();
  await Promise.all([database.close(), redis.stop()]);
});

/** The lists of labels that a query groups by. */
const grouping = /\b(?:by|on) *\(([^)]*)\)/g;

/** The metrics in a query with the labels of their selectors: every name except functions, durations and operators. */
function selectorsOf(query: string): { name: string; labels: string[] }[] {
  const rest = query.replace(grouping, '').replace(/\[[^\]]*\]/g, '');
  const selectors = rest.matchAll(/\b([a-zA-Z_]\w*)\b(?! *\()(?:\{([^}]*)\})?/g);
  return Array.from(selectors, ([, name, matchers = '']) => ({
    name: name!,
    labels: Array.from(matchers.matchAll(/(\w+)[=!]/g), ([, label]) => label!),
  })).filter(({ name }) => !['up', 'or', 'and', 'unless', 'offset'].includes(name));
}

/** A metric's name without the suffixes of a histogram. */
const baseOf = (name: string) => name.replace(/_(bucket|sum|count)$/, '');

/** The receiver's own metrics in a scrape. */
const ownMetrics = () =>
  new Set(samples.map(({ name }) => baseOf(name)).filter((name) => name.startsWith('receiver_')));

/** The labels that Prometheus itself adds. */
const added = ['job', 'instance'];

it('every metric and label in the queries of the dashboard and the alerts is in a scrape', () => {
  const asked = queries.flatMap(selectorsOf);
  expect(rules.length).toBeGreaterThan(5);
  expect(panels.length).toBeGreaterThan(20);
  for (const { name, labels } of asked) {
    const own = labels.filter((label) => !added.includes(label));
    const found = samples.some(
      (sample) => sample.name === name && own.every((label) => label in sample.labels),
    );
    expect([name, own, found]).toEqual([name, own, true]);
  }
});

it('every query groups by labels of its metrics', () => {
  for (const query of queries) {
    const groups = Array.from(query.matchAll(grouping), ([, list]) => list!.split(/, */)).flat();
    const names = selectorsOf(query).map(({ name }) => name);
    const known = samples
      .filter(({ name }) => names.includes(name))
      .flatMap(({ labels }) => Object.keys(labels));
    for (const label of groups)
      expect([query, [...known, ...added]]).toEqual([query, expect.arrayContaining([label])]);
  }
});

it('every metric of the receiver is on the dashboard', () => {
  const shown = new Set(
    panels.flatMap(({ targets }) =>
      targets!.flatMap(({ expr }) => selectorsOf(expr).map(({ name }) => name)),
    ),
  );
  const known = new Set([...shown].map(baseOf));
  expect([...ownMetrics()].filter((name) => !known.has(name))).toEqual([]);
});

it('the dashboard takes its data source from the variable, and no panels overlap', () => {
  const chosen = `\${datasource}`;
  expect(variables.map(({ datasource }) => datasource!.uid)).toEqual(variables.map(() => chosen));
  const cells = new Set<string>();
  for (const { datasource, targets, gridPos } of panels) {
    const sources = [datasource, ...targets!.map((target) => target.datasource)];
    expect(new Set(sources.map((source) => source?.uid))).toEqual(new Set([chosen]));
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(cells.has(`${x}/${y}`)).toBe(false);
        cells.add(`${x}/${y}`);
      }
    }
  }
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
});

it('docs/metrics.md lists every metric and every alert, and no other', () => {
  const docs = readFileSync(`${process.cwd()}/docs/metrics.md`, 'utf8');
  const names = Array.from(docs.matchAll(/^\| `(receiver_\w+|Receiver\w+)` /gm), ([, name]) => name!);
  const alerts = rules.map(({ alert }) => alert);
  expect(names.toSorted()).toEqual([...ownMetrics(), ...alerts].toSorted());
});
