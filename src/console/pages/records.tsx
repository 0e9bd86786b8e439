import { sql } from 'kysely';
import { type Family, labelledFields, labelOf, meaningOf, titleOf } from '../../callbacks/families/family.ts';
import { hidden } from '../../callbacks/health-contents.ts';
import { hideContents, maskRow } from '../../inbox/mask.ts';
import {
  findRecord,
  type RecordPage,
  type RelatedRecord,
  type Row,
  readRecord,
} from '../../inbox/read-record.ts';
import type { ColumnKind } from '../../receiver/store/view-columns.ts';
import { type AliasKind, aliasKinds } from '../../reconcile/aliases.ts';
import { read as all } from '../lists/query.ts';
import { hasRole, type Page, PageNotFound } from '../page.ts';
import { readForm, text } from '../read-form.ts';
import { hrefTo, recordHref, useVisit } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { Badge, Facts, formatAmount, linkOf, Moment, Nothing, titled, Value } from '../ui/values.tsx';

export const records: Page = (routes, core) => {
  routes.get('/records/:family', 'viewer', async (req, res) => {
    const { business = '', id = '' } = readForm(req.query, { business: text, id: text });
    const key = await findRecord(core, String(req.params.family), business, id);
    const record = key && (await readRecord(core, key));
    if (!record) throw new PageNotFound('There is no such record. It never came, or it was erased.');
    const { family, businessId, recordId } = key;
    const { subjects, versions } = record;
    const isPersonal = hasRole(res, 'desk');
    const changes =
      family.name === 'receipt' ? await core.read((db) => all(db, changesOf(businessId, recordId))) : [];
    const filter = { family: family.name, delivery: versions[0]!.id };
    if (isPersonal) await core.logAccess(res, { action: 'reveal', subjects, filter, rows: versions.length });
    const full = record.row && hideContents(record.row);
    const row = full && (isPersonal ? full : maskRow(full, family));
    const state = row && describeState(family, row, changes[0]);
    const link = linkOf(row?.receipt_url ?? '', 'PDF', 'PDF');
    const bar = (
      <>
        {state && <Badge state={state} />}
        {link && <span class="right">{link}</span>}
      </>
    );
    const content = <RecordBody {...{ family, record, row, changes, isPersonal }} />;
    sendPage(res, nameOf({ ...key, id, row: row ?? null }), content, { bar });
  });
};

/** What a receipt was with each of its callbacks. */
interface Change {
  delivery: string;
  /** What came in with it; negative: what went back. */
  moved: number;
  net: number | null;
  paid: number | null;
  due: number | null;
  discount: number;
  state: string | null;
  isDeleted: boolean;
}

const changesOf = (business: string, id: string) => sql<Change>`
  select h.delivery_id as delivery, coalesce(p.amount, 0)::float8 as moved, net_amount::float8 as net, paid_amount::float8 as paid, due_amount::float8 as due,
    (coalesce(item_discount_amount, 0) + coalesce(additional_discount_amount, 0))::float8 as discount, deleted_at is not null as "isDeleted",
    state
  from reporting.receipt_history h
  left join lateral (select amount from reporting.payments p where p.delivery_id = h.delivery_id) p on true
  where h.business_id = ${business} and h.receipt_id = ${id}::bigint order by version desc limit 200`;

function describeState(family: Family, row: Row, last?: Change): string | undefined {
  if (row.deleted_at) return 'deleted';
  if (last) return last.state ?? undefined;
  return row.status ? meaningOf(family, 'status', row.status) : undefined;
}

type NamedRecord = Omit<RelatedRecord, 'recordId'>;

function nameOf({ family, row, id }: NamedRecord): string {
  const number = (family.printedNumber && row?.[family.printedNumber]) || id;
  return `${titled(titleOf(family))}${number.length <= 15 ? ` ${number}` : ''}`;
}

export const RecordLink = (record: NamedRecord) => (
  <a href={recordHref(record.family.name, record.businessId, record.id)}>{nameOf(record)}</a>
);

interface BodyProps {
  family: Family;
  record: RecordPage;
  /** As the user may see it; undefined: none of its callbacks was applied yet. */
  row: Row | undefined;
  /** The changes of a receipt, the newest first; other records have none. */
  changes: readonly Change[];
  isPersonal: boolean;
}

function RecordBody(props: BodyProps) {
  const { family, record, row, isPersonal } = props;
  if (!row)
    return (
      <>
        <p class="warning">None of its callbacks was applied yet.</p>
        <History {...props} />
      </>
    );
  const related = record.related.map((other) =>
    isPersonal ? other : { ...other, row: other.row && maskRow(other.row, other.family) },
  );
  return (
    <>
      <Headline {...props} />
      <div class="two">
        <div>
          <h2>History</h2>
          <History {...props} />
          <Table
            label="Same visit"
            heading
            rows={related}
            columns={[
              ['Record', (other) => <RecordLink {...other} />],
              ['When', (other) => <Moment at={other.row && timeOf(other.row)} />],
              [
                'State',
                (other) => (other.row && describeState(other.family, other.row)) ?? <Nothing />,
                'wide',
              ],
            ]}
          />
        </div>
        <div>
          <h2>Details</h2>
          <Facts facts={valuesOf(family, row)} />
        </div>
      </div>
    </>
  );
}

