import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.ts';
import { until } from '../support/until.ts';

/** A real provider, in a folder of its own. */
export interface RealProvider {
  name: string;
  /** The issuer of a provider at this address. */
  issuerAt: (origin: string) => string;
  env: Environment;
  /** Whether there is a refresh token. */
  refreshes: boolean;
  /** Writes its files; returns its program. */
  prepare: (place: Place) => { command: string; args: string[]; env?: Record<string, string> };
  /** Registers what no file can say. */
  register?: (place: Place) => Promise<void>;
  /** Passes the provider's pages with an account that has the role `operator`. @returns the address of the console */
  signIn: (place: Place, address: string) => Promise<string>;
}

export interface Place {
  folder: string;
  origin: string;
  port: number;
  /** Of the console. */
  redirectUri: string;
  privateKey: string;
  publicKey: string;
}

export async function startRealProvider(provider: RealProvider, port: number, redirectUri: string) {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-provider-'));
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const place = { folder, origin: `http://127.0.0.1:${port}`, port, redirectUri, privateKey, publicKey };
  const { command, args, env } = provider.prepare(place);
  const child: ChildProcess = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'ignore' });
  const exited = once(child, 'exit');
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${provider.name} has ended with ${child.exitCode}`);
    return fetch(place.origin).then(
      () => true,
      () => false,
    );
  });
  await provider.register?.(place);
  return {
    signIn: (address: string) => provider.signIn(place, address),
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}
