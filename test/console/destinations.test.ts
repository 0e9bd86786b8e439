import { addAttempts } from '../../src/destinations/attempt-table.ts';
import { addDestination } from '../../src/destinations/destination-table.ts';
import { putWaiting } from '../../src/destinations/waiting-table.ts';
import { useConsole } from './use-console.ts';

const { database, visitor } = useConsole();

it('the page of webhooks shows attempts, answers and what waits, and resumes what was paused', async () => {
  const selection = { families: ['receipt'], businessId: null, isPublic: true, maxInFlight: 1 };
  const { id } = await addDestination(
    database.db,
    { url: 'https://partner.invalid/hook', ...selection },
    null,
  );
  await addAttempts(database.db, id, [
    { type: 'receipt.created', outcome: '503', ms: 12, answer: 'too busy' },
  ]);
  const record = { family: 'receipt', businessId: 'b-1', recordId: '4711', kind: 'changed' } as const;
  await putWaiting(database.db, id, { ...record, version: 1, attempts: 3 }, { outcome: 'timeout' });
  const page = await visitor.read('/destinations');
  expect(page).toMatch(/partner\.invalid<.*receipt; public.*4711.*timeout.*receipt\.created.*503.*too busy/s);

  await visitor.post('/destinations', { id, command: 'pause' });
  expect(await visitor.read(`/destinations?id=${id}`)).toMatch(/>paused<.*>Resume</s);
  await visitor.post('/destinations', { id, command: 'resume' });
  expect(await database.rows('select state from destinations')).toEqual([{ state: 'active' }]);
  expect(await database.rows('select attempts from destination_waiting')).toEqual([{ attempts: 0 }]);
});
