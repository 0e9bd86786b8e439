import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { sql } from 'kysely';
import {
  linesOrInput,
  orInput,
  parseCount,
  parseUuid,
  print,
  printable,
  printCounts,
  printTable,
  withProgress,
} from '../common/terminal.ts';
import type { Core, OnCore } from '../receiver/feature.ts';
import { type Actor, commandActor, logAccess } from '../receiver/store/log-access.ts';
import { erasePatient, previewErasure } from './erase.ts';
import { applyErasures, exportErasures, readWithheld } from './erasures.ts';
import { holdPatient, isHeld, releasePatient } from './holds.ts';
import { candidatesOf, exportPatient, identifyPatient, isAbout, revealCallbacks } from './patient.ts';
import { applyRetention } from './retention.ts';

const maxListed = 1_000;

export function addPrivacyCommands(program: Command, onCore: OnCore): void {
  addPatientCommands(program, onCore);
  addErasuresCommands(program, onCore);
  program
    .command('audit')
    .description('the access log: who saw or changed whose data')
    .command('list')
    .description('list entries, newest first')
    .option('--patient <id>', 'only about this patient; - reads the id from standard input', orInput)
    .option('--limit <n>', 'maximum number of entries', parseCount, 100)
    .action(onCore(printAccess));
  program
    .command('retention')
    .description('delete what is older than RETENTION says (a worker does it daily)')
    .option('--dry-run', 'count what would be deleted, and change nothing')
    .action(
      onCore(async (core, { dryRun }: { dryRun?: true }) => {
        if (!dryRun) await logAccess(core, { actor: commandActor(), action: 'retention' });
        printCounts(await applyRetention(core, { dryRun: dryRun ?? false }));
      }),
    );
}

function addPatientCommands(program: Command, onCore: OnCore): void {
  const patient = program.command('patient').description('what is stored about a patient, erasure and holds');
  const sub = (name: string, description: string) =>
    patient
      .command(name)
      .description(description)
      .argument(
        '<patient id...>',
        'the ids of one patient in callbacks; platform:<id>, partner:<business>:<id> or abha:<id> where an id may be several people; - reads them from standard input, a line each',
        linesOrInput,
      );

  const onPatient = <Options>(run: (patient: Patient, options: Options) => Promise<void>) =>
    onCore(async (core, ids: string[], options: Options) => {
      const actor = commandActor();
      await run({ core, actor, subjects: await identifyPatient(core, actor, ids) }, options);
    });

  sub('show', 'list the stored callbacks, without their content').action(onPatient(show));
  sub('export', 'write everything that is stored, and who looked at it, as JSON')
    .option('--output <file>', 'the file to create', 'patient.json')
    .action(
      onPatient(async ({ core, actor, subjects }, { output }: { output: string }) =>
        createFile(output, await exportPatient(core, actor, subjects)),
      ),
    );
  sub('erase', 'make null what is personal, for good; the originals are destroyed unless ERASURE_KEEP is set')
    .option('--dry-run', 'show what would be erased, and change nothing')
    .option(
      '--also <id>',
      'a callback or a rejected message with an id as text, as the dry run lists them (repeatable)',
      (id, others: string[]) => [...others, parseUuid(id)],
      [],
    )
    .option('--yes', 'do not ask')
    .action(async (ids: string[], { dryRun, also, yes }: { dryRun?: true; also: string[]; yes?: true }) => {
      if (!dryRun && !yes) await confirm();
      await onPatient((patient) => (dryRun ? preview(patient) : erase(patient, also)))(ids, {});
    });
  sub('hold', 'keep data from retention and from destruction, until it is released').action(
    onPatient(async ({ core, actor, subjects }) => {
      const isNew = await holdPatient(core, actor, subjects);
      print(isNew ? 'Hold placed.' : 'There is a hold already.');
    }),
  );
  sub('release', 'release a hold').action(
    onPatient(async ({ core, actor, subjects }) => {
      const isReleased = await releasePatient(core, actor, subjects);
      print(isReleased ? 'Hold released.' : 'There is no such hold.');
    }),
  );
}

interface Patient {
  core: Core;
  actor: Actor;
  subjects: readonly string[];
}

async function show({ core, actor, subjects }: Patient): Promise<void> {
  const callbacks = await revealCallbacks(core, actor, subjects);
  const hasHold = await isHeld(core.db, subjects);
  const rows = callbacks.toReversed().map(({ id, event, businessId, eventMs, receivedAt }) => {
    return [id, event, businessId, new Date(eventMs), new Date(receivedAt / 1000)];
  });
  printTable(['id', 'event', 'business', 'event time', 'received at'], rows);
  print(hasHold ? 'There is a hold.' : 'There is no hold.');
}

