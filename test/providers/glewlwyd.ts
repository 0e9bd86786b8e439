import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { clientSecret } from '../support/oidc-settings.ts';
import { createBrowser } from './cookie-jar.ts';
import type { Place, RealProvider } from './real-provider.ts';

const documents = '/usr/share/doc/glewlwyd';
const unpack = (path: string) => gunzipSync(readFileSync(join(documents, path))).toString();
const user = { username: 'asha', password: 'a-password-of-tests' };

/** Glewlwyd, whose role is a property of the user. */
export const glewlwyd: RealProvider = {
  name: 'Glewlwyd',
  issuerAt: (origin) => `${origin}/api/oidc`,
  env: {},
  refreshes: true,

  prepare: ({ folder, origin, port }) => {
    const database = join(folder, 'database');
    execFileSync('sqlite3', [database], { input: unpack('database/init.sqlite3.sql.gz') });
    const settings = unpack('glewlwyd.conf.sample.gz')
      .replace(/^port=.*/m, `port=${port}`)
      .replace(/^external_url=.*/m, `external_url="${origin}"`)
      .replace(/^cookie_domain=.*/m, 'cookie_domain="127.0.0.1"')
      .replace(/^cookie_secure=.*/m, 'cookie_secure=0')
      .replace(/path = ".*glewlwyd\.db"/, `path = "${database}"`);
    const file = join(folder, 'glewlwyd.conf');
    writeFileSync(file, settings);
    return { command: 'glewlwyd', args: [`--config-file=${file}`] };
  },

  register: async (place) => {
    const send = sender(place);
    await send('POST', '/auth', { username: 'admin', password: 'password' });
    const users = await (await send('GET', '/mod/user/database')).json();
    users.parameters['data-format'].role = { multiple: false, read: true, write: true };
    await send('PUT', '/mod/user/database', users);
    await send('PUT', '/mod/user/database/reset');
    await send('POST', '/mod/plugin/', plugin(place));
    await send('POST', '/client/', {
      client_id: 'console',
      name: 'console',
      confidential: true,
      enabled: true,
      password: clientSecret,
      redirect_uri: [place.redirectUri],
      authorization_type: ['code', 'refresh_token'],
      token_endpoint_auth_method: ['client_secret_basic'],
      scope: ['openid'],
    });
    const more = { name: 'Asha Rao', email: 'asha@clinic.example', enabled: true, role: 'operator' };
    await send('POST', '/user/', { ...user, ...more, scope: ['openid', 'g_profile'] });
  },

  signIn: async (place, address) => {
    const browser = createBrowser();
    const send = sender(place, browser);
    await send('POST', '/auth', user);
    await send('PUT', '/auth/grant/console', { scope: 'openid' });
    return browser.follow(await browser.request(`${address}&g_continue`), place.redirectUri);
  },
};

function sender({ origin }: Place, { request } = createBrowser()) {
  return async (method: string, path: string, body?: object) => {
    const response = await request(`${origin}/api${path}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
}

const plugin = ({ origin, privateKey, publicKey }: Place) => ({
  module: 'oidc',
  name: 'oidc',
  display_name: 'OpenID Connect',
  parameters: {
    iss: `${origin}/api/oidc`,
    'jwt-type': 'rsa',
    'jwt-key-size': '256',
    key: privateKey,
    cert: publicKey,
    'access-token-duration': 3600,
    'refresh-token-duration': 86_400,
    'code-duration': 600,
    'refresh-token-rolling': true,
    'refresh-token-one-use': 'always',
    'allow-non-oidc': false,
    'auth-type-code-enabled': true,
    'auth-type-token-enabled': false,
    'auth-type-id-token-enabled': true,
    'auth-type-password-enabled': false,
    'auth-type-client-enabled': false,
    'auth-type-refresh-enabled': true,
    'auth-type-device-enabled': false,
    'jwks-show': true,
    'pkce-allowed': true,
    'pkce-method-plain-allowed': false,
    'subject-type': 'public',
    'name-claim': 'mandatory',
    'email-claim': 'mandatory',
    claims: [{ name: 'roles', 'user-property': 'role', type: 'string', mandatory: true, scope: [] }],
  },
});
