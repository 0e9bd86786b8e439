import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { admissionOf, type Family, families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { createParser } from '../../src/intake/parse-callback.ts';
import { subjectOfBody } from '../../src/intake/subject-of-body.ts';
import { samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { documented } from '../support/platform/documented.ts';
import { meaningOf, seeded } from '../support/platform/meanings.ts';
import { spell } from '../support/platform/spellings.ts';

const database = useDatabase();

const part = fc.oneof(
  fc.constantFrom('ipd', 'admissions', 'adm-1', '', '\n', '😀'.repeat(200), 'x'.repeat(200), 'x'.repeat(201)),
  fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
);

it('the receiver and PostgreSQL read the same admission from a transaction_id', async () => {
  const transaction = fc.array(part, { maxLength: 6 }).map((parts) => parts.join('/'));
  await fc.assert(
    fc.asyncProperty(fc.array(transaction, { minLength: 50, maxLength: 50 }), async (texts) => {
      const rows = await database.rows(
        'select admission_of(text) as admission from unnest($1::text[]) with ordinality as t(text, place) order by place',
        [texts],
      );
      expect(rows.map(({ admission }) => admission)).toEqual(texts.map((text) => admissionOf(text) ?? null));
    }),
    { numRuns: 40 },
  );
});

it('a transaction_id of any length is stored', async () => {
  const parse = createParser(families);
  const long = randomBytes(20_000).toString('base64url');
  const deliveries = [`ipd/b/admissions/${long}/events/1`, long].map((transaction_id, event_time) => {
    const body = Buffer.from(JSON.stringify({ ...samples.admission_event(), event_time, transaction_id }));
    return { id: parse(body).id, family: 'admission_event', body };
  });
  expect(await insertDeliveries(database.pool, deliveries)).toEqual(['accepted', 'accepted']);
});

it('a body is about the same thing and patient for the receiver and for PostgreSQL, in either spelling', async () => {
  const random = seeded(7);
  const parse = createParser(families);
  const list: readonly Family[] = families;
  const events = documented.flatMap((of) => Object.keys(of.events).map((event) => [of, event] as const));
  const bodies = Array.from({ length: 600 }, () => {
    const [of, event] = random.pick(events);
    return Buffer.from(
      JSON.stringify(spell(meaningOf(of, event, random), random.pick(['documented', 'seen']), random)),
    );
  });
  const known = bodies.map((body) => ({
    family: parse(body).family.name,
    envelope: JSON.parse(body.toString()),
  }));
  const rows = await database.rows(
    `select thing_family(family) as family, coalesce(envelope->>'business_id', '') as business,
            thing_of(family, envelope) as thing, patient_of(envelope) as patient, envelope->'event_time' as "eventTime"
     from jsonb_to_recordset($1::jsonb) as known(family text, envelope jsonb)`,
    [JSON.stringify(known)],
  );
  expect(bodies.map((body) => subjectOfBody(body, list))).toEqual(rows);
});
