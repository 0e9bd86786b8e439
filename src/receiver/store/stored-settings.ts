import type { Db } from './tables.ts';

/** A fact of this database, see the comment of `receiver.settings`. */
export async function readSetting(db: Db, name: string): Promise<string | undefined> {
  const settings = db.selectFrom('receiver.settings').select('value').where('name', '=', name);
  return (await settings.executeTakeFirst())?.value;
}

export async function writeSettings(db: Db, values: Record<string, string>): Promise<void> {
  await db
    .insertInto('receiver.settings')
    .values(Object.entries(values).map(([name, value]) => ({ name, value })))
    .onConflict((row) => row.column('name').doUpdateSet(({ ref }) => ({ value: ref('excluded.value') })))
    .execute();
}
