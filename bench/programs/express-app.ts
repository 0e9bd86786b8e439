import { createServer, type Server } from 'node:http';
import express from 'express';
import { type Envelope, envelopeSchema, families } from '../../src/families/index.ts';
import { receiptsPath } from '../contenders/contender.ts';

export type ReceiptEnvelope = Extract<Envelope, { event: `receipt.${string}` }>;

const schema = envelopeSchema(families);

/** What most people would write: Express, its JSON parser, the zod parse, something to do, an answer. */
export function expressServer(take: (receipt: ReceiptEnvelope) => Promise<void>): Server {
  const app = express();
  app.use(express.json({ limit: '256kb' }));
  app.post(receiptsPath, async (req, res) => {
    const parsed = schema.safeParse(req.body);
    if (!parsed.success) {
      res.status(422).json({ status: 'refused' });
      return;
    }
    await take(parsed.data as ReceiptEnvelope);
    res.json({ status: 'accepted' });
  });
  return createServer(app);
}
