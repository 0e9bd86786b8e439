import { sql } from 'kysely';
import { patientsNamedIn, subjectOfBody } from '../../intake/subject-of-body.ts';
import type { Db } from '../../store/tables.ts';
import { lockHolds, namesHeld, type Pass, type Step } from './policy.ts';

const bodiesPerStep = 200;

/** Deletes rejected bodies in the order of their ids; acknowledged ones stay until a person drops them. */
export async function* deleteQuarantined({ cutoffs, inTransaction }: Pass): AsyncGenerator<Step> {
  const { quarantine: cutoff } = cutoffs;
  if (!cutoff) return;
  let after: string | undefined = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const step = await inTransaction(async (tx) => {
      await lockHolds(tx);
      const { rows } = await sql<{ id: string; body: Buffer | null }>`
        select id, case when exists (select from patient_holds) then body end as body
        from quarantine where id > ${after}::uuid and last_received_at < ${cutoff} and not acknowledged
        order by id limit ${bodiesPerStep} for update skip locked`.execute(tx);
      const held = await findHeld(tx, rows);
      const ids = rows.map(({ id }) => id).filter((id) => !held.has(id));
      await sql`delete from quarantine where id = any(${ids}::uuid[])`.execute(tx);
      return { deleted: ids.length, last: rows.at(-1)?.id };
    });
    if (!step.last) return;
    yield ['quarantine', { quarantine: step.deleted }];
    after = step.last;
  }
}

/** Bodies that name a held patient, as far as they can be read. */
async function findHeld(tx: Db, rows: readonly { id: string; body: Buffer | null }[]): Promise<Set<string>> {
  const named = rows.flatMap(({ id, body }) => {
    if (!body) return [];
    const { business } = subjectOfBody(body, []);
    return patientsNamedIn(body).map((patient) => ({ id, business, patient }));
  });
  if (named.length === 0) return new Set();
  const held = await sql<{ id: string }>`
    select id from jsonb_to_recordset(${JSON.stringify(named)}::jsonb) as n(id uuid, business text, patient text)
    where ${namesHeld(sql`n.business`, sql`array[n.patient]`)}`.execute(tx);
  return new Set(held.rows.map(({ id }) => id));
}

/** Deletes the oldest entries of the access log; afterwards pseudonyms that no entry has. */
export async function* deleteOldEntries(pass: Pass): AsyncGenerator<Step> {
  const { access_log: cutoff } = pass.cutoffs;
  if (!cutoff) return;
  const deleted = await pass.inTransaction(async (tx) => {
    await sql`set local statement_timeout = 0`.execute(tx);
    const { rows } = await sql<{ deleted: number }>`
      select delete_log_entries(${cutoff})::float8 as deleted`.execute(tx);
    return rows[0]!.deleted;
  });
  yield ['access_log', { access_log: deleted }];
  if (deleted > 0) yield ['access_log', { patient_pseudonyms: await forgetPseudonyms(pass) }];
}

/**
 * Deletes pseudonyms that only deleted entries had. The log is read without a lock; under the lock, for which new entries wait,
 * only those that were found are looked up again.
 */
async function forgetPseudonyms({ db, inTransaction }: Pass): Promise<number> {
  const { rows } = await sql<{ unused: string[] }>`
    select array(
      select encode(pseudonym, 'hex') from (
        select pseudonym from patient_pseudonyms except select unnest(patients) from access_log
      ) as unused
    ) as unused`.execute(db);
  return inTransaction(async (tx) => {
    await sql`lock table patient_pseudonyms in share row exclusive mode`.execute(tx);
    const { numAffectedRows } = await sql`
      delete from patient_pseudonyms p
      where p.pseudonym = any(array(select decode(hex, 'hex') from unnest(${rows[0]!.unused}::text[]) as hex))
        and not exists (select from access_log a where a.patients @> array[p.pseudonym])`.execute(tx);
    return Number(numAffectedRows);
  });
}
