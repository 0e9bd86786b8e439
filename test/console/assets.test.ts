import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { useConsole } from './use-console.ts';

const { service } = useConsole();

const css = readFileSync('assets/console/console.css');

/** The response as it is sent: fetch() would decode it. */
async function get(headers: OutgoingHttpHeaders) {
  const sent = request(`${service.url}/console/assets/console.css`, { headers }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

it('an asset of the console is compressed for those who accept that, and each form has its own ETag', async () => {
  const gzip = await get({ 'accept-encoding': 'br, gzip;q=0.5' });
  const plain = await get({});
  const refusing = await get({ 'accept-encoding': 'gzip;q=0, *' });
  expect(gzip.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(gzip.body)).toEqual(css);
  expect(gzip.body.length).toBeLessThan(css.length / 2);
  for (const { headers, body } of [plain, refusing]) {
    expect(headers['content-encoding']).toBeUndefined();
    expect(body).toEqual(css);
  }
  for (const { headers } of [gzip, plain]) expect(headers.vary).toBe('Accept-Encoding');
  expect(gzip.headers.etag).toMatch(/^"/);
  expect(gzip.headers.etag).not.toBe(plain.headers.etag);
  expect(plain.headers.etag).toBe(refusing.headers.etag);
});

it('an asset that a browser has is not sent again; one in another encoding is', async () => {
  const { headers } = await get({ 'accept-encoding': 'gzip' });
  const again = await get({ 'accept-encoding': 'gzip', 'if-none-match': headers.etag });
  expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, headers.etag]);
  expect(again.headers.vary).toBe('Accept-Encoding');
  const other = await get({ 'if-none-match': headers.etag });
  expect([other.status, other.body.length]).toEqual([200, css.length]);
});

it('every text and every distance has a size of the scales', () => {
  const declared = String(css)
    .replace(/@page \{.*?\n\}/s, '')
    .matchAll(/^ *(?:margin|padding|gap|row-gap|column-gap|font-size)[\w-]*: (.*);$/gm);
  // A part of a line is smaller than its line; a card's values stand beside their labels.
  const known = /(calc\(-1 \* )?var\(--(space|text|card|live)-\w+\)\)?|\bauto\b|\b0(\.875em|(?=[ ;]|$))/g;
  const unknown = [...declared].filter(([, value]) => value!.replace(known, '').trim() !== '');
  expect(unknown.map(([line]) => line.trim())).toEqual([]);
});
