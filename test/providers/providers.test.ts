import { createLog } from '../../src/common/log.ts';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { useConsole } from '../console/use-console.ts';
import { cookieHeader } from '../support/fake-provider.ts';
import { oidcSettings } from '../support/oidc-settings.ts';
import { glewlwyd } from './glewlwyd.ts';
import { installProviders } from './install.ts';
import { lemonldap } from './lemonldap.ts';
import { startRealProvider } from './real-provider.ts';

beforeAll(installProviders, 300_000);
const { database, startAnother } = useConsole();

it.each([glewlwyd, lemonldap])('a user signs in with $name, and is asked about again', async (provider) => {
  const port = await freePort();
  const settings = oidcSettings(provider.issuerAt(`http://127.0.0.1:${port}`), provider.env);
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const { url } = await startAnother({ oidc: { ...settings, recheckMs: 0 }, log });
  const { signIn, stop } = await startRealProvider(provider, port, `${url}/console/sign-in/callback`);
  try {
    const start = await fetch(`${url}/console/sign-in/start`, { redirect: 'manual' });
    const headers = { cookie: cookieHeader(start.headers.getSetCookie()) };
    const back = await fetch(await signIn(start.headers.get('location')!), { headers, redirect: 'manual' });
    expect([back.status, lines.filter((line) => line.includes('sign-in'))]).toEqual([200, []]);
    let cookie = cookieHeader(back.headers.getSetCookie());
    expect(cookie.includes('receiver_console_refresh=')).toBe(provider.refreshes);
    const entries = await database.rows('select * from access_log order by entry desc limit 1');
    expect(entries).toMatchObject([{ action: 'sign-in', filter: { role: 'operator' } }]);
    for (let i = 0; i < 2; i += 1) {
      const page = await fetch(`${url}/console/aliases`, { headers: { cookie } });
      expect([page.status, await page.text()]).toEqual([
        200,
        expect.stringContaining('<span>operator</span>'),
      ]);
      const [session] = cookie.split('; ');
      cookie = `${session}; ${cookieHeader(page.headers.getSetCookie())}`;
    }
  } finally {
    await stop();
  }
});
