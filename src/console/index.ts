import type { RequestHandler } from 'express';
import type { openConsole } from './app.ts';
import type { ConsoleDependencies } from './dependencies.ts';

export { createSessions } from '../sign-in/sessions.ts';

/** The pages for administrators, loaded with the first request. */
export function createConsole(dependencies: ConsoleDependencies) {
  let opening: Promise<ReturnType<typeof openConsole>> | undefined;
  return {
    handle: async (...request: Parameters<RequestHandler>) => {
      // Loading the code takes long enough for a query to run into its timeout meanwhile.
      opening ??= import('./app.ts').then(({ openConsole }) => openConsole(dependencies));
      const { app } = await opening;
      app(...request);
    },
    close: async () => {
      // If opening failed, there is nothing to close.
      const opened = await opening?.catch(() => undefined);
      await opened?.close();
    },
  };
}
