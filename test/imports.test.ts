import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Small files at the top of src. Every folder may import them, and they import only each other. */
const common = [
  ...[
    'address.ts',
    'config.ts',
    'connections.ts',
    'csv.ts',
    'database-url.ts',
    'decimal.ts',
    'durations.ts',
    'environment-schema.ts',
    'http-statuses.ts',
    'limited-lines.ts',
    'log.ts',
  ],
  ...[
    'message-groups.ts',
    'misspelt-variables.ts',
    'rate-limit.ts',
    'readiness.ts',
    'roles.ts',
    'secret.ts',
    'times.ts',
    'unguessable.ts',
    'uuid.ts',
    'with-timeout.ts',
    'durable-files.ts',
    'trusted-files.ts',
    'xlsx.ts',
  ],
];

/** These import nothing else of src: code that tests the service must not repeat its mistakes. */
const standalone = ['client', 'sandbox'];

/**
 * What each folder of src, and each file of the composition, may import besides `common`; `../` is outside of
 * src. Imports point one way, composition → edges → middle → foundation: a line names only lines above it, and
 * no edge names another. The files of one folder may always import each other.
 */
const allowed: Record<string, string[]> = {
  // Foundation.
  families: [],
  store: ['../db'],
  queue: ['store'],
  reporting: ['store'],
  metrics: ['queue', 'store'],
  health: ['store'],
  tracing: ['../package.json'],

  // Middle: what the service does.
  intake: ['families', 'store'],
  apply: ['families', 'intake', 'store'],
  privacy: ['apply', 'families', 'intake', 'store'],
  alerts: ['health', 'metrics', 'store'],

  // Edges.
  client: [],
  sandbox: [],
  openapi: ['families'],
  http: ['intake'],
  worker: ['apply', 'families', 'intake', 'privacy', 'queue', 'store'],
  console: ['apply', 'families', 'health', 'intake', 'privacy', 'queue', 'store', '../assets'],
  commands: ['alerts', 'apply', 'families', 'intake', 'privacy', 'store'],

  // Composition.
  'health-checks.ts': ['health', 'http', 'queue', 'store', 'worker'],
  'prepare-database.ts': ['queue', 'reporting', 'store'],
  'open-stores.ts': ['prepare-database.ts', 'apply', 'intake', 'queue', 'store'],
  'service.ts': [
    ...[
      'alerts',
      'console',
      'families',
      'health',
      'health-checks.ts',
      'http',
      'intake',
      'metrics',
      'open-stores.ts',
      'prepare-database.ts',
      'privacy',
      'queue',
      'store',
      'tracing',
      'worker',
    ],
  ],
  doctor: [
    'commands',
    'families',
    'health',
    'http',
    'intake',
    'metrics',
    'prepare-database.ts',
    'queue',
    'reporting',
    'store',
    '../package.json',
  ],
  'cli.ts': [
    'client',
    'commands',
    'doctor',
    'families',
    'openapi',
    'sandbox',
    'service.ts',
    '../package.json',
  ],
};

/** Files of src, each with what it imports; paths are relative to src. */
type Imports = Map<string, string[]>;

/** Every quoted relative path counts, so that no form of an import is overlooked: of types, dynamic, `require`, a URL. */
function parseImports(files: [path: string, text: string][]): Imports {
  const quoted = /(['"`])(\.\.?\/[^'"`\n]*)\1/g;
  return new Map(
    files.map(([path, text]) => [
      path,
      Array.from(text.matchAll(quoted), ([, , to]) => join(dirname(path), to!)),
    ]),
  );
}

/** The line of the table that a path belongs to. */
const partOf = (path: string) => /^(\.\.\/)?[^/]*/.exec(path)![0];

/** What a folder or file may import; undefined: the table has no line for it. */
function mayImport(part: string): string[] | undefined {
  if (common.includes(part)) return common;
  const list = allowed[part];
  return list && (standalone.includes(part) ? list : [...list, ...common]);
}

/** A line for each import that the table does not allow. */
function findForbidden(imports: Imports): string[] {
  return Array.from(imports, ([file, targets]) => {
    const part = partOf(file);
    const list = mayImport(part);
    if (!list) return [`src/${file}: add a line for ${part} to test/imports.test.ts`];
    return targets
      .filter((target) => ![part, ...list].includes(partOf(target)))
      .map((target) => `src/${file} imports ${join('src', target)}; ${part} may import: ${list.join(', ')}`);
  }).flat();
}

/** The first cycle of files that import each other, types included. */
function findCycle(imports: Imports): string[] | undefined {
  const done = new Set<string>();
  const follow = (file: string, trail: string[]): string[] | undefined => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const target of imports.get(file) ?? []) {
      const cycle = follow(target, [...trail, file]);
      if (cycle) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const cycle = follow(file, []);
    if (cycle) return cycle;
  }
  return undefined;
}

const paths = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
  (path) => /\.[cm]?[jt]sx?$/.test(path) && !path.startsWith('client/dist/'),
);
const src = parseImports(paths.map((path) => [path, readFileSync(join('src', path), 'utf8')]));

it('every import of src is one that the table allows', () => {
  expect(findForbidden(src)).toEqual([]);
});

it('the table allows no import that src does not have', () => {
  const used = new Set(
    Array.from(src, ([file, targets]) =>
      targets.map((target) => `${partOf(file)} → ${partOf(target)}`),
    ).flat(),
  );
  const listed = Object.entries(allowed).flatMap(([part, list]) => list.map((name) => `${part} → ${name}`));
  expect(listed.filter((arrow) => !used.has(arrow))).toEqual([]);
  const known = [...Object.keys(allowed), ...common].toSorted();
  expect(known).toEqual([...new Set(paths.map(partOf))].toSorted());
});

it('a line of the table names only lines above it', () => {
  const order = Object.keys(allowed);
  for (const [part, list] of Object.entries(allowed)) {
    const below = list.filter(
      (name) => !name.startsWith('../') && !order.slice(0, order.indexOf(part)).includes(name),
    );
    expect([part, below]).toEqual([part, []]);
  }
});

it('there is no import cycle in src', () => {
  expect(findCycle(src)).toBeUndefined();
});

it.each([
  `import { a } from '../http/a.ts';`,
  `import type { A } from '../http/a.ts';`,
  `import '../http/a.ts';`,
  `export * from "../http/a.ts";`,
  `export type { A } from '../http/a.ts';`,
  `const { a } = await import('../http/a.ts');`,
  'const { a } = await import(`../http/a.ts`);',
  `type A = import('../http/a.ts').A;`,
  `const { a } = createRequire(import.meta.url)('../http/a.ts');`,
  `new Worker(new URL('../http/a.ts', import.meta.url));`,
])('counts as an import: %s', (text) => {
  expect(findForbidden(parseImports([['families/b.ts', text]]))).toEqual([
    expect.stringMatching(/^src\/families\/b.ts imports src\/http\/a.ts; /),
  ]);
});

it('finds a cycle, a folder without a line, and an import from outside src', () => {
  const cycle: [string, string][] = [
    ['http/a.ts', `import type { B } from './b.ts';`],
    ['http/b.ts', `const { c } = await import('./access/c.ts');`],
    ['http/access/c.ts', `import { a } from '../a.ts';`],
  ];
  expect(findCycle(parseImports(cycle))).toEqual(['http/a.ts', 'http/b.ts', 'http/access/c.ts', 'http/a.ts']);
  expect(findForbidden(parseImports([['new/a.ts', '']]))).toHaveLength(1);
  expect(findForbidden(parseImports([['client/a.ts', `import '../../test/b.ts';`]]))).toHaveLength(1);
});