async function preview({ core, actor, subjects }: Patient): Promise<void> {
  const { callbacks, bodies, shared, others, mentions, hasMore } = await previewErasure(core, subjects);
  await logAccess(core, { actor, action: 'reveal', subjects: [...subjects, ...others] });
  printTable(['event', 'callbacks'], Object.entries(callbacks));
  if (bodies > 0) print(`Refused bodies, which are taken out of the quarantine: ${bodies}`);
  if (shared.length > 0) {
    print(`These have other ids, too, and are lost to those as well:\n${shared.join('\n')}`);
    print(`The other ids: ${others.map((other) => other.slice(2)).join(', ')}`);
  }
  if (mentions.length > 0) {
    print('These have an id as text. Look at each, and pass those of the patient with --also:');
    const rows = mentions.map(({ id, where }) => [id, where]);
    printTable(['id', 'where'], rows);
    if (hasMore) print('There are more, which are listed once these are gone.');
  }
  print('Dry run: nothing was changed.');
}

async function erase({ core, actor, subjects }: Patient, also: readonly string[]): Promise<void> {
  const { id, counts, completed_at } = await withProgress('callbacks', undefined, ({ advance }) =>
    erasePatient(core, actor, subjects, { also, onProgress: advance }),
  );
  printTable(['family', 'callbacks'], Object.entries(counts));
  const originals =
    core.config.erasure.keepMs > 0
      ? `withheld for ERASURE_KEEP after their receipt: erasures show ${id}`
      : 'destroyed, but for those with a hold';
  print(`Certificate ${id}. The originals are ${originals}.`);
  if (completed_at === null)
    print('It is not complete: rows could not be written yet. The receiver tries again: erasures list');
}

function addErasuresCommands(program: Command, onCore: OnCore): void {
  const erasures = program
    .command('erasures')
    .description('the list of erasures, to be kept beside the backups');
  erasures
    .command('list')
    .description('print the certificates, newest first')
    .action(
      onCore(async (core) => {
        const certificates = await core.db
          .selectFrom('receiver.erasures')
          .select(['id', 'actor', 'started_at', 'completed_at', 'counts'])
          .orderBy('started_at', 'desc')
          .limit(maxListed)
          .execute();
        const rows = certificates.map((row) => {
          const counts = Object.entries(row.counts).map(([family, count]) => `${family} ${count}`);
          return [row.id, row.actor, row.started_at, row.completed_at, counts.join('\n')];
        });
        printTable(['certificate', 'by', 'begun', 'completed', 'callbacks'], rows);
      }),
    );
  erasures
    .command('show')
    .description(
      'print what is withheld of an erasure, as it was: a JSON object for each callback and rejected message',
    )
    .argument('<id>', 'its certificate', parseUuid)
    .action(
      onCore(async (core, id: string) => {
        for (const line of await readWithheld(core, commandActor(), id)) print(line);
      }),
    );
  erasures
    .command('export')
    .description('write the list: salted hashes and certificates, no ids. Keep it secret')
    .option('--output <file>', 'the file to create', 'erasures.json')
    .action(
      onCore(async (core, { output }: { output: string }) => {
        await logAccess(core, { actor: commandActor(), action: 'erasures export' });
        await createFile(output, await exportErasures(core.db));
      }),
    );
  erasures
    .command('apply')
    .description('erase again what a restored backup brought back; before the receiver is started')
    .argument('<file>', 'written by `erasures export`')
    .action(
      onCore(async (core, file: string) => {
        await logAccess(core, { actor: commandActor(), action: 'erasures apply' });
        const count = await withProgress('callbacks', undefined, ({ advance }) =>
          applyErasures(core, file, advance),
        );
        print(`${count} erasures are applied`);
      }),
    );
}

async function printAccess(
  core: Core,
  { patient, limit }: { patient?: string; limit: number },
): Promise<void> {
  const subjects = patient === undefined ? undefined : (await candidatesOf(core.db, patient)).subjects;
  const entries = await core.db
    .selectFrom('public.access_log')
    .select(['entry', 'at', 'actor', 'actor_name', 'address', 'action', 'filter', 'rows'])
    // A large download has a hash for each patient.
    .select(sql<number>`cardinality(subjects)`.as('patients'))
    .$if(subjects !== undefined, (query) => query.where(isAbout(subjects!)))
    .orderBy('entry', 'desc')
    .limit(limit)
    .execute();
  const seen = { subjects: subjects ?? [], rows: entries.length };
  await logAccess(core, { actor: commandActor(), action: 'audit', ...seen });
  const rows = entries.map(({ entry, at, actor, actor_name: name, address, action, patients, ...shown }) => {
    const filter = Object.keys(shown.filter).length > 0 ? JSON.stringify(shown.filter) : '';
    const by = name ? `${actor}\n${name}` : actor;
    return [entry, at, by, address, action, patients, filter, shown.rows];
  });
  printTable(['entry', 'at', 'actor', 'address', 'action', 'patients', 'filter', 'rows'], rows);
}

async function createFile(file: string, content: string): Promise<void> {
  await writeFile(file, content, { mode: 0o600, flag: 'wx' });
  print(`${printable(file)} written`);
}

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY) throw new Error('Use --yes where there is no terminal to ask on.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question('Erase everything that is stored about this patient? [yes/no] ');
  terminal.close();
  if (answer.trim().toLowerCase() !== 'yes') throw new Error('Nothing was erased.');
}
