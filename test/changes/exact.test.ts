import fc from 'fast-check';
import { useDatabase } from '../support/database.ts';
import { openOverlapping } from './overlapping.ts';

const database = useDatabase();

it('whoever reads, from whenever on, ends with exactly the rows, however transactions overlap', async () => {
  const { endsWithTheRows, close } = await openOverlapping(database);
  await fc.assert(endsWithTheRows, { numRuns: 20 }).finally(close);
});
