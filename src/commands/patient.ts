import { createWriteStream } from 'node:fs';
import { readFile, unlink, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { sql } from 'kysely';
import { printable, tableOf } from '../common/printable.ts';
import type { Environment } from '../config/config.ts';
import { families } from '../families/index.ts';
import { notAnalyzed } from '../privacy/analyze.ts';
import { applyErasures } from '../privacy/erasure/apply-erasures.ts';
import { type ErasureOptions, erasePatient } from '../privacy/erasure/erase.ts';
import {
  type Certificate,
  describeSearched,
  exportErasures,
  listCertificates,
  parseErasures,
} from '../privacy/erasure/erasure-list.ts';
import { describePreview, previewErasure } from '../privacy/erasure/preview.ts';
import { isBeingErased } from '../privacy/erasure/running.ts';
import { accessTo, withPatient, zipPatient } from '../privacy/export.ts';
import type { Patient } from '../privacy/find-deliveries.ts';
import { holdPatient, isHeld, releasePatient } from '../privacy/hold.ts';
import { commandActor } from './actor.ts';
import { logCommand } from './log-command.ts';
import { startProgress } from './progress.ts';
import { withDatabase } from './with-database.ts';

interface PatientOptions {
  businessId?: string;
}

/** `receiver patient`: shows, exports and erases what is held about a patient, and places holds. */
export function addPatientCommand(program: Command, env: Environment): void {
  const patient = program
    .command('patient')
    .description('what is held about a patient: access, erasure and holds');
  const sub = (name: string, description: string) =>
    patient
      .command(name)
      .description(description)
      .argument(
        '<patient id>',
        'an id of the patient in the callbacks: patient_oid, partner_patient_id, abha_address and so on',
      )
      .option('--business-id <id>', 'only of this business');

  sub('show', 'list what is held, without its content').action((id: string, options: PatientOptions) =>
    show(env, { id, ...options }),
  );
  sub('export', 'write everything that is held, and who looked at it, as JSON and CSV in a zip')
    .option('--output <file>', 'the file to create', 'patient.zip')
    .action((id: string, { output, ...options }: PatientOptions & { output: string }) =>
      exportZip(env, { id, ...options }, output),
    );
  sub(
    'erase',
    'erase everything that is held, for good; what a law asks to keep is withheld for ERASURE_KEEP',
  )
    .option('--dry-run', 'show what would be erased without changing anything')
    .option('--yes', 'do not ask')
    .action((id: string, { dryRun, yes, ...options }: PatientOptions & { dryRun?: true; yes?: true }) =>
      erase(env, { id, ...options }, { dryRun, yes }),
    );
  sub(
    'hold',
    'keep the data from retention, and erased data from its destruction, until it is released',
  ).action((id: string, options: PatientOptions) =>
    withDatabase(env, async ({ database }) => {
      const isNew = await holdPatient(database.db, { id, ...options }, commandActor());
      process.stdout.write(isNew ? 'Hold placed.\n' : 'There is a hold already.\n');
    }),
  );
  sub('release', 'release a hold').action((id: string, options: PatientOptions) =>
    withDatabase(env, async ({ database }) => {
      const isReleased = await releasePatient(database.db, { id, ...options }, commandActor());
      process.stdout.write(isReleased ? 'Hold released.\n' : 'There is no such hold.\n');
    }),
  );

  const erasures = patient
    .command('erasures')
    .description('the list of erasures, to be kept beside the backups');
  erasures
    .command('list')
    .description('print the certificates, newest first')
    .option('--limit <n>', 'maximum number of rows', Number, 100)
    .action(({ limit }: { limit: number }) => printCertificates(env, limit));
  erasures
    .command('export')
    .description('write the list: salted hashes and certificates, no ids. Keep it secret')
    .option('--output <file>', 'the file to create', 'erasures.json')
    .action(({ output }: { output: string }) =>
      withDatabase(env, async ({ database }) => {
        await createFile(output, await exportErasures(database.db, commandActor()));
        process.stdout.write(`${printable(output)} written\n`);
      }),
    );
  erasures
    .command('apply')
    .description('erase again what a restored backup brought back; before the receiver is started')
    .argument('<file>', 'written by `patient erasures export`')
    .action((file: string) => applyList(env, file));
}

function show(env: Environment, patient: Patient): Promise<void> {
  return withDatabase(env, ({ database: { db } }) =>
    withPatient(db, families, patient, async (held) => {
      await logCommand(db, accessTo(patient, held, 'reveal'));
      const counts = Object.entries(held.counts).flatMap(([table, rows]) =>
        rows > 0 ? [[table, String(rows)]] : [],
      );
      process.stdout.write(`${tableOf(['table', 'rows'], counts)}\n`);
      const names = ['id', 'event', 'business_id', 'event_time', 'received_at', 'status'];
      for await (const rows of held.read('deliveries')) {
        const deliveries = rows.map(({ columns }) => names.map((name) => columns[name] ?? ''));
        process.stdout.write(`${tableOf(names, deliveries)}\n`);
      }
      process.stdout.write((await isHeld(db, patient)) ? 'There is a hold.\n' : 'There is no hold.\n');
      if (await isBeingErased(db, patient)) process.stdout.write(`${running}\n`);
    }),
  );
}

const running =
  'An erasure is running: it has not erased anything yet. A worker continues it if it was interrupted.';

function exportZip(env: Environment, patient: Patient, output: string): Promise<void> {
  return withDatabase(env, ({ database: { db } }) =>
    withPatient(db, families, patient, async (held) => {
      await logCommand(db, accessTo(patient, held, 'export'));
      await createFile(output, '');
      try {
        await pipeline(zipPatient(held), createWriteStream(output, { flags: 'r+' }));
      } catch (error) {
        await unlink(output);
        throw error;
      }
      process.stdout.write(`${printable(output)} written\n`);
    }),
  );
}

async function erase(
  env: Environment,
  patient: Patient,
  { dryRun = false, yes = false }: { dryRun?: boolean | undefined; yes?: boolean | undefined },
): Promise<void> {
  if (!dryRun && !yes) await confirm(`Erase everything that is held about this patient?`);
  return withDatabase(env, async ({ config, database: { db } }) => {
    const print = (counts: Record<string, number>) =>
      process.stdout.write(
        `${tableOf(
          ['table', 'rows'],
          Object.entries(counts).map(([table, count]) => [table, String(count)]),
        )}\n`,
      );
    if (dryRun) {
      const preview = await previewErasure(db, families, patient, config.erasure);
      print(preview.counts);
      for (const [name, text] of describePreview(preview))
        process.stdout.write(`${name}: ${printable(text)}\n`);
      process.stdout.write('dry run: nothing was changed\n');
      return;
    }
    const left: string[] = [];
    const { advance, stop } = startProgress(undefined, 'deliveries erased');
    try {
      const onNotAnalyzed = (tables: readonly string[]) =>
        left.push(`${tables.join(', ')}: ${notAnalyzed}\n`);
      const options = { ...config.erasure, actor: commandActor(), onProgress: advance, onNotAnalyzed };
      const certificate = await erasePatient(db, families, patient, options);
      stop();
      print(certificate.counts);
      process.stdout.write(describeCertificate(certificate) + left.join(''));
    } finally {
      stop();
    }
  });
}

const describeCertificate = ({ id, destroy_after, searched }: Certificate) =>
  `Certificate ${id}. ${describeSearched(searched)} ${
    destroy_after
      ? `What is withheld is destroyed after ${destroy_after.toISOString()}.`
      : 'Nothing is withheld.'
  }\n`;

function printCertificates(env: Environment, limit: number): Promise<void> {
  return withDatabase(env, async ({ database }) => {
    const rows = (await listCertificates(database.db, limit)).map((certificate) => [
      certificate.id,
      certificate.is_running ? 'running' : certificate.erased_at.toISOString(),
      certificate.erased_by,
      Object.entries(certificate.counts)
        .filter(([, count]) => count > 0)
        .map(([table, count]) => `${table} ${count}`)
        .join('\n'),
      certificate.destroy_after?.toISOString() ?? '',
      certificate.destroyed_at?.toISOString() ?? '',
      describeSearched(certificate.searched),
      String(certificate.undecided),
    ]);
    const head = [
      'certificate',
      'erased at',
      'by',
      'rows',
      'destroyed after',
      'destroyed at',
      'searched',
      'undecided',
    ];
    process.stdout.write(`${tableOf(head, rows)}\n`);
  });
}

function applyList(env: Environment, file: string): Promise<void> {
  return withDatabase(env, async ({ config, database }) => {
    const list = parseErasures(await readFile(file, 'utf8'));
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from inbox`.execute(
      database.db,
    );
    const { advance, stop } = startProgress(rows[0]!.count, 'deliveries read');
    const options: ErasureOptions = { ...config.erasure, actor: commandActor() };
    const { erasures, counts } = await applyErasures(database.db, families, list, options, advance);
    stop();
    const erased = Object.entries(counts).map(([table, count]) => [table, String(count)]);
    process.stdout.write(`${tableOf(['table', 'rows'], erased)}\n`);
    process.stdout.write(`${list.certificates.length} erasures, ${erasures} of them unknown here before\n`);
  });
}

/** Creates a file that only its owner can read. @throws Error where it exists */
async function createFile(file: string, content: string): Promise<void> {
  await writeFile(file, content, { mode: 0o600, flag: 'wx' });
}

/** @throws Error unless the answer is yes */
async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new Error('Use --yes where there is no terminal to ask on.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [yes/no] `);
  terminal.close();
  if (answer.trim().toLowerCase() !== 'yes') throw new Error('Nothing was erased.');
}
