import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type Config, parseConfig } from '../../src/common/config/config.ts';
import type { Environment } from '../../src/common/config/variables.ts';
import { startServer } from './listen.ts';

const clientSecret = 'a-client-secret-of-tests-that-is-long';

export function oidcSettings(issuer: string, env: Environment = {}): NonNullable<Config['oidc']> {
  const own = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'console', OIDC_CLIENT_SECRET: clientSecret };
  return parseConfig({ ...own, ...env }, []).oidc!;
}

type Claims = Record<string, unknown>;

export type FakeProvider = Awaited<ReturnType<typeof startFakeProvider>>;

interface Grant {
  nonce: string | undefined;
  challenge: string;
  redirectUri: string;
}

/** An OpenID Connect provider that signs everybody in at once. */
export async function startFakeProvider() {
  let claims: Claims = {};
  const grants = new Map<string, Grant>();
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const { url: issuer, stop } = await startServer((req, res) => {
    respond(req, res).catch((error: Error) =>
      send(res, 400, { error: 'invalid_request', reason: error.message }),
    );
  });
  let metadata: Claims = {};

  const sign = (content: Claims) =>
    new SignJWT({ iss: String(metadata.issuer ?? issuer), sub: 'subject-1', aud: 'console', ...content })
      .setProtectedHeader({ alg: 'RS256', kid: 'key', typ: 'JWT' })
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey);

  const exchange = async (req: IncomingMessage, res: ServerResponse) => {
    const form = new URLSearchParams(await text(req));
    const [, basic] = /^Basic (.*)$/.exec(req.headers.authorization ?? '') ?? [];
    const secret = metadata.token_endpoint_auth_methods_supported
      ? decodeURIComponent(Buffer.from(basic ?? '', 'base64').toString()).replace('console:', '')
      : form.get('client_secret');
    if (secret !== clientSecret) return send(res, 401, { error: 'invalid_client' });
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    const verifier = form.get('code_verifier') ?? '';
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    if (grant?.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri'))
      return send(res, 400, { error: 'invalid_grant' });
    const id_token = await sign({ ...claims, ...(grant.nonce && { nonce: grant.nonce }) });
    send(res, 200, { token_type: 'Bearer', expires_in: 300, access_token: 'opaque', id_token });
  };

  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(req.url!, issuer);
    switch (pathname.replace('/realm', '')) {
      case '/.well-known/openid-configuration':
        return send(res, 200, {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          id_token_signing_alg_values_supported: ['RS256'],
          token_endpoint_auth_methods_supported: ['client_secret_post'],
          ...metadata,
        });
      case '/keys':
        return send(res, 200, { keys: [{ ...(await exportJWK(publicKey)), kid: 'key', use: 'sig' }] });
      case '/authorize': {
        const code = randomUUID();
        const redirectUri = query.get('redirect_uri')!;
        const nonce = query.get('nonce') ?? undefined;
        grants.set(code, { nonce, challenge: query.get('code_challenge')!, redirectUri });
        const back = new URLSearchParams({ code, state: query.get('state')! });
        return void res.writeHead(302, { Location: `${redirectUri}?${back}` }).end();
      }
      case '/token':
        return exchange(req, res);
      default:
        return void res.writeHead(404).end();
    }
  }

  return {
    issuer,
    /** The next user signs in with these claims. */
    become: (other: Claims) => {
      claims = other;
    },
    /** Its metadata differ from now on: another `issuer`, or `token_endpoint_auth_methods_supported` of basic alone. */
    describe: (other: Claims) => {
      metadata = other;
    },
    stop,
  };
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

/** What a browser gets that signs in with a provider; `cookie`: what it sends from then on. */
export async function signInWith(url: string) {
  const start = await fetch(`${url}/console/sign-in/start`, { redirect: 'manual' });
  const authorize = await fetch(start.headers.get('location')!, { redirect: 'manual' });
  const back = authorize.headers.get('location')!;
  const own = cookieHeader(start.headers.getSetCookie());
  const response = await fetch(back, { headers: { cookie: own }, redirect: 'manual' });
  const cookie = cookieHeader(response.headers.getSetCookie());
  return { status: response.status, text: await response.text(), cookie, back };
}

/** The cookies that a browser keeps, as it sends them. */
const cookieHeader = (set: readonly string[]): string =>
  set
    .filter((cookie) => !/Expires=Thu, 01 Jan 1970/.test(cookie))
    .map((cookie) => cookie.split(';')[0]!)
    .join('; ');
