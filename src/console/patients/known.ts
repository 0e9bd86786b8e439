import { sql } from 'kysely';
import { appointment } from '../../families/appointment.ts';
import { type Family, publicKey } from '../../families/index.ts';
import { withLinked } from '../../privacy/erasure/linked-ids.ts';
import type { ExportedRow, HeldData } from '../../privacy/export.ts';
import type { Patient } from '../../privacy/find-deliveries.ts';
import { listAccess, pseudonymOf } from '../../privacy/log/audit.ts';
import type { Details, Hit } from '../../search/hit.ts';
import { readByIndexes } from '../../search/lookups.ts';
import { peopleQuery } from '../../search/people.ts';
import type { Db } from '../../store/tables.ts';
import { read } from '../store.ts';

type Row = ExportedRow['columns'];

/** How many rows of a table are shown. The export has all of them. */
export const mostShown = 200;
const shownLooks = 10;

/** What the page of a patient shows of what is held: the number of rows of each table, and the latest records. */
export async function readKnown({ counts, readLatest }: HeldData, families: readonly Family[]) {
  const rows: Record<string, Row[]> = {};
  for (const { table } of families)
    rows[table] = counts[table] ? (await readLatest(table, mostShown)).map(({ columns }) => columns) : [];
  const { receipts = [], appointments = [] } = rows;
  const others = families.filter(({ table }) => table !== 'receipts' && table !== 'appointments');
  return {
    counts,
    names: distinct(receipts, 'name'),
    phones: distinct(receipts, 'mobile'),
    receipts: receipts.map((row) => hitOf(row, 'receipt', row.receipt_id, detailsOfReceipt(row, receipts))),
    appointments: appointments.map((row) =>
      hitOf(row, 'appointment', row.appointment_id, {
        doctor: row.doctor_id!,
        clinic: row.clinic_id!,
        status: row.status!,
      }),
    ),
    others: others.flatMap((family) =>
      rows[family.table]!.map((row) => hitOf(row, family.name, row[publicKey(family) ?? 'delivery_id'], {})),
    ),
  };
}

const distinct = (rows: readonly Row[], column: string) => [
  ...new Set(rows.flatMap((row) => row[column]?.trim() || [])),
];

const timeOf = ({ created_at, event_time }: Row) => (created_at ?? event_time)!;

const hitOf = (row: Row, kind: string, id: string | null | undefined, details: Details): Hit => ({
  by: 'patient',
  kind,
  business_id: row.business_id!,
  id: id!,
  at: new Date(timeOf(row)),
  details,
});

function detailsOfReceipt(row: Row, all: readonly Row[]): Details {
  // Times are written in the reports' time zone.
  const same = ({ business_id, net_amount, ...times }: Row) =>
    [business_id, net_amount, timeOf(times).slice(0, 10)].join();
  const isRepeated =
    !row.deleted_at && all.some((other) => other !== row && !other.deleted_at && same(other) === same(row));
  return {
    name: row.name!,
    number: row.receipt_number!,
    net: row.net_amount!,
    paid: row.amount_paid!,
    due: row.amount_due!,
    doctor: row.doctor_oid!,
    clinic: row.clinic_id!,
    deleted: Boolean(row.deleted_at),
    ...(isRepeated && { note: 'same amount and day as another' }),
  };
}

/** What else the page shows: the sums of all receipts, the patient's other ids, and who looked before. */
export async function readAround(db: Db, families: readonly Family[], patient: Patient) {
  const pseudonym = await pseudonymOf(db, patient.id);
  const [people, { linked }, looks, open] = await Promise.all([
    readByIndexes(db, peopleQuery(families, [patient.id], patient.businessId)),
    withLinked(db, patient),
    listAccess(db, { pseudonym }, shownLooks + 1),
    readOpenStatuses(db),
  ]);
  // The first entry is about this page.
  return { sums: people[0]!, linked, looks: looks.slice(1), pseudonym, open };
}

/** The statuses of an appointment that is still to come, or under way. */
async function readOpenStatuses(db: Db): Promise<ReadonlySet<string>> {
  const statuses = appointment.fields.status.knownValues;
  const rows = await read(
    db,
    sql<{ status: string }>`
      select status from unnest(${statuses}::text[]) as status where reporting.appointment_state(status) in ('booked', 'ongoing')`,
  );
  return new Set(rows.map(({ status }) => status));
}
