import { createHmac } from 'node:crypto';
import { sessionCookie } from '../../src/sign-in/cookies.ts';
import { sessionS } from '../../src/store/sessions.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { useConsole } from './use-console.ts';
import { adminToken, postForm, signedBy, signInTo, visitAs, visitWith } from './visitor.ts';

const { database, service, visitor, startAnother } = useConsole();

const user = { id: 'admin-token', role: 'privacy' } as const;
const openWith = async (url: string, cookie: string, path = '/access-log') =>
  (await fetch(`${url}/console${path}`, { headers: { cookie }, redirect: 'manual' })).status;
const lastEntry = async () =>
  (await database.rows('select action, actor, filter from access_log order by entry desc limit 1'))[0];

describe('an attacker', () => {
  it('cannot use a copied cookie once its user has signed out, nor on another receiver', async () => {
    const other = await startAnother({ adminToken });
    const victim = await signInTo(service.url);
    const { cookie } = victim;
    expect([await openWith(service.url, cookie), await openWith(other.url, cookie)]).toEqual([200, 200]);
    const response = await victim.post('/sign-out');
    expect(response.headers.get('set-cookie')).toMatch(/receiver_console=;.*Expires=Thu, 01 Jan 1970/);
    expect(await lastEntry()).toMatchObject({ action: 'sign-out', actor: 'admin-token' });
    expect(await openWith(service.url, cookie)).toBe(401);
    await until(async () => (await openWith(other.url, cookie)) === 401);
    // Others go on, and there is nothing to sign out of any more.
    expect(await openWith(service.url, visitor.cookie)).toBe(200);
    expect((await postForm(`${service.url}/console/sign-out`, {}, { cookie })).status).toBe(401);
    // Nor once receivers are started anew.
    const later = await startAnother({ adminToken });
    expect([await openWith(later.url, cookie), await openWith(later.url, visitor.cookie)]).toEqual([
      401, 200,
    ]);
  });

  it('who knows the admin token cannot make a cookie from it, as the key is not made of it', async () => {
    const key = createHmac('sha256', JSON.stringify([adminToken, ''])).digest();
    const content = { id: 'forged', user, begun: Date.now() };
    const text = Buffer.from(
      JSON.stringify({ expires: Date.now() + 9 * 365 * 86_400_000, content }),
    ).toString('base64url');
    for (const signed of [
      `session:${text}`,
      JSON.stringify(['session', JSON.stringify([adminToken, '']), text]),
    ]) {
      const signature = createHmac('sha256', key).update(signed).digest('base64url');
      expect(await openWith(service.url, `${sessionCookie}=${text}.${signature}`)).toBe(401);
    }
  });

  it('cannot use a cookie that is older than twelve hours, however long it is signed for', async () => {
    const { values } = await signedBy(database, [adminToken, undefined]);
    const cookieOf = (begun: number) => {
      const value = values.write('session', { id: 'x', user, begun }, Date.now() + 365 * 86_400_000);
      return `${sessionCookie}=${value}`;
    };
    expect(await openWith(service.url, cookieOf(Date.now() - sessionS * 1000 + 60_000))).toBe(200);
    expect(await openWith(service.url, cookieOf(Date.now() - sessionS * 1000 - 60_000))).toBe(401);
    expect(await openWith(service.url, cookieOf(Date.now() + 86_400_000))).toBe(401);
  });

  it('who reads the key in a copy of the database cannot make a cookie without the secrets', async () => {
    for (const [secrets, status] of [
      [[adminToken, undefined], 200],
      [[undefined, undefined], 401],
      [['', ''], 401],
    ] as const) {
      const { sessions } = await signedBy(database, [...secrets]);
      expect(await openWith(service.url, `${sessionCookie}=${sessions.begin(user).value}`)).toBe(status);
    }
  });
});

