import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { readLockFile } from '../../src/store/embedded/processes.ts';
import { isOutage, isUnavailable } from '../../src/store/faults.ts';
import { openPool, withClient } from '../../src/store/pool.ts';
import { adminToken, signInTo } from '../console/visitor.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { spawnReceiver, spawnService } from '../support/process.ts';
import { selfSigned } from '../support/self-signed.ts';
import { post } from '../support/service.ts';
import { startPrimary, type TestServer } from '../support/standby.ts';
import { until } from '../support/until.ts';

let server: TestServer;
const folder = mkdtempSync(join(tmpdir(), 'receiver-tls-'));
const file = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
// A self-signed certificate is its own authority.
const authority = file('authority.crt', selfSigned.cert);
const otherAuthority = file('other.crt', rootCertificates[0]!);
const key = file('client.key', selfSigned.key);

beforeAll(async () => {
  // The certificate does not have the second address.
  server = await startPrimary(['listen_addresses=127.0.0.1,127.0.0.2']);
  const { home, user } = server.place;
  for (const [name, text] of Object.entries(selfSigned)) {
    const path = join(home, `server.${name}`);
    writeFileSync(path, text, { mode: 0o600 });
    if (user) chownSync(path, user.uid, user.gid);
  }
  await set('ssl_cert_file', join(home, 'server.cert'));
  await set('ssl_key_file', join(home, 'server.key'));
  await set('ssl_ca_file', join(home, 'server.cert'));
  await set('ssl', 'on');
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

async function set(name: string, value: string) {
  await server.rows(`alter system set ${name} = '${value}'`);
  await server.rows('select pg_reload_conf()');
  await until(async () => (await server.rows(`show ${name}`))[0]![name] === value);
}

const urlOf = (query: string, host = '127.0.0.1') =>
  `${server.url.replace('@127.0.0.1', `@${host}`)}?${query}`;

/** Whether a connection to a URL is encrypted, or its error. */
async function connect(url: string): Promise<unknown> {
  try {
    const query = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
    return await withClient(url, async (client) => (await client.query(query)).rows[0].ssl);
  } catch (error) {
    expect([isOutage(error), isUnavailable(error)]).toEqual([true, false]);
    return (error as Error).message;
  }
}

const unknown = expect.stringContaining('of an unknown authority: name that in sslrootcert');
const otherName = expect.stringContaining('has another host name');
const root = `sslrootcert=${authority}`;
const other = `sslrootcert=${otherAuthority}`;

it.each<[query: string, right: unknown, wrongName: unknown]>([
  ['', false, false],
  ['sslmode=disable', false, false],
  ['sslmode=no-verify', true, true],
  ['sslmode=require', unknown, unknown],
  ['sslmode=verify-full', unknown, unknown],
  ['ssl=true', unknown, unknown],
  [`sslmode=require&${root}`, true, otherName],
  [`sslmode=verify-full&${root}`, true, otherName],
  [root, true, otherName],
  [`sslmode=verify-full&${other}`, unknown, unknown],
  ['sslmode=verify-full&sslrootcert=system', unknown, unknown],
  [`sslmode=verify-ca&${root}`, true, true],
  [`sslmode=verify-ca&${other}`, unknown, unknown],
  ['uselibpqcompat=true&sslmode=require', true, true],
  [`uselibpqcompat=true&sslmode=require&${root}`, true, true],
  [`uselibpqcompat=true&sslmode=require&${other}`, unknown, unknown],
])('%s checks what is documented', async (query, right, wrongName) => {
  expect([await connect(urlOf(query)), await connect(urlOf(query, '127.0.0.2'))]).toEqual([right, wrongName]);
});

it('a server that asks for a certificate gets it, and the error without one says what is missing', async () => {
  const setRule = async (rule: string, isInForce: (connected: unknown) => boolean) => {
    writeFileSync(join(server.cluster.database, 'pg_hba.conf'), `${rule}\n`);
    process.kill(readLockFile(server.cluster.database)!.pid, 'SIGHUP');
    await until(async () => isInForce(await connect(urlOf(''))));
  };
  await setRule('hostssl all all all scram-sha-256 clientcert=verify-ca', (connected) => connected !== false);
  try {
    expect(await connect(urlOf(''))).toContain('it may want TLS: set sslmode=verify-full');
    expect(await connect(urlOf(root))).toContain('check sslcert and sslkey');
    expect(await connect(urlOf(`${root}&sslcert=${authority}&sslkey=${key}`))).toBe(true);
  } finally {
    await setRule('host all all all scram-sha-256', (connected) => connected === false);
  }
});

it('a file that is replaced is read for the next connection, and one that is missing fails only that', async () => {
  const path = file('replaced.crt', selfSigned.cert);
  const pool = openPool({ connectionString: urlOf(`sslrootcert=${path}`), max: 2 }, () => {});
  try {
    const first = await pool.connect();
    rmSync(path);
    const error = await pool.connect().catch((e: unknown) => e);
    expect(error).toMatchObject({
      message: expect.stringContaining(`has sslrootcert=${path}, which cannot be`),
    });
    expect(isOutage(error)).toBe(true);
    file('replaced.crt', selfSigned.cert);
    (await pool.connect()).release();
    first.release();
  } finally {
    await pool.end();
  }
});

it.each([
  [
    `sslmode=verify-full`,
    1,
    /^receiver: .*PostgreSQL at 127\.0\.0\.1:\d+: its certificate is of an unknown authority.*\n$/,
  ],
  [
    'sslrootcert=/nowhere/ca.crt',
    78,
    /^DATABASE_URL has sslrootcert=\/nowhere\/ca.crt, which cannot be read: ENOENT.*\n$/,
  ],
])('with %s the start ends with one line that says what to do', async (query, code, line) => {
  const service = spawnReceiver(['start'], { PORT: '0', DATABASE_URL: urlOf(query) });
  expect([await service.end(), service.output()]).toEqual([code, expect.stringMatching(line)]);
});

it('every connection of a process is encrypted, with no warning, and NODE_EXTRA_CA_CERTS names an authority', async () => {
  const service = await spawnService({
    DATABASE_URL: urlOf('sslmode=verify-full'),
    NODE_EXTRA_CA_CERTS: authority,
    ADMIN_TOKEN: adminToken,
    METRICS_TOKEN: 'a-metrics-token-of-tests',
  });
  try {
    const visitor = await signInTo(service.url);
    expect((await visitor.get('/deliveries')).status).toBe(200);
    expect((await post(`${service.url}${paths.receipt}`, receiptCallback())).status).toBe(200);
    const rows = () =>
      server.rows(`select application_name as name, bool_and(ssl) as encrypted
                   from pg_stat_activity join pg_stat_ssl using (pid)
                   where application_name like 'receiver%' group by 1 order by 1`);
    await until(async () => (await rows()).length === 6);
    expect(await rows()).toEqual(
      [
        'receiver all',
        'receiver apply',
        'receiver console',
        'receiver inbox',
        'receiver queue',
        'receiver worker queue',
      ].map((name) => ({ name, encrypted: true })),
    );
  } finally {
    await service.end('SIGTERM');
  }
  // From level 40 on, a line of the log is a warning.
  expect(service.output()).not.toMatch(/warning|"level":[456]0/i);
});

it('a server without TLS is an error that says what to do', async () => {
  await set('ssl', 'off');
  expect(await connect(urlOf('sslmode=require'))).toContain('it has no TLS: set ssl=on there');
});
