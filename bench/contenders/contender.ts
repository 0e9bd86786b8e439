/** Where a contender keeps things; each run of one finds both empty. */
export interface Stores {
  databaseUrl: string;
  redisUrl: string;
}

export interface ProgramOf {
  command: string[];
  env: (stores: Stores) => Record<string, string>;
}

/** Something that takes callbacks in. */
export interface Contender {
  name: string;
  title: string;
  /** Set: it checks signatures, so the load is signed. */
  signingKey?: string;
  /** Makes the tables that its programs expect. */
  prepare?: (stores: Stores) => Promise<void>;
  receiver: ProgramOf;
  /** What applies what the receiver took in; without one, the receiver has applied it or never will. */
  worker?: ProgramOf;
  /** Whether a callback that it acknowledged is, or will be, a row of a table. */
  stores: boolean;
  /** How many callbacks it took in and has not applied. */
  waiting?: (stores: Stores) => Promise<number>;
}

/** The registered path of receipts, the same for all. */
export const receiptsPath = '/registered_url_for_receipt_events';

/** The program of that name, which `build.ts` compiles. */
export const built = (name: string) => `.data/bench/build/${name}.js`;

/** What `npm start` runs; it takes options of Node. */
export const startScript = 'bin/start.sh';
