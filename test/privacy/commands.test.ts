import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { addPrivacyCommands } from '../../src/privacy/commands.ts';
import { privacy } from '../../src/privacy/feature.ts';
import { identifyPatient } from '../../src/privacy/patient.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { commandActor } from '../../src/receiver/store/log-access.ts';
import { coreOf, everything, stateOf, storeAndMerge } from '../support/core.ts';
import { reject } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { testConfig } from '../support/service.ts';
import { tempFolder } from '../support/temp-folder.ts';

const database = useReceiverDatabase('test');
const day = 86_400;
const now = Math.floor(Date.now() / 1000);
let core: Core;
let folder: string;
beforeEach(() => {
  core = coreOf(database, { retention: { receipt: 10 * day * 1000 } });
  folder = tempFolder();
});

const run = (...args: string[]) => runCommand(core, addPrivacyCommands, ...args);
const store = (...callbacks: object[]) =>
  storeAndMerge(core, ...callbacks.map((one) => ({ event_time: now - day, business_id: 'b', ...one })));
const receipt = (data: object, event_time = now - day) => ({ event: 'receipt.created', event_time, data });
const actions = async () =>
  (await database.rows('select action from access_log order by entry')).map(({ action }) => action);
/** All rows but those of the access log. */
const stored = async () =>
  (await everything(core)).split('\n').filter((line) => line && !line.startsWith('public.access_log'));
const withheld = () => database.count('receiver.withheld');

it('show lists what is stored, and says whether there is a hold', async () => {
  const [id] = await store(receipt({ receipt_id: 1, patient_oid: 'P1', name: 'CANARY' }));
  expect(await run('patient', 'show', 'P1')).toMatch(
    new RegExp(`${id}.*receipt.created[^]*There is no hold`),
  );
  expect(await run('patient', 'hold', 'P1')).toContain('Hold placed.');
  expect(await run('patient', 'hold', 'P1')).toContain('There is a hold already.');
  const shown = await run('patient', 'show', 'P1');
  expect(shown).toContain('There is a hold.');
  expect(shown).not.toContain('CANARY');
  expect(await actions()).toEqual(['reveal', 'hold', 'hold', 'reveal']);
});

it('an export is a new file that only its owner can read, with everything that is stored', async () => {
  await store(receipt({ receipt_id: 1, patient_oid: 'P1', name: 'CANARY' }));
  const output = join(folder, 'patient.json');
  expect(await run('patient', 'export', 'P1', '--output', output)).toContain(`${output} written`);
  expect((await stat(output)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(output, 'utf8'))).toMatchObject({
    ids: ['platform:P1'],
    callbacks: [{ callback: { data: { name: 'CANARY' } } }],
    rows: { receipts: [{ name: 'CANARY' }] },
    access: [{ action: 'export' }],
  });
  await expect(run('patient', 'export', 'P1', '--output', output)).rejects.toThrow('EEXIST');
});

it('a dry run lists what an erasure takes and what a person has to look at, and changes nothing', async () => {
  const [, both, note] = await store(
    receipt({ receipt_id: 1, patient_oid: 'P1' }),
    { event: 'x.y', data: { patient_id: 'P1', pid: 'P2' } },
    { event: 'x.note', data: { text: 'about P1' } },
  );
  await reject(database, [receipt({ patient_oid: 'P1' })]);
  const before = await stored();
  const printed = await run('patient', 'erase', 'P1', '--dry-run');
  expect(printed).toMatch(/receipt\.created[ │]+1/);
  expect(printed).toMatch(/x\.y[ │]+1/);
  expect(printed).toContain('Refused bodies, which are taken out of the quarantine: 1');
  expect(printed).toMatch(new RegExp(`lost to those as well:\n${both}\nThe other ids: platform:P2`));
  expect(printed).toMatch(new RegExp(`--also:[^]*${note}[ │]+callback`));
  expect(printed).toContain('Dry run: nothing was changed.');
  expect(await stored()).toEqual(before);
  expect(await actions()).toEqual(['reveal']);
});

it('an erasure asks first, takes what a person has named, and leaves a certificate and the hold', async () => {
  const [, note] = await store(receipt({ receipt_id: 1, patient_oid: 'P1', name: 'CANARY', net_amount: 5 }), {
    event: 'x.note',
    data: { text: 'CANARY, who is P1' },
  });
  await expect(run('patient', 'erase', 'P1')).rejects.toThrow('Use --yes where there is no terminal');
  await expect(run('patient', 'erase', 'P1', '--yes', '--also', 'x')).rejects.toThrow('UUID');
  expect(await everything(core)).toContain('CANARY');
  await run('patient', 'hold', 'P1');
  const printed = await run('patient', 'erase', 'P1', '--yes', '--also', note!);
  expect(printed).toMatch(/other[ │]+1/);
  expect(printed).toMatch(/receipt[ │]+1/);
  const [, certificate] = /Certificate ([\da-f-]{36})\./.exec(printed)!;
  expect(await everything(core)).not.toContain('CANARY');
  expect(await database.rows('select net_amount::int, name from receipts')).toEqual([
    { net_amount: 5, name: null },
  ]);
  expect(await run('erasures', 'list')).toMatch(new RegExp(`${certificate}.*command:`));
  expect(await withheld()).toBe(2);
  // Nobody names the patient any more.
  expect(await run('patient', 'release', 'P1')).toContain('Hold released.');
  expect(await run('patient', 'release', 'platform:P1')).toContain('There is no such hold.');
  expect(await actions()).toEqual(['hold', 'erase', 'release', 'release']);
});

