import { type Family, publicKey } from '../../families/index.ts';
import {
  type Certificate,
  describeSearched,
  type ListedCertificate,
} from '../../privacy/erasure/erasure-list.ts';
import { describePreview, type Preview } from '../../privacy/erasure/preview.ts';
import type { UncertainBody } from '../../privacy/erasure/uncertain.ts';
import { countRows, type ExportedRow, type HeldData } from '../../privacy/export.ts';
import type { Patient } from '../../privacy/find-deliveries.ts';
import { EntryForm, PostButton } from '../ui/forms.tsx';
import { Outcome } from '../ui/outcome.tsx';
import { Table } from '../ui/table.tsx';
import { formatDuration } from '../ui/time.ts';
import { Facts, Figures, formatCount, IdLink, Moment, Named, RecordLink, Status } from '../ui/values.tsx';
import { UncertainBodies } from './uncertain-pages.tsx';

const valuesOf = ({ id, businessId }: Patient) => ({ patient: id, business: businessId });

interface SearchProps {
  certificates: readonly ListedCertificate[];
  uncertain: readonly UncertainBody[];
}

export function PatientSearch({ certificates, uncertain }: SearchProps) {
  return (
    <>
      <p>
        What is held about a patient: to show it, export it, or erase it. Each of these is in the access log.
      </p>
      <EntryForm
        action="/console/patients"
        fields={[
          { name: 'patient', label: 'Patient id', required: true, autocomplete: 'off' },
          { name: 'business', label: 'Business (empty: all)', kind: 'business' },
        ]}
        submit="Show"
      />
      <UncertainBodies bodies={uncertain} />
      <h2>Erasures</h2>
      <Table
        label="Certificates of erasures, newest first"
        scrolls
        rows={certificates}
        empty="Nobody was erased yet."
        columns={[
          { head: 'Certificate', cell: ({ id }) => <span class="id">{id}</span> },
          {
            head: 'Erased',
            cell: ({ erased_at, is_running }) => (is_running ? 'running' : <Moment at={erased_at} />),
          },
          { head: 'By', cell: ({ erased_by }) => erased_by },
          { head: 'Deliveries', cell: ({ counts }) => formatCount(counts.deliveries ?? 0), numeric: true },
          { head: 'Destroyed after', cell: ({ destroy_after }) => <Moment at={destroy_after} /> },
          { head: 'Destroyed', cell: ({ destroyed_at }) => <Moment at={destroyed_at} /> },
          { head: 'Undecided', cell: ({ undecided }) => formatCount(undecided), numeric: true },
        ]}
      />
    </>
  );
}

/** How many rows of a table are shown. The export has all of them. */
const mostShown = 200;

/** What the page of a patient shows: the number of rows of each table, and the latest records and deliveries. */
export async function readShown({ counts, readLatest }: HeldData, families: readonly Family[]) {
  const records: { family: string; id: string; row: ExportedRow['columns'] }[] = [];
  for (const family of families) {
    const { name, table } = family;
    if (!counts[table]) continue;
    for (const { columns: row } of await readLatest(table, mostShown))
      records.push({ family: name, id: row[publicKey(family) ?? 'delivery_id']!, row });
  }
  return { counts, records, deliveries: await readLatest('deliveries', mostShown) };
}

type PatientProps = Awaited<ReturnType<typeof readShown>> &
  Record<'held' | 'isRunning', boolean> & { patient: Patient };

export function PatientPage({ patient, counts, records, deliveries, held, isRunning }: PatientProps) {
  const values = valuesOf(patient);
  return (
    <>
      <Facts
        facts={{
          Patient: <span class="id">{patient.id}</span>,
          Business: patient.businessId ? <Named kind="business" id={patient.businessId} /> : 'all',
          Hold: held ? 'yes: neither retention nor destruction touches this patient’s data' : 'none',
          ...(isRunning && { Erasure: 'running: it has not erased anything yet' }),
        }}
      />
      <div class="actions">
        {countRows(counts) > 0 && (
          <PostButton action="/console/patients/export" values={values}>
            Export
          </PostButton>
        )}
        <PostButton action={`/console/patients/${held ? 'release' : 'hold'}`} values={values} kind="second">
          {held ? 'Release the hold' : 'Hold'}
        </PostButton>
        <PostButton action="/console/patients/erase/preview" values={values} kind="second">
          Erase …
        </PostButton>
      </div>
      <p class="note">
        This page shows personal data; showing it was logged.
        {Object.values(counts).some((rows) => rows > mostShown) &&
          ` Of each table it has the latest ${formatCount(mostShown)}; the export has all.`}
      </p>
      <h2>Records</h2>
      <Table
        label="Records of the patient"
        rows={records}
        empty="No records."
        columns={[
          {
            head: 'Record',
            cell: ({ row, ...record }) => <RecordLink {...record} business={row.business_id!} />,
          },
          { head: 'Last event', cell: ({ row }) => row.last_event },
          { head: 'Business', cell: ({ row }) => <Named kind="business" id={row.business_id} /> },
          { head: 'Event time', cell: ({ row }) => <Moment at={new Date(row.event_time!)} /> },
        ]}
      />
      <h2>Deliveries</h2>
      <Table
        label="Deliveries of the patient, newest first"
        rows={deliveries}
        empty="No deliveries."
        columns={[
          { head: 'Delivery', cell: ({ columns }) => <IdLink to="deliveries" id={columns.id!} /> },
          { head: 'Event', cell: ({ columns }) => columns.event },
          { head: 'Business', cell: ({ columns }) => <Named kind="business" id={columns.business_id} /> },
          { head: 'Event time', cell: ({ columns }) => <Moment at={new Date(columns.event_time!)} /> },
          { head: 'First received', cell: ({ columns }) => <Moment at={new Date(columns.received_at!)} /> },
          { head: 'Status', cell: ({ columns }) => <Status status={columns.status!} /> },
        ]}
      />
      <h2>Rows by table</h2>
      <Figures figures={counts} />
    </>
  );
}

interface ConfirmProps {
  patient: Patient;
  preview: Preview;
  keepMs: number;
}

export function ConfirmErasure({ patient, preview, keepMs }: ConfirmProps) {
  const destroyed =
    keepMs > 0
      ? `What is withheld is destroyed ${formatDuration(keepMs)} after its receipt, or when a hold ends.`
      : 'It is destroyed at once.';
  return (
    <Outcome
      section="patients"
      isPreview
      intro={`All of this is erased for good, and does not come back with a resend or a replay. ${destroyed} Nothing was changed yet.`}
      figures={preview.counts}
      next={{ action: '/console/patients/erase', values: valuesOf(patient), kind: 'danger', text: 'Erase' }}
    >
      <Facts facts={Object.fromEntries(describePreview(preview))} />
    </Outcome>
  );
}

const goesOn =
  'The erasure is running, and goes on without this page. Until it is complete, everything is still there; then the list of erasures says when.';

/** The erasure goes on after the answer. */
export const ErasureRunning = () => <Outcome section="patients" intro={goesOn} />;

export function ErasureDone({ certificate }: { certificate: Certificate }) {
  const { id, erased_at, erased_by, counts, destroy_after, searched } = certificate;
  return (
    <Outcome section="patients" figures={counts}>
      <Facts
        facts={{
          Certificate: <span class="id">{id}</span>,
          Erased: <Moment at={erased_at} />,
          By: erased_by,
          'Destroyed after': destroy_after ? <Moment at={destroy_after} /> : 'at once',
          Searched: describeSearched(searched),
        }}
      />
    </Outcome>
  );
}
