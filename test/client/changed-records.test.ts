import { readFileSync } from 'node:fs';
import { changedRecords } from '../../docs/changed-records.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
const plain = (text: string) => text.replace(/[\s|;]+/g, ' ').trim();

it("the client's types of records have the columns of the views: npm run docs writes them", async () => {
  const written = readFileSync('src/client/changes/changed-records.ts', 'utf8');
  expect(plain(written)).toBe(plain(await changedRecords(database.db)));
});
