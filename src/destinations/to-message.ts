import { createHash, randomUUID } from 'node:crypto';
import type { Change } from '../changes/page.ts';

/** What is sent. */
export interface Message {
  /** The same for the same version of a record. */
  id: string;
  body: string;
}

/** The webhook of a change: its id is that of the record's version, and its body `{type, timestamp, data}`. */
export function toMessage({ family, key, kind, event, version, changedAt, json }: Change): Message {
  const about = createHash('sha256').update(JSON.stringify([family, key.business_id, key.id, version]));
  const type = JSON.stringify(event ?? `record.${kind}`);
  const timestamp = JSON.stringify(changedAt ?? new Date());
  return {
    id: `msg_${about.digest('base64url').slice(0, 32)}`,
    body: `{"type":${type},"timestamp":${timestamp},"data":${json}}`,
  };
}

/** A message without data. */
export function testMessage(destination: string): Message {
  const body = { type: 'destination.test', timestamp: new Date(), data: { destination } };
  return { id: `msg_${randomUUID()}`, body: JSON.stringify(body) };
}
