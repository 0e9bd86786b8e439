// Kysely's types of the receiver's own tables: times are dates, bigints texts. src/receiver/store/tables.ts has what PostgreSQL
// does not know of them. Made from the database: UPDATE=1 npx tsx test/run.ts tests test/db/tables.test.ts
import type { ColumnType, GeneratedAlways, JSONColumnType } from 'kysely';

type Time = ColumnType<Date, Date | string, Date | string>;
type Int8 = ColumnType<string, string | number, string | number>;
type Default<T> = T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>;

export interface OwnTables {
  'public.access_log': { entry: GeneratedAlways<string>; at: Default<Time>; actor: string; actor_name: string | null; address: string | null; action: string; subjects: string[]; filter: JSONColumnType<object>; rows: number | null };
  'receiver.aliases': { kind: string; id: string; alias: string | null; updated_at: Default<Time>; updated_by: string };
  'receiver.changes': { position: GeneratedAlways<string>; at: Default<Time>; family: string; business_id: string; record_id: string; kind: string };
  'receiver.counters': { name: string; key: string; count: Int8; first_at: Time; last_at: Time; example: string | null };
  'receiver.destinations': { id: string; url: string; families: string[]; business_id: string | null; is_public: boolean; secret: string; place: string; position: Int8; outcome: string | null; attempts: Default<number>; failing_since: Time | null; next_at: Default<Time>; paused: string | null; created_at: Default<Time>; is_leased: Default<boolean> };
  'receiver.erased': { hash: string; until: Time; erasure: string };
  'receiver.erasures': { id: string; actor: string; started_at: Default<Time>; completed_at: Time | null; until: Time; patient_hashes: string[]; subjects: string[] | null; counts: Default<JSONColumnType<object>> };
  'receiver.findings': { channel: string; name: string; about: string; status: string; title: string; found_at: Default<Time>; gone_at: Time | null; sent_status: string | null; sent_at: Time | null };
  'receiver.heartbeats': { at: Time };
  'receiver.holds': { hash: string; actor: string; at: Default<Time> };
  'receiver.inbox': { id: string; family: string; event: string; client_id: string; business_id: string; record_id: string; version: string; event_time: Time; subjects: string[]; envelope: JSONColumnType<object>; data: JSONColumnType<object> | null; received_at: Time; stored_at: Default<Time> };
  'receiver.kysely_migration': { name: string; timestamp: string };
  'receiver.pending_deliveries': { id: string; family: string; attempts: Default<number>; next_at: Default<Time>; error: string | null };
  'receiver.quarantine': { id: string; path: string; family: string; business_id: string | null; reason: string; errors: JSONColumnType<object>; body: Buffer; subjects: Default<string[]>; acknowledged: Default<boolean>; count: Default<number>; received_at: Default<Time>; last_received_at: Default<Time>; replayed_at: Time | null };
  'receiver.reconciliations': { id: GeneratedAlways<string>; actor: string; business_id: string | null; from_day: Time; to_day: Time; started_at: Default<Time>; ended_at: Time | null; error: string | null; counts: Default<JSONColumnType<object>> };
  'receiver.resends': { id: string; count: number; last_at: Time };
  'receiver.sessions': { hash: Buffer; actor: string; actor_name: string | null; roles: string[]; address: string; begun_at: Default<Time> };
  'receiver.settings': { name: string; value: string };
  'receiver.tasks': { name: string; holder: string; held_until: Time; due_at: Default<Time>; failing_since: Time | null };
  'receiver.withheld': { id: string; erasure: string; family: string; business_id: string | null; record_id: string | null; delivery: JSONColumnType<object>; envelope: JSONColumnType<object> | null; data: JSONColumnType<object> | null; owner_hashes: string[] | null; received_at: Time };
}
