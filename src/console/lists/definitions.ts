import { type RawBuilder, sql } from 'kysely';
import { type Family, titleOf } from '../../callbacks/families/family.ts';
import { families } from '../../callbacks/families/index.ts';
import type { Config } from '../../common/config/config.ts';
import type { Role } from '../../common/config/value-types.ts';
import { titled, uuid, words } from '../../common/words.ts';
import { causeOfFailure } from '../../inbox/list-deliveries.ts';
import { causeOfRejection, eventOfRejected } from '../../inbox/replay.ts';
import { isAbout } from '../../privacy/audit.ts';
import {
  columnOf,
  type ViewColumn,
  type ViewColumnFacts,
  viewColumn,
} from '../../receiver/store/view-columns.ts';
import { type AliasKind, aliasKinds } from '../../reconcile/aliases.ts';
import { subjectsOfHandle } from '../patient-handle.ts';
import { hrefTo, recordHref } from '../ui/context.ts';
import type { ListRow } from './query.ts';
import { ages, type RangeName } from './ranges.ts';
import { actions, describeDetails, reasons } from './wording.ts';

type Sql = RawBuilder<unknown>;

/** A list of records: a page, and a file for Excel and for programs. What a column is, receiver/store/view-columns.ts says. */
export interface List {
  /** Its address, and the name of its files. */
  name: string;
  title: string;
  /** What its rows are called. */
  unit: readonly [one: string, more: string];
  /** The list beside which it is a tab, with the name of its tab. */
  tab: readonly [of: string, name: string];
  /** The least role. Reading a list of `privacy` is an entry of the access log for everybody. */
  role: Role;
  /** What it reads: a view, or a query on views. */
  source: Sql;
  /** The columns of the page and of Excel, in their order. */
  columns: readonly string[];
  /** More columns of the file for programs. */
  also: readonly string[];
  /** Columns that no view has. */
  own: Readonly<Record<string, ViewColumnFacts>>;
  /** Columns that lead to another page. */
  links: Readonly<Record<string, (row: ListRow) => string | undefined>>;
  /** The words for a value. */
  words: Readonly<Record<string, (value: string) => string>>;
  /** No two rows are equal in it, so that pages do not overlap. */
  order: string;
  /** `order` begins with a time, newest first, that the column `day` is the day of. */
  newestDayFirst?: true;
  /** The indexes below begin with the business, so that a query has to name one. */
  leadsWithBusiness?: true;
  /** It has a column `day`; these are shown unless others are asked for. */
  range: RangeName;
  hasDaysToCome?: true;
  /** The places that are filters. */
  places: readonly AliasKind[];
  /** Columns that are filters, as are its states, and the age of what is due: with their values and what these are called. */
  choices: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Filters by a text: by one that is typed, or, without a label, by one of a link. Undefined: the text is none. */
  given: Readonly<
    Record<
      string,
      { label?: string; shown: string; where: (text: string, config: Config) => Sql | undefined }
    >
  >;
  /** States, each with its condition; a row has the first that is true. They are the column `state`. */
  states?: Readonly<Record<string, string>>;
  /** Only rows in these states are summed. */
  unsummed?: string;
  /** Columns in the two lines of a row on a phone: the title and the amount, a note and a badge. */
  phone: readonly string[];
  /** The columns by which the access log knows whose rows were shown. */
  subjects: readonly ('patient_id' | 'delivery_id')[];
}

type Texts = Record<'columns' | 'phone', string> & { also?: string; source: string | Sql };
type Definition = Pick<List, 'name' | 'title' | 'unit' | 'order'> & Partial<Omit<List, keyof Texts>> & Texts;

const split = (names: string) => names.split(/\s+/).filter(Boolean);

const defineList = ({ source, columns, phone, also = '', choices = {}, ...list }: Definition): List => {
  const states = Object.keys(list.states ?? {}).map((state) => [state, titled(state)]);
  const [shown, more] = [split(columns), split(also)];
  return {
    tab: [list.name, 'All'],
    role: 'viewer',
    own: {},
    links: {},
    words: {},
    given: {},
    range: 'last_30_days',
    places: aliasKinds,
    ...list,
    choices: { ...(list.states && { state: Object.fromEntries(states) }), ...choices },
    source: typeof source === 'string' ? sql.raw(source) : source,
    columns: shown,
    also: more,
    phone: split(phone),
    subjects: (['patient_id', 'delivery_id'] as const).filter((name) => more.includes(name)),
  };
};

/** The facts of a list's column. */
export const columnIn = ({ own }: List, name: string): ViewColumn => {
  const facts = own[name];
  return facts ? columnOf(name, facts) : viewColumn(name);
};

