import { refreshAliases } from '../../src/reconcile/directory.ts';
import { changeAliases, readAliases } from '../../src/store/aliases.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase({ per: 'test' });
const actor = { id: 'worker' };
type Data = Awaited<ReturnType<Parameters<typeof refreshAliases>[1]['directory']>>['data'];

const refresh = (data: Data) => refreshAliases(database.db, { directory: async () => ({ data }) }, actor);
const clinic = (name: string | null) => refresh({ clinics: [{ clinic_id: 'c-1', name }] });
const byPerson = (alias: string) =>
  changeAliases(database.db, [{ kind: 'clinic', id: 'c-1', alias }], 'command:asha');
const rows = () => database.rows('select kind, id, alias, source from reporting.aliases order by kind, id');
const ofClinic = (alias: string, source: string) => [{ kind: 'clinic', id: 'c-1', alias, source }];

it('the names of the business, its clinics and its doctors become aliases; the access log has how many', async () => {
  const data: Data = {
    business: { business_id: 'b-1', name: 'North' },
    clinics: [
      { clinic_id: 'c-1', name: ' Lake\nRoad ' },
      { clinic_id: 'c-2', name: '' },
    ],
    doctors: [
      { doctor_id: 'd-1', name: 'Dr आशा' },
      { doctor_id: 'd-1', name: 'Dr आशा' },
      { doctor_id: '', name: 'x' },
    ],
  };
  expect(await refresh(data)).toEqual({ names: 3, set: 3 });
  expect(await rows()).toEqual([
    { kind: 'business', id: 'b-1', alias: 'North', source: 'platform' },
    ...ofClinic('Lake Road', 'platform'),
    { kind: 'doctor', id: 'd-1', alias: 'Dr आशा', source: 'platform' },
  ]);
  expect(await refresh(data)).toEqual({ names: 3, set: 0 });
  expect(await database.rows('select actor, action, rows from access_log')).toEqual([
    { actor: 'worker', action: 'aliases', rows: '3' },
  ]);
});

it('a name that changes at the platform changes here; one that is gone there stays', async () => {
  await clinic('Lake Road');
  await clinic('Lake Street');
  await refresh({});
  expect(await rows()).toEqual(ofClinic('Lake Street', 'platform'));
});

it('what a person wrote wins, before and after', async () => {
  await byPerson('The lake');
  await clinic('Lake Road');
  expect(await rows()).toEqual(ofClinic('The lake', 'person'));
  await byPerson('');
  await clinic('Lake Road');
  expect(await rows()).toEqual(ofClinic('Lake Road', 'platform'));
  await byPerson('Lake Road');
  expect(await rows()).toEqual(ofClinic('Lake Road', 'platform'));
  await byPerson('The lake');
  await clinic('Lake Street');
  expect(await rows()).toEqual(ofClinic('The lake', 'person'));
});

it('a name of the platform that a person removed does not come back, until a person writes one', async () => {
  await clinic('Lake Road');
  expect(await byPerson('')).toEqual({ set: 0, deleted: 1 });
  expect(await byPerson('')).toEqual({ set: 0, deleted: 0 });
  await clinic('Lake Street');
  expect(await rows()).toEqual([]);
  expect((await readAliases(database.db)).clinic.size).toBe(0);
  expect(await byPerson('The lake')).toEqual({ set: 1, deleted: 0 });
  expect(await rows()).toEqual(ofClinic('The lake', 'person'));
});

it('no name of the platform makes a refresh fail', async () => {
  await clinic('x'.repeat(500));
  await clinic(`${'x'.repeat(199)}😀\u0000\uD800`);
  expect(await rows()).toEqual([expect.objectContaining({ alias: expect.stringMatching(/^x{199}.$/u) })]);
});
