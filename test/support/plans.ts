import type pg from 'pg';

/** What a statement has read of a table. */
export interface Read {
  /** What was run. */
  by: string;
  table: string;
  /** Rows, or entries of an index. */
  rows: number;
  /** How, such as `Seq Scan`. */
  scan: string;
  statement: string;
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Schema?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

const settings = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_verbose': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
  'auto_explain.log_nested_statements': 'on',
};

/** SQL with which later sessions send the plan of each statement, and the rows that it has read, as a notice. */
export const explainAll = (database: string) =>
  Object.entries(settings)
    .map(([name, value]) => `alter database ${database} set ${name} = '${value}'`)
    .join('; ');

/** Collects what the statements of a pool read, before its first connection. */
export function collectReads(pool: pg.Pool) {
  let by: string | undefined;
  const reads: Read[] = [];
  pool.on('connect', (client) =>
    client.on('notice', ({ message = '' }) => {
      const [, json] = /^duration: [\d.]+ ms {2}plan:\n(.*)$/s.exec(message) ?? [];
      if (!json || by === undefined) return;
      const { 'Query Text': statement, Plan: plan } = JSON.parse(json);
      for (const read of readsOf(plan))
        reads.push({ by, statement: statement.replace(/\s+/g, ' ').trim(), ...read });
    }),
  );
  /** Runs something under a name. */
  const run = async (name: string, call: () => PromiseLike<unknown>) => {
    by = name;
    await call();
    by = undefined;
  };
  return { reads, run };
}

/** A bitmap has only the name of its index, which begins with that of its table. */
function readsOf(plan: Plan): Pick<Read, 'table' | 'rows' | 'scan'>[] {
  const inner = (plan.Plans ?? []).flatMap(readsOf);
  const { 'Node Type': scan, 'Relation Name': name, 'Index Name': index, 'Actual Loops': loops = 0 } = plan;
  if (scan === 'ModifyTable' || !(name ?? index)) return inner;
  const rows =
    (plan['Actual Rows'] ?? 0) +
    (plan['Rows Removed by Filter'] ?? 0) +
    (plan['Rows Removed by Index Recheck'] ?? 0);
  return [...inner, { table: name ? `${plan.Schema}.${name}` : index!, rows: rows * loops, scan }];
}
