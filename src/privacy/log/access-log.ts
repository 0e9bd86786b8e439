import { sql } from 'kysely';
import type { Log } from '../../common/log.ts';
import type { Db } from '../../store/tables.ts';

/** The user who sees or does something. */
export interface Actor {
  /** `admin-token`, the subject of the identity provider, the user of a command, or `worker`. */
  id: string;
  name?: string | undefined;
  /** The address of the request, or the host of a command. */
  address?: string | undefined;
}

export const accessActions = [
  'sign-in',
  'sign-in failed',
  'sign-out',
  'sessions end',
  /** A search by personal data: a phone number, a name, the id of a patient. */
  'search',
  /** Personal data was shown on a page or by a command. */
  'reveal',
  'body',
  'download',
  /** A page of the feed of changes was read. */
  'changes',
  /** Changes are sent to an address, or no longer: added, paused, resumed, removed, its secret replaced. */
  'destination',
  'export',
  'replay',
  'quarantine replay',
  'quarantine drop',
  'reconcile',
  'aliases',
  'quarantine correct',
  /** A delivery was marked as seen, which ends an alert. */
  'seen',
  'erase',
  /** A body with an erased id as a word was stored again. */
  'keep',
  'hold',
  'release',
  'erasures export',
  'erasures apply',
  'audit',
  'sql',
  'retention',
  'destroy',
  /** Everything was copied to another server. */
  'move',
] as const;
export type AccessAction = (typeof accessActions)[number];

export interface Access {
  actor: Actor;
  action: AccessAction;
  /** Whose data it was. */
  patients?: readonly string[];
  /** Keeps the patients as pseudonyms only: where no data of theirs is held. */
  anonymous?: boolean;
  /** The selection, without personal data. A text that was typed and matches no row is not kept. */
  filter?: Record<string, unknown>;
  rows?: number;
}

/** What the database says of an added entry: its number, and the pseudonyms of its patients. */
export interface Entry {
  entry: string;
  pseudonyms: Buffer[];
}

const maxPatientsInLine = 100;
let processLog: Log | undefined;

/** Each entry becomes a line of this log, too, which whoever may change the database cannot change. */
export function copyEntriesTo(log: Log): void {
  processLog = log;
}

/** Writes the line of an entry: of its filter only the names, because a value may be the id of a patient. */
export function writeLine({ entry, pseudonyms }: Entry, { actor, action, filter = {}, rows }: Access): void {
  const { id, address } = actor;
  const patients = pseudonyms.slice(0, maxPatientsInLine).map((one) => one.toString('hex'));
  const access = { entry: Number(entry), action, actor: id, address, filter: Object.keys(filter), rows };
  processLog?.info({ access: { ...access, patients, patientCount: pseudonyms.length } }, 'access log');
}

/**
 * Adds an entry to the access log. Data may be shown only after it: where it cannot be written, nothing is shown.
 *
 * @param db a transaction, where the entry belongs to one
 * @returns the number of the entry
 * @throws the database's error
 */
export async function logAccess(db: Db, access: Access): Promise<number> {
  const { actor, action, patients = [], anonymous = false, filter = {}, rows } = access;
  const { id, name = null, address = null } = actor;
  const logged = rows ? filter : withoutTyped(filter);
  // As an erasure looks for them.
  const ids = [...new Set(patients.map((one) => one.trim()))];
  const { rows: added } = await sql<Entry>`
    select * from log_access(${id}, ${name}, ${address}, ${action}, ${ids}::text[], ${!anonymous},
                             ${JSON.stringify(logged)}::jsonb, ${rows ?? null})`.execute(db);
  writeLine(added[0]!, access);
  return Number(added[0]!.entry);
}

/** The filters that take any text. Where rows match, they are ids of businesses, clinics and so on; otherwise anything. */
const typed = ['business', 'clinic', 'doctor', 'businessId', 'actor', 'patient', 'path', 'faults'];

/** Which filters were used: the log keeps its entries for years. */
const withoutTyped = (filter: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(filter).map(([key, value]) => [
      key,
      typed.includes(key) && typeof value === 'string' ? '<text>' : value,
    ]),
  );
