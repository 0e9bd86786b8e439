import { Latencies } from '../../bench/load/latencies.ts';
import { evenly } from '../../bench/load/pace.ts';
import { receiptRequests, take } from '../../bench/load/requests.ts';
import { show, spread } from '../../bench/report/statistics.ts';

it('spaces requests evenly, and ends in time', () => {
  const next = evenly(1000, 2000, 4);
  expect([next(), next(), next(), next(), next()]).toEqual([1000, 1250, 1500, 1750, undefined]);
});

it('all callbacks are distinct and signed', () => {
  const order = { host: 'h', path: '/p', seed: 1, signingKey: 'k' };
  const requests = take(receiptRequests(order), 500).map(String);
  const bodies = requests.map((request) => request.split('\r\n\r\n')[1]!);
  const signatures = requests.map((request) => /v1=[0-9a-f]{64}/.exec(request)![0]);
  expect(new Set(bodies).size).toBe(500);
  expect(new Set(signatures).size).toBe(500);
});

it('declares the length of a body in bytes', () => {
  const order = { host: 'h', path: '/p', seed: 1, signingKey: undefined };
  for (const request of take(receiptRequests(order), 50).map(String)) {
    const [head, body] = request.split('\r\n\r\n') as [string, string];
    expect(Number(/Content-Length: (\d+)/.exec(head)![1])).toBe(Buffer.byteLength(body));
  }
});

it('shows the median and the range of the rounds', () => {
  expect(show(spread([3, 1, undefined, 2]))).toBe('2 (1–3)');
  expect(show(spread([1, 2]), 1)).toBe('1.5 (1.0–2.0)');
  expect(show(spread([undefined]))).toBe('–');
});

it('counts the slowest hundredth in the 99th percentile', () => {
  const latencies = new Latencies();
  for (let value = 1; value <= 200; value += 1) latencies.add(value);
  expect([latencies.percentile(0.5), latencies.percentile(0.99)]).toEqual([101, 199]);
});