it('the key is one random row, also where several receivers have started, and is not that of another database', async () => {
  await Promise.all([startAnother({ adminToken }), startAnother({ adminToken })]);
  const rows = await database.rows(
    `select length(key) as length, created_at is not null as dated from session_key`,
  );
  expect(rows).toEqual([{ length: 32, dated: true }]);
  await expect(database.rows('insert into session_key (id) values (true)')).rejects.toMatchObject({
    code: '23505',
  });
  await expect(database.rows('insert into session_key (id) values (false)')).rejects.toMatchObject({
    code: '23514',
  });
});

it('all sessions of a user end at every receiver, and not those of others or that begin later', async () => {
  const other = await startAnother({ adminToken });
  const [viewer, operator] = [await visitAs(service.url, 'viewer'), await visitAs(service.url, 'operator')];
  const token = await signInTo(other.url);
  const page = await token.read('/sessions');
  expect(page).toMatch(/name="user" value="admin-token"/);
  expect(await lastEntry()).toMatchObject({ action: 'audit', filter: { page: 'sessions' } });
  const statuses = async (cookie: string) => [
    await openWith(service.url, cookie, '/aliases'),
    await openWith(other.url, cookie, '/aliases'),
  ];
  expect((await operator.post('/sessions/end', { user: 'subject-viewer' })).status).toBe(403);
  expect((await token.post('/sessions/end', { user: 'subject-viewer' })).status).toBe(303);
  expect(await lastEntry()).toEqual({
    action: 'sessions end',
    actor: 'admin-token',
    filter: { user: 'subject-viewer' },
  });
  await until(async () => (await statuses(viewer.cookie)).every((status) => status === 401));
  expect(await statuses(operator.cookie)).toEqual([200, 200]);
  const again = await visitAs(service.url, 'viewer');
  expect(await statuses(again.cookie)).toEqual([200, 200]);

  // One's own too.
  expect((await token.post('/sessions/end', { user: 'admin-token' })).status).toBe(303);
  await until(async () => (await statuses(token.cookie)).every((status) => status === 401));
  expect(await (await signInTo(other.url)).read('/sessions')).toContain('admin-token');
});

it('the command lists who has signed in, ends the sessions of one user, and those of everybody with a new key', async () => {
  const mine = await signInTo(service.url);
  const viewer = await visitAs(service.url, 'viewer');
  const run = async (...args: string[]) => {
    const { code, output } = await runCommand(['sessions', ...args], { DATABASE_URL: database.url });
    return [code, output];
  };
  expect(await run('list')).toEqual([0, expect.stringMatching(/admin-token .*127\.0\.0\.1/)]);
  expect(await run('end')).toEqual([1, expect.stringContaining('name a user, or --all')]);
  expect(await run('end', 'subject-viewer')).toEqual([0, expect.any(String)]);
  expect(await lastEntry()).toMatchObject({
    action: 'sessions end',
    actor: expect.stringMatching(/^command:/),
    filter: { user: 'subject-viewer' },
  });
  await until(async () => (await openWith(service.url, viewer.cookie, '/aliases')) === 401);
  expect(await openWith(service.url, mine.cookie)).toBe(200);

  const [before] = await database.rows('select key from session_key');
  expect(await run('end', '--all')).toEqual([0, expect.any(String)]);
  const [after] = await database.rows('select key from session_key');
  expect(after).not.toEqual(before);
  await until(async () => (await openWith(service.url, mine.cookie, '/aliases')) === 401);
  expect(await lastEntry()).toMatchObject({ action: 'sessions end', filter: { all: true } });
  await until(
    async () => (await postForm(`${service.url}/console/sign-in`, { token: adminToken })).status === 303,
  );
  const next = await signInTo(service.url);
  expect((await visitWith(service.url, next.cookie)).cookie).toBe(next.cookie);
});

it('what has expired is deleted', async () => {
  await database.rows(
    `insert into ended_sessions values ('session', 'old', now() - interval '1 d', now() - interval '1 s')`,
  );
  await (await signInTo(service.url)).post('/sign-out');
  expect(await database.rows(`select from ended_sessions where id = 'old'`)).toEqual([]);
  const [row] = await database.rows(
    `select min(until - ended_at) >= interval '12 h' as enough from ended_sessions`,
  );
  expect(row).toEqual({ enough: true });
});
