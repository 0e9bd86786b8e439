import { definitions, type Sources } from '../../src/alerts/definitions.ts';

const dayMs = 24 * 60 * 60 * 1000;
const retention = definitions.find(({ name }) => name === 'retention')!;
const found = (ms: number | undefined) => retention.find({ sinceRetentionMs: () => ms } as Sources);

it('another database with the same identity on the same Redis is an alert that names its server', async () => {
  const copy = definitions.find(({ name }) => name === 'copy')!;
  expect(await copy.find({ rival: () => undefined } as Sources)).toEqual([]);
  const [finding] = await copy.find({ rival: () => '10.0.0.2:5432/receiver' } as Sources);
  expect(copy.explain({ name: 'copy', ...finding! })).toContain('10.0.0.2:5432/receiver');
});

it('the retention is overdue after two days without a complete pass, where RETENTION is set', async () => {
  expect(await found(undefined)).toEqual([]);
  expect(await found(dayMs)).toEqual([]);
  const [finding] = await found(3.5 * dayMs);
  expect(retention.explain({ name: 'retention', ...finding! })).toMatch(
    /^No pass was completed for 3 days\./,
  );
});
