import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

export interface ReceivedWebhook {
  id: string;
  type: string;
  data: {
    family: string;
    business_id: string;
    id: string;
    kind: string;
    version: number;
    record: Record<string, unknown> | null;
  };
}

export type Answer = (webhook: ReceivedWebhook, res: ServerResponse) => unknown;

/**
 * A server that verifies webhooks with the library of the specification, and notes those that it has accepted. Requests about
 * one record at the same time, and an order that goes back, are faults.
 */
export async function startWebhookReceiver() {
  const newest = new Map<string, ReceivedWebhook>();
  const orders = new Map<string, number>();
  const open = new Set<string>();
  const receiver = {
    url: '',
    /** As it was printed. */
    secret: '',
    accepted: [] as ReceivedWebhook[],
    requests: 0,
    faults: [] as string[],
    /** What must never go back for a record. */
    orderOf: ({ data }: ReceivedWebhook): number => data.version,
    /** What a consumer has that keeps the greatest version of each record. */
    newest,
    answer: ((_webhook, res) => res.end('thanks')) as Answer,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const take = async (req: IncomingMessage, res: ServerResponse) => {
    receiver.requests += 1;
    const body = await text(req);
    const headers = req.headers as Record<string, string>;
    let verified: Omit<ReceivedWebhook, 'id'>;
    try {
      verified = new Webhook(receiver.secret).verify(body, headers) as typeof verified;
    } catch (error) {
      receiver.faults.push(`signature: ${(error as Error).message}`);
      res.writeHead(401).end();
      return;
    }
    const webhook = { ...verified, id: headers['webhook-id']! };
    const key = JSON.stringify([webhook.data.family, webhook.data.business_id, webhook.data.id]);
    if (open.has(key)) receiver.faults.push(`two requests about ${key} at the same time`);
    open.add(key);
    res.once('close', () => {
      open.delete(key);
      if (res.statusCode >= 300 || !res.writableFinished) return;
      receiver.accepted.push(webhook);
      const [order, before] = [receiver.orderOf(webhook), orders.get(key) ?? 0];
      if (order < before) receiver.faults.push(`${key}: ${order} after ${before}`);
      orders.set(key, order);
      if (webhook.data.version >= (newest.get(key)?.data.version ?? 0)) newest.set(key, webhook);
    });
    await receiver.answer(webhook, res);
  };
  const server = createServer((req, res) => void take(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
  return receiver;
}
