import { reportGroups } from '../../src/reports/reports.ts';
import { samples } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { useConsole } from './use-console.ts';

const { database, visitor } = useConsole();

/** Words of operations, which the clinic's staff never meets. */
const words = /\b(deliver(y|ies)|quarantined?|p95|schemas?|famil(y|ies)|drift|envelopes?)\b/gi;

/** What somebody reads of a page, without the navigation. */
function contentOf(page: string): string {
  const main = page.slice(page.indexOf('<main'), page.indexOf('</main'));
  // Names in SQL are as they are.
  return main.replaceAll(/<code>.*?<\/code>/gs, ' ').replaceAll(/<[^>]*>/g, ' ');
}

beforeAll(async () => {
  await apply(
    database,
    Object.values(samples).map((sample) => sample()),
  );
});

it('no page of the clinic’s group has a word of operations', async () => {
  const [receipt] = await database.rows(
    'select business_id as business, receipt_id::text as id from receipts',
  );
  const [appointment] = await database.rows(
    'select business_id as business, appointment_id as id from appointments',
  );
  const record = (family: string, key: Record<string, unknown>) =>
    `/records/${family}?${new URLSearchParams(key as Record<string, string>)}`;
  const found = new Map<string, string[]>();
  const note = (path: string, page: string) => {
    expect([path, page.includes('<main')]).toEqual([path, true]);
    const met = [...new Set(contentOf(page).match(words) ?? [])];
    if (met.length > 0) found.set(path, met);
  };
  const { operations: _, ...ofClinic } = reportGroups;
  const views = Object.values(ofClinic).flatMap(({ reports }) => reports.map(({ view }) => view));
  for (const path of [
    '/today',
    '/patients',
    '/reports',
    '/search?q=nobody',
    record('receipt', receipt!),
    record('appointment', appointment!),
    ...views.map((view) => `/reports/${view}?range=all`),
  ]) {
    note(path, await visitor.read(path));
  }
  const patient = await visitor.post('/patients', {
    family: 'receipt',
    business: String(receipt!.business),
    record: String(receipt!.id),
  });
  note('a patient', await patient.text());
  expect(Object.fromEntries(found)).toEqual({});
});
