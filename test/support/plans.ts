/** A node of a plan, as `explain (analyze, format json)` returns it. */
export interface PlanNode {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** The number of rows that nodes whose type contains this word read. */
export function rowsRead(node: PlanNode, type: 'Scan' | 'Index'): number {
  const below = (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan, type), 0);
  if (!node['Node Type'].includes(type)) return below;
  return below + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}
