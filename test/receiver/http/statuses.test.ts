import { readdirSync, readFileSync } from 'node:fs';
import { errorStatuses } from '../../../src/receiver/http/responses.ts';

it('the docs have a table of every error status with its meaning, and no other', () => {
  const docs = readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(`docs/${name}`, 'utf8'));
  const rows = docs.flatMap((text) => [...text.matchAll(/^\| (\d{3}) +\| (.+?) +\|$/gm)]);
  expect(rows.map(([, status, meaning]) => [status, meaning])).toEqual(Object.entries(errorStatuses));
});
