// A process that begins an erasure, and says so after each step: node --import tsx erase-once.ts <url of the database> <subject>
import { erasePatient } from '../../src/privacy/erase.ts';
import { coreOf } from '../support/core.ts';
import { connect } from '../support/database.ts';

const [, , url, subject] = process.argv;
const database = connect(url!, 2);
const onProgress = () => process.stdout.write('step\n');
await erasePatient(coreOf(database), { id: 'somebody' }, [subject!], { onProgress });
await database.pool.end();
