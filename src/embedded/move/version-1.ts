import { Redis } from 'ioredis';
import type pg from 'pg';
import type { Core } from '../../receiver/feature.ts';
import { insertAccess, insertErased, insertInto, insertRejected, type Source } from './copy.ts';

/** Ids of patients in callbacks that are stored or withheld, with their hashes, where these are needed. */
const ids = `named as materialized (
  select distinct business_id, id from (
    select business_id, unnest(patients_of(envelope, patients)) as id from inbox
    union all
    select content->>'business_id', unnest(patients_of(content->'envelope', '{}')) from withheld.records where source = 'inbox'
  ) n where exists (select from erased union all select from patient_holds)
), ids as materialized (
  select *, patient_hash(salt, '', id) as everywhere, patient_hash(salt, business_id, id) as here from named, erasure_salt
)`;
/** The subjects that an id may be: version 1 does not tell its kinds apart. */
const subject = (isPartner = 'false') =>
  `unnest(array['p:partner:' || business_id || ':' || id] || case when not ${isPartner}
     then array['p:platform:' || id, 'p:abha:' || lower(replace(id, '-', ''))] end)`;

const source: Source = {
  callbacks: `select id, family, business_id as "businessId", convert_to(envelope::text, 'UTF8') as body,
      to_jsonb(extract(epoch from received_at) * 1000000) as "receivedAt", received_at::text as "storedAt",
      coalesce(count, 0) as resends,
      coalesce(last_received_at, received_at) as "lastAt"
    from inbox left join resends using (id) order by id`,
  rules: [
    {
      name: 'hashes of erased people',
      // An erasure in one business: here a platform's id is the same person in all of them.
      select: `with ${ids} select ${subject('hash <> everywhere')} as hash, until, erasure_id as erasure
        from ids join erased on hash in (everywhere, here)`,
      insert: insertErased('receiver.hash_of(hash)'),
    },
    {
      name: 'records of erased people',
      select: `select concat_ws(':', 'r', family, business, thing_of(family, envelope)) as hash, until, e.erasure_id as erasure
        from (
          select content->>'family' as family, content->>'business_id' as business, content->'envelope' as envelope
          from withheld.records where source = 'inbox'
        ) w cross join erasure_salt join erased e
          on hash = case when has_valid_key(family, envelope)
            then thing_hash(salt, thing_family(family), business, '', thing_of(family, envelope)) end`,
      insert: insertErased('receiver.hash_of(hash)'),
    },
    {
      name: 'erasures',
      // Not complete: they may concern callbacks of the target.
      select:
        'select id, erased_by as actor, erased_at as started_at, erased_at as until, counts from erasures',
      insert: `insert into receiver.erasures select (jsonb_populate_record(null::receiver.erasures, r || jsonb_build_object(
          'patient_hashes', array(select hash from receiver.erased where erasure = (r->>'id')::uuid and until < 'infinity')
        ))).* from jsonb_array_elements($1::jsonb) r on conflict do nothing`,
    },
    {
      name: 'withheld rows',
      select: `select md5(r::text)::uuid as id, erasure_id as erasure, coalesce(content->>'family', source) as family,
          content as delivery, received_at
        from withheld.records r`,
      insert: insertInto('receiver.withheld'),
    },
    {
      name: 'holds',
      select: `with ${ids} select ${subject()} as hash, held_by as actor, held_at as at
        from ids join patient_holds on hash in (everywhere, here)`,
      insert: `insert into receiver.holds select receiver.hash_of(hash), actor, at
        from jsonb_populate_recordset(null::receiver.holds, $1::jsonb) on conflict do nothing`,
    },
  ],
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
  losses: `with ${ids}
    select count(*)::int, 'erased ids that only version 1 can recognise: erase them again if callbacks of theirs come' as what
    from erased where until < 'infinity' and not exists (select from ids where hash in (everywhere, here))
    union all select count(*)::int, 'holds of ids that no callback has: place them again' from patient_holds
    where not exists (select from ids where hash in (everywhere, here))
    union all select count(*)::int, 'entries of the access log without their patients, whose ids it does not know' from access_log
    where patients <> '{}' and not exists (select from patient_pseudonyms where pseudonym = any(patients))
    union all select count(*)::int, 'amounts of erased receipts' from erased_receipts
    union all select count(*)::int, 'destinations: add them here, a copy sends nothing' from destinations`,
};

/** The gate and the holds come over as far as a callback or something withheld has the ids. @throws Error while an act is half done */
export async function openVersion1({ config, families }: Core, client: pg.ClientBase): Promise<Source> {
  const { rows } = await client.query<{ running: number; spilled: number; tables: string[] }>(
    `select (select count(*)::int from running_erasures) as running, (select count(*)::int from spilled_deliveries) as spilled,
            array(select t from unnest($1::text[]) t where to_regclass(t) is not null) as tables`,
    [families.map(({ table }) => table)],
  );
  const { running, spilled, tables } = rows[0]!;
  if (running > 0) throw new Error('An erasure there is not complete: let its worker continue it first');
  const waiting = config.redisUrl ? await readFallback(config.redisUrl, config.queuePrefix) : [];
  if (spilled > 0) waiting.push(`spilled_deliveries (${spilled})`);
  if (waiting.length > 0)
    throw new Error(
      `Callbacks there wait in ${waiting.join(', ')}: let its worker store them, then run this again`,
    );
  const gone = tables.map(
    (table) => `select count(*)::int, 'rows of ${table} whose callbacks were deleted' as what from ${table} t
      where not exists (select from inbox where id = t.delivery_id)`,
  );
  const unseen = config.redisUrl ? [] : [`select null, 'what it may have in Redis: REDIS_URL is not set'`];
  return { ...source, losses: [source.losses, ...gone, ...unseen].join(' union all ') };
}

/** The streams of its callbacks, with their lengths. */
async function readFallback(url: string, queuePrefix: string): Promise<string[]> {
  const redis = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
  redis.on('error', () => {}); // the next command throws it
  const waiting: string[] = [];
  try {
    // The braces are part of its keys: one hash slot.
    for await (const keys of redis.scanStream({ match: `{${queuePrefix}}:fallback:*` }))
      for (const key of keys) {
        const count = await redis.xlen(key);
        if (count > 0) waiting.push(`${key} (${count})`);
      }
  } finally {
    redis.disconnect();
  }
  return waiting;
}
