import { createHash } from 'node:crypto';
import { type AnyCallback, withoutAliases } from '../../callbacks/callback.ts';
import { parseRejected, rejectedWithoutSecrets } from '../../callbacks/cut-secrets.ts';
import { type Family, takesEveryEvent } from '../../callbacks/families/family.ts';
import { keyText } from '../../callbacks/families/field.ts';
import { recordIdOf, uuidV8 } from '../../callbacks/identify.ts';
import type { Rejection } from '../../callbacks/rejection.ts';
import { recordSubject, subjectsOf } from '../../callbacks/subjects.ts';
import { readTime } from '../../callbacks/times.ts';
import { dayMs } from '../../common/days.ts';
import { StoreUnavailable } from '../store/circuit.ts';
import { Unavailable } from '../store/errors.ts';
import { gate } from '../store/insert-deliveries.ts';
import { besideThePath, inTransaction } from '../store/pools.ts';
import { createGroupCommit } from './group-commit.ts';
import type { IntakeOptions } from './store-delivery.ts';

/** A registered path (service-interface section 4.5). */
export interface Route {
  path: string;
  /** The family whose events it takes. */
  family: string;
}

/**
 * Keeps a rejected body, once per path and content, to be replayed after a fix.
 *
 * @param acknowledged with 200 before: it stays until a person drops it
 * @returns the rejection, once the body is durable
 * @throws Unavailable
 */
type Keep = (rejection: Rejection, body: Buffer, route: Route, acknowledged?: boolean) => Promise<Rejection>;

const statement = `
with ${gate}, rejected as materialized (
  select id, path, family, business_id, reason, errors, decode(body, 'hex') as body, subjects, acknowledged, event_ms
  from jsonb_to_record($1::jsonb) as r(id uuid, path text, family text, business_id text, reason text, errors jsonb, body text,
    subjects text[], acknowledged boolean, event_ms float8)
), asked as materialized (
  select id, unnest(subjects || concat('d:', id)) as subject from rejected where exists (select from receiver.erased)
), gated as materialized (
  -- Whom it names was erased after its event, or it is itself what an erasure has withheld.
  select distinct on (r.id) r.*, e.erasure
  from asked join receiver.erased_of(array(select subject from asked)) e using (subject) join rejected r on r.id = asked.id
  where e.until >= timestamptz 'epoch' + coalesce(event_ms, 0) * interval '1 ms'
), withheld as (
  insert into receiver.withheld (id, erasure, family, delivery, received_at)
  select id, erasure, family, jsonb_build_object('delivery', to_jsonb(gated)), now() from gated on conflict do nothing
)
insert into receiver.quarantine as q (id, path, family, business_id, reason, errors, body, subjects, acknowledged)
select id, path, family, business_id, reason, errors, body, subjects, acknowledged from rejected
where id not in (select id from gated)
on conflict (id) do update set
  count = q.count + 1, last_received_at = now(), replayed_at = null, reason = excluded.reason,
  errors = excluded.errors, subjects = excluded.subjects, acknowledged = q.acknowledged or excluded.acknowledged`;

/** One after the other, so that callbacks have the other connections; and each takes memory until then. */
const limits = { maxItems: 1, maxWaiting: 100 };

/** Not through the circuit: a lock on the quarantine is no outage. */
export function createQuarantine({ config, pool, families, circuit, log }: IntakeOptions): Keep {
  const { databaseMs } = config.times;
  const writes = createGroupCommit({
    ...limits,
    commit: ([row]: string[]) =>
      inTransaction(
        pool,
        besideThePath,
        async (client) => [await client.query(statement, [row])],
        databaseMs,
      ),
  });
  return async (rejection, body, route, acknowledged = false) => {
    try {
      if (circuit.unavailableSince) throw new StoreUnavailable('PostgreSQL');
      const row = rowOf(rejection, body, route);
      const content = readRejected(families, body, route.family);
      await writes.append(JSON.stringify({ ...row, ...content, acknowledged }, storable));
      return rejection;
    } catch (err) {
      if (!(err instanceof StoreUnavailable))
        log.limited('error', {}, 'a rejected body could not be stored', { err });
      throw new Unavailable(err);
    }
  };
}

interface RejectedContent {
  business_id: string | null;
  /** In milliseconds since 1970; null: none, or one of a wrong clock. */
  event_ms: number | null;
  /** The subjects of its patients. */
  names: string[];
  /** `names`, or where there are none, whatever may lead to them. */
  subjects: string[];
}

/** @param name the family of its path, whose fields count where its event is unknown */
export function readRejected(families: readonly Family[], body: Buffer, name: string): RejectedContent {
  try {
    const { data: value, ...beside } = parseRejected(body.toString()) as AnyCallback;
    const received = Object(typeof value === 'string' ? parseRejected(value) : value);
    const family =
      families.find(({ events }) => Object.hasOwn(events, beside.event)) ??
      families.find((other) => other.name === name) ??
      families.find(takesEveryEvent)!;
    const data = withoutAliases(received, family);
    const businessId = keyText({ kind: 'text' }, beside.business_id) ?? '';
    const subjects = subjectsOf({ data, beside: { ...beside } }, family, businessId);
    const names = subjects.filter((subject) => subject.startsWith('p:'));
    // A body that names no patient belongs to those whom its record names, or those that it refers to.
    const record = recordSubject(family.name, businessId, recordIdOf({ ...beside, data }, family) ?? '');
    const eventMs = readTime(beside.event_time);
    return {
      business_id: businessId || null,
      event_ms: eventMs && eventMs < Date.now() + dayMs ? eventMs : null,
      names,
      subjects: names.length > 0 ? names : [...subjects, record],
    };
  } catch {
    return { business_id: null, event_ms: null, names: [], subjects: [] };
  }
}

/** The same body at the same path is the same row. */
function rowOf({ reason, errors }: Rejection, body: Buffer, route: Route) {
  const hash = createHash('sha256').update(`${route.path}\n`).update(body).digest('hex');
  const id = uuidV8(hash.slice(0, 12), hash.slice(13));
  return { ...route, id, reason, errors, body: rejectedWithoutSecrets(body).toString('hex') };
}

/** The part of a text that jsonb takes. */
const storable = (_: string, value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : value;
