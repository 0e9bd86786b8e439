import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadOrder } from '../../bench/load/order.ts';
import { receiptRequests } from '../../bench/load/requests.ts';
import { fireWithWrk, parseFigures, writeRequests, wrkVersion } from '../../bench/load/wrk.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wrk-'));
  file = join(folder, 'requests');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const source = () => receiptRequests({ host: 'h', path: '/p', seed: 1, signingKey: 'k' });
const order: LoadOrder = {
  url: 'http://127.0.0.1:1',
  path: '/p',
  connections: 2,
  seconds: 2,
  warmup: 1,
  rate: undefined,
  expected: 10,
  seed: 1,
  signingKey: 'k',
};

/** Sends a load by a program in the place of wrk. */
function fireBy(shellScript: string) {
  const program = join(folder, 'wrk');
  writeFileSync(program, `#!/bin/sh\n${shellScript}\n`);
  chmodSync(program, 0o755);
  return fireWithWrk(order, source(), { file, program });
}

/** The requests of a file, read as wrk's script reads them. */
function readRequests(): string[] {
  let rest = readFileSync(file);
  const requests: string[] = [];
  while (rest.length > 0) {
    const line = rest.indexOf('\n');
    const end = line + 1 + Number(rest.toString('latin1', 0, line));
    requests.push(rest.toString('utf8', line + 1, end));
    rest = rest.subarray(end);
  }
  return requests;
}

it('prepares distinct requests, and others for the next run of the load', () => {
  const requests = source();
  writeRequests(file, requests, 1500);
  const first = readRequests();
  writeRequests(file, requests, 500);
  const bodies = [...first, ...readRequests()].map((request) => request.split('\r\n\r\n')[1]);
  expect(first).toHaveLength(1500);
  expect(new Set(bodies).size).toBe(2000);
});

it('reads the figures between the lines that wrk prints itself', () => {
  const figures = { requests: 9, seconds: 2, p50: 1.5, p99: 3, rejected: 1, broken: 0, cpu: 0.1 };
  const output = `Running 2s test @ http://h\nRequests/sec: 4.5\n${JSON.stringify(figures)}\n`;
  expect(parseFigures(output)).toEqual(figures);
});

it('counts the responses of the warm-up as acknowledged, and not in the rate', async () => {
  const figures = await fireBy(`case "$*" in
    *-d1s*) echo '{"requests":50,"seconds":1,"p50":9,"p99":9,"rejected":0,"broken":0,"cpu":0.5}' ;;
    *) echo '{"requests":400,"seconds":2,"p50":1,"p99":2,"rejected":4,"broken":0,"cpu":0.5}' ;;
  esac`);
  expect(figures).toMatchObject({
    perSecond: 198,
    p50: 1,
    p99: 2,
    acknowledged: 446,
    rejected: 4,
    seconds: 3,
    cpu: 0.25,
  });
});

it('fails when wrk does, as it does when the requests are used up', async () => {
  await expect(fireBy('exit 1')).rejects.toThrow('wrk ended with 1');
  expect(existsSync(file)).toBe(false);
});

it('fails when a connection of the load breaks', async () => {
  const figures = '{"requests":1,"seconds":1,"p50":1,"p99":1,"rejected":0,"broken":3,"cpu":0}';
  await expect(fireBy(`echo '${figures}'`)).rejects.toThrow('3 requests');
});

it('knows where wrk is not installed', () => {
  expect(wrkVersion(join(folder, 'wrk'))).toBeUndefined();
});
