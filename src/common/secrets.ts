import { createHash, timingSafeEqual } from 'node:crypto';
import { chownSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { dirname } from 'node:path';

/** The content of a small text file, readable by its owner alone, which is created unless it exists. */
export function readOrCreate(file: string, create: () => string): { content: string; isNew: boolean } {
  const existing = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  if (existing) return { content: existing, isNew: false };
  const created = create();
  replaceFile(file, created);
  return { content: created.trim(), isNew: true };
}

/** Replaces a file, readable by its owner alone, at once. What root writes is of the user that the folder is of. */
export function replaceFile(file: string, content: string): void {
  const draft = `${file}.${process.pid}`;
  rmSync(draft, { force: true });
  writeFileSync(draft, content, { flag: 'wx', mode: 0o600, flush: true }); // follows no link
  const { uid, gid } = statSync(dirname(file));
  if (process.geteuid?.() === 0) chownSync(draft, uid, gid);
  renameSync(draft, file);
}

export function isAuthorized({ headers }: IncomingMessage, token: string): boolean {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  return bearer !== undefined && isSameSecret(bearer, token);
}

/** Compares in constant time. */
export function isSameSecret(text: string, secret: string): boolean {
  const digest = (value: string) => createHash('sha256').update(value).digest();
  return timingSafeEqual(digest(text), digest(secret));
}
