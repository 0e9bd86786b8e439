import { readFileSync } from 'node:fs';
import supertest from 'supertest';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp } from './support.ts';

const database = useReceiverDatabase();
const css = readFileSync('assets/console/console.css', 'utf8');
const get = (headers: Record<string, string>) =>
  supertest(openApp(database).app).get('/console/assets/console.css').set(headers);

it('an asset is compressed for those who accept that, and each form has its own ETag', async () => {
  const gzip = await get({ 'Accept-Encoding': 'br, gzip;q=0.5' });
  expect(gzip.headers['content-encoding']).toBe('gzip');
  expect(Number(gzip.headers['content-length'])).toBeLessThan(css.length / 2);
  const plain = await get({ 'Accept-Encoding': 'gzip;q=0, *' });
  expect(plain.headers['content-encoding']).toBeUndefined();
  for (const { text, headers } of [gzip, plain]) {
    expect(text).toBe(css);
    expect(headers.vary).toBe('Accept-Encoding');
  }
  expect(gzip.headers.etag).not.toBe(plain.headers.etag);
  const etag = gzip.headers.etag!;
  await get({ 'Accept-Encoding': 'gzip', 'If-None-Match': etag }).expect(304);
  await get({ 'Accept-Encoding': 'identity', 'If-None-Match': etag }).expect(200);
});

it('every text and every distance has a size of the scales', () => {
  const declared = css
    .replace(/@page \{.*?\n\}/s, '')
    .matchAll(/^ *(?:margin|padding|gap|row-gap|column-gap|font-size)[\w-]*: (.*);$/gm);
  // A part of a line is smaller than its line; a card's values stand beside their labels.
  const known = /(calc\(-1 \* )?var\(--(space|text|card|live)-\w+\)\)?|\bauto\b|\b0(\.875em|(?=[ ;]|$))/g;
  const unknown = [...declared].filter(([, value]) => value!.replace(known, '').trim() !== '');
  expect(unknown.map(([line]) => line.trim())).toEqual([]);
});
