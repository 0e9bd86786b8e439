import type { ColumnType, Generated, GeneratedAlways, JSONColumnType, Kysely } from 'kysely';
import type { Family } from '../../callbacks/families/family.ts';
import type { families } from '../../callbacks/families/index.ts';
import type { RowOf } from '../../callbacks/families/row.ts';
import type { FieldError, QuarantineReason } from '../../callbacks/rejection.ts';

/** The database, or a transaction in it. */
export type Db = Kysely<Tables>;

type Time = ColumnType<Date, Date | string, Date | string>;
type DefaultTime = ColumnType<Date, Date | string | undefined, Date | string>;
type OptionalTime = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>;

/** The tables of the migrations: times are dates, bigints text. */
interface OwnTables {
  'receiver.settings': { name: string; value: string };
  'receiver.tasks': {
    name: string;
    holder: string;
    held_until: Time;
    due_at: DefaultTime;
    failing_since: OptionalTime;
  };
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
    stored_at: DefaultTime;
  };
  'receiver.pending_deliveries': {
    id: string;
    family: string;
    attempts: Generated<number>;
    /** `infinity`: the database has refused its data. */
    next_at: DefaultTime;
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
    subjects: Generated<string[]>;
    acknowledged: Generated<boolean>;
    count: Generated<number>;
    received_at: DefaultTime;
    last_received_at: DefaultTime;
    replayed_at: OptionalTime;
  };
  'receiver.counters': {
    name: string;
    key: string;
    /** A bigint, as text. */
    count: ColumnType<string, string | number, string | number>;
    first_at: Time;
    last_at: Time;
    example: string | null;
  };
  'receiver.changes': {
    position: GeneratedAlways<string>;
    at: DefaultTime;
    family: string;
    business_id: string;
    record_id: string;
    kind: 'changed' | 'deleted' | 'erased';
  };
  'receiver.erased': { hash: string; until: Time; erasure: string };
  'receiver.erasures': {
    id: string;
    actor: string;
    started_at: DefaultTime;
    completed_at: OptionalTime;
    until: Time;
    patient_hashes: string[];
    subjects: string[] | null;
    /** Reduced callbacks, by family. */
    counts: JSONColumnType<Record<string, number>>;
  };
  'receiver.withheld': {
    id: string;
    erasure: string;
    family: string;
    business_id: string | null;
    record_id: string | null;
    delivery: JSONColumnType<object>;
    envelope: JSONColumnType<object> | null;
    data: JSONColumnType<object> | null;
    owner_hashes: string[] | null;
    received_at: Time;
  };
  'receiver.holds': { hash: string; actor: string; at: DefaultTime };
  'public.access_log': {
    entry: GeneratedAlways<string>;
    at: DefaultTime;
    actor: string;
    actor_name: string | null;
    address: string | null;
    action: string;
    /** Salted hashes. */
    subjects: string[];
    filter: JSONColumnType<Record<string, unknown>>;
    rows: number | null;
  };
  'receiver.aliases': {
    kind: 'business' | 'clinic' | 'doctor';
    id: string;
    alias: string | null;
    updated_at: DefaultTime;
    updated_by: string;
  };
  'receiver.sessions': {
    hash: Buffer;
    actor: string;
    actor_name: string | null;
    roles: string[];
    address: string;
    begun_at: DefaultTime;
  };
  'receiver.findings': {
    channel: string;
    name: string;
    about: string;
    status: 'warn' | 'fail';
    title: string;
    found_at: DefaultTime;
    gone_at: OptionalTime;
    sent_status: 'warn' | 'fail' | null;
    sent_at: OptionalTime;
  };
  'receiver.reconciliations': {
    id: GeneratedAlways<string>;
    /** `worker`, or who has run the command. */
    actor: string;
    business_id: string | null;
    from_day: ColumnType<Date, string>;
    to_day: ColumnType<Date, string>;
    started_at: DefaultTime;
    ended_at: OptionalTime;
    error: string | null;
    counts: JSONColumnType<Record<string, number>, string | undefined>;
  };
  'receiver.heartbeats': { at: Time };
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
    failing_since: OptionalTime;
    next_at: DefaultTime;
    paused: 'command' | 'gone' | 'failing' | null;
    created_at: DefaultTime;
  };
}

/** Views that the receiver itself reads. */
interface OwnViews {
  'public.deliveries': {
    id: string;
    event: string;
    family: string;
    client_id: string;
    business_id: string;
    event_time: Date;
    envelope: JSONColumnType<object>;
    status: 'received' | 'applied' | 'failed';
    error: string | null;
    delivery_count: number;
    received_at: Date;
    last_received_at: Date;
  };
}

type TablesOf<List extends readonly Family[]> = {
  [F in List[number] as `public.${F['table']}`]: RowOf<F>;
};

/** Tables and views of the receiver and of the documented families. */
export type Tables = OwnTables & OwnViews & TablesOf<typeof families>;

/** A fact of this database, see the comment of `receiver.settings`. */
export async function readSetting(db: Db, name: string): Promise<string | undefined> {
  const settings = db.selectFrom('receiver.settings').select('value').where('name', '=', name);
  return (await settings.executeTakeFirst())?.value;
}

export async function writeSettings(db: Db, values: Record<string, string>): Promise<void> {
  await db
    .insertInto('receiver.settings')
    .values(Object.entries(values).map(([name, value]) => ({ name, value })))
    .onConflict((row) => row.column('name').doUpdateSet(({ ref }) => ({ value: ref('excluded.value') })))
    .execute();
}
