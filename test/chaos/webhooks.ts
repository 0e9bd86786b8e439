import { cursorOfNow } from '../../src/changes/cursor-of-now.ts';
import { createLog } from '../../src/common/log.ts';
import { addDestination } from '../../src/destinations/destination-table.ts';
import { secretText } from '../../src/destinations/sign.ts';
import { openDatabase } from '../../src/store/database.ts';
import { until } from '../support/until.ts';
import { type ReceivedWebhook, startWebhookReceiver } from '../support/webhook-receiver.ts';
import type { Deployment } from './deployment.ts';

/** The delivery that made each row, by family, business and id. */
const deliveriesOfRows = `
  select family || ' ' || business_id || ' ' || id as key, delivery_id::text as delivery from (
    select 'receipt' as family, business_id, receipt_id::text as id, delivery_id from receipts
    union all select 'consent_form', business_id, id, delivery_id from consent_forms where deleted_at is null
  ) as rows`;

const keyOf = ({ family, business_id, id }: ReceivedWebhook['data']) => `${family} ${business_id} ${id}`;

/** What an erased patient's webhook may still take: it was under way, or read a moment before. */
const underWayMs = 2_000;

export type WebhookLedger = Awaited<ReturnType<typeof addWebhookReceiver>>;

/** A destination of a deployment, and the ledger of what it was sent. */
export async function addWebhookReceiver(deployment: Pick<Deployment, 'databaseUrl' | 'rows'>) {
  const receiver = await startWebhookReceiver();
  // The first digits of a delivery's id are its time. After a kill versions may repeat, but no older state comes.
  receiver.orderOf = ({ data }) =>
    data.record ? Number.parseInt(String(data.record.delivery_id).replaceAll('-', '').slice(0, 12), 16) : NaN;
  const forbidden = new Map<string, number>();
  let late = 0;
  receiver.answer = (webhook, res) => {
    const text = JSON.stringify(webhook);
    for (const [word, since] of forbidden) if (Date.now() > since && text.includes(word)) late += 1;
    res.end();
  };
  const database = openDatabase(deployment.databaseUrl, createLog('silent'), {
    connections: 2,
    name: 'test',
  });
  const { secret } = await addDestination(
    database.db,
    {
      url: receiver.url,
      families: ['receipt', 'consent_form'],
      businessId: null,
      isPublic: false,
    },
    await cursorOfNow(database.db),
  ).finally(database.close);
  receiver.secret = secretText(secret);

  const countUntold = async (): Promise<number> => {
    const rows = await deployment.rows(deliveriesOfRows);
    const told = new Map(
      Array.from(receiver.newest.values(), ({ data }) => [keyOf(data), data.record?.delivery_id]),
    );
    return rows.filter(({ key, delivery }) => told.get(key as string) !== delivery).length;
  };
  return {
    /** From now on nothing with this word may come. */
    forbid: (word: string) => void forbidden.set(word, Date.now() + underWayMs),
    /** Waits until every row was told. @returns what the ledger has otherwise when the time is up */
    compare: async () => {
      let untold = Number.POSITIVE_INFINITY;
      // Of a killed worker; once, because two workers would take it from each other again and again.
      await deployment.rows('update destinations set leased_until = now()');
      await until(
        async () => {
          await deployment.rows('update destinations set next_at = now() where next_at > now()');
          untold = await countUntold();
          return untold === 0;
        },
        180_000,
        250,
      ).catch(() => {}); // each look reads all rows
      // A worker whose clock jumps signs with a time that the library refuses; it is sent again.
      const disordered = receiver.faults.filter((fault) => !/timestamp too/.test(fault)).length;
      return { untold, disordered, late };
    },
    stop: receiver.stop,
  };
}
