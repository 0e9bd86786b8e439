import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/sandbox/random.ts';
import { pageBytes } from '../../../src/store/embedded/page-checksum.ts';
import { until } from '../../support/until.ts';
import type { Deployment } from '../deployment.ts';
import type { Fault } from '../faults.ts';
import type { Run } from '../run-fault.ts';
import { withSession } from '../session.ts';
import { both, longMs } from './outages.ts';

const tables = [
  'inbox',
  'pending_deliveries',
  'applied_deliveries',
  'failed_deliveries',
  'resends',
  'receipts',
  'receipt_versions',
  'consent_forms',
];

const garbage = Buffer.alloc(pageBytes, 'x');

interface Place {
  table: string;
  /** The table, or an index of it. */
  relation: string;
  /** Whether its rows are there for a moment only: a page is damaged that has some. */
  isFleeting?: boolean;
}

interface Damaged {
  path: string;
  page: number;
  original: Buffer;
}

/** The file of a relation while nobody else uses the table, and nothing of it is in the server's memory. */
async function withFile<T>(
  deployment: Deployment,
  { table, relation, isFleeting }: Place,
  run: (path: string, rowPages: number[]) => Promise<T>,
): Promise<T> {
  return withSession(deployment, async (client) => {
    const query = async (text: string) => (await client.query(text)).rows;
    await query('create schema if not exists chaos');
    await query('create extension if not exists pg_buffercache schema chaos');
    await query('begin');
    await query(`lock table ${table} in access exclusive mode`);
    const rowPages = isFleeting
      ? await query(`select distinct (ctid::text::point)[0]::int as page from ${table}`)
      : [];
    const evict = `select buffers_skipped from chaos.pg_buffercache_evict_relation('${relation}')`;
    while ((await query(evict))[0].buffers_skipped > 0);
    const [{ path }] = await query(`select pg_relation_filepath('${relation}') as path`);
    const result = await run(
      join(deployment.folder, 'database', path),
      rowPages.map(({ page }) => page),
    );
    await query('commit');
    return result;
  });
}

/** Overwrites a page; undefined where there is none. */
async function damage(deployment: Deployment, place: Place, random: Random): Promise<Damaged | undefined> {
  return withFile(deployment, place, async (path, rowPages) => {
    const file = await open(path, 'r+');
    try {
      const count = Math.floor((await file.stat()).size / pageBytes);
      // The first page of an index says where its root is.
      const first = place.relation === place.table ? 0 : 2;
      const all = Array.from({ length: Math.max(0, count - first) }, (_, index) => first + index);
      const pages = place.isFleeting ? rowPages : all;
      if (pages.length === 0) return undefined;
      // New rows come to the last one.
      const page = random.chance(0.3) ? Math.max(...pages) : random.pick(pages);
      const original = Buffer.alloc(pageBytes);
      await file.read(original, 0, pageBytes, page * pageBytes);
      await file.write(garbage, 0, pageBytes, page * pageBytes);
      return { path, page, original };
    } finally {
      await file.close();
    }
  });
}

async function repair(
  deployment: Deployment,
  place: Place,
  { path, page, original }: Damaged,
): Promise<void> {
  await withFile(deployment, { ...place, isFleeting: false }, async (now) => {
    if (now !== path) return; // written anew, without the page
    const file = await open(path, 'r+');
    try {
      const found = Buffer.alloc(pageBytes);
      await file.read(found, 0, pageBytes, page * pageBytes);
      // Nobody can change a page that cannot be read.
      if (found.equals(garbage)) await file.write(original, 0, pageBytes, page * pageBytes);
    } finally {
      await file.close();
    }
  });
}

async function duringDamage(
  deployment: Deployment,
  random: Random,
  place: Place,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const damaged = await until(() => damage(deployment, place, random), 20_000, 50);
  try {
    await meanwhile();
  } finally {
    await repair(deployment, place, damaged);
  }
}

/** Rows that are there for a moment, or deleted: otherwise some of the tables would have no page. */
async function fillPages({ rows }: Deployment, table: string): Promise<void> {
  if (table !== 'failed_deliveries') return;
  await rows(`
    begin;
    insert into failed_deliveries (id, family, received_at, error)
    select gen_random_uuid(), 'receipt', now(), 'a test' from generate_series(1, 300);
    delete from failed_deliveries where error = 'a test';
    commit`);
}

async function expectOthersApplied(run: Run): Promise<void> {
  await Promise.all([run.expectOthersApplied(), pause(longMs)]);
}

/** A page of a table cannot be read for some time, as on a bad disk: only what is on it waits. */
export const damagedPageFaults: Fault[] = [
  ...tables.map(
    (table): Fault => ({
      name: `a page of ${table} damaged`,
      backends: both,
      inject: async (deployment, random, run) => {
        await fillPages(deployment, table);
        const place = { table, relation: table, isFleeting: table === 'pending_deliveries' };
        await duringDamage(deployment, random, place, () => expectOthersApplied(run));
      },
    }),
  ),
  {
    name: 'a page of an index of receipts damaged',
    backends: both,
    // A leaf has the keys of others, too; with the root all wait.
    inject: (deployment, random) =>
      duringDamage(deployment, random, { table: 'receipts', relation: 'receipts_pkey' }, () => pause(longMs)),
  },
];
