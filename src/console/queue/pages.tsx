import { type JobState, jobStates, type ListedJob, listLimit } from '../../queue/list-jobs.ts';
import { Table } from '../ui/table.tsx';
import { formatCount, IdLink, Moment, Nothing } from '../ui/values.tsx';

export function JobCounts({ counts }: { counts: Record<string, number> }) {
  return (
    <Table
      label="Jobs by state"
      small
      rows={jobStates}
      columns={[
        { head: 'State', cell: (state) => <a href={`/console/queue/${state}`}>{state}</a> },
        { head: 'Jobs', cell: (state) => formatCount(counts[state] ?? 0), numeric: true },
      ]}
    />
  );
}

export function JobList({ state, jobs }: { state: JobState; jobs: readonly ListedJob[] }) {
  return (
    <>
      {jobs.length === listLimit && <p>Only the newest {listLimit} jobs are shown.</p>}
      <Table
        label={`Jobs in state ${state}, newest first`}
        rows={jobs}
        empty="No jobs."
        columns={[
          { head: 'Job', cell: ({ id }) => id },
          { head: 'Added', cell: ({ added }) => <Moment at={added} /> },
          { head: 'Attempts', cell: ({ attempts }) => formatCount(attempts), numeric: true },
          { head: 'Deliveries', cell: ({ deliveries }) => formatCount(deliveries.length), numeric: true },
          {
            head: 'First delivery',
            cell: ({ deliveries: [first] }) => (first ? <IdLink to="deliveries" id={first} /> : <Nothing />),
          },
        ]}
      />
    </>
  );
}
