import pg from 'pg';

const maxMs = 8.64e15;

/** As of pg, but a time that a Date cannot hold, such as infinity, is the first or the last that one can: pg returns a number, or NaN. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (type: number, format?: 'text' | 'binary') => {
    const parse = pg.types.getTypeParser(type, format as 'text');
    if (type !== pg.types.builtins.TIMESTAMPTZ) return parse;
    return (text: string) => {
      const at: Date | number = parse(text);
      const isDate = at instanceof Date && !Number.isNaN(at.getTime());
      return isDate ? at : new Date(text === '-infinity' ? -maxMs : maxMs);
    };
  },
};

export class DatabaseClient extends pg.Client {
  constructor(config: pg.ClientConfig) {
    super({ ...config, types });
    // A server that ends, or its administrator, may end a connection at any time, between two statements or right after
    // it was opened. It is the error of the next query; without a listener it would end the process.
    this.on('error', () => {});
  }
}
