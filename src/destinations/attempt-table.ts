import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';
import type { Message, Outcome } from './post.ts';

export interface Attempt {
  type: string;
  outcome: string;
  ms: number;
  answer: string;
}

export interface ListedAttempt extends Attempt {
  at: Date;
}

const keptAttempts = 100;
const answerLength = 300;
const words = /[\p{L}\p{M}\p{N}_@+.'-]+/gu;

/**
 * An attempt as it is kept. An answer may repeat what was sent: its words, and all numbers, are left out of it.
 */
export function toAttempt({ type, body }: Message, { outcome, ms, answer }: Outcome): Attempt {
  const sent = new Set((body.toLowerCase().match(words) ?? []).flatMap(partsOf));
  const isSent = (word: string) => partsOf(word.toLowerCase()).some((part) => sent.has(part));
  const plain = answer
    .replace(words, (word) => (/\d{4}/.test(word) || isSent(word) ? '…' : word))
    .replace(/\p{C}+/gu, ' ');
  return { type, outcome, ms, answer: plain.slice(0, answerLength) };
}

/** A word, and those that signs join to it. */
const partsOf = (word: string) => [word, ...word.split(/[_@+.'-]+/)].filter((part) => part.length > 1);

/** Adds attempts, and deletes those beyond the last ones. */
export async function addAttempts(db: Db, destination: string, attempts: readonly Attempt[]): Promise<void> {
  if (attempts.length === 0) return;
  await sql`
    insert into destination_attempts (destination_id, type, outcome, ms, answer)
    select ${destination}, a.type, a.outcome, a.ms, a.answer
    from jsonb_to_recordset(${JSON.stringify(attempts)}::jsonb) as a (type text, outcome text, ms integer, answer text)`.execute(
    db,
  );
  await sql`
    delete from destination_attempts where destination_id = ${destination} and id <= (
      select id from destination_attempts where destination_id = ${destination}
      order by id desc offset ${keptAttempts} limit 1)`.execute(db);
}

/** The last ones first. */
export async function listAttempts(db: Db, destination: string, limit: number): Promise<ListedAttempt[]> {
  const { rows } = await sql<ListedAttempt>`
    select at, type, outcome, ms, answer from destination_attempts where destination_id = ${destination}
    order by id desc limit ${limit}`.execute(db);
  return rows;
}
