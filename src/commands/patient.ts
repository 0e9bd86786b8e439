import { createWriteStream } from 'node:fs';
import { readFile, unlink, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { pipeline } from 'node:stream/promises';
import { sql } from 'kysely';
import { parseUuid } from '../common/arguments.ts';
import { print, printCounts, printTable, withProgress } from '../common/output.ts';
import { printable } from '../common/printable.ts';
import { families } from '../families/index.ts';
import { notAnalyzed } from '../privacy/analyze.ts';
import { applyErasures } from '../privacy/erasure/apply-erasures.ts';
import { erasePatient } from '../privacy/erasure/erase.ts';
import {
  describeSearched,
  exportErasures,
  listCertificates,
  parseErasures,
} from '../privacy/erasure/erasure-list.ts';
import { describePreview, previewErasure } from '../privacy/erasure/preview.ts';
import { isBeingErased } from '../privacy/erasure/running.ts';
import { accessTo, jsonOf, withPatient } from '../privacy/export.ts';
import type { Patient } from '../privacy/find-deliveries.ts';
import { holdPatient, isHeld, releasePatient } from '../privacy/hold.ts';
import { type AddCommand, commandActor, logCommand, type Opened, onDatabase } from './with-database.ts';

type PatientOptions = Pick<Patient, 'businessId'>;
type EraseOptions = PatientOptions & { also: string[] };

export const addPatientCommand: AddCommand = (program, env) => {
  const patient = program
    .command('patient')
    .description('what is held about a patient: access, erasure and holds');
  const sub = (name: string, description: string) =>
    patient
      .command(name)
      .description(description)
      .argument(
        '<patient id...>',
        'the ids of one patient in the callbacks: patient_oid, partner_patient_id, abha_address and so on',
      )
      .option('--business-id <id>', 'only of this business');

  /** The action of a command about a patient. */
  const onPatient = <Options>(run: (opened: Opened, patient: Patient, options: Options) => Promise<void>) =>
    onDatabase(env, (opened, [id, ...linked]: string[], options: PatientOptions & Options) =>
      run(opened, { id: id!, linked, businessId: options.businessId }, options),
    );

  sub('show', 'list what is held, without its content').action(onPatient(show));
  sub('export', 'write everything that is held, and who looked at it, as JSON')
    .option('--output <file>', 'the file to create', 'patient.json')
    .action(onPatient(exportJson));
  sub(
    'erase',
    'erase everything that is held, for good; what a law asks to keep is withheld for ERASURE_KEEP',
  )
    .option('--dry-run', 'show what would be erased without changing anything')
    .option(
      '--also <id>',
      'a delivery or a rejected body with the id as text, as the dry run lists them (repeatable)',
      (id, others: string[]) => [...others, parseUuid(id)],
      [],
    )
    .option('--yes', 'do not ask')
    .action(async (ids: string[], options: EraseOptions & { dryRun?: true; yes?: true }) => {
      if (!options.dryRun && !options.yes) await confirm('Erase everything that is held about this patient?');
      await onPatient<EraseOptions>(options.dryRun ? preview : erase)(ids, options);
    });
  const hold = (change: typeof holdPatient, done: string, otherwise: string) =>
    onPatient(async ({ db }, patient) => {
      print((await change(db, patient, commandActor())) ? done : otherwise);
    });
  sub(
    'hold',
    'keep the data from retention, and erased data from its destruction, until it is released',
  ).action(hold(holdPatient, 'Hold placed.', 'There is a hold already.'));
  sub('release', 'release a hold').action(hold(releasePatient, 'Hold released.', 'There is no such hold.'));

  const erasures = program
    .command('erasures')
    .description('the list of erasures, to be kept beside the backups');
  erasures
    .command('list')
    .description('print the certificates, newest first')
    .option('--limit <n>', 'maximum number of rows', Number, 100)
    .action(onDatabase(env, printCertificates));
  erasures
    .command('export')
    .description('write the list: salted hashes and certificates, no ids. Keep it secret')
    .option('--output <file>', 'the file to create', 'erasures.json')
    .action(
      onDatabase(env, async ({ db }, { output }: { output: string }) => {
        await createFile(output, await exportErasures(db, commandActor()));
        print(`${printable(output)} written`);
      }),
    );
  erasures
    .command('apply')
    .description('erase again what a restored backup brought back; before the receiver is started')
    .argument('<file>', 'written by `erasures export`')
    .action(onDatabase(env, applyList));
};

function show({ db }: Opened, patient: Patient): Promise<void> {
  return withPatient(db, families, patient, async (held) => {
    await logCommand(db, accessTo(patient, held, 'reveal'));
    printCounts(Object.fromEntries(Object.entries(held.counts).filter(([, rows]) => rows > 0)));
    const names = ['id', 'event', 'business_id', 'event_time', 'received_at', 'status'];
    for await (const rows of held.read('deliveries')) {
      printTable(
        names,
        rows.map(({ columns }) => names.map((name) => columns[name])),
      );
    }
    print((await isHeld(db, patient)) ? 'There is a hold.' : 'There is no hold.');
    if (await isBeingErased(db, patient)) {
      print(
        'An erasure is running: it has not erased anything yet. A worker continues it if it was interrupted.',
      );
    }
  });
}

function exportJson({ db }: Opened, patient: Patient, { output }: { output: string }): Promise<void> {
  return withPatient(db, families, patient, async (held) => {
    await logCommand(db, accessTo(patient, held, 'export'));
    await createFile(output, '');
    try {
      await pipeline(jsonOf(held), createWriteStream(output, { flags: 'r+' }));
    } catch (error) {
      await unlink(output);
      throw error;
    }
    print(`${printable(output)} written`);
  });
}

async function preview({ config, db }: Opened, patient: Patient): Promise<void> {
  const found = await previewErasure(db, families, patient, config.erasure);
  printCounts(found.counts);
  for (const [name, text] of describePreview(found)) print(`${name}: ${printable(text)}`);
  print('dry run: nothing was changed');
}

async function erase({ config, db }: Opened, patient: Patient, { also }: EraseOptions): Promise<void> {
  const left: string[] = [];
  const onNotAnalyzed = (tables: readonly string[]) => left.push(`${tables.join(', ')}: ${notAnalyzed}`);
  const options = { ...config.erasure, actor: commandActor(), also, onNotAnalyzed };
  const certificate = await withProgress('deliveries erased', undefined, ({ advance }) =>
    erasePatient(db, families, patient, { ...options, onProgress: advance }),
  );
  const { id, counts, searched, destroy_after } = certificate;
  printCounts(counts);
  const end = destroy_after
    ? `What is withheld is destroyed after ${destroy_after.toISOString()}.`
    : 'Nothing is withheld.';
  print([`Certificate ${id}. ${describeSearched(searched)} ${end}`, ...left].join('\n'));
}

async function printCertificates({ db }: Opened, { limit }: { limit: number }): Promise<void> {
  const rows = (await listCertificates(db, limit)).map((certificate) => [
    certificate.id,
    certificate.is_running ? 'running' : certificate.erased_at,
    certificate.erased_by,
    Object.entries(certificate.counts)
      .filter(([, count]) => count > 0)
      .map(([table, count]) => `${table} ${count}`)
      .join('\n'),
    certificate.destroy_after,
    certificate.destroyed_at,
    describeSearched(certificate.searched),
  ]);
  printTable(['certificate', 'erased at', 'by', 'rows', 'destroyed after', 'destroyed at', 'searched'], rows);
}

async function applyList({ config, db }: Opened, file: string): Promise<void> {
  const list = parseErasures(await readFile(file, 'utf8'));
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from inbox`.execute(db);
  const options = { ...config.erasure, actor: commandActor() };
  const { erasures, counts } = await withProgress('deliveries read', rows[0]!.count, ({ advance }) =>
    applyErasures(db, families, list, options, advance),
  );
  printCounts(counts);
  print(`${list.certificates.length} erasures, ${erasures} of them unknown here before`);
}

/** Creates a file that only its owner can read. @throws Error where it exists */
const createFile = (file: string, content: string) => writeFile(file, content, { mode: 0o600, flag: 'wx' });

/** @throws Error unless the answer is yes */
async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new Error('Use --yes where there is no terminal to ask on.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [yes/no] `);
  terminal.close();
  if (answer.trim().toLowerCase() !== 'yes') throw new Error('Nothing was erased.');
}