it('an erasure says where rows could not be written yet', async () => {
  await store(receipt({ receipt_id: 1, patient_oid: 'P1', name: 'CANARY' }));
  await database.rows('alter table receipts add constraint named check (name is not null)');
  expect(await run('patient', 'erase', 'P1', '--yes')).toContain('It is not complete');
});

it('an id that may be several people is refused with what to choose from, also for a release', async () => {
  const of = (business_id: string) => ({
    ...{ event: 'appointment.created', business_id },
    data: { appointment_id: 'a', partner_patient_id: '7' },
  });
  await store(of('b1'), of('b2'));
  for (const command of ['show', 'hold', 'export', 'erase'])
    await expect(run('patient', command, '7', ...(command === 'erase' ? ['--yes'] : []))).rejects.toThrow(
      'Choose: partner:b1:7, partner:b2:7',
    );
  const searches = `access_log where action = 'search' and receiver.hash_of('p:partner:b1:7') = any(subjects)`;
  expect(await database.count(searches)).toBe(4);
  for (const one of ['partner:b1:7', 'partner:b2:7']) await run('patient', 'hold', one);
  expect(await identifyPatient(core, commandActor(), ['partner:b2:7', 'partner:b1:7'])).toHaveLength(2);
  await expect(run('patient', 'release', '7')).rejects.toThrow('Choose: partner:b1:7, partner:b2:7');
  for (const one of ['partner:b1:7', 'partner:b2:7'])
    expect(await run('patient', 'release', one)).toContain('Hold released.');
});

it('the list of erasures is a private file without ids, and is applied to its own database alone', async () => {
  await store(receipt({ receipt_id: 1, patient_oid: 'CANARY', net_amount: 5 }));
  await run('patient', 'erase', 'CANARY', '--yes');
  const output = join(folder, 'erasures.json');
  await run('erasures', 'export', '--output', output);
  expect((await stat(output)).mode & 0o777).toBe(0o600);
  expect(await readFile(output, 'utf8')).not.toContain('CANARY');
  expect(await run('erasures', 'apply', output)).toContain('1 erasures are applied');
  expect(await actions()).toEqual(['erase', 'erasures export', 'erasures apply']);
  await database.rows(`update receiver.settings set value = 'another' where name = 'salt'`);
  await expect(run('erasures', 'apply', output)).rejects.toThrow('of another database');
});

it('what an erasure withholds is shown as it was, with an entry about the patient in the access log', async () => {
  await store(receipt({ receipt_id: 1, patient_oid: 'P1', name: 'CANARY', net_amount: 5 }));
  const body = '{"event":"receipt.created","data":{"patient_oid":"P1","name":"CANARY"}}';
  await reject(database, [body]);
  const [, id] = /show ([\da-f-]{36})\./.exec(await run('patient', 'erase', 'P1', '--yes'))!;
  const lines = (await run('erasures', 'show', id!)).trim().split('\n');
  const shown = lines.map((line) => JSON.parse(line));
  expect(shown.find(({ callback }) => callback)).toMatchObject({
    family: 'receipt',
    callback: { data: { name: 'CANARY', net_amount: 5 } },
  });
  expect(shown.find(({ callback }) => !callback)).toMatchObject({ reason: 'invalid', body });
  expect(shown).toHaveLength(2);
  expect(await run('audit', 'list', '--patient', 'platform:P1')).toContain('erasures show');
  const other = randomUUID();
  await expect(run('erasures', 'show', other)).rejects.toThrow(`There is no erasure ${other}`);
});

it('originals are destroyed at once where ERASURE_KEEP says nothing', async () => {
  core = coreOf(database, { erasure: testConfig().erasure });
  await store(receipt({ receipt_id: 1, patient_oid: 'P1', name: 'CANARY' }));
  expect(await run('patient', 'erase', 'P1', '--yes')).toContain('The originals are destroyed');
  expect(await withheld()).toBe(0);
  const whole = { event: 'abha.created', data: { abha_address: 'canary@abdm', oid: 'P1' } };
  await store(whole);
  expect(await withheld()).toBe(1);
  await privacy.tasks!({ ...core, process: stateOf() })[0]!.run(new AbortController().signal);
  expect(await withheld()).toBe(0);
});

it('the access log is listed, of a patient alone too, and that is an entry of it', async () => {
  await store(receipt({ receipt_id: 1, patient_oid: 'P1' }));
  await run('patient', 'hold', 'P1');
  await run('retention');
  expect(await run('audit', 'list')).toMatch(/ retention [\s\S]* hold /);
  const ofPatient = await run('audit', 'list', '--patient', 'P1', '--limit', '1');
  expect(ofPatient).toContain(' hold ');
  expect(ofPatient).not.toContain(' retention ');
  const [last] = await database.rows(
    'select actor, action, rows from access_log order by entry desc limit 1',
  );
  expect(last).toEqual({ actor: commandActor().id, action: 'audit', rows: 1 });
});

it('retention counts first, then deletes, with an entry in the access log', async () => {
  await store(receipt({ receipt_id: 1 }, now - 20 * day), receipt({ receipt_id: 2 }));
  expect(await run('retention', '--dry-run')).toMatch(/receipt[ │]+1/);
  expect(await actions()).toEqual([]);
  expect(await run('retention')).toMatch(/receipt[ │]+1/);
  expect(await database.rows('select receipt_id::int from receipts')).toEqual([{ receipt_id: 2 }]);
  expect(await actions()).toEqual(['retention']);
});
