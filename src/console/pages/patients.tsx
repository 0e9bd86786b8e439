import type { Request, Response } from 'express';
import type { RawBuilder } from 'kysely';
import { z } from 'zod';
import { dayMs } from '../../common/days.ts';
import { parseMoment } from '../../common/local-times.ts';
import { formatAmount, formatCount, formatCountOf } from '../../common/words.ts';
import { describeCallbacks } from '../../inbox/read-record.ts';
import { erasePatient, type Preview, previewErasure } from '../../privacy/erase.ts';
import { holdPatient, releasePatient } from '../../privacy/holds.ts';
import * as privacy from '../../privacy/patient.ts';
import type { Db } from '../../receiver/store/tables.ts';
import { viewColumn } from '../../receiver/store/view-columns.ts';
import { listNamed } from '../lists/definitions.ts';
import type { List } from '../lists/list.ts';
import { type ListRow, queryRows, read as readAll } from '../lists/query.ts';
import { Rows } from '../lists/rows.tsx';
import { BadInput, type Page, PageNotFound } from '../page.ts';
import { subjectsOfHandle } from '../patient-handle.ts';
import { guid, readForm, text } from '../read-form.ts';
import { hrefTo, useMay, useVisit, visitOf } from '../ui/context.ts';
import { Field, PostButton, PostForm } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { Badge, Facts, Moment, Phone, Sums, sumOf } from '../ui/values.tsx';
import { titleOf } from './messages.tsx';

const maxShown = 200;

/** A patient, for the desk; erasures, exports and holds, for privacy. No address has an id: see patient-handle.ts. */
export const patients: Page = (routes, core) => {
  const { config, read } = core;

  const subjectsOf = (req: Request): string[] => {
    const subjects = subjectsOfHandle(config, String(req.params.handle));
    if (subjects?.length) return subjects;
    throw new PageNotFound('This address of a patient is not valid any more. Search for the patient.');
  };
  const readPatient = async (req: Request, res: Response): Promise<PatientProps> => {
    const subjects = subjectsOf(req);
    const patient = await privacy.readProfile(core, visitOf(res).actor, subjects);
    if (patient.callbacks.length === 0) throw new PageNotFound('Nothing is stored about this patient.');
    return { subjects, patient, address: visitOf(res).patientHref(subjects) };
  };

  routes.get('/patients/:handle', 'desk', async (req, res) => {
    const props = await readPatient(req, res);
    const { patient } = props;
    const records = await read((db) => readRecords(db, patient.callbacks));
    const content = <PatientPage {...{ ...props, records }} />;
    sendPage(res, patient.names[0] ?? 'Patient without a name', content, { bar: <PatientBar {...props} /> });
  });

  routes.post('/patients/:handle/export', 'privacy', async (req, res) => {
    const json = await privacy.exportPatient(core, visitOf(res).actor, subjectsOf(req));
    res.attachment('patient.json').type('json').send(json);
  });

  for (const [action, act] of Object.entries({ hold: holdPatient, release: releasePatient }))
    routes.post(`/patients/:handle/${action}`, 'privacy', async (req, res) => {
      const subjects = subjectsOf(req);
      await act(core, visitOf(res).actor, subjects);
      res.redirect(303, visitOf(res).patientHref(subjects));
    });

  routes.get('/patients/:handle/erase', 'privacy', async (req, res) => {
    const props = await readPatient(req, res);
    const preview = await previewErasure(core, props.subjects);
    const listed = [...preview.shared.slice(0, maxShown), ...preview.mentions.map(({ id }) => id)];
    const { texts, subjects } = await describeCallbacks(core, listed);
    if (listed.length > 0)
      await core.logAccess(res, { action: 'reveal', subjects, filter: { erasure: true }, rows: texts.size });
    const { keepMs } = config.erasure;
    sendPage(res, 'Erase a patient?', <ConfirmErasure {...{ ...props, preview, texts, keepMs }} />);
  });
  routes.post('/patients/:handle/erase', 'privacy', async (req, res) => {
    const shape = { confirm: text, also: z.preprocess((ids) => [ids].flat(), z.array(guid)) };
    const { confirm, also = [] } = readForm(req.body, shape);
    const subjects = subjectsOf(req);
    // As the form trims what is typed.
    if (confirm !== idOf(subjects[0]!).slice(-4).trim())
      throw new BadInput('Nothing was erased: these are not the last four characters of the id. Go back.');
    // A worker continues it if this process ends.
    await erasePatient(core, visitOf(res).actor, subjects, { also });
    res.redirect(303, hrefTo('/erasures'));
  });
};

