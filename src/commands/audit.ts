import { pipeline } from 'node:stream/promises';
import QueryStream from 'pg-query-stream';
import { csvWriter } from '../common/csv.ts';
import {
  type AccessFilter,
  countPatients,
  listAccess,
  patientColumns,
  patientsSeen,
} from '../privacy/log/audit.ts';
import { mayBeIdle } from '../store/transactions.ts';
import { parseTime } from './arguments.ts';
import { printTable } from './output.ts';
import { type AddCommand, logCommand, type Opened, onDatabase } from './with-database.ts';

export const addAuditCommand: AddCommand = (program, env) => {
  const audit = program
    .command('audit')
    .description('the access log: who saw or changed which patients’ data');
  const until = ['--until <time>', 'only entries before this time'] as const;

  audit
    .command('list')
    .description('list entries, newest first')
    .option('--actor <id or name>', 'only of this actor')
    .option('--action <action>', 'only of this action, such as reveal or export')
    .option('--patient <id>', 'only about this patient')
    .option('--since <time>', 'only entries at this time or later', parseTime)
    .option(...until, parseTime)
    .option('--limit <n>', 'maximum number of entries', Number, 100)
    .action(onDatabase(env, list));
  audit
    .command('report')
    .description('print the patients whose data an actor saw, as CSV')
    .requiredOption('--actor <id or name>', 'the actor')
    .requiredOption('--since <time>', 'entries at this time or later', parseTime)
    .option(...until, parseTime)
    .action(onDatabase(env, report));
};

async function list({ db }: Opened, { limit, ...filter }: AccessFilter & { limit: number }): Promise<void> {
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

async function report({ db, pool }: Opened, filter: AccessFilter): Promise<void> {
  const { patients, unnamed } = await countPatients(db, filter);
  await logCommand(db, { action: 'audit', filter: { command: 'report', ...filter }, rows: patients });
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
