import { createHash } from 'node:crypto';
import type { Message } from './post.ts';
import type { SourceChange } from './source.ts';

/**
 * The webhook of a change: its id is that of the record's version, and its body `{type, timestamp, data}`.
 */
export function toMessage({
  family,
  publicId,
  businessId,
  kind,
  event,
  version,
  changedAt,
  json,
}: SourceChange): Message {
  const type = event ?? `record.${kind}`;
  const about = createHash('sha256').update(JSON.stringify([family, businessId, publicId, version]));
  const timestamp = (changedAt ?? new Date()).toISOString();
  return {
    id: `msg_${about.digest('base64url').slice(0, 32)}`,
    type,
    body: `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${json}}`,
  };
}
