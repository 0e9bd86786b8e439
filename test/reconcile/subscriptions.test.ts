import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { compareWithPlatform } from '../../src/reconcile/daily.ts';
import { compareSubscriptions, type Subscription } from '../../src/reconcile/subscriptions.ts';
import { useDatabase } from '../support/database.ts';

const env = {
  PUBLIC_URL: 'https://receiver.example.org',
  SIGNING_KEYS: 'a-signing-key-of-tests',
  EVENTS_PATH: '/an-unguessable-path',
};
const all = families.flatMap(({ events }): readonly string[] => events);
const ours: Subscription = {
  id: 's1',
  event_names: all,
  endpoint: 'https://receiver.example.org/an-unguessable-path',
  signing_key: 'the-key',
};

const compare = (subscriptions: Subscription[], more: Record<string, string> = {}) =>
  compareSubscriptions(subscriptions, { config: parseConfig({ ...env, ...more }, families), families });
const kinds = (...given: Parameters<typeof compare>) =>
  compare(...given).map(({ kind, subject }) => [kind, subject]);

it('one subscription that brings every event, signed, differs in nothing', () => {
  expect(compare([ours])).toEqual([]);
  expect(compare([{ ...ours, event_names: null }])).toEqual([]);
  const elsewhere = { ...ours, id: 's2', endpoint: 'https://warehouse.example.org/', signing_key: '' };
  expect(compare([ours, elsewhere, { ...elsewhere, endpoint: 'arn:aws:lambda:x' }])).toEqual([]);
});

it.each<[string, Subscription[]]>([
  ['none', []],
  ['another host', [{ ...ours, endpoint: 'https://old.example.org/an-unguessable-path' }]],
  ['a path that is not served', [{ ...ours, endpoint: 'https://receiver.example.org/other' }]],
  ['no web address', [{ ...ours, endpoint: 'arn:aws:lambda:eu:1:function:x' }]],
  ['no address', [{ id: 's1' }]],
])('without a subscription that leads here, that alone is found: %s', (_, subscriptions) => {
  expect(kinds(subscriptions)).toEqual([['missing', '']]);
});

it('an event that only another address gets is found with that address, and one of a wrong path', () => {
  const [lost, ...rest] = all;
  const here = { ...ours, event_names: rest };
  const there = { ...ours, id: 's2', event_names: [lost!, rest[0]!], endpoint: 'https://old.example.org/x' };
  expect(compare([here, there])).toEqual([
    expect.objectContaining({
      kind: 'elsewhere',
      subject: 's2',
      detail: expect.stringContaining(`: ${lost}.`),
    }),
  ]);
  const wrong = { ...there, endpoint: 'https://receiver.example.org/registered_url_for_consent_form' };
  expect(lost).toMatch(/^receipt/);
  expect(compare([here, wrong])[0]!.detail).toMatch(/on the path of CONSENT_FORMS_PATH: receipt\.\w+\. /);
});

it('a subscription without a signing key is found, and that its callbacks are rejected where there are keys', () => {
  const unsigned = { ...ours, signing_key: '' };
  expect(kinds([unsigned])).toEqual([['unsigned', 's1']]);
  expect(compare([unsigned])[0]!.detail).toContain('are rejected');
  expect(compare([unsigned], { SIGNING_KEYS: '' })[0]!.detail).not.toContain('are rejected');
});

it('without PUBLIC_URL, the paths alone are compared', () => {
  expect(
    compare([{ ...ours, endpoint: 'https://any.example/an-unguessable-path' }], { PUBLIC_URL: '' }),
  ).toEqual([]);
});

it('no text of a finding has a path or a key, which are secrets', () => {
  const found = [
    compare([
      { ...ours, event_names: [all[0]!] },
      { ...ours, id: 's2', endpoint: 'https://old.example.org/secret' },
    ]),
    compare([{ ...ours, endpoint: 'https://receiver.example.org/secret' }]),
    compare([{ ...ours, signing_key: '' }]),
  ];
  expect(JSON.stringify(found)).not.toMatch(/secret|unguessable|the-key/);
});

describe('the daily comparison', () => {
  const database = useDatabase({ per: 'test' });
  let listed: Subscription[];
  const client = {
    listSubscriptions: async () => {
      if (listed.length === 0) throw new Error('The platform is unavailable.');
      return { data: listed };
    },
    directory: async () => ({ data: { clinics: [{ clinic_id: 'c-1', name: 'Lake Road' }] } }),
  };
  const pass = (signal?: AbortSignal) => {
    const config = parseConfig(env, families);
    const log = createLog('silent');
    return compareWithPlatform(
      { db: database.db, client, config, families, actor: { id: 'worker' }, log },
      signal,
    );
  };
  const problems = async () =>
    (await readProblems(database.pool)).map(({ kind, subject, status }) => [kind, subject, status]);

  it('its differences are problems until a comparison does not find them', async () => {
    listed = [{ ...ours, event_names: ['receipt.created'], signing_key: null }];
    await pass();
    expect(await problems()).toEqual([['subscriptions', 's1', 'warn']]);
    listed = [];
    await pass();
    expect(await problems()).toHaveLength(1);
    listed = [ours];
    await pass();
    expect(await problems()).toEqual([]);
  });

  it('after three days without one, nothing is known', async () => {
    listed = [{ ...ours, signing_key: null }];
    await pass();
    await database.rows(`update platform_checks set checked_at = now() - interval '73 hours'`);
    expect(await problems()).toEqual([]);
  });

  it('what fails hides no other, and a stop ends it', async () => {
    listed = [];
    await pass();
    expect(await database.rows('select id, alias from aliases')).toEqual([{ id: 'c-1', alias: 'Lake Road' }]);
    await expect(pass(AbortSignal.abort())).rejects.toThrow(/aborted/);
  });
});
