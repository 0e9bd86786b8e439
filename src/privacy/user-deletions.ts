import { sql } from 'kysely';
import { userDelete } from '../callbacks/families/other.ts';
import type { Check, Core } from '../receiver/feature.ts';

/** SQL for whether a callback `i` is a request to delete a user that nobody has answered: an erasure of all whom it names does. */
export const isUnanswered = `(
  i.family = 'other' and i.event = '${userDelete}' and not exists (select from receiver.answered a where a.id = i.id)
  and not ('reduced' = any(i.subjects) and not exists (
    select from unnest(i.subjects) s where s like 'e:%' and receiver.hash_of(s) not in (select hash from receiver.erased)
  ))
)`;
const unanswered = sql`receiver.inbox i where ${sql.raw(isUnanswered)}`;

/** The requests of the platform to delete a user that nobody has answered. */
export async function checkUserDeletions({ db }: Core): Promise<Check[]> {
  const { rows } = await sql<{ id: string; since: Date }>`
    select id, received_at as since from ${unanswered} order by received_at limit 100`.execute(db);
  return rows.map(({ id, since }) => ({
    name: 'user-deletion',
    about: id,
    status: 'warn',
    title: 'The platform has deleted a user',
    detail: `Delivery ${id} may ask for the erasure of a patient, and nobody has answered it`,
    since,
    todo: `Look at the delivery. Erase the patient with --also ${id}, or run receiver erasures answer ${id}`,
  }));
}

/** @returns whether there is such a request */
export async function answerRequest({ db }: Core, id: string, actor: string): Promise<boolean> {
  const { rows } = await sql`
    insert into receiver.answered (id, actor) select id, ${actor} from ${unanswered} and id = ${id} returning id`.execute(
    db,
  );
  return rows.length > 0;
}
