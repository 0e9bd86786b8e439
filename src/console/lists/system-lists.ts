import { sql } from 'kysely';
import { type Family, titleOf } from '../../callbacks/families/family.ts';
import { families } from '../../callbacks/families/index.ts';
import { titled, uuid } from '../../common/words.ts';
import { causeOfFailure } from '../../inbox/list-deliveries.ts';
import { causeOfRejection } from '../../inbox/replay.ts';
import { isAbout } from '../../privacy/patient.ts';
import { BadInput } from '../page.ts';
import { subjectsOfHandle } from '../patient-handle.ts';
import { hrefTo, recordHref } from '../ui/context.ts';
import { defineList, type List } from './list.ts';
import { actions, describeDetails, reasons } from './wording.ts';

export const titlesOf = (families: readonly Family[]) =>
  Object.fromEntries(families.map((family) => [family.name, titled(titleOf(family))]));
export const familyTitles = titlesOf(families);

function messageHref(details: string): string | undefined {
  const { delivery, quarantine } = JSON.parse(details);
  if (uuid.test(delivery)) return hrefTo(`/callbacks/${delivery}`);
  return uuid.test(quarantine) ? hrefTo(`/rejected/${quarantine}`) : undefined;
}

const ofOneCause: List['given'] = { cause: { shown: 'One cause', where: (cause) => sql`cause = ${cause}` } };

export const systemLists: readonly List[] = [
  defineList({
    name: 'callbacks',
    title: 'Callbacks',
    unit: ['callback', 'callbacks'],
    tab: ['callbacks', 'Stored'],
    source: sql`(
      select i.id as delivery_id, i.family, i.event, i.business_id, i.received_at, reporting.day(i.received_at) as day, i.event_time,
        coalesce((
          select r.receipt_number from public.receipts r where r.business_id = i.business_id
            and r.receipt_id = case when i.family = 'receipt' then i.record_id::bigint end
        ), replace(i.family, '_', ' ')) as record, 1 + coalesce(resent.count, 0) as times,
        ${causeOfFailure} as cause,
        case when p.next_at = 'infinity' then 'failed' when p.next_at is not null then 'waiting' else 'applied' end as state
      from receiver.inbox i left join receiver.pending_deliveries p using (id) left join receiver.resends resent using (id))`,
    columns: 'received_at:note event:title record:amount times state:badge',
    also: 'delivery_id business_id family day event_time',
    links: {
      received_at: ({ delivery_id }) => hrefTo(`/callbacks/${delivery_id}`),
      record: ({ family, business_id, delivery_id }) => recordHref(family!, business_id!, delivery_id!),
    },
    words: { record: (value) => familyTitles[value.replaceAll(' ', '_')] ?? value },
    order: 'received_at desc, delivery_id desc',
    range: 'today',
    choices: { state: { failed: 'Failed', waiting: 'Waiting', applied: 'Applied' }, family: familyTitles },
    given: ofOneCause,
    // What waits is found by its ids: otherwise every callback would be read.
    narrowed: {
      failed: sql`delivery_id = any(array(select id from receiver.pending_deliveries where next_at = 'infinity'))`,
      waiting: sql`delivery_id = any(array(select id from receiver.pending_deliveries where next_at < 'infinity'))`,
    },
  }),
  defineList({
    name: 'rejected',
    title: 'Rejected messages',
    unit: ['message', 'messages'],
    tab: ['callbacks', 'Rejected'],
    source: sql`(
      select id as quarantine_id, business_id, last_received_at, reporting.day(last_received_at) as day, reason, family, count as times,
        (select string_agg(ltrim(replace(e->>'path', '/data/', ''), '/') || ' ' || (e->>'message'), '; ') from jsonb_array_elements(errors) e)
          as errors, ${causeOfRejection} as cause
      from receiver.quarantine where replayed_at is null)`,
    columns: 'last_received_at:amount family:title errors:note times',
    also: 'quarantine_id business_id reason',
    links: { last_received_at: ({ quarantine_id }) => hrefTo(`/rejected/${quarantine_id}`) },
    order: 'last_received_at desc, quarantine_id',
    range: 'all',
    choices: { family: familyTitles, reason: reasons },
    given: ofOneCause,
  }),
  defineList({
    name: 'access-log',
    title: 'Access log',
    unit: ['entry', 'entries'],
    tab: ['access-log', 'Entries'],
    role: 'privacy',
    // The hashes of a large download are not read.
    source: `(select entry, at, reporting.day(at) as day, coalesce(actor_name, actor) as who, actor, address, action, rows, subjects,
      case when pg_column_size(subjects) < 20000 then cardinality(subjects)::text else 'hundreds' end as patients, filter::text as details
      from public.access_log)`,
    columns: 'at:note who:title action:amount rows patients details:badge',
    also: 'entry actor address',
    links: {
      who: ({ actor }) => hrefTo('/access-log', { person: actor! }),
      details: ({ details }) => messageHref(details!),
    },
    words: { patients: (value) => (value === '0' ? '–' : value), details: describeDetails },
    order: 'entry desc',
    range: 'all',
    choices: { action: actions },
    given: {
      person: { label: 'Person', shown: '', where: (text) => sql`(actor = ${text} or who = ${text})` },
      patient: {
        shown: 'One patient',
        where: (handle, config) => {
          const subjects = subjectsOfHandle(config, handle);
          if (!subjects) throw new BadInput('This address is not valid any more.');
          return isAbout(subjects);
        },
      },
    },
  }),
  defineList({
    name: 'erasures',
    title: 'Erased patients',
    unit: ['erasure', 'erasures'],
    tab: ['access-log', 'Erased patients'],
    role: 'privacy',
    source: `(select id::text as certificate, actor as who, started_at, completed_at, reporting.day(started_at) as day,
      (select string_agg(key || ' ' || value, ', ' order by key) from jsonb_each_text(counts)) as messages from receiver.erasures)`,
    columns: 'started_at completed_at:badge who messages:note certificate:title',
    order: 'started_at desc, certificate',
    range: 'all',
  }),
];
