import type { ComponentChildren } from 'preact';
import type { Cause } from '../../store/refusals.ts';
import { useMayPost } from '../ui/context.ts';
import { hrefTo } from '../ui/links.ts';
import { type Column, Table } from '../ui/table.tsx';
import { formatCountOf, Moment } from '../ui/values.tsx';

/** What is wrong with many callbacks, for one cause. */
interface CauseLine {
  /** What it means, and what to do. */
  text: ComponentChildren;
  count: number;
  /** The address of the list of them. */
  list?: string;
  /** How many were marked as seen. */
  seen?: number;
  first: Date;
  last: Date;
  actions?: ComponentChildren;
}

interface CauseTableProps {
  label: string;
  /** What is counted: one, and many. */
  rows: readonly [one: string, many: string];
  lines: readonly CauseLine[];
  /** The address that their actions are posted to. */
  preview?: string;
  empty?: string;
}

/** Causes, each with how often, since when, and what can be done. */
export function CauseTable({ label, rows, lines, preview = '', empty }: CauseTableProps) {
  const mayAct = useMayPost(preview);
  const count = ({ count, list, seen }: CauseLine) => (
    <>
      {list ? <a href={list}>{formatCountOf(count, rows)}</a> : formatCountOf(count, rows)}
      {seen ? <small class="beside">{formatCountOf(seen, ['seen', 'seen'])}</small> : null}
    </>
  );
  const columns: Column<CauseLine>[] = [
    { head: 'Cause', cell: ({ text }) => text, wide: true },
    { head: 'How many', cell: count },
    { head: 'First', cell: ({ first }) => <Moment at={first} /> },
    { head: 'Last', cell: ({ last }) => <Moment at={last} /> },
  ];
  const actions: Column<CauseLine> = { head: 'Actions', cell: (line) => line.actions };
  return <Table {...{ label, empty }} rows={lines} columns={mayAct ? [...columns, actions] : columns} />;
}

/** The list of the deliveries that failed for one cause. */
export const sameCause = (event: string, error: string) =>
  hrefTo('/deliveries', { status: 'failed', event, error });

/** Why a delivery failed, and what to do. */
export function CauseText({ cause }: { cause: Cause }) {
  const { error, meaning, action, fields, definition } = cause;
  if (!meaning) return <>{error}</>;
  const quote = (name: string, value: string | undefined) =>
    value && (
      <>
        {name}: <code>{value}</code>.{' '}
      </>
    );
  return (
    <>
      <strong>{meaning}</strong> {action}
      <br />
      {quote('Field', fields)}
      {quote('Constraint', definition)}
      <span class="hint">{error}</span>
    </>
  );
}

/** The errors of a rejected body, each with its field. */
export function FaultList({ faults }: { faults: readonly { path: string; message: string }[] }) {
  const shown = faults.slice(0, 5);
  return (
    <>
      {shown.map(({ path, message }) => (
        <div key={path + message}>
          {path && <code>{path}</code>} {message}
        </div>
      ))}
      {faults.length > shown.length && <div>… and {faults.length - shown.length} more</div>}
    </>
  );
}
