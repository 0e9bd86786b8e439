import { definitions, type Sources } from '../../src/alerts/definitions.ts';

const dayMs = 24 * 60 * 60 * 1000;
const retention = definitions.find(({ name }) => name === 'retention')!;
const found = (ms: number | undefined) => retention.find({ sinceRetentionMs: () => ms } as Sources);

it('the retention is overdue after two days without a complete pass, where RETENTION is set', async () => {
  expect(await found(undefined)).toEqual([]);
  expect(await found(dayMs)).toEqual([]);
  const [finding] = await found(3.5 * dayMs);
  expect(retention.explain({ name: 'retention', ...finding! })).toMatch(
    /^No pass was completed for 3 days\./,
  );
});
