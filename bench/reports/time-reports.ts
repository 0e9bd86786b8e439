import type pg from 'pg';
import { type Measured, measure } from './measure.ts';
import { queries } from './queries.ts';

interface Business {
  id: string;
  receipts: number;
}

interface Timed extends Measured {
  view: string;
  /** Receipts of the business. */
  receipts: number;
}

/** Times every report for the largest business, a large one and a medium one. */
export async function timeReports(pool: pg.Pool, onReport: (line: string) => void): Promise<Timed[]> {
  const timed: Timed[] = [];
  for (const { id, receipts } of await businesses(pool)) {
    for (const { view, text } of queries(id)) {
      const measured = await measure(pool, text);
      timed.push({ ...measured, view, receipts });
      onReport(`${receipts} receipts, ${view}: ${measured.ms.toFixed(1)} ms`);
    }
  }
  return timed;
}

async function businesses(pool: pg.Pool): Promise<Business[]> {
  const { rows } = await pool.query<Business>(
    'select business_id as id, count(*)::int as receipts from receipts group by business_id order by 2 desc',
  );
  return [rows[0]!, rows[Math.min(4, rows.length - 1)]!, rows[rows.length >> 1]!];
}

/** A row per report; its last column is the plan for the largest business. */
export function tableOf(timed: Timed[]): string[][] {
  const sizes = [...new Set(timed.map(({ receipts }) => receipts))];
  const head = ['report', ...sizes.flatMap((size) => [`${size} receipts: rows`, 'ms']), 'reads'];
  const lines = [...new Set(timed.map(({ view }) => view))].map((view) => {
    const own = timed.filter((one) => one.view === view);
    const figures = own.flatMap(({ rows, ms, quickestMs }) => [
      `${rows}`,
      `${ms.toFixed(1)} (${quickestMs.toFixed(1)})`,
    ]);
    return [view, ...figures, own[0]!.plan];
  });
  return [head, ...lines];
}
