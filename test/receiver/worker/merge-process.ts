// A process that merges receipts once: node --import tsx merge-process.ts <url of the database>
import { coreOf } from '../../support/core.ts';
import { connect } from '../../support/database.ts';

const database = connect(process.argv[2]!, 1);
await coreOf(database).merge('receipt');
await database.pool.end();
