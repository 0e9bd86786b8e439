import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { migrate } from '../../src/store/migrate.ts';
import { createDatabase } from '../support/database.ts';
import { withSchema } from '../support/schema.ts';

/** Add a line for a new migration; never change one. */
const frozen: Record<string, string> = {
  '0001_tables.sql': '93c73c2fc309862f',
  '0002_write_once.sql': 'bca08e5cb9d74f58',
  '0003_privacy.sql': '2dbd9e7f7c19c819',
  '0004_patient_indexes.sql': 'b16bf0a05f1a02d4',
  '0005_families.sql': 'a20e15ad1a2462b3',
  '0006_family_indexes.sql': '810e48e45803cee4',
  '0007_schema.sql': '63173edfc6bdc6c9',
  '0008_console.sql': '24f256f9d9fef687',
  '0009_console_indexes.sql': '70e38501efab276b',
  '0010_erasure_steps.sql': 'cb16c86aa8adec11',
  '0011_quarantine_limit.sql': '9d9f4ef919514c11',
  '0012_columns_by_name.sql': '3606b08bafd5d248',
  '0013_health.sql': '9a662b5b50eebbe8',
  '0014_sessions.sql': 'e1bdd1c86b977706',
  '0015_replica_identity.sql': '9b57e4c0c8f11d92',
  '0016_service_rights.sql': '0ee10e6d63c1b106',
  '0017_patients.sql': '76a2ec70526c85f6',
  '0018_patient_indexes.sql': '38960a46b85d57b8',
  '0019_daily_sums.sql': 'bf173567780cc8b5',
  '0020_activity_indexes.sql': 'baad58921132b3d4',
  '0021_sums_of_lists.sql': '83eb67ab7bb48100',
  '0022_narrower_indexes.sql': '77fc0e18f31a2db4',
  '0023_indexes_of_lists.sql': '547ec64861230fe0',
  '0024_sums_of_months.sql': '5abe18733d9718d7',
  '0025_indexes_of_dues.sql': '61d8431ce71948a3',
  '0026_appointment_links.sql': '51a957661ef80fec',
  '0027_links_of_rows.sql': '90f120138d0a7a5d',
  '0028_other_families.sql': '98ae35616490c8f2',
  '0029_uptime.sql': '739e6e94e05ed46e',
  '0030_reconciliation.sql': '5bd6eed218519963',
  '0031_follow_ups.sql': '8a2c71486ebeeae7',
  '0032_search.sql': 'ae47bc9eded9c1db',
  '0032_search_indexes.sql': '4a95dc1f6ce74dd9',
  '0033_changes.sql': 'a00a962a9d1f0b3d',
  '0034_destinations.sql': '6bb60134099108fa',
  '0035_names.sql': '485a4533c6bb91d1',
  '0035_names_indexes.sql': '6f5813eaeeb88125',
  '0036_appointment_starts.sql': '7dadfb115e9a02c4',
  '0036_starts_of_rows.sql': '603ac6c121c6c579',
  '0037_change_epochs.sql': 'a6c5068cdc198532',
  '0038_lost_deliveries.sql': 'aaa70c10f70de252',
  '0039_leases.sql': '56c3f21f53cfba79',
  '0040_states.sql': '5474c7d7691c23d5',
  '0040_states_index.sql': '179a58e1626e61bf',
  '0041_blocked_deliveries.sql': '3c60dbf3174bc202',
  '0042_fields.sql': '94b13390918ca14d',
  '0042_fields_indexes.sql': '89e3545c26f4dff3',
  '0043_days.sql': 'd2ed15029780e1b5',
  '0044_refolds.sql': '8becff59bcb18ba2',
  '0045_plain_reports.sql': '01d86e7a40057bac',
  '0045_plain_reports_indexes.sql': 'b964612346f8d4a3',
  '0046_privacy_cut.sql': '45517c404c53313e',
  '0047_feed_cut.sql': '100847442905073a',
  '0048_operations_cut.sql': 'c14730161ae6c5f4',
  '0049_console_cut.sql': '9ab05babc760b6cf',
  '0050_follow_ups_cut.sql': '004e66b07f17f826',
};

it('no migration is edited once it is released', () => {
  const files = readdirSync('db/migrations').sort();
  const hashes = files.map((name) => {
    const text = readFileSync(`db/migrations/${name}`, 'utf8');
    return [name, createHash('sha256').update(text).digest('hex').slice(0, 16)];
  });
  expect(Object.fromEntries(hashes)).toEqual(frozen);
});

it('a start on a database where a migration was run with another text ends with what to do', async () => {
  const database = await createDatabase();
  try {
    await withSchema({ 'migrations/9001_more.sql': 'create table more ();' }, async (folder) => {
      await migrate(database.db, undefined, folder);
    });
    await withSchema({ 'migrations/9001_more.sql': 'create table another ();' }, async (folder) => {
      await expect(migrate(database.db, undefined, folder)).rejects.toThrow(
        expect.objectContaining({
          cause: expect.objectContaining({ message: expect.stringMatching(/9001_more.*restore the files/) }),
        }),
      );
    });
  } finally {
    await database.close();
  }
});

it('the checksums of migrations that a former version has run are noted by the next migration', async () => {
  const database = await createDatabase();
  try {
    await database.rows(`update receiver_migrations set checksum = null where name < '0005'`);
    await withSchema({ 'migrations/9001_more.sql': 'create table more ();' }, async (folder) => {
      await migrate(database.db, undefined, folder);
    });
    expect(await database.rows('select name from receiver_migrations where checksum is null')).toEqual([]);
  } finally {
    await database.close();
  }
});
