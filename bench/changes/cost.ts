import { cpuSeconds } from '../process/usage.ts';
import { type BenchPostgres, scalar } from '../stores/postgres.ts';
import { print, quantile, startReceiver, token } from './receiver.ts';

/**
 * CPU time and write-ahead log per callback without the feed, with it, and with a reader of its stream, in turn: other load on
 * the machine affects all of them.
 */
export async function measureCost(
  postgres: BenchPostgres,
  { rounds, callbacks }: { rounds: number; callbacks: number },
): Promise<void> {
  const on = { CHANGES_TOKENS: `public:${token}` };
  const variants = [
    { name: 'off', env: {} },
    { name: 'on', env: on },
    { name: 'on, read as a stream', env: on, isRead: true },
  ];
  const services = [];
  for (const [index, variant] of variants.entries()) {
    const service = await startReceiver(postgres, `changes_cost_${index}`, variant.env);
    const figures = { receiver: [] as number[], all: [] as number[], wal: [] as number[] };
    services.push({ ...variant, ...service, figures });
  }
  const wal = (url: string) => scalar(url, `select pg_current_wal_insert_lsn() - '0/0'`);
  try {
    for (let round = -2; round < rounds; round += 1) {
      for (const n of services.keys()) {
        const { isRead, databaseUrl, pid, url, send, figures } = services[(n + round + 2) % services.length]!;
        const reading = isRead ? readStream(url) : undefined;
        const of = async () => ({
          receiver: cpuSeconds(pid),
          postgres: cpuSeconds(postgres.pid),
          wal: await wal(databaseUrl),
        });
        const before = await of();
        await send(callbacks);
        const after = await of();
        reading?.abort();
        if (round < 0) continue;
        const receiver = ((after.receiver - before.receiver) * 1e6) / callbacks;
        figures.receiver.push(receiver);
        figures.all.push(receiver + ((after.postgres - before.postgres) * 1e6) / callbacks);
        figures.wal.push((after.wal - before.wal) / callbacks);
      }
    }
  } finally {
    for (const { stop } of services) await stop();
  }
  const [off] = services;
  for (const { name, figures } of services) {
    const against = (part: keyof typeof figures) =>
      figures[part].map((figure, round) => figure - off!.figures[part][round]!);
    const share =
      quantile(
        figures.all.map((figure, round) => figure / off!.figures.all[round]!),
        0.5,
      ) - 1;
    print(
      `${name}: ${quantile(figures.all, 0.5).toFixed(0)} µs of CPU per callback (the process ${quantile(figures.receiver, 0.5).toFixed(0)}), ` +
        `${(share * 100).toFixed(1)} % more; ${quantile(figures.wal, 0.5).toFixed(0)} bytes of WAL, ${quantile(against('wal'), 0.5).toFixed(0)} more; ${figures.all.length} rounds`,
    );
  }
}

function readStream(url: string): AbortController {
  const reading = new AbortController();
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  void fetch(`${url}/changes`, { headers, signal: reading.signal })
    .then(async ({ body }) => {
      for await (const _chunk of body!);
    })
    .catch(() => {});
  return reading;
}
