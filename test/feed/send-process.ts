// A process that sends to destinations: node --import tsx send-process.ts <url of the database> <times>
import { sendWebhooks } from '../../src/feed/send.ts';
import { coreOf } from '../support/core.ts';
import { connect } from '../support/database.ts';

const [, , url, times] = process.argv;
const core = coreOf(connect(url!, 4), { times: JSON.parse(times!) });
await sendWebhooks(core, new AbortController().signal);
