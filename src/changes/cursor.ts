import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';

/** A position of the feed, and how many of its changes were read. */
const inFeed = z.object({ position: z.int(), read: z.int() });

/** A record of the tables, the last that was read; the changes after the position follow. */
const inTables = z.object({
  position: z.int(),
  family: z.string(),
  businessId: z.string(),
  id: z.string(),
});

/** The last position when it was read, and its tag: all that the reader has seen is not after it. */
const seen = z.object({ position: z.int(), tag: z.string() });

const cursorSchema = z.object({ at: z.union([inTables, inFeed]), seen });

export type InFeed = z.infer<typeof inFeed>;
export type InTables = z.infer<typeof inTables>;
export type Seen = z.infer<typeof seen>;
export type Cursor = z.infer<typeof cursorSchema>;

/** More than a position has. */
export const allOfIt = 2 ** 40;

const ivBytes = 12;
const tagBytes = 16;

/** A cursor in the feed as a text: a page has one for each change, and a cipher takes longer than the rest of a change. */
const plainText = /^(\d+)\.(\d+)\.(\d+)\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/**
 * Makes a cursor a text. In the tables it contains the id of a record, and is part of addresses: there it is sealed. In the feed it
 * is known by its tag, which nobody can guess.
 */
export function sealCursor(cursor: Cursor, secret: Buffer): string {
  const { at, seen } = cursor;
  if (!('family' in at)) return `${at.position}.${at.read}.${seen.position}.${seen.tag}`;
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', secret, iv);
  const sealed = Buffer.concat([cipher.update(JSON.stringify(cursor)), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** @returns undefined for a text that is no cursor, or in the tables one of another feed */
export function openCursor(text: string, secret: Buffer): Cursor | undefined {
  try {
    const plain = plainText.exec(text);
    if (plain) {
      const [position, read, seenPosition] = plain.slice(1, 4).map(Number);
      return cursorSchema.parse({ at: { position, read }, seen: { position: seenPosition, tag: plain[4] } });
    }
    const bytes = Buffer.from(text, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(0, ivBytes));
    decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const opened = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]);
    return cursorSchema.parse(JSON.parse(opened.toString()));
  } catch {
    return undefined;
  }
}
