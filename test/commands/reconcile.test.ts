import { appointmentBook } from '../../src/sandbox/platform/book.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { runCommand } from '../support/run-command.ts';

const database = useDatabase();
let sandbox: Sandbox;
afterAll(() => sandbox.close());

it('reconcile asks for the payments of its days, and only counts them with --dry-run', async () => {
  const book = appointmentBook({ seed: 3, start: Date.now() - 3 * 86_400_000, appointments: 60 });
  const callbacks = [...book.past()].map(({ envelope }) => envelope);
  await apply(
    database,
    callbacks.filter(({ event }) => /^(appointment|receipt)/.test(event)),
  );
  sandbox = await startSandbox({ records: book.records });
  const run = async (...options: string[]) => {
    const { code, output } = await runCommand(['reconcile', ...options], {
      ...{ DATABASE_URL: database.url, SERVICE_BASE_URL: sandbox.url, SERVICE_TOKEN: sandboxToken },
      ...{ RECONCILE_WITH: 'payments', RECONCILE_WITH_PER_MINUTE: '6000' },
    });
    expect([code, output]).toEqual([0, expect.any(String)]);
    return output;
  };
  const [{ named } = {}] = await database.rows(
    `select count(distinct payment_id)::int as named from receipts where payment_id <> ''`,
  );
  const asked = () => sandbox.requests.filter(({ path }) => path.includes('payment')).length;
  expect(await run('--dry-run')).toContain(`payments to be asked for now: ${named}`);
  expect(asked()).toBe(0);
  expect(await run()).toMatch(new RegExp(`payments +│ ${named} +│ 0 +│ 0 `));
  expect([named, asked()]).toEqual([asked(), named]);
  expect(await database.rows('select count(*)::int as n from payments')).toEqual([{ n: named }]);
});