/** The newest name and phone on a receipt of the patient, of whom the view has only the id. */
const withPerson = (view: string) => {
  const newest = (column: string) => `(
    select p.${column} from public.receipts p
    where p.business_id = v.business_id and p.patient_oid = v.patient_id and p.${column} <> ''
    order by p.created_at desc nulls last limit 1) as ${column}`;
  return `(select v.*, ${newest('name')}, ${newest('mobile')} from ${view} v)`;
};

const events = families.flatMap((family) => Object.keys(family.events));
/** What people call the records of each family. */
export const titlesOf = (families: readonly Family[]) =>
  Object.fromEntries(families.map((family) => [family.name, titled(titleOf(family))]));
const familyTitles = titlesOf(families);

/** The message that an entry of the access log names. */
function messageHref(details: string): string | undefined {
  const { delivery, quarantine } = JSON.parse(details);
  if (uuid.test(delivery)) return hrefTo(`/callbacks/${delivery}`);
  return uuid.test(quarantine) ? hrefTo(`/rejected/${quarantine}`) : undefined;
}

const places = 'doctor_id clinic_id';
const money = 'net_amount paid_amount due_amount';
const byReceipt = 'issued_at desc, business_id, receipt_id';
/** A column that leads to the record of a family. */
const toRecord = (column: string, family: string, key: string): List['links'] => ({
  [column]: (row) =>
    row[key] ? recordHref(family || row.family!, row.business_id ?? '', row[key]) : undefined,
});
const toReceipt = toRecord('receipt_number', 'receipt', 'receipt_id');
const ofReceipts = (tab: string) =>
  ({ unit: ['receipt', 'receipts'], tab: ['receipts', tab], links: toReceipt }) as const;
const toAppointment = (column: string) => toRecord(column, 'appointment', 'appointment_id');

const payStates = {
  failed: 'reporting.is_failed(status)',
  paid: 'due_amount <= 0',
  part_paid: 'due_amount > 0 and paid_amount > 0',
  unpaid: 'due_amount > 0',
};
const appointmentStates = {
  booked: "state = 'booked'",
  ongoing: "state = 'ongoing'",
  completed: "state like 'completed%'",
  cancelled: "state like 'cancelled%'",
  no_show: "state = 'no_show'",
  aborted: "state = 'aborted'",
  rescheduled: "state = 'rescheduled'",
};
const appointmentDetails = 'business_id appointment_id day status patient_id partner_appointment_id';

