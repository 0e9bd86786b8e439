import type { QuarantineReason } from '../../callbacks/rejection.ts';
import { formatDay, isDay } from '../../common/days.ts';
import { words } from '../../common/words.ts';

export const reasons = {
  not_json: 'Not JSON',
  unsupported_media: 'Not sent as JSON in UTF-8',
  invalid: 'Something is missing or in the wrong form',
  wrong_family: 'Sent to the address of another kind of record',
  refused_by_database: 'PostgreSQL cannot store it',
} as const satisfies Record<QuarantineReason, string>;

/** What the actions of the access log are called; another one, as of a command, is its own name. */
export const actions: Readonly<Record<string, string>> = {
  reveal: 'opened names',
  list: 'opened a list',
  search: 'searched',
  body: 'opened a rejected message',
  download: 'downloaded a list',
  export: 'exported a patient',
  erase: 'erased a patient',
  hold: 'put a hold on a patient',
  release: 'released a hold',
  audit: 'read this log',
  'sign-in': 'signed in',
  'sign-in failed': 'failed to sign in',
  'sign-out': 'signed out',
  'sessions end': 'ended the sessions of a user',
  replay: 'tried callbacks again',
  'quarantine replay': 'tried rejected messages again',
  'quarantine drop': 'deleted rejected messages',
  aliases: 'changed names of ids',
  sql: 'ran a statement of SQL',
  reconcile: 'compared with the platform',
  retention: 'deleted what is too old',
  move: 'moved the database',
  changes: 'read changes',
};

const ids: Readonly<Record<string, string>> = { delivery: 'a callback', quarantine: 'a rejected message' };
const hash = /^([\da-f]{32}|[\da-f]{64})$/;

/** The selection of an entry of the access log, in words. Ids are hashes there. */
export const describeDetails = (json: string): string =>
  Object.entries(JSON.parse(json) as Record<string, unknown>)
    .filter(([, value]) => value !== null && value !== false && String(value) !== '')
    // So `from` stands before `to`.
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, value]) => {
      if (value === true || ids[name]) return ids[name] ?? words(name);
      if (Array.isArray(value)) return `${words(name)} ${value.join(' ')}`;
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return hash.test(text)
        ? `one ${words(name)}`
        : `${words(name)} ${isDay(text) ? formatDay(text) : words(text)}`;
    })
    .join(', ');
