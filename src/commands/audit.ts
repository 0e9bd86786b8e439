import { pipeline } from 'node:stream/promises';
import QueryStream from 'pg-query-stream';
import { parseTime } from '../common/arguments.ts';
import { csvWriter } from '../common/csv.ts';
import { printTable } from '../common/output.ts';
import {
  type AccessFilter,
  countPatients,
  listAccess,
  patientColumns,
  patientsSeen,
} from '../privacy/log/audit.ts';
import { mayBeIdle } from '../store/transactions.ts';
import { type AddCommand, logCommand, type Opened, onDatabase } from './with-database.ts';

export const addAuditCommand: AddCommand = (program, env) => {
  const audit = program
    .command('audit')
    .description('the access log: who saw or changed which patients’ data');
  audit
    .command('list')
    .description('list entries, newest first')
    .option('--actor <id or name>', 'only of this actor')
    .option('--action <action>', 'only of this action, such as reveal or export')
    .option('--patient <id>', 'only about this patient')
    .option('--since <time>', 'only entries at this time or later', parseTime)
    .option('--until <time>', 'only entries before this time', parseTime)
    .option('--limit <n>', 'maximum number of entries', Number, 100)
    .option('--as-patients', 'print instead the patients whose data --actor saw since --since, as CSV')
    .action(
      onDatabase(env, (opened, { asPatients, ...options }: ListOptions) =>
        asPatients ? report(opened, options) : list(opened, options),
      ),
    );
};

type ListOptions = AccessFilter & { limit: number; asPatients?: true };

async function list({ db }: Opened, { limit, ...filter }: ListOptions): Promise<void> {
  const entries = await listAccess(db, filter, limit);
  const { patient, ...rest } = filter;
  await logCommand(db, {
    action: 'audit',
    patients: patient ? [patient] : [],
    anonymous: true,
    filter: { command: 'list', ...rest },
    rows: entries.length,
  });
  const rows = entries.map((row) => {
    const more = row.patient_count - row.patients.length;
    const patients = [...row.patients, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
    const actor = [row.actor, row.actor_name].filter(Boolean).join('\n');
    const shown = Object.keys(row.filter).length > 0 ? JSON.stringify(row.filter) : '';
    return [row.entry, row.at, actor, row.address, row.action, patients, shown, row.rows];
  });
  printTable(['entry', 'at', 'actor', 'address', 'action', 'patients', 'filter', 'rows'], rows);
}

async function report({ db, pool }: Opened, { actor, since, until }: ListOptions): Promise<void> {
  if (!actor || !since) throw new Error('--as-patients needs --actor and --since');
  const filter = { actor, since, until };
  const { patients, unnamed } = await countPatients(db, filter);
  await logCommand(db, {
    action: 'audit',
    filter: { command: 'list --as-patients', ...filter },
    rows: patients,
  });
  const client = await pool.connect();
  try {
    const { sql, parameters } = patientsSeen(db, filter);
    await client.query('begin read only'); // for the cursor
    await client.query(mayBeIdle);
    const rows = client.query(new QueryStream(sql, [...parameters]));
    await pipeline(rows, csvWriter(patientColumns), process.stdout, { end: false });
  } finally {
    client.release(true);
  }
  if (unnamed > 0) {
    process.stderr.write(
      `${unnamed} entries of this actor name no patients, so the report lacks those whose data they showed: ` +
        'see receiver audit list\n',
    );
  }
}