export const lists: readonly List[] = [
  defineList({
    name: 'receipts',
    title: 'Receipts',
    ...ofReceipts('All'),
    source: 'reporting.receipts',
    columns: `issued_at receipt_number name mobile ${places} ${money} state`,
    also: `business_id receipt_id day status patient_id gross_amount item_discount_amount additional_discount_type
      additional_discount_value additional_discount_amount payment_id payment_link transaction_reference pdf_url remarks aid updated_at delivery_id`,
    order: byReceipt,
    newestDayFirst: true,
    leadsWithBusiness: true,
    states: payStates,
    unsummed: 'failed',
    phone: 'receipt_number net_amount name state',
  }),
  defineList({
    name: 'unpaid',
    title: 'Unpaid receipts',
    ...ofReceipts('Unpaid'),
    source: 'reporting.outstanding_receipts',
    columns: `issued_at receipt_number name mobile ${places} ${money} days_outstanding payment_link`,
    also: 'business_id receipt_id day patient_id pdf_url',
    order: 'day, issued_at, business_id, receipt_id',
    range: 'all',
    choices: { age: Object.fromEntries(Object.keys(ages).map((age) => [age, `${words(age)} days`])) },
    phone: 'receipt_number due_amount name days_outstanding',
  }),
  defineList({
    name: 'deleted',
    title: 'Deleted receipts',
    ...ofReceipts('Deleted'),
    // The day on which it was deleted: that is the question.
    source: `(select business_id, receipt_id, reporting.day(deleted_at) as day, deleted_at, receipt_number, issued_at, clinic_id,
      doctor_id, patient_id, name, mobile, net_amount, paid_amount, due_amount, status, delivery_id from reporting.deleted_receipts)`,
    columns: `deleted_at issued_at receipt_number name mobile ${places} ${money}`,
    also: 'business_id receipt_id day patient_id status delivery_id',
    order: 'deleted_at desc, business_id, receipt_id',
    leadsWithBusiness: true,
    states: { failed: payStates.failed, deleted: 'true' },
    unsummed: 'failed',
    phone: 'receipt_number net_amount name state',
  }),
  defineList({
    name: 'twice',
    title: 'Receipts that may have been entered twice',
    ...ofReceipts('Twice'),
    source: 'reporting.duplicate_receipts',
    columns: `issued_at receipt_number name mobile ${places} ${money} copy_number`,
    also: 'business_id receipt_id first_receipt_id day patient_id',
    order: 'day desc, business_id, first_receipt_id, copy_number',
    newestDayFirst: true,
    phone: 'receipt_number net_amount name copy_number',
  }),
  defineList({
    name: 'appointments',
    title: 'Appointments',
    unit: ['appointment', 'appointments'],
    tab: ['appointments', 'By time'],
    source: '(select *, patient_name as name from reporting.schedule)',
    columns: `starts_at name mobile ${places} state booked_at`,
    also: appointmentDetails,
    links: toAppointment('starts_at'),
    order: 'starts_at, business_id, appointment_id',
    leadsWithBusiness: true,
    range: 'today',
    hasDaysToCome: true,
    states: appointmentStates,
    phone: 'starts_at doctor_id name state',
  }),
  defineList({
    name: 'booked',
    title: 'Appointments by the day of booking',
    unit: ['appointment', 'appointments'],
    tab: ['appointments', 'By booking'],
    source: withPerson('reporting.appointments'),
    columns: `booked_at starts_at name mobile ${places} state`,
    also: `${appointmentDetails} completed_at modified_at delivery_id`,
    links: toAppointment('booked_at'),
    order: 'booked_at desc, business_id, appointment_id',
    newestDayFirst: true,
    leadsWithBusiness: true,
    states: appointmentStates,
    phone: 'booked_at doctor_id name state',
  }),
  defineList({
    name: 'payments',
    title: 'Payments and refunds',
    unit: ['payment', 'payments'],
    tab: ['takings', 'Each payment'],
    source: `(select p.*, r.receipt_number, r.name, r.mobile from reporting.payments p
      join public.receipts r using (business_id, receipt_id))`,
    columns: `paid_at amount kind receipt_number name mobile ${places}`,
    also: 'business_id receipt_id day patient_id delivery_id',
    links: toReceipt,
    order: 'paid_at desc, business_id, receipt_id, delivery_id',
    newestDayFirst: true,
    range: 'today',
    phone: 'receipt_number amount name kind',
  }),
  defineList({
    name: 'admissions',
    title: 'Who is admitted now',
    unit: ['admission', 'admissions'],
    source: '(select *, facility_id as clinic_id from reporting.open_admissions)',
    columns: `admitted_at days_since_admission inpatient_number department stage ${places} open_clearances estimated_amount
      billed_amount paid_amount due_amount`,
    also: 'business_id admission_id day patient_id status open_clearance_types',
    links: toRecord('admitted_at', 'admission', 'admission_id'),
    order: 'admitted_at, business_id, admission_id',
    leadsWithBusiness: true,
    range: 'all',
    phone: 'admitted_at due_amount doctor_id stage',
  }),
  defineList({
    name: 'papers',
    title: 'Papers and review requests',
    unit: ['paper', 'papers'],
    source: withPerson(`(
      select business_id, form_id as record, 'consent_form' as family, day, event_time, coalesce(nullif(type, ''), 'consent') as kind, doctor_id, patient_id,
        pdf_url, delivery_id from reporting.consent_forms
      union all
      select business_id, prescription_id, 'prescription', day, event_time, 'prescription', doctor_id, patient_id, pdf_url, delivery_id
      from reporting.prescriptions
      union all
      select business_id, delivery_id::text, 'review_request', day, requested_at, 'review_request', doctor_id, patient_id,
        google_review_link, delivery_id from reporting.review_requests)`),
    columns: 'event_time kind name mobile doctor_id pdf_url',
    also: 'business_id family record day patient_id delivery_id',
    links: toRecord('event_time', '', 'record'),
    words: { kind: (value) => (value === 'mcert' ? 'medical certificate' : words(value)) },
    order: 'event_time desc, delivery_id',
    newestDayFirst: true,
    leadsWithBusiness: true,
    places: ['business', 'doctor'],
    states: {
      consent: "kind = 'consent'",
      medical_certificate: "kind = 'mcert'",
      prescription: "kind = 'prescription'",
      review_request: "kind = 'review_request'",
    },
    phone: 'event_time pdf_url name kind',
  }),
  defineList({
    name: 'payment-links',
    title: 'Payment links',
    unit: ['request', 'requests'],
    source: withPerson('reporting.payment_requests'),
    columns: 'requested_at name mobile doctor_id net_amount payment_link',
    also: 'business_id day patient_id appointment_id delivery_id',
    links: toRecord('requested_at', 'payment_request', 'delivery_id'),
    order: 'requested_at desc, business_id, delivery_id',
    newestDayFirst: true,
    leadsWithBusiness: true,
    places: ['business', 'doctor'],
    phone: 'requested_at net_amount name payment_link',
  }),
  defineList({
    name: 'callbacks',
    title: 'Callbacks',
    unit: ['callback', 'callbacks'],
    tab: ['callbacks', 'Stored'],
    source: sql`(
      select i.id as delivery_id, i.family, i.event, i.business_id, i.received_at, reporting.day(i.received_at) as day, i.event_time,
        p.error, coalesce(receipt_number, i.family) as record, 1 + coalesce(resent.count, 0) as times,
        case when p.id is null then 'applied' when p.next_at = 'infinity' then 'failed' else 'waiting' end as state,
        ${causeOfFailure} as cause
      from receiver.inbox i left join receiver.pending_deliveries p using (id) left join receiver.resends resent using (id)
      left join public.receipts r on r.business_id = i.business_id
        and r.receipt_id = case when i.family = 'receipt' then i.record_id::bigint end)`,
    columns: 'received_at event record times state',
    also: 'delivery_id business_id family day event_time',
    own: {
      family: { label: 'Kind of record', kind: 'code' },
      record: { label: 'Record', kind: 'code' },
      times: { label: 'Times', kind: 'figure' },
    },
    links: {
      received_at: ({ delivery_id }) => hrefTo(`/callbacks/${delivery_id}`),
      record: ({ family, business_id, delivery_id }) => recordHref(family!, business_id!, delivery_id!),
    },
    words: { event: String, record: (value) => familyTitles[value] ?? words(value) },
    order: 'received_at desc, delivery_id desc',
    newestDayFirst: true,
    range: 'today',
    places: ['business'],
    choices: { family: familyTitles },
    given: { cause: { shown: 'One cause', where: (cause) => sql`cause = ${cause}` } },
    // What waits is found by its ids: otherwise every callback would be read.
    states: {
      failed:
        "delivery_id = any(array(select id from receiver.pending_deliveries where next_at = 'infinity'))",
      waiting:
        "delivery_id = any(array(select id from receiver.pending_deliveries where next_at < 'infinity'))",
      applied: 'true',
    },
    phone: 'event record received_at state',
  }),
  defineList({
    name: 'rejected',
    title: 'Rejected messages',
    unit: ['message', 'messages'],
    tab: ['callbacks', 'Rejected'],
    source: sql`(
      select id as quarantine_id, business_id, last_received_at, reporting.day(last_received_at) as day, reason, family, count as times,
        coalesce((select word from (select ${eventOfRejected} as word) event where word = any(${events})), family) as event,
        (select string_agg(ltrim(replace(e->>'path', '/data/', ''), '/') || ' ' || (e->>'message'), '; ') from jsonb_array_elements(errors) e)
          as errors, ${causeOfRejection} as cause
      from receiver.quarantine where replayed_at is null)`,
    columns: 'last_received_at event errors times',
    also: 'quarantine_id business_id family reason',
    own: {
      last_received_at: { label: 'Received', kind: 'moment' },
      family: { label: 'Kind of record', kind: 'code' },
      errors: { label: 'What is wrong', kind: 'code' },
      times: { label: 'Times', kind: 'figure' },
    },
    links: { last_received_at: ({ quarantine_id }) => hrefTo(`/rejected/${quarantine_id}`) },
    words: { errors: String, event: (value) => familyTitles[value] ?? value },
    order: 'last_received_at desc, quarantine_id',
    range: 'all',
    places: ['business'],
    choices: { family: familyTitles, reason: reasons },
    given: { cause: { shown: 'One cause', where: (cause) => sql`cause = ${cause}` } },
    phone: 'event times last_received_at errors',
  }),
  defineList({
    name: 'access-log',
    title: 'Access log',
    unit: ['entry', 'entries'],
    role: 'privacy',
    // The hashes of a large download are not read.
    source: `(select entry, at, reporting.day(at) as day, coalesce(actor_name, actor) as who, actor, address, action, rows, subjects,
      case when pg_column_size(subjects) < 20000 then cardinality(subjects)::text else 'hundreds' end as patients, filter::text as details
      from public.access_log)`,
    columns: 'at who action rows patients details',
    also: 'entry actor address',
    own: {
      at: { label: 'When', kind: 'moment' },
      who: { label: 'Who', kind: 'code' },
      rows: { label: 'Rows', kind: 'figure' },
      patients: { label: 'Patients', kind: 'code' },
      details: { label: 'Details', kind: 'code' },
    },
    links: {
      who: ({ actor }) => hrefTo('/access-log', { person: actor! }),
      details: ({ details }) => messageHref(details!),
    },
    words: { who: String, patients: (value) => (value === '0' ? '–' : value), details: describeDetails },
    order: 'entry desc',
    range: 'all',
    places: [],
    choices: { action: actions },
    given: {
      person: { label: 'Person', shown: '', where: (text) => sql`(actor = ${text} or who = ${text})` },
      patient: {
        shown: 'One patient',
        where: (handle, config) => {
          const subjects = subjectsOfHandle(config, handle);
          return subjects && isAbout(subjects);
        },
      },
    },
    phone: 'who action at details',
  }),
];

export const listNamed = (name: string): List => lists.find((list) => list.name === name)!;
