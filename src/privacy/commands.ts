import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import {
  linesOrInput,
  orInput,
  parseCount,
  parseTime,
  parseUuid,
  print,
  printable,
  printCounts,
  printTable,
  withProgress,
} from '../common/terminal.ts';
import type { Core, OnCore } from '../receiver/feature.ts';
import { commandActor, logAccess } from '../receiver/store/log-access.ts';
import { type AccessFilter, listAccess } from './audit.ts';
import { erasePatient, previewErasure } from './erase.ts';
import { applyErasures, exportErasures, listErasures } from './erasures.ts';
import { heldOf, holdPatient, releasePatient } from './holds.ts';
import { exportPatient, identifyPatient, readPatient, subjectsLike, UnclearPatient } from './patient.ts';
import { applyRetention } from './retention.ts';
import { answerRequest } from './user-deletions.ts';

export function addPrivacyCommands(program: Command, onCore: OnCore): void {
  addPatientCommands(program, onCore);
  addErasuresCommands(program, onCore);
  program
    .command('audit')
    .description('the access log: who saw or changed whose data')
    .command('list')
    .description('list entries, newest first')
    .option('--actor <id or name>', 'only of this actor')
    .option('--action <action>', 'only of this action, such as reveal or export')
    .option('--patient <id>', 'only about this patient; - reads the id from standard input', orInput)
    .option('--since <time>', 'only entries at this time or later', parseTime)
    .option('--until <time>', 'only entries before this time', parseTime)
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
  const patient = program.command('patient').description('what is held about a patient, erasure and holds');
  const sub = (name: string, description: string) =>
    patient
      .command(name)
      .description(description)
      .argument(
        '<patient id...>',
        'the ids of one patient in callbacks; platform:<id>, partner:<business>:<id> or abha:<id> where an id may be several people; - reads them from standard input, a line each',
        linesOrInput,
      );

  sub('show', 'list what is held, without its content').action(
    onCore(async (core, ids: string[]) => {
      const subjects = await identify(core, ids);
      const { deliveries } = await readPatient(core, subjects);
      const rows = deliveries.length;
      await logAccess(core, { actor: commandActor(), action: 'reveal', subjects, rows });
      printTable(
        ['id', 'event', 'business', 'event time', 'received at'],
        deliveries.map(({ id, event, businessId, eventMs, receivedAt }) => [
          ...[id, event, businessId, new Date(eventMs), new Date(receivedAt / 1000)],
        ]),
      );
      print((await heldOf(core, subjects)).length > 0 ? 'There is a hold.' : 'There is no hold.');
    }),
  );
  sub('export', 'write everything that is held, and who looked at it, as JSON')
    .option('--output <file>', 'the file to create', 'patient.json')
    .action(
      onCore(async (core, ids: string[], { output }: { output: string }) => {
        const subjects = await identify(core, ids);
        const data = await readPatient(core, subjects);
        const rows = data.deliveries.length;
        await logAccess(core, { actor: commandActor(), action: 'export', subjects, rows });
        await createFile(output, await exportPatient(core, subjects, data));
      }),
    );
  sub('erase', 'make null what is personal, for good; the originals are withheld for ERASURE_KEEP')
    .option('--dry-run', 'show what would be erased, and change nothing')
    .option(
      '--also <id>',
      'a callback or a body of the quarantine with an id as text, as the dry run lists them (repeatable)',
      (id, others: string[]) => [...others, parseUuid(id)],
      [],
    )
    .option('--yes', 'do not ask')
    .action(async (ids: string[], options: { dryRun?: true; also: string[]; yes?: true }) => {
      if (!options.dryRun && !options.yes) await confirm('Erase everything that is held about this patient?');
      await onCore((core: Core) => (options.dryRun ? preview(core, ids) : erase(core, ids, options.also)))();
    });
  sub('hold', 'keep data from retention and from destruction, until it is released').action(
    onCore(async (core, ids: string[]) => {
      const subjects = await identify(core, ids);
      await logAccess(core, { actor: commandActor(), action: 'hold', subjects });
      const isNew = await holdPatient(core, subjects, commandActor().id);
      print(isNew ? 'Hold placed.' : 'There is a hold already.');
    }),
  );
  sub('release', 'release a hold').action(
    onCore(async (core, ids: string[]) => {
      // The patient may have been erased meanwhile.
      const subjects: string[] = [];
      for (const id of ids) {
        const held = await heldOf(core, await subjectsLike(core.db, id));
        if (held.length > 1) throw new UnclearPatient(id, held);
        subjects.push(...held);
      }
      await logAccess(core, { actor: commandActor(), action: 'release', subjects });
      print((await releasePatient(core, subjects)) ? 'Hold released.' : 'There is no such hold.');
    }),
  );
}

/** @throws UnclearPatient, whose message has ids of patients: so an entry comes first */
async function identify(core: Core, ids: readonly string[]): Promise<string[]> {
  try {
    return await identifyPatient(core, ids);
  } catch (error) {
    if (error instanceof UnclearPatient && error.subjects.length > 0)
      await logAccess(core, { actor: commandActor(), action: 'reveal', subjects: error.subjects });
    throw error;
  }
}

