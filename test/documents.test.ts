import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorStatuses } from '../src/receiver/http/responses.ts';
import { readSignature, verifySignature } from '../src/receiver/http/signature.ts';

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const read = (path: string) => readFileSync(path, 'utf8');

it('the signature of the example in docs/security.md is one that the receiver accepts', () => {
  const text = read('docs/security.md');
  const variable = (name: string) => new RegExp(`^${name}='?(.+?)'?$`, 'm').exec(text)![1]!;
  const header = /^X-Webhook-Signature: (.*)$/m.exec(text)![1]!;
  const signature = readSignature(
    header,
    { signatureHeader: 'X-Webhook-Signature', signatureToleranceS: 1 },
    Number(variable('t')) * 1000,
    undefined,
  );
  verifySignature(signature, Buffer.from(variable('body')), [variable('key')]);
});

/** The anchors of a document's headings, as GitHub makes them. */
const anchors = (path: string) =>
  Array.from(read(path).matchAll(/^#+ (.*)$/gm), ([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

it.each(documents)('every link of %s leads to a file and a heading that exist', (document) => {
  const prose = read(document).replace(/```[\s\S]*?```/g, '');
  for (const [, file, anchor] of prose.matchAll(/\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)/g)) {
    const path = file ? join(dirname(document), file) : document;
    expect({ path, exists: existsSync(path) }).toEqual({ path, exists: true });
    if (anchor) expect(anchors(path)).toContain(anchor);
  }
});

it('the documents have a table of every error status with its meaning, and no other', () => {
  const rows = documents.flatMap((path) => [...read(path).matchAll(/^\| (\d{3}) +\| (.+?) +\|$/gm)]);
  expect(rows.map(([, status, meaning]) => [status, meaning])).toEqual(Object.entries(errorStatuses));
});

it('the way on from docs/getting-started.md passes every page of docs, each with the way back', () => {
  const ways = /\n\[README\]\(\.\.\/README\.md\) · Next: \[.+\]\((.+)\)\n$/;
  const passed: string[] = [];
  for (let page = 'getting-started.md'; page !== '../CONTRIBUTING.md'; ) {
    expect(passed).not.toContain(page);
    passed.push(page);
    const text = read(`docs/${page}`);
    expect(text).toMatch(ways);
    page = ways.exec(text)![1]!;
  }
  expect(passed.toSorted()).toEqual(readdirSync('docs').filter((name) => name.endsWith('.md')));
});

it('docs/metrics.md names each check', () => {
  const operations = readdirSync('src/operations').map((name) => read(`src/operations/${name}`));
  const checks = operations.flatMap((text) =>
    Array.from(
      text.matchAll(/\bcheck\('([\w-]+)'|^ {4}(\w+): .*check[A-Z]/gm),
      ([, table, own]) => table ?? own!,
    ),
  );
  expect(checks.length).toBeGreaterThan(15);
  expect(checks.filter((name) => !read('docs/metrics.md').includes(`\`${name}\``))).toEqual([]);
});
