import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { families } from '../../src/callbacks/families/index.ts';
import { parseConfig } from '../../src/common/config/config.ts';
import type { Core, RunningCore } from '../../src/receiver/feature.ts';
import { changeAliases } from '../../src/reconcile/aliases.ts';
import { addReconcileCommands } from '../../src/reconcile/commands.ts';
import { reconciliation } from '../../src/reconcile/feature.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { coreWith, type Platform, startPlatform } from './platform.ts';

const database = useReceiverDatabase('test');
let platform: Platform;
let core: RunningCore;
beforeEach(async () => {
  platform = await startPlatform(Math.floor(Date.now() / 1000));
  const { publicUrl, paths, authentication } = parseConfig(
    {
      PUBLIC_URL: 'https://receiver.example.org',
      SIGNING_KEYS: 'a-signing-key-of-tests',
      EVENTS_PATH: '/an-unguessable-path',
    },
    families.map(({ name, events, path }) => ({ name, events: Object.keys(events), path })),
  );
  core = coreWith(database, platform, { publicUrl, paths, authentication });
});
const run = (name: string) =>
  reconciliation.tasks!(core)
    .find((task) => task.name === name)!
    .run(new AbortController().signal);

describe('names', () => {
  const aliases = async () =>
    (
      await database.rows(
        `select concat_ws(' ', kind, id, alias, 'by', updated_by) as line from receiver.aliases order by kind, id`,
      )
    ).map(({ line }) => line);
  const refresh = async (name: string | null) => {
    platform.directory = { clinics: [{ clinic_id: 'c-1', name }] };
    await run('directory');
    return aliases();
  };
  const byPerson = (alias: string) => changeAliases(core.db, [{ kind: 'clinic', id: 'c-1', alias }], 'asha');

  it('those of the directory are taken, follow it, and stay where it has them no more', async () => {
    const clinics = ['', 'x'.repeat(500), 'a\uD800'].map((name, n) => ({ clinic_id: `c-${n}`, name }));
    const doctors = [5, '5', ''].map((doctor_id) => ({ doctor_id, name: ' Dr\nआशा ' }));
    platform.directory = { business: { business_id: 'b-1', name: 'North' }, clinics, doctors };
    await run('directory');
    await refresh('Lake Road');
    await refresh('Lake Street');
    const names = [
      'business b-1 North by platform',
      'clinic c-1 Lake Street by platform',
      'doctor 5 Dr आशा by platform',
    ];
    expect(await refresh(null)).toEqual(names);
    platform.refuses = { '/dr/v1/business': 403 };
    expect(await refresh('Lake Road')).toEqual(names);
  });

  it('what a person has entered or removed stays, before and after', async () => {
    await byPerson('The lake');
    expect(await refresh('Lake Road')).toEqual(['clinic c-1 The lake by asha']);
    await byPerson('');
    expect(await refresh('Lake Road')).toEqual(['clinic c-1 by asha']);
    await database.rows('truncate receiver.aliases');
    await refresh('Lake Road');
    await byPerson('Lake Road');
    expect(await refresh('Lake Street')).toEqual(['clinic c-1 Lake Street by platform']);
    await byPerson('The lake');
    expect(await refresh('Lake Road')).toEqual(['clinic c-1 The lake by asha']);
  });

  it('a file is imported by a person and exported again, or not at all where a line is wrong', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'aliases-')), 'aliases.csv');
    const command = (...args: string[]) => runCommand(core, addReconcileCommands, 'aliases', ...args);
    const load = async (content: string | Buffer) => {
      await writeFile(file, content);
      await command('import', file);
    };
    const head = 'kind,id,alias\r\n';
    await expect(load('kind,id\nclinic,c-1')).rejects.toThrow(/first line/);
    await expect(load(`${head}clinic,c-1,A\nroom,r-1,B`)).rejects.toThrow(/Line 3: the kind/);
    await expect(load(`${head}doctor,1.23457E+14,A`)).rejects.toThrow(/Line 2: .*rounded/);
    await expect(load(`${head}doctor,1,A\ndoctor,1,B`)).rejects.toThrow(/Line 3: .*twice/);
    await expect(load(Buffer.from(`${head}doctor,1,\u00e9`, 'latin1'))).rejects.toThrow(/UTF-8/);
    expect(await aliases()).toEqual([]);
    await refresh('Lake Road');
    const content = `${head}clinic,c-1,The lake\r\ndoctor,'=1,"A, B"\r\n`;
    await load(content);
    const byUser = expect.stringMatching(/^(clinic c-1 The lake|doctor =1 A, B) by command:/);
    expect(await aliases()).toEqual([byUser, byUser]);
    expect(await command('export')).toBe(content);
    expect(await database.rows('select action, rows from access_log')).toEqual([
      { action: 'aliases', rows: 2 },
    ]);
  });
});