async function preview(core: Core, ids: readonly string[]): Promise<void> {
  const subjects = await identify(core, ids);
  const found = await previewErasure(core, subjects);
  await logAccess(core, { actor: commandActor(), action: 'reveal', subjects });
  printTable(['event', 'callbacks'], Object.entries(found.callbacks));
  if (found.bodies > 0) print(`Refused bodies, which are taken out of the quarantine: ${found.bodies}`);
  if (found.shared.length > 0)
    print(`These belong to somebody else too, who loses them as well:\n${found.shared.join('\n')}`);
  if (found.mentions.length > 0) {
    print('These have an id as text. Look at each, and pass those of the patient with --also:');
    printTable(
      ['id', 'where'],
      found.mentions.map(({ id, where }) => [id, where]),
    );
    if (found.hasMore) print('There are more, which are listed once these are gone.');
  }
  print('Dry run: nothing was changed.');
}

async function erase(core: Core, ids: readonly string[], also: readonly string[]): Promise<void> {
  const subjects = await identify(core, ids);
  const actor = commandActor();
  await logAccess(core, { actor, action: 'erase', subjects });
  const { id, counts, completedAt } = await withProgress('callbacks', undefined, ({ advance }) =>
    erasePatient(core, subjects, { actor: actor.id, also, onProgress: advance }),
  );
  printTable(['family', 'callbacks'], Object.entries(counts));
  print(`Certificate ${id}. The originals are withheld for ERASURE_KEEP after their receipt.`);
  if (completedAt === null)
    print('It is not complete: rows could not be written yet. The receiver tries again: erasures list');
}

function addErasuresCommands(program: Command, onCore: OnCore): void {
  const erasures = program
    .command('erasures')
    .description('the list of erasures, to be kept beside the backups');
  erasures
    .command('list')
    .description('print the certificates, newest first')
    .option('--limit <n>', 'maximum number of rows', parseCount, 100)
    .action(
      onCore(async (core, { limit }: { limit: number }) => {
        const rows = await listErasures(core, limit);
        printTable(
          ['certificate', 'by', 'begun', 'completed', 'callbacks'],
          rows.map(({ id, actor, startedAt, completedAt, counts }) => [
            ...[id, actor, startedAt, completedAt],
            Object.entries(counts)
              .map(([family, count]) => `${family} ${count}`)
              .join('\n'),
          ]),
        );
      }),
    );
  erasures
    .command('export')
    .description('write the list: salted hashes and certificates, no ids. Keep it secret')
    .option('--output <file>', 'the file to create', 'erasures.json')
    .action(
      onCore(async (core, { output }: { output: string }) => {
        await logAccess(core, { actor: commandActor(), action: 'erasures export' });
        await createFile(output, await exportErasures(core));
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
  erasures
    .command('answer')
    .description('answer a user.delete of the platform in another way than by an erasure')
    .argument('<id>', 'its delivery', parseUuid)
    .action(
      onCore(async (core, id: string) => {
        await logAccess(core, { actor: commandActor(), action: 'answer', filter: { delivery: id } });
        print((await answerRequest(core, id, commandActor().id)) ? 'Answered.' : 'There is no such request.');
      }),
    );
}

type ListOptions = Omit<AccessFilter, 'subjects'> & { patient?: string; limit: number };

async function printAccess(core: Core, { patient, limit, ...filter }: ListOptions): Promise<void> {
  const subjects = patient === undefined ? undefined : await subjectsLike(core.db, patient);
  const entries = await listAccess(core.db, { ...filter, subjects }, limit);
  const { length: rows } = entries;
  const { actor, ...others } = rows > 0 ? filter : ({} as typeof filter);
  const about = { subjects: subjects ?? [], filter: others, ids: { actor }, rows };
  await logAccess(core, { actor: commandActor(), action: 'audit', ...about });
  printTable(
    ['entry', 'at', 'actor', 'address', 'action', 'patients', 'filter', 'rows'],
    entries.map((one) => [
      ...[one.entry, one.at, [one.actor, one.actor_name].filter(Boolean).join('\n'), one.address, one.action],
      ...[
        one.patients ?? 'hundreds',
        Object.keys(one.filter).length > 0 ? JSON.stringify(one.filter) : '',
        one.rows,
      ],
    ]),
  );
}

/** Creates a file that only its owner can read. @throws Error where it exists */
async function createFile(file: string, content: string): Promise<void> {
  await writeFile(file, content, { mode: 0o600, flag: 'wx' });
  print(`${printable(file)} written`);
}

/** @throws Error unless the answer is yes */
async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new Error('Use --yes where there is no terminal to ask on.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [yes/no] `);
  terminal.close();
  if (answer.trim().toLowerCase() !== 'yes') throw new Error('Nothing was erased.');
}
