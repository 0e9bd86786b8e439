import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { holdPatient, releasePatient } from '../../src/privacy/hold.ts';
import { copyEntriesTo, logAccess } from '../../src/privacy/log/access-log.ts';
import { pseudonymOf } from '../../src/privacy/log/audit.ts';
import { useDatabase } from '../support/database.ts';

const actor = { id: 'test', name: 'Asha', address: '10.0.0.1' };

const database = useDatabase({ per: 'test' });

const see = (...patients: string[]) => logAccess(database.db, { actor, action: 'reveal', patients });

it.each([
  `update access_log set actor = 'nobody' where entry = 3`,
  'delete from access_log where entry = 3',
  'truncate access_log',
])('the database refuses: %s', async (statement) => {
  for (let entry = 1; entry <= 5; entry += 1) await see('one');
  await expect(database.rows(statement)).rejects.toThrow('neither changed nor deleted');
  expect(await database.rows('select entry::int from access_log')).toHaveLength(5);
});

it('each entry is a line of the process’s log, with pseudonyms instead of patients and without the values of its filter', async () => {
  const lines: string[] = [];
  copyEntriesTo(createLog('info', { write: (line) => void lines.push(line) }));
  const patients = ['patient-1', 'patient-2'];
  const filter = { family: 'receipt', patient: 'patient-1' };
  const entry = await logAccess(database.db, { actor, action: 'reveal', patients, filter, rows: 2 });
  await holdPatient(database.db, { id: 'patient-1' }, actor);
  await releasePatient(database.db, { id: 'patient-1' }, actor);
  const pseudonyms = await Promise.all(patients.map((id) => pseudonymOf(database.db, id)));
  const written = lines.map((line) => JSON.parse(line).access);
  expect(written).toMatchObject([
    { entry, action: 'reveal', actor: 'test', address: '10.0.0.1', filter: ['family', 'patient'], rows: 2 },
    { entry: entry + 1, action: 'hold', patients: [pseudonyms[0]] },
    { entry: entry + 2, action: 'release', patients: [pseudonyms[0]], rows: 1 },
  ]);
  expect([written[0].patients.toSorted(), written[0].patientCount]).toEqual([pseudonyms.toSorted(), 2]);
  expect(lines.join()).not.toMatch(/patient-|Asha/);
});

it('an erasure removes the id behind a pseudonym, and entries stay', async () => {
  await see('one');
  await see('two');
  await erasePatient(database.db, families, { id: 'one' }, { actor, keepMs: 0 });
  expect(await database.rows('select patient_id from patient_pseudonyms')).toEqual([{ patient_id: 'two' }]);
  expect(await database.rows(`select from access_log where action = 'reveal'`)).toHaveLength(2);
});
