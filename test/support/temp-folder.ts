import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeLater } from './close-later.ts';

/** A new folder for the rest of the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-test-'));
  closeLater(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
