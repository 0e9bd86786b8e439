import { expressServer } from './express-app.ts';
import { listening } from './ready.ts';
import { upsertInto } from './upsert.ts';

listening(expressServer(upsertInto(process.env.DATABASE_URL!, 10)));
