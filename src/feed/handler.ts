// `webhook-receiver/handler`: what a module of the folder HANDLERS is written with.
import { z } from 'zod';
import type { CallbackOf } from '../callbacks/callback.ts';
import type { families } from '../callbacks/families/index.ts';
import type { RowOf } from '../callbacks/families/row.ts';

type Documented = { [F in (typeof families)[number] as F['name']]: F };

/** The families by name. One's own by declaration merging: `interface Families { invoice: typeof invoice }`. */
export interface Families extends Documented {}
type Name = keyof Families & string;

/** A change of a record, as in the feed of changes. */
export interface HandledChange<Family extends string = string> {
  /** The same for each attempt: a key for what must be done once. */
  cursor: string;
  family: Family;
  business_id: string;
  id: string;
  /** `erased`: by an erasure or the retention. */
  kind: 'changed' | 'deleted' | 'erased';
  version: number;
  changed_at: Date;
}

interface EventOf<Family extends Name> {
  family: Family;
  change: HandledChange<Family>;
  /** The row as it is now: times are dates, whole numbers and amounts texts. Null: it is gone. */
  record: RowOf<Families[Family]> | null;
  /** The newest callback of the record, as it came, without secrets. Null: the row is gone. */
  callback: CallbackOf<Families[Family]> | null;
}

/** What `family` is says what the others are. */
export type HandlerEvent<Names extends Name = Name> = { [Family in Names]: EventOf<Family> }[Names];

interface HandlerTools {
  /** Aborted after `timeoutMs`, and when the receiver stops. */
  signal: AbortSignal;
  /** Writes lines into the log of the receiver. Names, phones and texts of errors do not belong there. */
  log: { info: (about: object, message: string) => void; warn: (about: object, message: string) => void };
}

export interface Handler<Names extends Name = Name> {
  /** Small letters, digits and -. Its destination is `handler:<name>`. */
  name: string;
  families: readonly Names[];
  /** After which an attempt has failed; default: 60,000, at most an hour. What ignores the signal for as long again ends the process. */
  timeoutMs?: number;
  /** Called at least once for each change, in order for a record. Throwing means: again, later. */
  run: (event: HandlerEvent<Names>, tools: HandlerTools) => Promise<unknown>;
}

/** The compiler knows the records of the families. */
export const defineHandler = <const Names extends Name>(handler: Handler<Names>): Handler<Names> => handler;

const maxTimeoutMs = 3_600_000;

/** Checks modules in JavaScript as the compiler does. @param families those whose changes are recorded */
export const handlerSchema = (families: readonly string[]) =>
  z.strictObject({
    name: z.string().regex(/^[a-z][a-z0-9-]{0,49}$/, 'must be small letters, digits and -, 50 at most'),
    families: z
      .array(
        z.enum(families, {
          error: ({ input }) =>
            `is ${String(input)}, and must be one of ${families.join(', ')}: no other has changes, as its key may identify a patient`,
        }),
      )
      .min(1, 'must name a family'),
    timeoutMs: z
      .int('must be a whole number')
      .min(100, 'must be at least 100')
      .max(maxTimeoutMs, `must be at most ${maxTimeoutMs}, an hour`)
      .optional(),
    run: z.custom((value) => typeof value === 'function', 'must be a function'),
  });