const timeOf = ({ start_time, created_at, event_time }: Row): Date | undefined => {
  const at = start_time ?? created_at ?? event_time;
  return at ? new Date(at) : undefined;
};

function Headline({ record: { name, patient }, changes: [last], isPersonal }: BodyProps) {
  const { patientHref } = useVisit();
  return (
    <p>
      {last && (
        <>
          <strong class="huge">{last.net === null ? 'No amount' : formatAmount(last.net)}</strong> billed{' '}
        </>
      )}
      {isPersonal &&
        (patient ? (
          <a href={patientHref([`p:platform:${patient.trim()}`])}>{name || 'The patient'}</a>
        ) : (
          name
        ))}
    </p>
  );
}

const placeFields: Record<AliasKind, readonly string[]> = {
  business: ['business_id', 'bid', 'owner'],
  clinic: ['clinic_id', 'facilityid'],
  doctor: ['doctor_id', 'doctor_oid', 'docid'],
};

function History({ family, record: { versions, isComplete }, changes, isPersonal }: BodyProps) {
  const changeOf = new Map(changes.map((change) => [change.delivery, change]));
  return (
    <ol class="timeline">
      {!isComplete && <li class="note">Older callbacks are not shown.</li>}
      {versions.toReversed().map(({ id, event, eventTime, changed, status, error, isReduced }, n, all) => {
        const fields = labelsOf(family, changed, isPersonal);
        const change = changeOf.get(id);
        const others = n === 0 ? 'First known' : fields ? `Changed: ${fields}` : 'Sent again, nothing new';
        return (
          <li key={id}>
            {(change && describeChange(change, changeOf.get(all[n - 1]?.id ?? ''))) ?? others}{' '}
            <small>
              <Moment at={eventTime} href={hrefTo(`/callbacks/${id}`)} /> · {event}
            </small>{' '}
            {status !== 'applied' && <Badge state={status} />} {isReduced && 'Its person was erased.'} {error}
          </li>
        );
      })}
    </ol>
  );
}

/** What the money and the state of a receipt say of its callback; undefined: nothing. */
function describeChange(now: Change, before: Change | undefined): string | undefined {
  if (!before) return `${amountOf(now.net)} billed, ${amountOf(now.paid)} paid`;
  const discount = now.discount - before.discount;
  const left = now.due === null ? '' : now.due > 0 ? `, ${formatAmount(now.due)} left` : ', nothing left';
  const isBilledAnew = discount === 0 && now.net !== before.net;
  const said = [
    now.isDeleted && !before.isDeleted && 'Deleted',
    before.isDeleted && !now.isDeleted && 'Brought back',
    now.moved > 0 && `${formatAmount(now.moved)} paid${left}`,
    now.moved < 0 && `${formatAmount(-now.moved)} went back`,
    discount > 0 && `Discount of ${formatAmount(discount)}`,
    isBilledAnew && `${amountOf(now.net)} billed instead of ${amountOf(before.net)}`,
    now.state === 'failed' && before.state !== 'failed' && 'Failed',
  ].filter(Boolean);
  return said.join(' · ') || undefined;
}

const amountOf = (amount: number | null) => (amount === null ? 'nothing' : formatAmount(amount));

function valuesOf(family: Family, row: Row) {
  const shown = labelledFields(family).flatMap((name) => (row[name] ? [[name, row[name]] as const] : []));
  return Object.fromEntries(
    shown.map(([name, value]) => {
      const { refersTo } = family.fields[name] ?? {};
      const text = meaningOf(family, name, value);
      const href = refersTo && recordHref(refersTo, row.business_id ?? '', value);
      const kind = value === hidden ? 'text' : kindOf(family, name);
      return [labelOf(family, name), <Value key={name} {...{ kind, name, value, text, href }} />];
    }),
  );
}

function kindOf(family: Family, name: string): ColumnKind {
  const { kind, refersTo } = family.fields[name] ?? {};
  const place = aliasKinds.find((kind) => placeFields[kind].includes(name));
  if (place) return place;
  if (refersTo) return 'id';
  if (family.people?.phones.includes(name)) return 'phone';
  return kind === 'time' ? 'moment' : kind === 'amount' ? 'amount' : kind === 'nested' ? 'json' : 'text';
}

/** Undocumented names may be personal. */
function labelsOf(family: Family, keys: readonly string[], isPersonal: boolean): string {
  const shown = keys.filter((key) => isPersonal || Object.hasOwn(family.fields, key));
  const others = keys.length - shown.length;
  const labels = shown.map((key) => labelOf(family, key));
  return [...labels, ...(others > 0 ? [`${others} further`] : [])].join(', ');
}