const idOf = (subject: string) => subject.replace(/^p:(partner:[^:]*|[^:]*):/, '');

const listNames = ['admissions', 'receipts', 'deleted', 'failed', 'appointments', 'papers'] as const;
type Records = Record<(typeof listNames)[number], ListRow[]>;

/** Also appointments whose start is not known. */
const appointments: List = {
  ...listNamed('appointments'),
  source: listNamed('booked').source,
  order: 'coalesce(starts_at, booked_at) desc nulls last, business_id, appointment_id',
};
const listOf = (name: keyof Records) => (name === 'appointments' ? appointments : listNamed(name));

async function readRecords(db: Db, callbacks: privacy.Profile['callbacks']): Promise<Records> {
  const businesses = [...new Set(callbacks.map(({ businessId }) => businessId))];
  const rowsOf = (name: keyof Records, where: RawBuilder<boolean>) => {
    const list = listOf(name);
    const names = new Set([...list.columns, ...list.also]);
    const all = [...names].map(viewColumn);
    // Names and remarks are not shown, and may be long; the key of a paper leads to its page.
    const columns = all.filter((column) => !column.personal || ['link', 'record'].includes(column.name));
    return readAll(db, queryRows({ list, entered: {}, isPersonal: true, businesses }, columns, { where }));
  };
  const receipts = callbacks.filter(({ family }) => family === 'receipt');
  const isReceipt = privacy.isRecordOf(receipts, 'receipt_id', 'bigint');
  return {
    admissions: await rowsOf('admissions', privacy.isRecordOf(callbacks, 'admission_id')),
    receipts: await rowsOf('receipts', isReceipt),
    deleted: await rowsOf('deleted', isReceipt),
    failed: await rowsOf('failed', isReceipt),
    appointments: await rowsOf('appointments', privacy.isRecordOf(callbacks, 'appointment_id')),
    papers: await rowsOf('papers', privacy.isRecordOf(callbacks, 'record')),
  };
}

interface PatientProps {
  subjects: readonly string[];
  patient: privacy.Profile;
  address: string;
}

const knownAs = ({ subjects, patient: { names, phones } }: PatientProps) => ({
  Names: names.join(', '),
  Phones: phones.join(', '),
  Ids: subjects.map((subject) => subject.slice(2)).join(', '),
});

/** Other ids in the same callbacks. Only people can tell whose they are: nothing is joined by a guess. */
function OtherIds({ subjects, patient }: PatientProps) {
  const { patientHref } = useVisit();
  return patient.otherSubjects.map((other) => (
    <p key={other}>
      In the same messages: <a href={patientHref([other])}>{other.slice(2)}</a> ·{' '}
      <a href={patientHref([...subjects, other])}>Show both as one</a>
    </p>
  ));
}

function PatientBar({ address, patient: { phones, isHeld } }: PatientProps) {
  const [action, text] = isHeld ? ['release', 'Release the hold'] : ['hold', 'Keep (legal hold)'];
  return (
    <>
      {phones[0] && (
        <span class="chip">
          <Phone number={phones[0]} />
        </span>
      )}
      {isHeld && <Badge state="waiting">Kept beyond the retention, until it is released</Badge>}
      {useMay('privacy') && (
        <span class="right">
          <PostButton action={`${address}/export`} least="privacy" text="Export" />
          <PostButton action={`${address}/${action}`} least="privacy" text={text} />
          <a class="button bad" href={`${address}/erase`}>
            Erase …
          </a>
        </span>
      )}
    </>
  );
}

function PatientPage({ records, ...props }: PatientProps & { records: Records }) {
  const { looks } = props.patient;
  const handle = props.address.split('/').at(-1);
  const isEmpty = Object.values(records).every(({ length }) => length === 0);
  return (
    <>
      <PatientSums {...records} />
      <div class="two">
        <div>
          {listNames.map((name) => (
            <Section key={name} list={listOf(name)} rows={records[name]} />
          ))}
          {isEmpty && <p class="empty">No receipts, appointments, papers or admissions.</p>}
        </div>
        <div>
          <h2>Known as</h2>
          <Facts facts={knownAs(props)} />
          <OtherIds {...props} />
          <h2>Who has looked (30 days)</h2>
          <Table
            label="Who has looked"
            rows={looks}
            columns={[
              ['Who', ({ actor, actor_name }) => actor_name ?? actor],
              ['Times', ({ times }) => (times === 1 ? 'once' : `${formatCount(times)} times`)],
              ['Last', ({ last }) => <Moment at={last} />],
            ]}
          />
          {useMay('privacy') && <a href={hrefTo('/access-log', { patient: handle })}>All entries</a>}
        </div>
      </div>
    </>
  );
}

