import type { Check, Core } from '../../feature.ts';
import type { Page } from '../page.ts';
import { sendPage } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Moment } from '../ui/values.tsx';

const marks = { fail: 'bad', warn: 'warn', ok: 'good' } as const;
const words = { fail: 'Broken', warn: 'Warning', ok: 'Works' };
const urgency = { fail: 0, warn: 1, ok: 2 };

/** All checks, the most urgent first. */
export const health: Page = (routes, core) => {
  routes.get('/health', 'viewer', async (_req, res) => {
    sendPage(res, 'Health', <HealthPage checks={await readChecks(core)} />);
  });
};

/** What cannot be checked is a check that fails. */
async function readChecks(core: Core): Promise<Check[]> {
  const found = core.features.map(async ({ name, checks }) =>
    checks?.(core).catch((error): Check[] => {
      core.log.limited('error', { checks: name }, 'checks could not be read', { err: error });
      const title = 'It could not be checked';
      return [{ name, status: 'fail', title, detail: `The checks of ${name} failed: see the log` }];
    }),
  );
  const checks = (await Promise.all(found)).flatMap((some) => some ?? []);
  return checks.toSorted((one, other) => urgency[one.status] - urgency[other.status]);
}

function HealthPage({ checks }: { checks: readonly Check[] }) {
  return (
    <Table
      label="Checks, the most urgent first"
      rows={checks}
      empty="No check has anything to report."
      columns={[
        { head: 'State', cell: ({ status }) => <span class={marks[status]}>{words[status]}</span> },
        { head: 'Check', cell: ({ name, subject }) => [name, subject].filter(Boolean).join(': ') },
        { head: 'What', cell: ({ title }) => title, wide: true },
        { head: 'Detail', cell: ({ detail }) => detail, wide: true },
        { head: 'Since', cell: ({ since }) => <Moment at={since} /> },
        { head: 'What to do', cell: ({ todo }) => todo, wide: true },
      ]}
    />
  );
}
