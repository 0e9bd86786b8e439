import type pg from 'pg';
import type { Core } from '../../receiver/feature.ts';
import { insertAccess, insertInto, insertRejected, type Source } from './copy.ts';

const source: Source = {
  callbacks: `select id, family, business_id as "businessId", convert_to(envelope::text, 'UTF8') as body,
      to_jsonb(extract(epoch from received_at) * 1000000) as "receivedAt", received_at::text as "storedAt"
    from inbox order by id`,
  rules: [],
  others: [
    {
      name: 'quarantine',
      select: `select id, path, coalesce(family, 'other') as family, business_id, reason, errors, body, acknowledged, count,
          received_at, last_received_at, replayed_at, '{}'::text[] as subjects
        from quarantine left join callback_paths using (path)`,
      insert: insertRejected,
    },
    { name: 'aliases', select: 'select * from aliases', insert: insertInto('receiver.aliases') },
    {
      name: 'access log',
      // Its hashes have another salt: of ids that it knows there are new ones, of a kind that every search by patient reads.
      select: `select entry, at, actor, actor_name, address, action, filter, rows,
          array(select 'p:platform:' || patient_id from patient_pseudonyms where pseudonym = any(patients)) as subjects
        from access_log order by entry`,
      insert: insertAccess('array(select receiver.hash_of(s) from unnest(subjects) s)'),
    },
  ],
  losses: `
    select count(*)::int, 'hashes of erased people: erase them again if callbacks of theirs come' as what from erased
    union all select count(*)::int, 'originals of what was erased: keep that database as long as a law requires them'
      from withheld.records
    union all select count(*)::int, 'holds: place them again before RETENTION is set' from patient_holds
    union all select count(*)::int, 'entries of the access log without their patients, whose ids it does not know' from access_log
      where patients <> '{}' and not exists (select from patient_pseudonyms where pseudonym = any(patients))
    union all select count(*)::int, 'amounts of erased receipts' from erased_receipts
    union all select count(*)::int, 'destinations: add them here, a copy sends nothing' from destinations
    union all select null, 'what its receivers have in Redis: their workers have to store it'`,
};

/** @throws Error while an act is half done */
export async function openVersion1({ families }: Core, client: pg.ClientBase): Promise<Source> {
  const { rows } = await client.query<{ running: number; spilled: number; tables: string[] }>(
    `select (select count(*)::int from running_erasures) as running, (select count(*)::int from spilled_deliveries) as spilled,
            array(select t from unnest($1::text[]) t where to_regclass(t) is not null) as tables`,
    [families.map(({ table }) => table)],
  );
  const { running, spilled, tables } = rows[0]!;
  if (running > 0) throw new Error('An erasure there is not complete: let its worker continue it first');
  if (spilled > 0)
    throw new Error(`${spilled} callbacks wait in spilled_deliveries: let its worker store them first`);
  const gone = tables.map(
    (table) => `select count(*)::int, 'rows of ${table} whose callbacks were deleted' as what from ${table} t
      where not exists (select from inbox where id = t.delivery_id)`,
  );
  return { ...source, losses: [source.losses, ...gone].join(' union all ') };
}
