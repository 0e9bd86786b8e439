import { linkSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Creates a file, readable by its owner alone, with its whole content at once: another process finds all of it or none.
 *
 * @returns whether it was created; false where it exists
 */
export function writeOnce(file: string, content: string): boolean {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, content, { mode: 0o600 });
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}
