import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface ProviderOptions {
  client: Record<string, unknown>;
  /** The lifetime of ID tokens. */
  idTokenS: number;
  /** Whether the roles and the name are not in the ID token. */
  inUserInfo: boolean;
  /** How the client authenticates at the token endpoint; the provider knows no other way. */
  authentication: 'client_secret_basic' | 'client_secret_post';
}

export interface IdentityProvider {
  issuer: string;
  /** Registers the client; until then, nothing is answered. */
  register: (options: ProviderOptions) => Promise<void>;
  stop: () => Promise<void>;
}

/** Starts a real OpenID Connect provider, see identity-provider.js. */
export async function startIdentityProvider(): Promise<IdentityProvider> {
  const child = fork(join(process.cwd(), 'test/support/identity-provider.js'), {
    // It warns about everything that is for development only.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(child, 'exit');
  const [{ issuer }] = (await once(child, 'message')) as [{ issuer: string }];
  return {
    issuer,
    register: async (options) => {
      child.send(options);
      await once(child, 'message');
    },
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
