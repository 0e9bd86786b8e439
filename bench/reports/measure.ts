import type pg from 'pg';

export interface Measured {
  rows: number;
  /** Planning and execution: the median of the runs, and the quickest, which other load affects least. */
  ms: number;
  quickestMs: number;
  plan: string;
}

interface Node {
  'Node Type': string;
  'Index Name'?: string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: Node[];
}

interface Explained {
  Plan: Node;
  'Planning Time': number;
  'Execution Time': number;
}

/** Runs a query once to warm up, then measures the other runs. */
export async function measure(pool: pg.Pool, text: string, runs = 9): Promise<Measured> {
  const explained: Explained[] = [];
  for (let run = 0; run <= runs; run += 1) {
    const { rows } = await pool.query(`explain (analyze, timing off, format json) ${text}`);
    explained.push(rows[0]['QUERY PLAN'][0]);
  }
  const times = explained
    .slice(1)
    .map((one) => one['Planning Time'] + one['Execution Time'])
    .toSorted((a, b) => a - b);
  const { Plan } = explained[0]!;
  return {
    rows: Plan['Actual Rows'],
    ms: times[runs >> 1]!,
    quickestMs: times[0]!,
    plan: summary(Plan),
  };
}

/** The tables and indexes that were read. */
function summary(plan: Node): string {
  const read = new Set<string>();
  const visit = (node: Node) => {
    if (node['Node Type'].includes('Seq Scan')) read.add(`all of ${node['Relation Name']}`);
    if (node['Index Name']) read.add(node['Index Name']);
    if (node['Node Type'] === 'Gather') read.add('in parallel');
    node.Plans?.forEach(visit);
  };
  visit(plan);
  return [...read].join(', ');
}
