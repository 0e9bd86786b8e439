import type { ReplayOutcome } from '../../apply/replay.ts';
import { Table } from './table.tsx';
import { Facts, formatCount, IdLink } from './values.tsx';

interface OutcomeProps {
  figures: Record<string, number>;
  /** Of those that fail: their messages, and the label of that table. */
  messages: ReplayOutcome['errors'];
  label: string;
  section: 'deliveries' | 'quarantine';
}

/** What a replay did, or would do. */
export function Outcome({ figures, messages, label, section }: OutcomeProps) {
  const facts = Object.entries(figures).map(([name, count]) => [name, formatCount(count)]);
  return (
    <>
      <Facts facts={Object.fromEntries(facts)} />
      <Table
        label={label}
        rows={messages}
        columns={[
          { head: 'Error', cell: ({ message }) => message, wide: true },
          {
            head: section === 'deliveries' ? 'Deliveries' : 'Bodies',
            cell: ({ count }) => formatCount(count),
            numeric: true,
          },
          { head: 'Example', cell: ({ example }) => <IdLink to={section} id={example} /> },
        ]}
      />
    </>
  );
}
