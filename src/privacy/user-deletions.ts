import { sql } from 'kysely';
import type { Check, Core } from '../feature.ts';
import { userDelete } from '../receiver/families/other.ts';

// An erasure of the user marks it as reduced.
const unanswered = sql`receiver.inbox i
  where family = 'other' and event = ${userDelete} and not ('reduced' = any(subjects))
    and not exists (select from receiver.answered a where a.id = i.id)`;

/** The requests of the platform to delete a user that nobody has answered. */
export async function checkUserDeletions({ db }: Pick<Core, 'db'>): Promise<Check[]> {
  const { rows } = await sql<{ id: string; since: Date }>`
    select id, received_at as since from ${unanswered} order by received_at limit 100`.execute(db);
  return rows.map(({ id, since }) => ({
    name: 'user-deletion',
    subject: id,
    status: 'warn',
    title: 'The platform has deleted a user',
    detail: `Delivery ${id} may ask for the erasure of a patient, and nobody has answered it`,
    since,
    todo: `Look at the delivery. Erase the patient with --also ${id}, or run receiver erasures answer ${id}`,
  }));
}

/** @returns whether there is such a request */
export async function answerRequest({ db }: Pick<Core, 'db'>, id: string, actor: string): Promise<boolean> {
  const { rows } = await sql`
    insert into receiver.answered (id, actor) select id, ${actor} from ${unanswered} and id = ${id} returning id`.execute(
    db,
  );
  return rows.length > 0;
}
