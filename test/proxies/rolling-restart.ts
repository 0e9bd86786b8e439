import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { until } from '../support/until.ts';
import type { Receivers } from './receivers.ts';
import { openHttp1, openHttp2, type Send } from './send.ts';

export interface RollingRestartOptions {
  /** Of the proxy. */
  url: string;
  receivers: Receivers;
  databaseUrl: string;
  /** The business of the callbacks, which nobody else sends. */
  business: string;
  /** Of the restarts, in turn. */
  signals: ('SIGTERM' | 'SIGKILL')[];
  /** Requests per second, whether or not earlier ones were answered. */
  rate: number;
  /** Ends after so many requests. Default: after a restart for each of the signals. */
  requests?: number;
}

interface Sent {
  sentMs: number;
  tookMs: number;
  /** The status as text, or the code of the error. */
  outcome: string;
  id?: string;
}

export interface Restart {
  receiver: number;
  signal: NodeJS.Signals;
  /** Until a callback reached it again. */
  seconds: number;
  requests: number;
  failed: number;
  slowestMs: number;
}

export interface RollingRestart {
  requests: number;
  /** Responses other than 200, and errors, with their counts. */
  failures: Record<string, number>;
  medianMs: number;
  slowestMs: number;
  restarts: Restart[];
  acknowledged: number;
  /** Acknowledged, but not applied. */
  lost: number;
  /** Of receipts; each callback is about another. */
  rows: number;
  deliveries: number;
  /** Deliveries that arrived more than once. */
  repeated: number;
}

/**
 * Restarts two receivers behind a proxy, one after the other, while callbacks come in, each sent once: a third over
 * HTTP/2, a third on kept connections of HTTP/1.1, a third on a new connection each. Then compares the tables with what
 * was acknowledged. The next restart begins when a callback has reached the restarted receiver.
 */
export async function rollingRestart(options: RollingRestartOptions): Promise<RollingRestart> {
  const { url, receivers, business, requests = Number.POSITIVE_INFINITY, rate, signals } = options;
  const most = options.requests ? Number.POSITIVE_INFINITY : signals.length;
  const clients = [openHttp2(url), openHttp1(url, 'kept'), openHttp1(url, 'new')];
  const sent: Sent[] = [];
  const restarts: Restart[] = [];
  let running = true;
  const sending = sendAll(
    clients.map(({ send }) => send),
    { business, isDone: (count) => count >= requests || restarts.length >= most, rate },
    (one) => sent.push(one),
  ).finally(() => {
    running = false;
  });
  const received = (index: number) => receivers.processes[index]!.output().split('callback received').length;
  const reached = (index: number, before: number) =>
    until(() => !running || received(index) > before, 120_000);
  try {
    await Promise.all([0, 1].map((index) => reached(index, received(index))));
    while (running && restarts.length < most) {
      const receiver = restarts.length % 2;
      const signal = signals[restarts.length % signals.length]!;
      const began = performance.now();
      await receivers.processes[receiver]!.end(signal);
      await receivers.start(receiver);
      await reached(receiver, 1);
      const ended = performance.now();
      await pause(0);
      restarts.push({ receiver, signal, seconds: (ended - began) / 1000, ...during(sent, began, ended) });
    }
    await sending;
  } finally {
    await sending;
    for (const { close } of clients) close();
  }
  const took = sent.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other);
  const failures: Record<string, number> = {};
  for (const { outcome } of sent) if (outcome !== '200') failures[outcome] = (failures[outcome] ?? 0) + 1;
  return {
    requests: sent.length,
    failures,
    medianMs: took[Math.floor(took.length / 2)]!,
    slowestMs: took.at(-1)!,
    restarts,
    ...(await compare(options, sent)),
  };
}

async function sendAll(
  ways: Send[],
  { business, isDone, rate }: { business: string; isDone: (count: number) => boolean; rate: number },
  record: (sent: Sent) => void,
): Promise<void> {
  const began = performance.now();
  const pending: Promise<void>[] = [];
  while (!isDone(pending.length)) {
    const due = Math.floor(((performance.now() - began) / 1000) * rate) + 1;
    while (pending.length < due && !isDone(pending.length)) {
      const callback = receiptCallback({ business_id: business, data: { receipt_id: pending.length } });
      pending.push(sendOne(ways[pending.length % ways.length]!, JSON.stringify(callback)).then(record));
    }
    await pause(2);
  }
  await Promise.all(pending);
}

async function sendOne(send: Send, body: string): Promise<Sent> {
  const sentMs = performance.now();
  const tookMs = () => performance.now() - sentMs;
  try {
    const response = await send({ path: paths.receipt, body });
    const isOurs = response.body.startsWith('{');
    const detail = isOurs ? (JSON.parse(response.body) as { detail?: string }).detail : 'of the proxy';
    const outcome = [response.status, detail].filter(Boolean).join(' ');
    const { id } = outcome === '200' ? (JSON.parse(response.body) as { id: string }) : {};
    return { sentMs, tookMs: tookMs(), outcome, ...(id ? { id } : {}) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { sentMs, tookMs: tookMs(), outcome: code ?? message };
  }
}

function during(sent: readonly Sent[], from: number, to: number) {
  const some = sent.filter(({ sentMs, tookMs }) => sentMs + tookMs >= from && sentMs <= to);
  return {
    requests: some.length,
    failed: some.filter(({ outcome }) => outcome !== '200').length,
    slowestMs: Math.max(0, ...some.map(({ tookMs }) => tookMs)),
  };
}

async function compare({ databaseUrl, business }: RollingRestartOptions, sent: readonly Sent[]) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  try {
    const acknowledged = sent.flatMap(({ id }) => id ?? []);
    const countLost = async () => {
      const { rows } = await pool.query<{ id: string }>(`select id from deliveries where status = 'applied'`);
      const applied = new Set(rows.map(({ id }) => id));
      return acknowledged.filter((id) => !applied.has(id)).length;
    };
    await until(async () => (await countLost()) === 0, 60_000).catch(() => {});
    const { rows } = await pool.query(
      `select (select count(*)::int from receipts where business_id = $1) as rows, count(*)::int as deliveries,
         count(*) filter (where delivery_count > 1)::int as repeated from deliveries where business_id = $1`,
      [business],
    );
    return {
      acknowledged: acknowledged.length,
      lost: await countLost(),
      ...(rows[0] as { rows: number; deliveries: number; repeated: number }),
    };
  } finally {
    await pool.end();
  }
}
