import { type RawBuilder, sql } from 'kysely';
import { uuid } from '../common/uuid.ts';
import { type Family, publicKey, readKey } from '../families/index.ts';

/** The condition on the id of a family's records; undefined: no record has this id. */
export function hasId(family: Family, id: string): RawBuilder<unknown> | undefined {
  const { identifiedBy, fields } = family;
  if (!identifiedBy) return uuid.test(id) ? sql`delivery_id = ${id}::uuid` : undefined;
  if (!publicKey(family)) {
    const key = sql.raw(readKey(family, 'i')!);
    const ofDelivery = sql`(select ${key} from inbox i where i.id = ${id}::uuid)`;
    return uuid.test(id) ? sql`${sql.ref(identifiedBy)} = ${ofDelivery}` : undefined;
  }
  const isNumber = fields[identifiedBy]!.json === 'numeric';
  if (isNumber && !/^\d{1,15}$/.test(id)) return undefined;
  return sql`${sql.ref(identifiedBy)} = ${id}::${sql.raw(isNumber ? 'bigint' : 'text')}`;
}
