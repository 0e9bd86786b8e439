import { formatDuration } from '../../common/times.ts';
import { maxMentions } from '../../privacy/erasure/beside.ts';
import {
  type Certificate,
  describeSearched,
  type ListedCertificate,
} from '../../privacy/erasure/erasure-list.ts';
import { describePreview, type Preview } from '../../privacy/erasure/preview.ts';
import type { Patient } from '../../privacy/find-deliveries.ts';
import { EntryForm, PostForm, Submit } from '../ui/forms.tsx';
import { Outcome } from '../ui/outcome.tsx';
import { Table } from '../ui/table.tsx';
import { Facts, formatCount, IdLink, Moment } from '../ui/values.tsx';
import { inWords, valuesOf } from './patient-page.tsx';

export function PatientSearch({ certificates }: { certificates: readonly ListedCertificate[] }) {
  return (
    <>
      <p>
        What is held about a patient: to show it, export it, or erase it. Each of these is in the access log.
        The search above finds a patient by name or by the end of the phone number.
      </p>
      <EntryForm
        action="/console/patients"
        kind="second"
        fields={[
          {
            name: 'patient',
            label: 'Patient id (several of one patient: with commas)',
            required: true,
            autocomplete: 'off',
          },
          { name: 'business', label: 'Business (empty: all)', kind: 'business' },
        ]}
        submit="Show"
      />
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
          { head: 'Messages', cell: ({ counts }) => formatCount(counts.deliveries ?? 0), numeric: true },
          { head: 'Destroyed after', cell: ({ destroy_after }) => <Moment at={destroy_after} /> },
          { head: 'Destroyed', cell: ({ destroyed_at }) => <Moment at={destroyed_at} /> },
        ]}
      />
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
      figures={inWords(preview.counts)}
    >
      <Facts facts={Object.fromEntries(describePreview(preview))} />
      <PostForm action="/console/patients/erase" values={valuesOf(patient)}>
        {preview.mentions.length <= maxMentions &&
          preview.mentions.map(({ id, source }) => (
            <p key={id}>
              <input type="checkbox" name="also" value={id} aria-label={id} /> erase{' '}
              <IdLink to={source} id={id} />, too
            </p>
          ))}
        <Submit kind="danger">Erase</Submit>
      </PostForm>
    </Outcome>
  );
}

/** The erasure goes on after the answer. */
export const ErasureRunning = () => (
  <Outcome
    section="patients"
    intro="The erasure is running, and goes on without this page. Until it is complete, everything is still there; then the list of erasures says when."
  />
);

export function ErasureDone({ certificate }: { certificate: Certificate }) {
  const { id, erased_at, erased_by, counts, destroy_after, searched } = certificate;
  return (
    <Outcome section="patients" figures={inWords(counts)}>
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
