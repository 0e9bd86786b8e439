/** The stores of a contender, both empty when it starts. */
export interface Stores {
  databaseUrl: string;
  redisUrl: string;
}

export interface ProgramOf {
  command: string[];
  env: (stores: Stores) => Record<string, string>;
  /** The folder that it starts in; default: this one. */
  cwd?: string;
}

/** A receiver to measure. */
export interface Contender {
  name: string;
  title: string;
  /** Set where it verifies signatures: the key that signs the load. */
  signingKey?: string;
  /** Creates the tables that its programs expect. */
  prepare?: (stores: Stores) => Promise<void>;
  receiver: ProgramOf;
  /** Applies what the receiver accepted; without one, the receiver applies it before it responds, or nothing does. */
  worker?: ProgramOf;
  /** Whether an acknowledged callback becomes a row. */
  stores: boolean;
  /** How many accepted callbacks are not applied yet. */
  waiting?: (stores: Stores) => Promise<number>;
}

/** The registered path of receipts, the same for all contenders. */
export const receiptsPath = '/registered_url_for_receipt_events';

/** The program of that name, which `build.ts` compiles. */
export const built = (name: string) => `.data/bench/build/${name}.js`;

/** The command of that program, with arguments. */
export const run = (...[name, ...args]: [string, ...string[]]) => [process.execPath, built(name), ...args];

/** The script of `npm start`; it takes options of Node. */
export const startScript = 'bin/start.sh';
