import type { ColumnType, Generated, GeneratedAlways, JSONColumnType, Kysely } from 'kysely';
import type { Family } from '../../callbacks/families/family.ts';
import type { Field } from '../../callbacks/families/field.ts';
import type { families } from '../../callbacks/families/index.ts';
import type { FieldError, QuarantineReason } from '../../callbacks/rejection.ts';

/** The database, or a transaction in it. */
export type Db = Kysely<Tables>;

type Time = ColumnType<Date, Date | string, Date | string>;

/** The tables that statements are built for; SQL templates have the others. */
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
  'receiver.quarantine': {
    id: string;
    path: string;
    family: string;
    business_id: string | null;
    reason: QuarantineReason;
    errors: JSONColumnType<FieldError[]>;
    body: Buffer;
    subjects: Generated<string[]>;
    acknowledged: Generated<boolean>;
    count: Generated<number>;
    received_at: Generated<Date>;
    last_received_at: Generated<Date>;
    replayed_at: Time | null;
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

type TablesOf<List extends readonly Family[]> = {
  [F in List[number] as `public.${F['table']}`]: RowOf<F>;
};

/** Tables of the receiver and of the documented families. */
export type Tables = OwnTables & TablesOf<typeof families>;
