import { sql } from 'kysely';
import { createServiceClient, Rejected, type ServiceClient, ServiceError } from '../client/index.ts';
import { parseSettings } from '../client/settings.ts';
import { addDays } from '../common/days.ts';
import type { Core } from '../receiver/feature.ts';
import { storeDeliveries } from '../receiver/gate/gate.ts';
import { describeError } from '../receiver/store/errors.ts';
import { takeNames } from './aliases.ts';
import { type Comparison, compareAppointments, type Outcome } from './compare-appointments.ts';
import { readAppointments, type Window } from './read-appointments.ts';

/** `stored`: of those that are missing or differ; in a dry run, what would be. */
export type Counts = Record<Outcome | 'compared' | 'stored', number>;

export interface PassOptions extends Window {
  /** Who runs it: `worker`, or an actor of the access log. */
  actor: string;
  business?: string | undefined;
  isDryRun?: boolean;
  signal: AbortSignal;
  onProgress?: (appointments: number) => void;
}

const commitMs = 30_000;

/** It connects with the first call. @throws MissingSettings with what to set */
export const openClient = ({ config }: Core): ServiceClient =>
  createServiceClient(parseSettings(config.platform));

/** The last days until today, in the time zone of the reports. */
export function lastDays({ config }: Core, days: number): Window {
  const to = new Intl.DateTimeFormat('sv-SE', { timeZone: config.reportTimezone }).format();
  return { from: addDays(to, -days), to };
}

/**
 * Compares the appointments of some days with those that the platform lists. Appointments that are missing or differ are
 * stored as deliveries, and the names of the platform's directory as aliases. It may be interrupted and run again at any time.
 *
 * @throws ServiceError; UnknownBusiness; the reason of the signal; the database's error; `receiver.reconciliations` has it
 */
export async function runPass(
  core: Core,
  client: ServiceClient,
  { actor, business: wanted, from, to, isDryRun = false, signal, onProgress }: PassOptions,
): Promise<{ business: string; counts: Counts }> {
  const { db } = core;
  const counts: Counts = {
    compared: 0,
    agrees: 0,
    missing: 0,
    differs: 0,
    stored: 0,
    recent: 0,
    expired: 0,
    unreadable: 0,
  };
  const passes = db.insertInto('receiver.reconciliations').values({ actor, from_day: from, to_day: to });
  const pass = isDryRun ? undefined : await passes.returning('id').executeTakeFirstOrThrow();
  const record = async (values: object) => {
    if (!pass) return;
    await db.updateTable('receiver.reconciliations').set(values).where('id', '=', pass.id).execute();
  };
  try {
    const directory = await readDirectory(core, client, signal);
    if (directory && !isDryRun) await takeNames(db, directory);
    const business = await findBusiness(core, directory?.business?.business_id, wanted);
    for await (const reading of readAppointments(client, { from, to }, signal)) {
      const compared = await compareAppointments(core, business, reading);
      for (const { outcome } of compared) counts[outcome] += 1;
      counts.compared += compared.length;
      counts.stored += await store(core, compared, isDryRun);
      await record({ business_id: business, counts: JSON.stringify(counts) });
      onProgress?.(compared.length);
    }
    await record({ ended_at: new Date() });
    return { business, counts };
  } catch (error) {
    const isKnown = error instanceof ServiceError || error instanceof UnknownBusiness;
    // Another message may have data of a row.
    const reason = signal.aborted ? 'interrupted' : isKnown ? error.message : describeError(error);
    await record({ ended_at: new Date(), error: reason }).catch(() => {}); // what is thrown says why
    throw error;
  }
}

/**
 * Stores what is missing or differs, in one commit. The gate judges it by the time of the booking: the read is later than an
 * erasure, and the person would come back.
 */
async function store({ pool, families }: Core, compared: readonly Comparison[], isDryRun: boolean) {
  const deliveries = compared.flatMap(({ delivery }) => delivery ?? []);
  if (isDryRun || deliveries.length === 0) return deliveries.length;
  const booked = new Map(compared.map(({ delivery, bookedMs }) => [delivery, bookedMs]));
  const results = await storeDeliveries(pool, families, deliveries, commitMs, (delivery) => ({
    ...delivery,
    eventMs: booked.get(delivery)!,
  }));
  return results.filter((result) => result === 'accepted').length;
}

async function readDirectory({ log }: Core, client: ServiceClient, signal: AbortSignal) {
  try {
    return (await client.directory({ signal })).data;
  } catch (error) {
    // The credentials may have no right to read it.
    if (!(error instanceof Rejected)) throw error;
    log.warn({ err: error }, 'the names of the platform could not be read');
    return undefined;
  }
}

class UnknownBusiness extends Error {
  override readonly name = 'UnknownBusiness';
}

/**
 * The business of listed appointments, which do not name it: that of the platform's directory, or else the only one that has
 * sent something. A business that has sent nothing, where others have, has to be named: with a wrong one every appointment
 * would be stored a second time. @throws UnknownBusiness
 */
async function findBusiness(
  { db }: Core,
  listed: string | undefined,
  wanted: string | undefined,
): Promise<string> {
  const { rows } = await sql<{ first: string | null; last: string | null; hasSent: boolean }>`
    select min(business_id) as first, max(business_id) as last,
           exists (select from receiver.inbox where business_id = ${listed ?? ''}) as "hasSent"
    from receiver.inbox where business_id <> ''`.execute(db);
  const { first, last, hasSent } = rows[0]!;
  if (wanted && listed && listed !== wanted && hasSent)
    throw new UnknownBusiness(`The credentials are those of the business ${listed}, not of ${wanted}`);
  if (wanted) return wanted;
  if (listed && (hasSent || first === null)) return listed;
  if (!listed && first !== null && first === last) return first;
  const reason = listed
    ? `The credentials are those of the business ${listed}, which has sent nothing; others have. Name it once`
    : 'The platform does not tell whose credentials these are, and not exactly one business has sent something. Name it each time';
  throw new UnknownBusiness(`${reason}: receiver reconcile --business <id>`);
}
