import { reports } from '../../src/reports/reports.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { untilServed } from '../support/service.ts';
import { pagesOf } from './pages.ts';
import { signInTo } from './visitor.ts';

/**
 * Opens every kind of page of a console, and does everything that it can do: for databases, roles and poolers other than
 * those of the console's own tests. It needs an applied receipt and a rejected body.
 *
 * @param rows queries the tables
 * @param see is shown each page
 */
export async function tourConsole(
  url: string,
  rows: (query: string) => Promise<Record<string, unknown>[]>,
  see: (path: string, page: string) => void = () => {},
): Promise<void> {
  const visitor = await signInTo(url);
  const [receipt] = await rows(
    `select business_id, receipt_id::text as id, delivery_id, patient_oid as patient, mobile from receipts
     where patient_oid <> '' limit 1`,
  );
  const { business_id: business, id, delivery_id: delivery, patient } = receipt as Record<string, string>;
  const [{ id: body } = {}] = await rows('select id from quarantine where replayed_at is null limit 1');
  const record = { business: business!, id: id! };
  const gets = [
    ...pagesOf({ delivery: delivery!, body: String(body), receipt: record }),
    `/deliveries?business=${business}&receipt=${id}`,
    '/deliveries?order=event',
    `/search?q=${id}`,
    `/search?q=${encodeURIComponent(String(receipt!.mobile))}`,
    ...reports.flatMap(({ view }) => ['csv', 'xlsx'].map((format) => `/reports/${view}/${format}`)),
  ];
  for (const path of gets) {
    const response = await untilServed(() => visitor.get(path));
    const text = await response.text();
    // A single hit leads to its page.
    const mayLead = path.startsWith('/search');
    expect([path, response.status]).toEqual([path, mayLead ? expect.any(Number) : 200]);
    expect(response.status).toBeLessThan(400);
    if (isPage(response)) see(path, text);
  }

  const corrected = JSON.stringify(receiptCallback({ data: { receipt_id: 77_001, patient_oid: 'p-tour' } }));
  const posts: [path: string, fields?: Record<string, string>][] = [
    [`/deliveries/${delivery}/personal`],
    ['/records/receipt/personal', record],
    ['/reports/receipts/personal'],
    ['/reports/receipts/csv'],
    ['/aliases', { kind: 'business', id: business!, alias: 'Lake Road' }],
    [`/deliveries/${delivery}/seen`],
    [`/quarantine/${body}/personal`],
    ['/quarantine/preview', { id: String(body), action: 'replay' }],
    ['/quarantine/preview', { id: String(body), action: 'drop' }],
    [`/quarantine/${body}/body`, { body: corrected }],
    ['/replay/preview', { status: 'applied', id: delivery! }],
    ['/replay', { status: 'applied', id: delivery! }],
    ['/patients', { patient: patient! }],
    ['/patients/export', { patient: patient! }],
    ['/patients/hold', { patient: patient! }],
    ['/patients/release', { patient: patient! }],
    ['/patients/erase/preview', { patient: patient! }],
    ['/patients/erase', { patient: 'p-tour' }],
    ['/quarantine/drop', { id: String(body) }],
    ['/sessions/end', { user: 'nobody' }],
  ];
  for (const [path, fields] of posts) {
    const response = await visitor.post(path, fields);
    const redirects = /^\/(aliases|sessions)|\/seen$/.test(path);
    const page = await response.text();
    const fault = response.status < 400 ? '' : page;
    expect([path, response.status, fault]).toEqual([path, redirects ? 303 : 200, '']);
    if (isPage(response) && !redirects) see(path, page);
  }
  expect(await rows('select alias, updated_by from aliases')).toEqual([
    { alias: 'Lake Road', updated_by: 'admin-token' },
  ]);
  expect(await rows(`select from receipts where receipt_id = 77001`)).toEqual([]);
}

const isPage = ({ status, headers }: Response) =>
  status === 200 && headers.get('content-type')?.startsWith('text/html') === true;
