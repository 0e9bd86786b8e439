import fc from 'fast-check';
import pg from 'pg';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';

const word = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !/[\s/?#\\^|]/.test(text));

it('a URL of one host means what it means to the driver', () => {
  const hosts = fc.oneof(fc.domain(), fc.ipV4());
  const ports = fc.option(fc.integer({ min: 1, max: 65_535 }));
  fc.assert(
    fc.property(hosts, ports, word, word, word, (host, port, user, password, database) => {
      const [name, secret, path] = [user, password, database].map(encodeURIComponent);
      const url = `postgresql://${name}:${secret}@${host}${port ? `:${port}` : ''}/${path}`;
      const { hosts: found, ...rest } = parseDatabaseUrl(url);
      const driver = new pg.Client({ connectionString: url });
      expect(rest).toMatchObject({ user, password, database });
      expect([driver.user, driver.password]).toEqual([user, password]);
      expect([found[0].host, found[0].port ?? 5432]).toEqual([driver.host, driver.port]);
    }),
  );
});

it.each<[url: string, hosts: [host?: string, port?: number][], database: string | undefined]>([
  [
    'postgresql://u:p@a:5432,b:5433/db?target_session_attrs=read-write',
    [
      ['a', 5432],
      ['b', 5433],
    ],
    'db',
  ],
  ['postgres://u:p@a,[::1]:5433,10.0.0.1/db', [['a'], ['::1', 5433], ['10.0.0.1']], 'db'],
  [
    'postgresql://u@/db?host=a,b&port=6000',
    [
      ['a', 6000],
      ['b', 6000],
    ],
    'db',
  ],
  ['postgresql:///db?host=/var/run/postgresql', [['/var/run/postgresql']], 'db'],
  ['postgresql://u@%2Fvar%2Frun%2Fpostgresql:5433/db', [['/var/run/postgresql', 5433]], 'db'],
  ['postgresql://', [[]], undefined],
])('%s leads to its hosts in their order', (url, hosts, database) => {
  const expected = hosts.map(([host, port]) => ({ host, port }));
  expect(parseDatabaseUrl(url)).toMatchObject({ hosts: expected, database });
});

it.each([
  ['options=-c%20search_path%3Dx', 'must not have the parameter options: .*DATABASE_SCHEMA'],
  ['schema=x', 'must not have the parameter schema: .*DATABASE_SCHEMA'],
  ['client_encoding=LATIN1', 'must not have the parameter client_encoding: known are sslmode, '],
  ['statement_timeout=1', 'must not have the parameter statement_timeout'],
  ['target_session_attrs=any', 'target_session_attrs=read-write or none'],
  ['sslmode=prefer', 'must have one of sslmode=disable, no-verify, verify-ca, verify-full, require'],
  ['sslmode=constructor', 'must have one of sslmode='],
  ['ssl=maybe', 'must have one of sslmode='],
  ['sslmode=verify-ca', 'must have sslrootcert with sslmode=verify-ca'],
  ['sslrootcert=package.json', 'has sslrootcert=package.json, which is no such file in PEM format'],
  ['sslcert=package.json', 'must have both sslcert and sslkey'],
])('the parameter %s is refused, with what to do instead', (query, message) => {
  expect(() => parseDatabaseUrl(`postgresql://u:p@a/db?${query}`)).toThrow(new RegExp(message));
});

it.each(['a:b', 'a:70000', '[::1', 'a b:c'])('the host %s is refused', (host) => {
  expect(() => parseDatabaseUrl(`postgresql://u:p@${host}/db`)).toThrow('must have hosts such as');
});

it.each(['/', '@'])('a password with an unencoded %s is not in the error', (character) => {
  const url = `postgresql://u:7:secret${character}secret@a/db`;
  expect(() => parseDatabaseUrl(url)).toThrow(/^(?!.*secret).*percent-encode/);
});
