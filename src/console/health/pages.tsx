import type { Readiness } from '../../common/readiness.ts';
import { Table } from '../ui/table.tsx';

/** @param open whether no access check of callbacks is configured */
export function HealthChecks({ parts, open }: Pick<Readiness, 'parts'> & { open: boolean }) {
  return (
    <Table
      label="Health checks"
      cards
      rows={Object.entries(parts)}
      empty="No checks."
      columns={[
        { head: 'Check', cell: ([name]) => name },
        { head: 'State', cell: ([name, { ok }]) => stateOf(ok, name === 'access' && open) },
        { head: 'Detail', cell: ([, { detail }]) => detail },
      ]}
    />
  );
}

function stateOf(ok: boolean, isOpen: boolean) {
  if (isOpen) return <span class="warn">open</span>;
  return <span class={ok ? 'good' : 'bad'}>{ok ? 'ok' : 'failing'}</span>;
}
