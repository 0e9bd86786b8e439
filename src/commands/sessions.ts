import { endSessionsOf, listSignedIn, replaceSessionKey } from '../store/sessions.ts';
import { print, printTable } from './output.ts';
import { type AddCommand, logCommand, type Opened, onDatabase, withDatabase } from './with-database.ts';

export const addSessionsCommand: AddCommand = (program, env) => {
  const sessions = program.command('sessions').description('the sessions of the console');
  sessions
    .command('list')
    .description('list the users who have signed in within the longest duration of a session')
    .action(onDatabase(env, list));
  sessions
    .command('end [user]')
    .description('end all sessions of a user, as `list` shows it, or with --all those of everybody')
    .option('--all', 'replace the key of the cookies, so that everybody has to sign in again')
    .action((user: string | undefined, { all }: { all?: true }) => {
      if ((user === undefined) === (all === undefined)) throw new Error('name a user, or --all');
      return withDatabase(env, (opened) => end(opened, user));
    });
};

async function list({ db }: Opened): Promise<void> {
  const users = await listSignedIn(db);
  await logCommand(db, { action: 'audit', filter: { command: 'sessions list' }, rows: users.length });
  const rows = users.map(({ user, name, at, address }) => [user, name, at, address]);
  printTable(['user', 'name', 'last sign-in', 'address'], rows);
}

/** @param user undefined: everybody */
async function end({ db }: Opened, user: string | undefined): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await logCommand(tx, { action: 'sessions end', filter: user === undefined ? { all: true } : { user } });
    await (user === undefined ? replaceSessionKey(tx) : endSessionsOf(tx, user));
  });
  print('ended; receivers know it within 5 s');
}
