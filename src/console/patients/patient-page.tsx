import { countRows } from '../../privacy/export.ts';
import type { Patient } from '../../privacy/find-deliveries.ts';
import type { Hit } from '../../search/hit.ts';
import { EntriesAbout } from '../access-log/entries.tsx';
import { amount, columnsOfAppointments, columnsOfOthers, columnsOfReceipts, Group } from '../search/hits.tsx';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { Facts, Figures, formatCount, Named } from '../ui/values.tsx';
import { mostShown, type readAround, type readKnown } from './known.ts';

export const valuesOf = ({ id, businessId }: Patient) => ({ patient: id, business: businessId });

type PatientProps = Awaited<ReturnType<typeof readKnown>> &
  Awaited<ReturnType<typeof readAround>> &
  Record<'held' | 'isRunning', boolean> & { patient: Patient };

export function PatientPage(props: PatientProps) {
  const { patient, names, phones, linked, sums, counts, receipts, appointments, others, open } = props;
  const { held, isRunning, looks, pseudonym } = props;
  const values = valuesOf(patient);
  const isOpen = ({ details: { status } }: Hit) => open.has(status ?? '');
  const certificates = others.filter(({ kind }) => kind === 'consent_form');
  return (
    <>
      <Facts
        facts={{
          Name: names.join(', '),
          Phone: phones.join(', '),
          Receipts: formatCount(sums.receipts),
          Total: amount(sums.net),
          Paid: amount(sums.paid),
          Due: amount(sums.due),
          'Patient id': <span class="id">{[patient.id, ...linked].join(', ')}</span>,
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
          ` Of each kind it has the latest ${formatCount(mostShown)}; the export has all.`}
      </p>
      {countRows(counts) === 0 && <p class="empty">Nothing is held about this patient.</p>}
      <Group title="Receipts" rows={receipts} columns={columnsOfReceipts(receipts)} most={mostShown} />
      {['Appointments to come', 'Past appointments'].map((title, index) => {
        const rows = appointments.filter((hit) => isOpen(hit) === (index === 0));
        return (
          <Group key={title} {...{ title, rows }} columns={columnsOfAppointments(rows)} most={mostShown} />
        );
      })}
      <Group title="Certificates" rows={certificates} columns={columnsOfOthers} most={mostShown} />
      <Group
        title="Other records"
        rows={others.filter(({ kind }) => kind !== 'consent_form')}
        columns={columnsOfOthers}
        most={mostShown}
      />
      <h2>Who looked</h2>
      <EntriesAbout entries={looks} />
      <p>
        <a href={hrefTo('/access-log', { about: pseudonym })}>All entries about this patient</a>
      </p>
      <h2>What is held</h2>
      <Figures figures={inWords(counts)} />
    </>
  );
}

const tableNames: Record<string, string> = {
  deliveries: 'Messages received',
  quarantine: 'Rejected messages',
  receipt_versions: 'Earlier versions of receipts',
  appointment_versions: 'Earlier versions of appointments',
  consent_forms: 'Certificates',
  access_log: 'Entries of the access log',
  withheld: 'Kept until destroyed',
};

/** Numbers of rows by what people call the tables. */
export const inWords = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(counts)
      .filter(([table, rows]) => rows > 0 || table === 'deliveries')
      .map(([table, rows]) => [tableNames[table] ?? words(table), rows]),
  );
