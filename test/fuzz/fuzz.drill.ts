import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import fc from 'fast-check';
import { createDatabase } from '../support/database.ts';
import { spawnService } from '../support/process.ts';
import { until } from '../support/until.ts';
import { anyCase, type Case } from './cases.ts';

const count = Math.max(3_000, Number(process.env.DRILL_MINUTES) * 10_000);
const seed = Number(process.env.TEST_SEED);
const documented = new Set([200, 400, 404, 405, 413, 415, 422]);
const chunk = 100;

jest.setTimeout(Math.max(300_000, count * 20));

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

function send(url: string, { path, method, headers, body }: Case): Promise<{ status: number; type: string }> {
  return new Promise((resolve, reject) => {
    const length = body.length > 0 ? { 'Content-Length': String(body.length) } : {};
    const sent = request(url + path, { method, headers: { ...headers, ...length }, agent }, (response) => {
      response.resume().on('end', () => {
        resolve({ status: response.statusCode!, type: response.headers['content-type'] ?? '' });
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body.length > 0 ? body : undefined);
  });
}

it(`${count} cases: every status is documented, and every accepted callback is applied`, async () => {
  const database = await createDatabase();
  const service = await spawnService({ DATABASE_URL: database.url });
  const tally = new Map<string, number>();
  const unexpected: unknown[] = [];
  let accepted = 0;
  for (let done = 0; done < count; done += chunk) {
    const cases = fc.sample(anyCase, { numRuns: Math.min(chunk, count - done), seed: seed + done });
    await Promise.all(
      cases.map(async (one) => {
        // A server that rejects a large body may close the connection before all of it is sent.
        const { status, type } = await send(service.url, one).catch((error: NodeJS.ErrnoException) => {
          if (one.kind === 'large' && ['EPIPE', 'ECONNRESET'].includes(error.code ?? ''))
            return { status: 413, type: '' };
          throw new Error(`${one.kind}: ${error.code}`, { cause: error });
        });
        tally.set(`${one.kind} ${status}`, (tally.get(`${one.kind} ${status}`) ?? 0) + 1);
        if (status === 200) accepted += 1;
        const isExpected = documented.has(status) && (!one.valid || status === 200);
        const hasProblem = status === 200 || one.kind === 'large' || type === 'application/problem+json';
        if (!isExpected || !hasProblem)
          unexpected.push({ kind: one.kind, status, type, body: one.body.toString().slice(0, 300) });
      }),
    );
    process.stderr.write(`${Math.min(done + chunk, count)}/${count} cases (seed ${seed})\n`);
  }
  process.stderr.write(`${JSON.stringify(Object.fromEntries([...tally].toSorted()))}\n`);
  expect(unexpected).toEqual([]);
  expect(accepted).toBeGreaterThan(count / 50);
  await until(
    async () => (await database.rows(`select 1 from deliveries where status = 'received'`)).length === 0,
  );
  expect(await database.rows(`select error from deliveries where status = 'failed'`)).toEqual([]);
  const [row] = await database.rows('select sum(delivery_count)::int as n from deliveries');
  expect(row).toEqual({ n: accepted });
  const memory = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.child.pid}/status`, 'utf8'))!;
  expect(Number(memory[1])).toBeLessThan(400 * 1024);
  expect(service.output()).not.toMatch(/"level":(50|60)/);
  expect(await service.end('SIGTERM')).toBe(0);
  agent.destroy();
  await database.close();
});
