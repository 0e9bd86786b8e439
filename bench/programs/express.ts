import { Queue } from 'bullmq';
import express from 'express';
import { z } from 'zod';
import { eventsPath } from '../load.ts';

// The usual handler: Express, its JSON parser, a schema, with REDIS_URL a job for each request, a response.
const envelope = z.looseObject({
  event: z.string(),
  event_time: z.int(),
  business_id: z.string(),
  data: z.looseObject({ receipt_id: z.int() }),
});
const { REDIS_URL: url } = process.env;
const queue = url ? new Queue('receipts', { connection: { url } }) : undefined;
const app = express();
app.post(eventsPath, express.json({ limit: '256kb' }), async (req, res) => {
  const parsed = envelope.safeParse(req.body);
  if (!parsed.success) {
    res.status(422).json({ status: 'rejected' });
    return;
  }
  await queue?.add(parsed.data.event, parsed.data, { removeOnComplete: true });
  res.json({ status: 'accepted' });
});
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ msg: 'ready', url: `http://127.0.0.1:${port}` })}\n`);
});
