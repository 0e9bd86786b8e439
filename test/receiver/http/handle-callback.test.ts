import { connect } from 'node:net';
import { acknowledgement, problem } from '../../../docs/openapi-document.ts';
import { DataRefused, InvalidCallback, NotJson, TenantNotAllowed } from '../../../src/callbacks/rejection.ts';
import { requests } from '../../../src/receiver/metrics.ts';
import { Unavailable } from '../../../src/receiver/store/errors.ts';
import { id, serve } from '../../support/serve.ts';
import { sign } from '../../support/sign.ts';
import { until } from '../../support/until.ts';

const key = 'k'.repeat(32);
const signed = { authentication: { signingKeys: [key] } };
const errors = [{ path: '/data', message: 'is required' }];
const fails = (error: unknown) => ({ receive: () => Promise.reject(error) });

test.each(['accepted', 'duplicate', 'expired'] as const)('%s is a 200 with the id', async (status) => {
  const { post } = await serve({ receive: async () => ({ status, id }) });
  const response = await post('{}');
  expect([response.status, acknowledgement.strict().parse(await response.json())]).toEqual([
    200,
    { status, id },
  ]);
});

test.each([
  ['not JSON', new NotJson('The body is not JSON.'), 400],
  ['a tenant that is not allowed', new TenantNotAllowed('client_id'), 403],
  ['what does not fit', new InvalidCallback(errors), 422, { errors }],
  ['what PostgreSQL refuses', new DataRefused('refused'), 422],
  ['no store', new Unavailable(new Error('down')), 503],
  ['an unknown error', new Error('unknown: canary'), 503],
  ['what is no error', 'canary', 503],
])('%s has its status, as a problem that echoes nothing', async (_name, error, status, more: object = {}) => {
  const { post } = await serve(fails(error));
  const response = await post('{"name":"canary"}');
  const text = await response.text();
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.has('retry-after')).toBe(status === 503);
  expect(problem.strict().parse(JSON.parse(text))).toMatchObject({ type: 'about:blank', status, ...more });
  expect(text).not.toMatch(/canary|\.ts:|node_modules/);
});

test('another method is a 405 that allows POST', async () => {
  const { url, received } = await serve();
  const response = await fetch(`${url}/receipts`);
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  expect(received).toEqual([]);
});

test('only the registered path is served, with any query', async () => {
  const { post, received } = await serve();
  for (const path of ['/Receipts', '/receipts/', '/receipts/x', '/%72eceipts', '/other?/receipts'])
    expect((await post('{}', {}, path)).status).toBe(404);
  expect(received).toEqual([]);
  for (const path of ['/receipts?token=1&next=/other', '/receipts?'])
    expect((await post('{}', {}, path)).status).toBe(200);
});

test('a path with characters of a pattern is matched as it is', async () => {
  const { post, received } = await serve({ paths: { forms: ['/a:b*c(d)+e!'] } });
  expect((await post('{}', {}, '/a:b*c(d)+e!')).status).toBe(200);
  expect((await post('{}', {}, '/axbc(d)+e!')).status).toBe(404);
  expect(received.map(({ route }) => route)).toEqual([{ path: '/a:b*c(d)+e!', family: 'forms' }]);
});

test('the signature is that of the raw bytes, which reach the intake as they are', async () => {
  const { post, received } = await serve(signed);
  const body = Buffer.from([0x7b, 0xff, 0x20, 0x0d, 0x0a, 0x7d]);
  expect((await post(body, { 'X-Signature': sign(key, body) })).status).toBe(200);
  expect(received[0]!.body).toEqual(body);
  expect((await post('{}', { 'X-Signature': sign(key, '{ }') })).status).toBe(401);
  expect((await post('{}')).status).toBe(401);
  expect(received).toHaveLength(1);
});

test.each([
  ['both clocks', () => Date.now(), 401],
  ['its own clock alone', () => Date.now() - 3_600_000, 200],
  ['a clock that cannot be compared', () => undefined, 200],
])('a signature that is old by %s', async (_name, now, status) => {
  const { post } = await serve({ ...signed, now });
  const old = Math.floor(Date.now() / 1000) - 3_600;
  expect((await post('{}', { 'X-Signature': sign(key, '{}', old) })).status).toBe(status);
});

test('only allowed addresses pass; one that the trusted proxy does not say is none, as the check says', async () => {
  const authentication = { allowedIps: ['192.0.2.0/24', '127.0.0.0/8'], trustProxy: 1 };
  const { post, warning } = await serve({ authentication });
  const statusOf = async (headers: Record<string, string>) => (await post('{}', headers)).status;
  expect(await statusOf({ 'X-Forwarded-For': '[::ffff:192.0.2.7]:443' })).toBe(200);
  expect(await statusOf({ 'X-Forwarded-For': '192.0.2.7, 198.51.100.1' })).toBe(403);
  expect(warning()).toBeUndefined();
  for (const address of ['unknown', '192.0.2.7,'])
    expect(await statusOf({ 'X-Forwarded-For': address })).toBe(403);
  expect(await statusOf({ Forwarded: 'for=192.0.2.7' })).toBe(403);
  expect(warning()).toContain('X-Forwarded-For');
});

