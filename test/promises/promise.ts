import { setTimeout as pause } from 'node:timers/promises';
import type { Deployment } from '../chaos/deployment.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

/** What the sender of a test knows: amounts by receipt, of callbacks that were acknowledged. */
export type Acknowledged = Map<number, number>;

let lastReceipt = 0;

/** Sends a new receipt. @returns the status; undefined: no answer */
export async function sendReceipt(url: string, acknowledged: Acknowledged): Promise<number | undefined> {
  lastReceipt += 1;
  const [receipt_id, net_amount] = [lastReceipt, lastReceipt + 0.5];
  const callback = receiptCallback({ data: { receipt_id, net_amount } });
  const response = await post(url + paths.receipt, callback).catch(() => undefined);
  if (response?.status === 200) acknowledged.set(receipt_id, net_amount);
  return response?.status;
}

export const sendReceipts = (url: string, count: number, acknowledged: Acknowledged) =>
  Promise.all(Array.from({ length: count }, () => sendReceipt(url, acknowledged)));

export function keepSending(url: string, acknowledged: Acknowledged) {
  let isSending = true;
  const refused: (number | undefined)[] = [];
  const send = async () => {
    while (isSending) {
      const status = await sendReceipt(url, acknowledged);
      if (status !== 200) refused.push(status);
      // A receiver that is being restarted refuses connections at once.
      await pause(status === 200 ? 10 : 50);
    }
  };
  const sending = Promise.all(Array.from({ length: 8 }, send));
  return {
    /** The statuses of those that were not acknowledged; undefined: no answer. */
    refused,
    /** Resolves once so many more are acknowledged. */
    more: (count: number) => {
      const wanted = acknowledged.size + count;
      return until(() => acknowledged.size >= wanted);
    },
    stop: async () => {
      isSending = false;
      await sending;
    },
  };
}

/** Resolves once each acknowledged receipt is a row, with its amount, and nothing waits or has failed. */
export async function untilApplied({ rows }: Pick<Deployment, 'rows'>, acknowledged: Acknowledged) {
  await until(
    async () => {
      const stored = await rows('select receipt_id::int as id from receipts').catch(() => []);
      const ids = new Set(stored.map(({ id }) => id));
      return [...acknowledged.keys()].every((id) => ids.has(id));
    },
    undefined,
    100,
  );
  await until(async () => {
    const [row] = await rows(`select count(*)::int as n from deliveries where status = 'received'`);
    return row!.n === 0;
  });
  const stored = await rows('select receipt_id::int as id, net_amount::float as amount from receipts');
  const amounts = new Map(stored.map(({ id, amount }) => [id, amount]));
  expect([...acknowledged].filter(([id, amount]) => amounts.get(id) !== amount)).toEqual([]);
  expect(await rows(`select error from deliveries where status = 'failed'`)).toEqual([]);
}
