import { expressServer } from './express-app.ts';
import { listening } from './ready.ts';

listening(expressServer(async () => {}));
