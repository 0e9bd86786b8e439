import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Family, takesEveryEvent } from '../../callbacks/families/family.ts';
import { printable, withProgress } from '../../common/terminal.ts';
import type { OnCore } from '../../receiver/feature.ts';
import { commandActor, logAccess } from '../../receiver/store/log-access.ts';
import { changeAliases } from '../../reconcile/aliases.ts';
import { type Callback, callbacks, practiceOf } from '../../sandbox/history.ts';
import { newRecords } from '../../sandbox/platform-records.ts';
import { sandboxToken, startSandbox } from '../../sandbox/platform-server.ts';
import { directoryOf } from '../../sandbox/practice.ts';
import { seededRandom } from '../../sandbox/random.ts';
import { type Env, registeredUrls, type Summary, sendCallbacks } from '../../sandbox/sender.ts';
import { loadFamilies } from '../load-families.ts';
import { firstSigningKey, httpAddress } from './platform.ts';

interface SendFlags {
  readonly count?: number;
  readonly rate?: number | undefined;
  readonly seed: number;
  readonly history?: true;
  readonly families: string;
}

interface ServeFlags extends SendFlags {
  readonly host: string;
  readonly port: number;
  readonly token?: string;
  readonly sendTo?: string;
  readonly unsent: number;
}

interface Context {
  readonly command: Command;
  readonly env: Env;
  readonly onCore: OnCore;
}

export function addSandboxCommands(program: Command, env: Env, onCore: OnCore): void {
  const sending = program
    .command('send')
    .description('send sample callbacks to a receiver, and print a summary')
    .option('--url <address>', "the receiver's base address", httpAddress, ownAddress(env));
  addSendOptions(sending).action(async ({ url, ...flags }: SendFlags & { url: string }, command: Command) => {
    const { callbacks: sent, acknowledged } = await send(url, flags, { command, env, onCore });
    if (acknowledged < sent) process.exitCode = 1;
  });

  const serving = program
    .command('sandbox')
    .description('simulate the platform; with --send-to, send callbacks too')
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'where to listen', wholeNumber, 8090)
    .option('--token <token>', 'the accepted bearer token (default: SERVICE_TOKEN, or one that is printed)')
    .option('--send-to <address>', 'the base address of a receiver to send callbacks to', httpAddress)
    .option('--unsent <share>', 'share of callbacks about appointments to keep back, such as 10%', share, 0);
  addSendOptions(serving).action((flags: ServeFlags, command: Command) =>
    serve(flags, { command, env, onCore }),
  );
}

async function serve(flags: ServeFlags, context: Context): Promise<void> {
  const { command, env } = context;
  const { host, port, sendTo, unsent } = flags;
  const token = flags.token || env.SERVICE_TOKEN || sandboxToken;
  const serviceIdentifierField = env.SERVICE_IDENTIFIER_FIELD || 'svc';
  const records = newRecords(directoryOf(practiceOf(flags.seed)));
  const options = { host, port, tokens: [token], serviceIdentifierField, records };
  const sandbox = await startSandbox(options).catch((error: NodeJS.ErrnoException) => {
    // 69: EX_UNAVAILABLE
    return command.error(`sandbox: cannot listen on ${host}:${port} (${error.code})`, { exitCode: 69 });
  });
  command.configureOutput().writeOut?.(`export SERVICE_BASE_URL=${sandbox.url} SERVICE_TOKEN=${token}\n`);
  if (!sendTo) return;
  const random = seededRandom(flags.seed, 3);
  await send(sendTo, flags, context, ({ family, envelope }) => {
    records.take(envelope);
    return family.name !== 'appointment' || !random.chance(unsent);
  });
}

async function send(
  url: string,
  flags: SendFlags,
  { command, env, onCore }: Context,
  isSent: (callback: Callback) => boolean = () => true,
): Promise<Summary> {
  const families = await readFamilies(command, flags.families, env);
  const { seed, count = flags.history ? undefined : 100 } = flags;
  const sequence = callbacks({ seed, families, count }).filter(isSent);
  const options = {
    ...flags,
    urlOf: registeredUrls(url, env),
    signingKey: firstSigningKey(env),
    signatureHeader: env.SIGNATURE_HEADER || undefined,
  };
  const summary = await withProgress('callbacks sent', sequence.length, ({ advance }) =>
    sendCallbacks(sequence, { ...options, onSent: advance }),
  );
  const { writeOut } = command.configureOutput();
  writeOut?.(report(summary, seed));
  if (flags.history && summary.acknowledged > 0) {
    const names = directoryOf(practiceOf(seed));
    const importNames = onCore(async (core) => {
      await logAccess(core, { actor: commandActor(), action: 'aliases', rows: names.length });
      const changed = await changeAliases(core.db, names, 'platform');
      writeOut?.(`names    ${changed} of ${names.length} ids of clinics and doctors have new names\n`);
    });
    await importNames().catch(({ message }: Error) =>
      writeOut?.(`names    not imported: ${printable(message)}\n`),
    );
  }
  return summary;
}

async function readFamilies(command: Command, text: string, env: Env): Promise<Family[]> {
  const all = await loadFamilies(env.FAMILIES || undefined);
  const families = all.filter((family) => !takesEveryEvent(family));
  const names = families.map(({ name }) => name);
  const wanted = text === 'all' ? names : text.split(',').map((name) => name.trim());
  if (!wanted.every((name) => names.includes(name)))
    command.error(
      `error: option '--families <names>' argument '${text}' is invalid. It must be all, or any of ${names.join(', ')}.`,
    );
  return families.filter(({ name }) => wanted.includes(name));
}

function report(summary: Summary, seed: number): string {
  const { callbacks: sent, acknowledged, seconds } = summary;
  const byOutcome = Object.entries(summary.outcomes).sort(([, a], [, b]) => b - a);
  return [
    `sent     ${sent} callbacks in ${seconds.toFixed(1)} s (${Math.round(sent / seconds)}/s), ${acknowledged} acknowledged`,
    `outcomes ${byOutcome.map(([outcome, count]) => `${outcome} ${count}`).join(', ') || 'none'}`,
    `seed     ${seed}\n`,
  ].join('\n');
}

function addSendOptions(command: Command): Command {
  const seed = new Option('--seed <number>', 'the same seed sends the same clinic');
  return command
    .option('--count <number>', 'the last ones of eight weeks of a clinic (default: 100)', wholeNumber)
    .option('--history', 'all of these weeks, and the names of its clinics and doctors')
    .option('--rate <number>', 'callbacks per second (default: no limit)', positiveNumber)
    .addOption(seed.argParser(wholeNumber).default(Math.floor(Math.random() * 2 ** 31), 'random'))
    .option('--families <names>', 'comma-separated, or all', 'all');
}

const ownAddress = (env: Env) => `http://127.0.0.1:${env.PORT || 8080}`;

const numberOption = (type: string, isValid: (value: number, text: string) => boolean) => (text: string) => {
  const value = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (text !== '' && isValid(value, text)) return value;
  throw new InvalidArgumentError(`It must be ${type}.`);
};
const wholeNumber = numberOption('a whole number', (_, text) => /^\d{1,15}$/.test(text));
const positiveNumber = numberOption('a number above 0', (value, text) => /^[\d.]+$/.test(text) && value > 0);
const share = numberOption('a share such as 5%, at most 90%', (value) => value >= 0 && value <= 0.9);
