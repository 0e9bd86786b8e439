import type { RequestHandler } from 'express';
import type { OpenConsole } from './app.ts';
import type { ConsoleDependencies } from './dependencies.ts';

export type { ConsoleDependencies } from './dependencies.ts';

export interface Console {
  /** Serves what lies below /console. */
  handle: RequestHandler;
  close: () => Promise<void>;
}

/** The pages for administrators. Nothing of them is loaded before somebody asks for one. */
export function createConsole(dependencies: ConsoleDependencies): Console {
  let opening: Promise<OpenConsole> | undefined;
  return {
    handle: async (req, res, next) => {
      opening ??= import('./app.ts').then(({ openConsole }) => openConsole(dependencies));
      const { app } = await opening;
      app(req, res, next);
    },
    close: async () => {
      // What could not be opened has nothing to close.
      await opening?.then(
        (opened) => opened.close(),
        () => {},
      );
    },
  };
}
