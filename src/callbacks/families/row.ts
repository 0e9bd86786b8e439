import type { Field } from './field.ts';

/** As `pg` reads a column of a kind: whole numbers and amounts are text. */
interface ColumnOf {
  text: string;
  untyped: string;
  integer: string;
  amount: string;
  time: Date;
  name: string;
  nested: unknown;
}

export type RowOf<F> = F extends { fields: infer Fields extends Record<string, Field>; key?: infer Key }
  ? { [K in keyof Fields]: ColumnOf[Fields[K]['kind']] | (K extends Key ? never : null) } & {
      business_id: string;
      client_id: string;
      last_event: string;
      event_time: Date;
      deleted_at: Date | null;
      extra: Record<string, unknown> | null;
      delivery_id: string;
    }
  : never;
