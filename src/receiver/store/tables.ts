import type { ColumnType, Generated, GeneratedAlways, JSONColumnType, Kysely } from 'kysely';
import type { Family } from '../families/family.ts';
import type { Field } from '../families/field.ts';
import type { families } from '../families/index.ts';
import type { FieldError, QuarantineReason } from '../intake/rejection.ts';

/** The database, or a transaction in it. */
export type Db = Kysely<Tables>;

type Time = ColumnType<Date, Date | string, Date | string>;

interface OwnTables {
  'receiver.settings': { name: string; value: string };
  'receiver.inbox': {
    id: string;
    family: string;
    event: string;
    client_id: string;
    business_id: string;
    record_id: string;
    version: string;
    event_time: Time;
    subjects: string[];
    envelope: JSONColumnType<object>;
    data: JSONColumnType<object> | null;
    received_at: Time;
    stored_at: Generated<Date>;
  };
  'receiver.pending_deliveries': {
    id: string;
    family: string;
    attempts: Generated<number>;
    /** Infinity where it failed. */
    next_at: ColumnType<Date | number, Date | string | undefined, Date | string>;
    error: string | null;
  };
  'receiver.resends': { id: string; count: number; last_at: Time };
  'receiver.quarantine': {
    id: string;
    path: string;
    family: string;
    business_id: string | null;
    reason: QuarantineReason;
    errors: JSONColumnType<FieldError[]>;
    body: Buffer;
    acknowledged: Generated<boolean>;
    count: Generated<number>;
    received_at: Generated<Date>;
    last_received_at: Generated<Date>;
    replayed_at: Time | null;
  };
  'receiver.counters': {
    name: string;
    key: string;
    count: string;
    first_at: Time;
    last_at: Time;
    example: string | null;
  };
  'receiver.changes': {
    position: GeneratedAlways<string>;
    at: Generated<Date>;
    family: string;
    business_id: string;
    record_id: string;
    kind: 'changed' | 'deleted' | 'erased';
  };
  'receiver.destinations': {
    id: string;
    url: string;
    families: string[];
    business_id: string | null;
    is_public: boolean;
    secret: string;
    place: string;
    position: ColumnType<string, string | number, string | number>;
    outcome: string | null;
    attempts: Generated<number>;
    failing_since: Date | null;
    next_at: Generated<Date>;
    paused: 'command' | 'gone' | 'failing' | null;
    created_at: Generated<Date>;
  };
  'receiver.erased': {
    hash: string;
    until: ColumnType<Date | number, Date | string, Date | string>;
    erasure: string;
  };
  'receiver.erasures': {
    id: string;
    actor: string;
    started_at: Generated<Date>;
    completed_at: Date | null;
    until: Time;
    names: string[];
    subjects: string[] | null;
    counts: JSONColumnType<Record<string, number>>;
  };
  'receiver.withheld': {
    id: string;
    erasure: string;
    family: string;
    business_id: string | null;
    record_id: string | null;
    delivery: JSONColumnType<object>;
    owners: string[] | null;
    received_at: Time;
  };
  'receiver.aliases': {
    kind: 'business' | 'clinic' | 'doctor';
    id: string;
    alias: string | null;
    updated_at: Generated<Date>;
    updated_by: string;
  };
  'receiver.sessions': {
    hash: Buffer;
    actor: string;
    actor_name: string | null;
    roles: string[];
    address: string;
    begun_at: Generated<Date>;
  };
  'receiver.findings': {
    channel: string;
    name: string;
    subject: string;
    status: 'warn' | 'fail';
    title: string;
    found_at: Generated<Date>;
    gone_at: Date | null;
    told: 'warn' | 'fail' | null;
    told_at: Date | null;
  };
  'receiver.reconciliations': {
    id: GeneratedAlways<string>;
    /** `worker`, or who has run the command. */
    actor: string;
    business_id: string | null;
    from_day: ColumnType<Date, string>;
    to_day: ColumnType<Date, string>;
    started_at: Generated<Date>;
    ended_at: Date | null;
    error: string | null;
    counts: JSONColumnType<Record<string, number>, string | undefined>;
  };
  'receiver.heartbeats': { at: Time };
  'public.access_log': {
    entry: GeneratedAlways<string>;
    at: Generated<Date>;
    actor: string;
    actor_name: string | null;
    address: string | null;
    action: string;
    /** Salted hashes. */
    subjects: string[];
    filter: JSONColumnType<Record<string, unknown>>;
    rows: number | null;
  };
  'public.deliveries': {
    id: string;
    event: string;
    family: string;
    client_id: string;
    business_id: string;
    event_time: Date;
    envelope: unknown;
    status: 'received' | 'applied' | 'failed';
    error: string | null;
    delivery_count: number;
    received_at: Date;
    last_received_at: Date;
  };
}

/** As `pg` reads a column of a kind: whole numbers and amounts are text. */
interface ColumnOf {
  text: string;
  untyped: string;
  integer: string;
  amount: string;
  time: Date;
  name: string;
  nested: unknown;
}

/** A row of a family's table. */
export type RowOf<F> = F extends { fields: infer Fields extends Record<string, Field> }
  ? { [K in keyof Fields]: ColumnOf[Fields[K]['kind']] | null } & {
      business_id: string;
      client_id: string;
      last_event: string;
      event_time: Date;
      deleted_at: Date | null;
      extra: Record<string, unknown> | null;
      delivery_id: string;
    }
  : never;

type TablesOf<List extends readonly Pick<Family, 'table' | 'fields'>[]> = {
  [F in List[number] as `public.${F['table']}`]: RowOf<F>;
};

/** The receiver's own tables and those of the documented families. */
export type Tables = OwnTables & TablesOf<typeof families>;
