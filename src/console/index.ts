import type { RequestHandler } from 'express';
import type { openConsole } from './app.ts';
import type { ConsoleDependencies } from './dependencies.ts';

export type { ConsoleDependencies } from './dependencies.ts';

export interface Console {
  /** Serves all paths below /console. */
  handle: RequestHandler;
  close: () => Promise<void>;
}

/** The pages for administrators, loaded with the first request. */
export function createConsole(dependencies: ConsoleDependencies): Console {
  let opening: Promise<ReturnType<typeof openConsole>> | undefined;
  return {
    handle: async (req, res, next) => {
      opening ??= import('./app.ts').then(({ openConsole }) => openConsole(dependencies));
      const { app } = await opening;
      app(req, res, next);
    },
    close: async () => {
      // If opening failed, there is nothing to close.
      await opening?.then(
        (opened) => opened.close(),
        () => {},
      );
    },
  };
}
