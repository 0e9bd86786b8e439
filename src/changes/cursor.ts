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
const seen = z.object({ position: z.int(), tag: z.uuid() });

const cursorSchema = z.object({ at: z.union([inTables, inFeed]), seen });

export type InFeed = z.infer<typeof inFeed>;
export type InTables = z.infer<typeof inTables>;
export type Seen = z.infer<typeof seen>;
export type Cursor = z.infer<typeof cursorSchema>;

/** Raised for a text that is no cursor. */
export class CursorInvalid extends Error {
  override message = 'after: It is no cursor.';
}

/** More than a position has. */
export const allOfIt = 2 ** 40;

const inFeedText = /^(\d+)\.(\d+)\.(\d+)\.([0-9a-f-]{36})$/;

/** Makes a cursor a text: in the feed its numbers, in the tables JSON as base64url. */
export function cursorText(cursor: Cursor): string {
  const { at, seen } = cursor;
  if (!('family' in at)) return `${at.position}.${at.read}.${seen.position}.${seen.tag}`;
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** @throws CursorInvalid */
export function parseCursor(text: string): Cursor {
  try {
    const [, position, read, seenPosition, tag] = inFeedText.exec(text) ?? [];
    return cursorSchema.parse(
      position
        ? {
            at: { position: Number(position), read: Number(read) },
            seen: { position: Number(seenPosition), tag },
          }
        : JSON.parse(Buffer.from(text, 'base64url').toString()),
    );
  } catch {
    throw new CursorInvalid();
  }
}