function PatientSums({ receipts, admissions }: Records) {
  // What was paid too much takes nothing from what is due.
  const isDue = ({ due_amount }: ListRow) => Number(due_amount) > 0;
  const [due, stay] = [receipts.filter(isDue), admissions.filter(isDue)];
  const sum = (name: string, rows = receipts) => formatAmount(sumOf(rows, (row) => Number(row[name])));
  const since = due.at(-1)?.issued_at;
  const sums = [
    { value: sum('net_amount'), label: `billed, ${formatCountOf(receipts.length, ['receipt', 'receipts'])}` },
    { value: sum('paid_amount'), label: 'paid' },
    {
      value: sum('due_amount', due),
      label: since
        ? ['due on receipts since ', <Moment key={since} at={parseMoment(since)} />]
        : 'due on receipts',
    },
    ...(stay.length > 0 ? [{ value: sum('due_amount', stay), label: 'due of the admission' }] : []),
  ];
  return <Sums sums={sums} />;
}

function Section({ list, rows }: { list: List; rows: readonly ListRow[] }) {
  if (rows.length === 0) return null;
  // The record's page has it.
  const columns = list.columns.filter((column) => column !== 'clinic_id');
  // In place of the patient's name.
  const note = columns.find((column) => !['name', 'mobile'].includes(column) && !list.phone[column])!;
  return (
    <>
      <h2>{list.title}</h2>
      <Rows
        list={{ ...list, phone: { ...list.phone, [note]: 'note' } }}
        rows={rows.slice(0, maxShown)}
        columns={columns}
      />
      {rows.length > maxShown && <p class="note">{`The newest ${maxShown}; the export has all.`}</p>}
    </>
  );
}

interface ConfirmProps extends PatientProps {
  preview: Preview;
  texts: ReadonlyMap<string, string>;
  keepMs: number;
}

function ConfirmErasure({ preview, texts, keepMs, ...props }: ConfirmProps) {
  const { address, subjects, patient } = props;
  const { shared, bodies, mentions, hasMore } = preview;
  const titles = patient.callbacks.map(({ family }) => titleOf(family));
  const countOf = (title: string) => formatCount(titles.filter((other) => other === title).length);
  const messages = [...new Set(titles)].map((title) => `${title}: ${countOf(title)}`).join(', ');
  const label = `To confirm, the last four characters of ${idOf(subjects[0]!)}`;
  return (
    <>
      <Facts facts={{ ...knownAs(props), Messages: messages }} />
      <p>
        What is personal in these messages is removed for good, and does not come back with a resend. Amounts
        and days stay.{' '}
        {keepMs > 0 &&
          `A copy is kept for ${formatCountOf(Math.round(keepMs / dayMs), ['day', 'days'])} after it was received, then destroyed. `}
        {patient.isHeld && 'There is a hold, which keeps copies of the messages until it is released. '}
        Nothing was changed yet.
      </p>
      {bodies > 0 && (
        <p>{`${formatCountOf(bodies, ['rejected message goes', 'rejected messages go'])} as a whole.`}</p>
      )}
      {shared.length > 0 && (
        <section class="warning">
          <b>{formatCountOf(shared.length, ['message has', 'messages have'])} another id, too.</b> If it is
          another patient’s, that patient loses them as well.
          <p>
            {shared.slice(0, maxShown).map((id, n) => (
              <span key={id}>
                {n > 0 && ' · '}
                <a href={hrefTo(`/callbacks/${id}`)}>{texts.get(id) ?? id}</a>
              </span>
            ))}
          </p>
        </section>
      )}
      <PostForm action={`${address}/erase`} least="privacy" label="Erase">
        {mentions.length > 0 && (
          <p>These have an id as text. Look at each, and choose those of the patient, to erase them too:</p>
        )}
        {mentions.map(({ id, where }) => (
          <p key={id}>
            <input type="checkbox" name="also" value={id} aria-label={id} />{' '}
            <a href={hrefTo(`/${where === 'quarantine' ? 'rejected' : 'callbacks'}/${id}`)}>
              {texts.get(id) ?? `Rejected message ${id}`}
            </a>
          </p>
        ))}
        {mentions.length > 0 && hasMore && <p>There are more, which are listed once these are gone.</p>}
        <Field name="confirm" label={label} required autocomplete="off" />
        <p class="actions">
          <button type="submit" class="bad">
            Erase for good
          </button>
          <a href={address}>Cancel</a>
        </p>
      </PostForm>
    </>
  );
}
