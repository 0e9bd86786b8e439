import { sql } from 'kysely';
import { userDelete } from '../callbacks/families/other.ts';
import type { Check, Core } from '../receiver/feature.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import type { Db } from '../receiver/store/tables.ts';

/** SQL for whether a callback `i` is an unanswered request to delete a user. The erasure of all its patients is an answer. */
export const isUnanswered = `(
  i.family = 'other' and i.event = '${userDelete}' and not exists (select from receiver.answered a where a.id = i.id)
  and not ('reduced' = any(i.subjects) and not exists (
    select from unnest(i.subjects) s where s like 'e:%' and receiver.hash_of(s) not in (select hash from receiver.erased)
  ))
)`;

const unanswered = (db: Db) =>
  db.selectFrom('receiver.inbox as i').where(sql<boolean>`${sql.raw(isUnanswered)}`);

export async function checkUserDeletions(db: Db): Promise<Check[]> {
  const rows = await unanswered(db).select(['id', 'received_at']).orderBy('received_at').limit(100).execute();
  return rows.map(({ id, received_at }) => ({
    name: 'user-deletion',
    about: id,
    status: 'warn',
    title: 'The platform has deleted a user',
    detail: `Delivery ${id} may ask for the erasure of a patient, and nobody has answered it`,
    since: received_at,
    todo: `Look at the delivery. Erase the patient with --also ${id}, or run receiver erasures answer ${id}`,
  }));
}

/** @returns whether there is such a request */
export async function answerRequest(core: Core, actor: Actor, id: string): Promise<boolean> {
  await logAccess(core, { actor, action: 'answer', filter: { delivery: id } });
  const request = unanswered(core.db).where('id', '=', id);
  const answered = await core.db
    .insertInto('receiver.answered')
    .columns(['id', 'actor'])
    .expression(request.select(['id', sql<string>`${actor.id}`.as('actor')]))
    .returning('id')
    .execute();
  return answered.length > 0;
}
