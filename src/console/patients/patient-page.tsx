import { countRows } from '../../privacy/export.ts';
import { idsOf, type Patient } from '../../privacy/find-deliveries.ts';
import { mostHeld, type readAround, type readHeld } from '../../search/held.ts';
import { EntriesAbout } from '../access-log/entries.tsx';
import { Hits } from '../search/hits.tsx';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { Amount, Facts, Figures, formatCount, Named } from '../ui/values.tsx';

export const valuesOf = ({ businessId, ...patient }: Patient) => ({
  patient: idsOf(patient).join(', '),
  business: businessId,
});

type PatientProps = Awaited<ReturnType<typeof readHeld>> &
  Awaited<ReturnType<typeof readAround>> &
  Record<'held' | 'isRunning', boolean> & { patient: Patient };

export function PatientPage(props: PatientProps) {
  const { patient, names, phones, beside, sums, counts, hits, held, isRunning, looks, pseudonym } = props;
  const values = valuesOf(patient);
  // Only appointments are open or not.
  const having = (isOpen?: boolean) => hits.filter(({ details }) => details.isOpen === isOpen);
  return (
    <>
      <Facts
        facts={{
          Name: names.join(', '),
          Phone: phones.join(', '),
          Receipts: formatCount(sums.receipts),
          Total: <Amount value={sums.net} />,
          Paid: <Amount value={sums.paid} />,
          Due: <Amount value={sums.due} />,
          'Patient id': <span class="id">{idsOf(patient).join(', ')}</span>,
          'Other ids in the same messages': beside
            .map(({ id, callbacks }) => `${id} (${callbacks})`)
            .join(', '),
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
        {Object.values(counts).some((rows) => rows > mostHeld) &&
          ` Of each kind it has the latest ${formatCount(mostHeld)}; the export has all.`}
      </p>
      {countRows(counts) === 0 && <p class="empty">Nothing is held about this patient.</p>}
      <Hits hits={having(true)} most={mostHeld} title="Appointments to come" />
      <Hits hits={having(undefined)} most={mostHeld} />
      <Hits hits={having(false)} most={mostHeld} title="Past appointments" />
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