test('an address that guesses too often gets a 429, and a valid signature still passes', async () => {
  const { post } = await serve({ ...signed, limits: { rejectionsPerMinute: 2 } });
  const guess = () => post('{}', { 'X-Signature': sign('wrong', '{}') });
  expect([(await guess()).status, (await guess()).status]).toEqual([401, 401]);
  const refused = await guess();
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  expect((await post('{}', { 'X-Signature': sign(key, '{}') })).status).toBe(200);
});

test('another media type is kept before its 415, and only if its signature is right', async () => {
  const { post, kept, received } = await serve(signed);
  const text = (signature: string) => post('<a/>', { 'Content-Type': 'text/xml', 'X-Signature': signature });
  expect((await text(sign('wrong', '<a/>'))).status).toBe(401);
  expect(kept).toEqual([]);
  expect((await text(sign(key, '<a/>'))).status).toBe(415);
  expect(kept).toEqual([{ body: Buffer.from('<a/>'), reason: 'unsupported_media' }]);
  expect(received).toEqual([]);
});

test('only a body that is compressed is refused for its encoding', async () => {
  const { post } = await serve({});
  const statusOf = async (encoding: string) => (await post('{}', { 'Content-Encoding': encoding })).status;
  expect([await statusOf(''), await statusOf('utf-8'), await statusOf('Identity')]).toEqual([200, 200, 200]);
  expect([await statusOf('gzip'), await statusOf('x-gzip'), await statusOf('BR')]).toEqual([415, 415, 415]);
});

test('another media type that cannot be kept is a 503', async () => {
  const { post } = await serve({ reject: () => Promise.reject(new Unavailable(new Error('down'))) });
  expect((await post('<a/>', { 'Content-Type': 'text/xml' })).status).toBe(503);
});

test('a body that is cut off is counted as aborted and does not reach the intake', async () => {
  const { url, received } = await serve({ paths: { cut: ['/cut'] } });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    'POST /cut HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  );
  setImmediate(() => socket.end());
  await until(async () =>
    (await requests.get()).values.some(
      ({ labels }) => labels.family === 'cut' && String(labels.status) === 'aborted',
    ),
  );
  expect(received).toEqual([]);
});

test('a body of the limit is accepted; one of a byte more is a 413, not kept, with and without its length', async () => {
  const { url, post, received, kept } = await serve();
  const chunked = async (length: number) => {
    const headers = { 'Content-Type': 'application/json' };
    const body = new Blob(['x'.repeat(length)]).stream();
    return fetch(`${url}/receipts`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
  };
  const whole = (length: number, type = 'application/json') =>
    post('x'.repeat(length), { 'Content-Type': type });
  for (const response of [whole(1_000), chunked(1_000)]) expect((await response).status).toBe(200);
  for (const response of [whole(1_001), whole(1_001, 'text/xml'), chunked(1_001)])
    expect((await response).status).toBe(413);
  expect(received.map(({ body }) => body.length)).toEqual([1_000, 1_000]);
  expect(kept).toEqual([]);
});

test('the sender of a body far beyond the limit sees the response, and can use its connection again', async () => {
  const { url } = await serve();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let responses = '';
  socket.setEncoding('utf8').on('data', (text) => {
    responses += text;
  });
  const head = 'POST /receipts HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
  const mebibyte = `100000\r\n${'x'.repeat(0x100000)}\r\n`;
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${mebibyte}`);
  await until(() => responses.includes(' 413 '));
  for (let time = 0; time < 10; time += 1) socket.write(mebibyte);
  socket.write(`0\r\n\r\n${head}Content-Length: 2\r\n\r\n{}`);
  await until(() => responses.includes(' 200 '));
  socket.destroy();
});

test('an unknown error is logged; neither the log nor a response repeats anything of a request', async () => {
  const { post, lines } = await serve({ ...fails(new SyntaxError('canary')), ...signed });
  const body = '{"canary":"canary"}';
  const signature = { 'X-Signature': sign(key, body) };
  const responses = [
    await post(body, signature),
    await post(body, { ...signature, 'Content-Type': 'text/canary' }),
    await post(body, { 'X-Signature': 'canary' }),
    await post(body.repeat(100), signature),
    await post(body, {}, '/canary?canary'),
  ];
  expect(responses.map(({ status }) => status)).toEqual([503, 415, 401, 413, 404]);
  expect(lines.filter(({ level, err }) => level === 50 && err)).toHaveLength(1);
  const texts = await Promise.all(responses.map((response) => response.text()));
  expect(JSON.stringify([lines, texts])).not.toContain('canary');
});

test('a callback that the intake does not finish holds no other', async () => {
  const hangs = (body: Buffer) => (String(body) === '"hangs"' ? new Promise<never>(() => {}) : undefined);
  const receive = async (body: Buffer) => (await hangs(body)) ?? { status: 'accepted' as const, id };
  const { post, received } = await serve({ receive, times: { stopMs: 1 } });
  let answered = 0;
  for (let time = 0; time < 20; time += 1) {
    post('"hangs"').then(
      () => {
        answered += 1;
      },
      () => {}, // the stop closes its connection
    );
  }
  await until(() => received.length === 20);
  expect((await post('{}')).status).toBe(200);
  expect(answered).toBe(0);
});

test('each status of a path is a metric before it happens', async () => {
  await serve({ paths: { quiet: ['/quiet'] } });
  const { values } = await requests.get();
  const ofPath = values.filter(({ labels, value }) => labels.family === 'quiet' && value === 0);
  expect(ofPath.map(({ labels }) => labels.status)).toEqual(expect.arrayContaining([200, 401, 422, 503]));
});
