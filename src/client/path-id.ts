import { z } from 'zod';

/** An id in a path. Not . or ..: in a path these name another resource, even if percent-encoded. */
export const pathId = (what: string) =>
  z.string().regex(/^(?!\.{1,2}$)\P{Cs}+$/u, `must be the id of ${what}`);
