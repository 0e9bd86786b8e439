import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const table = (lines: Record<string, string>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(lines).map(([part, list]) => [part, list.split(/\s+/).filter(Boolean)]));

/**
 * What each room, a folder of src, may import besides `common`; `../` is outside of src. Imports point one way: a line names
 * only lines above it. The files of one room may always import each other.
 */
const allowed = table({
  common: '../package.json',

  // What a callback is, and the platform: without it, and simulated.
  callbacks: '',
  client: 'callbacks/families',
  sandbox: 'callbacks/families',

  receiver: 'callbacks ../db',

  // Beside the path: no feature imports another, but for those whose pages the console shows.
  embedded: 'callbacks receiver',
  feed: 'callbacks receiver',
  inbox: 'callbacks receiver',
  operations: 'receiver',
  privacy: 'callbacks receiver',
  reconcile: 'callbacks client receiver',
  console: 'callbacks inbox operations privacy receiver reconcile ../assets',

  app: 'callbacks client console embedded feed inbox operations privacy receiver reconcile sandbox',
});

/** The parts of a room, from the ground: each imports only parts before it. */
const orders = table({
  receiver: 'store gate metrics.ts queue intake worker http stores.ts receiver.ts feature.ts',
  callbacks: `exact-json.ts times.ts families callback.ts authoring.ts rejection.ts identify.ts delivery.ts
    subjects.ts cut-secrets.ts parse.ts read-callback.ts reduce.ts health-contents.ts`,
});

/** What files import; paths are relative to src. */
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

const partOf = (path: string) => /^(\.\.\/)?[^/]*/.exec(path)![0];

/** Whether a path is of one of these parts, such as `receiver` or `receiver/families`. */
const isOf = (parts: readonly string[], path: string) =>
  parts.some((part) => path === part || path.startsWith(`${part}/`));

function findForbidden(imports: Imports): string[] {
  return Array.from(imports, ([file, targets]) => {
    const part = partOf(file);
    if (!allowed[part]) return [`src/${file}: add a line for ${part} to test/imports.test.ts`];
    // The sandbox tests the receiver: it must not repeat its mistakes.
    const list = part === 'sandbox' ? allowed[part] : [...allowed[part], 'common'];
    return targets
      .filter((target) => !isOf([part, ...list], target))
      .map((target) => `src/${file} imports ${join('src', target)}; ${part} may import: ${list.join(', ')}`);
  }).flat();
}

const paths = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
  (path) => /\.[cm]?[jt]sx?$/.test(path) && !path.startsWith('client/dist/'),
);
const src = parseImports(paths.map((path) => [path, readFileSync(join('src', path), 'utf8')]));

it('every import of src is one that the table allows', () => {
  expect(findForbidden(src)).toEqual([]);
});

it('the table allows no import that src does not have', () => {
  const isUsed = (part: string, name: string) =>
    Array.from(src).some(
      ([file, targets]) => partOf(file) === part && targets.some((to) => isOf([name], to)),
    );
  const unused = Object.entries(allowed).flatMap(([part, list]) =>
    list.filter((name) => !isUsed(part, name)).map((name) => `${part} → ${name}`),
  );
  expect(unused).toEqual([]);
  const known = Object.keys(allowed).toSorted();
  expect(known).toEqual([...new Set(paths.map(partOf))].toSorted());
});

it('a line of the table names only lines above it', () => {
  const order = Object.keys(allowed);
  for (const [part, list] of Object.entries(allowed)) {
    const below = list.filter(
      (name) => !name.startsWith('../') && !order.slice(0, order.indexOf(part)).includes(partOf(name)),
    );
    expect([part, below]).toEqual([part, []]);
  }
});

it.each(Object.entries(orders))('within %s a part imports only parts before it', (room, order) => {
  const partIn = (path: string) => path.slice(room.length + 1).split('/')[0]!;
  const files = Array.from(src).filter(([file]) => isOf([room], file));
  const upwards = files.flatMap(([file, targets]) =>
    targets
      .filter((to) => isOf([room], to) && order.indexOf(partIn(to)) > order.indexOf(partIn(file)))
      .map((to) => `${file} → ${to}`),
  );
  expect(upwards).toEqual([]);
  expect(order.toSorted()).toEqual([...new Set(files.map(([file]) => partIn(file)))].toSorted());
});

it('no file of src has the name of another, but for the parts that several features have', () => {
  const names = paths.map((path) => path.replace(/^.*\//, '').replace(/\.\w+$/, ''));
  const repeated = names.filter((name, at) => names.indexOf(name) !== at);
  expect([...new Set(repeated)].toSorted()).toEqual(['commands', 'feature', 'index']);
});

it('the layout of CONTRIBUTING.md has every folder of src, and no other', () => {
  const layout = readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/^src\/([\w.-]+?)\/?\s/gm);
  expect(Array.from(layout, ([, part]) => part).sort()).toEqual(Object.keys(allowed).sort());
});
