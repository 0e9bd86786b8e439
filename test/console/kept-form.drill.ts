import type { Browser } from 'playwright-core';
import { openBrowser } from './browser.ts';
import { useConsole } from './use-console.ts';
import { adminToken, postForm, visitAs } from './visitor.ts';

const { database, service, visitor } = useConsole();
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const own = { 'Sec-Fetch-Site': 'same-origin' };
const fields = { kind: 'business', id: '4711', alias: 'Asha’s "clinic" <b>' };
const post = (cookie: string | undefined, more: Record<string, string> = {}, path = '/aliases') =>
  postForm(`${service.url}/console${path}`, { ...fields, ...more }, { ...own, ...(cookie && { cookie }) });
const aliases = async () => (await database.rows('select id from aliases')).length;

/** The fields of a page's form. */
function fieldsOf(page: string, action: string): Record<string, string> {
  const form = page.split(`action="${action}"`)[1]!.split('</form>')[0]!;
  const text = (value: string) =>
    value.replace(
      /&(lt|gt|quot|amp);/g,
      (_, name: string) => ({ lt: '<', gt: '>', quot: '"', amp: '&' })[name]!,
    );
  return Object.fromEntries(
    Array.from(form.matchAll(/name="([^"]+)" value="([^"]*)"/g), ([, name, value]) => [name!, text(value!)]),
  );
}

it('a form that is posted after the session is kept on the page, and can change nothing there', async () => {
  const response = await post(undefined, { csrf: 'token-of-before' });
  const page = await response.text();
  expect([response.status, response.headers.get('cache-control')]).toEqual([401, 'no-store']);
  expect(fieldsOf(page, '/console/aliases')).toEqual(fields);
  expect(page).not.toContain('token-of-before');
  expect(await aliases()).toBe(0);
});

it('after the next sign-in it has to be confirmed, with everything that was entered', async () => {
  const page = await (await post(undefined)).text();
  const response = await post(visitor.cookie, fieldsOf(page, '/console/aliases'));
  const confirmation = await response.text();
  expect([response.status, await aliases()]).toEqual([409, 0]);
  const { csrf, ...kept } = fieldsOf(confirmation, '/console/aliases');
  expect(kept).toEqual(fields);
  expect((await post(visitor.cookie, { ...kept, csrf: csrf! })).status).toBeLessThan(400);
  expect(await aliases()).toBe(1);
  await database.pool.query('delete from aliases');
});

it('a form of the session before is not lost in the next one', async () => {
  const page = await visitor.read('/aliases');
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)![1]!;
  const next = await visitAs(service.url, 'operator');
  const response = await post(next.cookie, { csrf });
  expect([response.status, await aliases()]).toEqual([409, 0]);
  expect(fieldsOf(await response.text(), '/console/aliases')).toMatchObject(fields);
});

it('nothing is confirmed that another site has sent, or that the user may not post', async () => {
  const viewer = await visitAs(service.url, 'viewer');
  const { cookie } = visitor;
  for (const [path, headers] of [
    ['/aliases', { cookie }],
    ['/aliases', { cookie, 'Sec-Fetch-Site': 'cross-site' }],
    ['/aliases', { cookie, 'Sec-Fetch-Site': 'none' }],
    ['/aliases', { cookie, Origin: 'https://elsewhere.invalid' }],
    ['/aliases', { cookie: viewer.cookie, ...own }],
    ['/nothing', { cookie, ...own }],
  ] as [string, Record<string, string>][]) {
    const response = await postForm(`${service.url}/console${path}`, fields, headers);
    expect([path, response.status]).toEqual([path, 403]);
    expect(await response.text()).not.toContain('4711');
  }
  const foreign = await postForm(`${service.url}/console/aliases`, fields, {
    'Sec-Fetch-Site': 'cross-site',
  });
  expect([foreign.status, (await foreign.text()).includes('4711')]).toEqual([403, false]);
});

it('fields that repeat are kept, with all their lines, and what is too large to keep is not read', async () => {
  const body = new URLSearchParams([
    ['a', '1'],
    ['a', '2\r\n3'],
  ]);
  const send = (sent: URLSearchParams) =>
    fetch(`${service.url}/console/aliases`, { method: 'POST', body: sent, headers: own });
  const page = await (await send(body)).text();
  expect(page.match(/name="a" value="[^"]*"/g)).toEqual(['name="a" value="1"', 'name="a" value="2\r\n3"']);
  const large = await send(new URLSearchParams({ a: 'x'.repeat(70_000) }));
  expect([large.status, (await large.text()).includes('xxx')]).toEqual([401, false]);
});

it('a person who typed a form signs in in another tab, comes back, and sends it', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const addresses: string[] = [];
  context.on('request', (request) => addresses.push(request.url()));
  await page.goto(`${service.url}/console/aliases`);
  await page.getByLabel('Admin token').fill(adminToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  const form = page.getByRole('group', { name: 'Another id' });
  await form.getByLabel('Id', { exact: true }).fill('4712');
  await form.getByLabel('Name', { exact: true }).fill('Dr Asha Rao');
  await context.clearCookies();
  await page.getByRole('button', { name: 'Save all changed names' }).click();

  await page.getByText('Your session has ended').waitFor();
  await page.getByLabel('Admin token').fill(adminToken);
  const [tab] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('button', { name: 'Sign in' }).click(),
  ]);
  await tab.getByRole('heading', { level: 1, name: 'Health' }).waitFor();
  await tab.close();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('cell', { name: 'Dr Asha Rao' }).waitFor();
  expect(await aliases()).toBe(0);
  await page.getByRole('button', { name: 'Send it now' }).click();
  await page.getByRole('heading', { level: 1, name: 'Names' }).waitFor();
  expect(await database.rows('select id, alias from aliases')).toEqual([
    { id: '4712', alias: 'Dr Asha Rao' },
  ]);
  expect(addresses.join()).not.toMatch(/Asha/);
  await context.close();
});
