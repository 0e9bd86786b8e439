import { readChecks } from '../../operations/read-checks.ts';
import type { Page } from '../page.ts';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { Moment } from '../ui/values.tsx';

const marks = { fail: 'bad', warn: 'warn', ok: 'good' } as const;
const words = { fail: 'Broken', warn: 'Warning', ok: 'Works' };

export const health: Page = (routes, core) => {
  routes.get('/health', 'viewer', async (_req, res) => {
    const content = (
      <Table
        label="Checks, the most urgent first"
        rows={await readChecks(core)}
        empty="No check has anything to report."
        columns={[
          { head: 'State', cell: ({ status }) => <span class={marks[status]}>{words[status]}</span> },
          { head: 'Check', cell: ({ name, about }) => [name, about].filter(Boolean).join(': ') },
          { head: 'What', cell: ({ title }) => title, wide: true },
          { head: 'Detail', cell: ({ detail }) => detail, wide: true },
          { head: 'Since', cell: ({ since }) => <Moment at={since} /> },
          { head: 'What to do', cell: ({ todo }) => todo, wide: true },
        ]}
      />
    );
    sendPage(res, 'Health', content);
  });
};