describe('subscriptions', () => {
  const all = families
    .flatMap(({ events }) => Object.keys(events))
    .filter((event) => !event.endsWith('.reconciled'));
  const ours = {
    ...{ id: 's1', event_names: all, signing_key: 'the-key' },
    endpoint: 'https://receiver.example.org/an-unguessable-path',
  };
  const elsewhere = { ...ours, id: 's2', endpoint: 'https://old.example.org/secret', signing_key: '' };
  const checks = async () => {
    const list = (await reconciliation.checks!(core)).filter(({ name }) => name === 'subscriptions');
    expect(JSON.stringify(list)).not.toMatch(/secret|unguessable|the-key/);
    return list.map(({ status, about, title, detail }) => [status, about, `${title}. ${detail}`]);
  };
  const look = async (...subscriptions: object[]) => {
    platform.subscriptions = subscriptions;
    await run('subscriptions');
    return checks();
  };

  it('one that brings every event is enough', async () => {
    const isFine = [['ok', undefined, expect.stringContaining('lead here')]];
    expect(await look(ours)).toEqual(isFine);
    expect(await look({ ...ours, event_names: null }, elsewhere, { id: 's3', endpoint: 'arn:x' })).toEqual(
      isFine,
    );
    const { publicUrl: _, ...config } = core.config;
    core = { ...core, config: config as Core['config'] };
    expect(await look({ ...ours, endpoint: 'https://any.example/an-unguessable-path' })).toEqual(isFine);
  });

  it.each([
    ['none', []],
    ['another host', [elsewhere]],
    ['a path that is not served', [{ ...ours, endpoint: 'https://receiver.example.org/secret' }]],
    ['no address', [{ id: 's1' }]],
  ])('none that leads here is found, and nothing else: %s', async (_, subscriptions) => {
    expect(await look(...subscriptions)).toEqual([
      ['warn', undefined, expect.stringContaining('No subscription of the platform leads')],
    ]);
  });

  it('events that only another address gets are found', async () => {
    const [lost, ...rest] = all;
    const wrong = {
      ...{ ...elsewhere, event_names: [lost, rest[0]] },
      endpoint: 'https://receiver.example.org/registered_url_for_consent_form',
    };
    expect(await look({ ...ours, event_names: rest }, wrong)).toEqual([
      ['warn', 's2', expect.stringContaining(`on the path of CONSENT_FORMS_PATH: ${lost}. `)],
    ]);
  });

  it('what was not compared for three days is not known, nor before the first look', async () => {
    const unknown = [['warn', undefined, expect.stringContaining('not known')]];
    expect(await checks()).toEqual(unknown);
    await look(ours);
    platform.refuses = { '/notification': 403 };
    await expect(run('subscriptions')).rejects.toThrow(/403/);
    expect((await checks())[0]![0]).toBe('ok');
    await database.rows(
      `update receiver.settings set value = jsonb_set(value::jsonb, '{at}', to_jsonb(now() - interval '73 hours')) where name = 'subscriptions'`,
    );
    expect(await checks()).toEqual(unknown);
  });
});
