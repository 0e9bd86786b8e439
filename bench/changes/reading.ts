import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchPostgres } from '../stores/postgres.ts';
import { print, quantile, startReceiver, token } from './receiver.ts';

const filled = 20_000;
const loneCallbacks = 200;
const headers = { authorization: `Bearer ${token}` };

/** Changes a second that one consumer reads, from the tables and from positions, and how late a change reaches a stream. */
export async function measureReading(postgres: BenchPostgres, { rounds }: { rounds: number }): Promise<void> {
  const service = await startReceiver(postgres, 'changes_reading', { CHANGES_TOKENS: token });
  const page = async (after: string | undefined, query = 'limit=1000') => {
    const text = await fetch(`${service.url}/changes?${query}${after ? `&after=${after}` : ''}`, { headers });
    return (await text.json()) as { changes: unknown[]; next: string; more: boolean };
  };
  const all = async (from: string | undefined) => {
    const began = performance.now();
    let [changes, next, more] = [0, from, true];
    while (more) {
      const found = await page(next);
      [changes, next, more] = [changes + found.changes.length, found.next, found.more];
    }
    return { perSecond: (changes * 1000) / (performance.now() - began), changes, next: next! };
  };
  try {
    while ((await fetch(`${service.url}/changes`, { headers })).status !== 200) await sleep(100);
    const { next: first } = await all(undefined);
    await service.send(filled);
    const { changes } = await all(first);
    const rates = { tables: [] as number[], positions: [] as number[], stream: [] as number[] };
    for (let round = 0; round < Math.min(rounds, 5); round += 1) {
      rates.tables.push((await all(undefined)).perSecond);
      rates.positions.push((await all(first)).perSecond);
      rates.stream.push(await streamed(service.url, first, changes));
    }
    for (const [name, figures] of Object.entries(rates))
      print(`read from ${name}: ${quantile(figures, 0.5).toFixed(0)} changes a second`);

    const { next } = await all(first);
    const late: number[] = [];
    const stream = await open(service.url, next);
    for (let n = 0; n < loneCallbacks; n += 1) {
      await sleep(20 + 80 * Math.random());
      const [arrived] = await Promise.all([stream.next(), service.send(1)]);
      late.push(arrived.at - Date.parse(arrived.changedAt));
    }
    stream.close();
    print(
      `a lone change reaches the stream ${quantile(late, 0.5)} ms after its statement began, p99 ${quantile(late, 0.99)} ms`,
    );
  } finally {
    await service.stop();
  }
}

async function open(url: string, after: string) {
  const closing = new AbortController();
  const options = { headers: { ...headers, accept: 'text/event-stream' }, signal: closing.signal };
  const { body } = await fetch(`${url}/changes?after=${after}&limit=1000`, options);
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    reader,
    next: async () => {
      for (;;) {
        const found = /"changed_at":"([^"]+)"/.exec(text);
        if (found) {
          text = '';
          return { at: Date.now(), changedAt: found[1]! };
        }
        text += (await reader.read()).value;
      }
    },
    close: () => closing.abort(),
  };
}

async function streamed(url: string, after: string, expected: number): Promise<number> {
  const began = performance.now();
  const { reader, close } = await open(url, after);
  let [changes, rest] = [0, ''];
  while (changes < expected) {
    const lines = (rest + (await reader.read()).value).split('\n');
    rest = lines.pop()!;
    changes += lines.filter((line) => line.startsWith('data: ')).length;
  }
  const perSecond = (changes * 1000) / (performance.now() - began);
  close();
  return perSecond;
}
