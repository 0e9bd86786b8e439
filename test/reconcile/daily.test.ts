import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningCore } from '../../src/receiver/feature.ts';
import { changeAliases } from '../../src/reconcile/aliases.ts';
import { addReconcileCommands } from '../../src/reconcile/commands.ts';
import { reconciliation } from '../../src/reconcile/feature.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { coreWith, type Platform, startPlatform } from './platform.ts';

const database = useReceiverDatabase('test');
let platform: Platform;
let core: RunningCore;
beforeEach(async () => {
  platform = await startPlatform(Math.floor(Date.now() / 1000));
  core = coreWith(database, platform);
});
const run = () => reconciliation.tasks!(core)[0]!.run(new AbortController().signal);

describe('names', () => {
  const aliases = async () =>
    (
      await database.rows(
        `select concat_ws(' ', kind, id, alias, 'by', updated_by) as line from receiver.aliases order by kind, id`,
      )
    ).map(({ line }) => line);
  const refresh = async (name: string | null) => {
    platform.directory = { business: { business_id: 'b-1' }, clinics: [{ clinic_id: 'c-1', name }] };
    await run();
    return aliases();
  };
  const byPerson = (alias: string) => changeAliases(core.db, [{ kind: 'clinic', id: 'c-1', alias }], 'asha');

  it('those of the directory are taken, follow it, and stay where it has them no more', async () => {
    const clinics = ['', 'x'.repeat(500), 'a\uD800'].map((name, n) => ({ clinic_id: `c-${n}`, name }));
    const doctors = [5, '5', ''].map((doctor_id) => ({ doctor_id, name: ' Dr\nआशा ' }));
    platform.directory = { business: { business_id: 'b-1', name: 'North' }, clinics, doctors };
    await run();
    await refresh('Lake Road');
    await refresh('Lake Street');
    const names = [
      'business b-1 North by platform',
      'clinic c-1 Lake Street by platform',
      'doctor 5 Dr आशा by platform',
    ];
    expect(await refresh(null)).toEqual(names);
    platform.refuses = { '/dr/v1/business': 403 };
    await expect(refresh('Lake Road')).rejects.toThrow('does not tell whose credentials');
    expect(await aliases()).toEqual(names);
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
    const file = join(tempFolder(), 'aliases.csv');
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
