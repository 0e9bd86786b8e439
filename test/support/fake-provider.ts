import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { clientSecret } from './oidc-settings.ts';

type Claims = Record<string, unknown>;

/** What a provider puts where, and how it deviates from others. It may be changed while the provider runs. */
export interface Shape {
  /** The path of the issuer, such as `/realms/clinic`. */
  path?: string;
  clientId?: string;
  subject?: string;
  idToken?: Claims;
  /** Claims that come only if their scope is asked for. */
  byScope?: Record<string, Claims>;
  /** Undefined: there is no such endpoint; `refused`: it does not take the access token. */
  userInfo?: Claims | 'refused';
  /** Claims of an access token that is a JWT; undefined: it is opaque. */
  accessToken?: Claims;
  idTokenS?: number;
  /** Whether there are refresh tokens: one for each use. */
  refreshes?: boolean;
  /** Whether they are too large for a cookie. */
  largeTokens?: boolean;
  /** What a refresh is answered with instead. */
  refusal?: { status: number; error: string };
  /** Whether a refresh brings an ID token. */
  withoutIdToken?: boolean;
  authentication?: 'client_secret_basic' | 'client_secret_post';
  metadata?: Claims;
  /** Answers instead of the provider. */
  answer?: (req: IncomingMessage, res: ServerResponse) => boolean;
}

export type FakeProvider = Awaited<ReturnType<typeof startFakeProvider>>;

const makeKey = async (kid: string = randomUUID()) => ({ kid, ...(await generateKeyPair('RS256')) });

interface Grant {
  nonce: string | undefined;
  challenge: string;
  redirectUri: string;
  scopes: string[];
}

/** An OpenID Connect provider of any shape that signs everybody in at once. Its `requests` are the paths, in order. */
export async function startFakeProvider(initial: Shape) {
  let shape = initial;
  const requests: string[] = [];
  const grants = new Map<string, Grant>();
  let key = await makeKey();
  let signingKey = key;
  const server = createServer((req, res) => {
    respond(req, res).catch((error: Error) =>
      send(res, 400, { error: 'invalid_request', reason: error.message }),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = origin + (shape.path ?? '');
  const base = issuer.replace(/\/$/, '');
  const clientId = shape.clientId ?? 'console';
  const methods = [shape.authentication ?? 'client_secret_basic'];

  const sign = (claims: Claims) =>
    new SignJWT({ iss: issuer, sub: shape.subject ?? 'subject-1', ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: signingKey.kid, typ: 'JWT' })
      .setIssuedAt()
      .setExpirationTime(`${shape.idTokenS ?? 300}s`)
      .sign(signingKey.privateKey);

  const tokensFor = async (grant: Grant, withIdToken: boolean) => {
    const { nonce, scopes } = grant;
    const refreshToken = shape.refreshes ? randomUUID().repeat(shape.largeTokens ? 100 : 1) : undefined;
    if (refreshToken) grants.set(refreshToken, { ...grant, nonce: undefined });
    const scoped = scopes.map((scope) => shape.byScope?.[scope]);
    const claims = Object.assign({ aud: clientId, ...shape.idToken }, nonce && { nonce }, ...scoped);
    return {
      token_type: 'Bearer',
      expires_in: 300,
      access_token: shape.accessToken ? await sign({ azp: clientId, ...shape.accessToken }) : 'opaque',
      refresh_token: refreshToken,
      id_token: withIdToken ? await sign(claims) : undefined,
    };
  };

  const grant = async (req: IncomingMessage, res: ServerResponse) => {
    const form = new URLSearchParams(await text(req));
    const [given, secret] = credentials(req, form, methods[0]!);
    if (given !== clientId || secret !== clientSecret) return send(res, 401, { error: 'invalid_client' });
    const isRefresh = form.get('grant_type') === 'refresh_token';
    if (isRefresh && shape.refusal) return send(res, shape.refusal.status, { error: shape.refusal.error });
    const name = form.get(isRefresh ? 'refresh_token' : 'code') ?? '';
    const found = grants.get(name);
    grants.delete(name);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isAsBegun = found?.challenge === challenge && found.redirectUri === form.get('redirect_uri');
    if (!found || !(isRefresh || isAsBegun)) return send(res, 400, { error: 'invalid_grant' });
    send(res, 200, await tokensFor(found, !(isRefresh && shape.withoutIdToken)));
  };

  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(req.url!, origin);
    const path = pathname.slice(new URL(base).pathname.replace(/\/$/, '').length);
    requests.push(path);
    if (shape.answer?.(req, res)) return;
    switch (path) {
      case '/.well-known/openid-configuration':
        return send(res, 200, {
          issuer,
          authorization_endpoint: `${base}/authorize`,
          token_endpoint: `${base}/token`,
          jwks_uri: `${base}/keys`,
          ...(shape.userInfo && { userinfo_endpoint: `${base}/userinfo` }),
          token_endpoint_auth_methods_supported: methods,
          id_token_signing_alg_values_supported: ['RS256'],
          ...shape.metadata,
        });
      case '/keys':
        return send(res, 200, { keys: [{ ...(await exportJWK(key.publicKey)), kid: key.kid, use: 'sig' }] });
      case '/authorize': {
        const code = randomUUID();
        const redirectUri = query.get('redirect_uri')!;
        grants.set(code, {
          nonce: query.get('nonce') ?? undefined,
          challenge: query.get('code_challenge')!,
          redirectUri,
          scopes: query.get('scope')!.split(' '),
        });
        const back = new URLSearchParams({ code, state: query.get('state')! });
        return void res.writeHead(302, { Location: `${redirectUri}?${back}` }).end();
      }
      case '/token':
        return grant(req, res);
      case '/userinfo':
        if (shape.userInfo === 'refused') return void res.writeHead(401).end();
        return send(res, 200, { sub: shape.subject ?? 'subject-1', ...shape.userInfo });
      default:
        return void res.writeHead(404).end();
    }
  }

  /** A claim of another user, wherever the provider puts it. */
  const changed = <Part>(part: Part, claims: Claims): Part =>
    part && typeof part === 'object'
      ? (Object.fromEntries(
          Object.entries(part).map(([name, value]) => [name, name in claims ? claims[name] : value]),
        ) as Part)
      : part;

  return {
    issuer,
    /** Changes the provider while it runs. */
    change: (part: Shape) => {
      shape = { ...shape, ...part };
    },
    requests,
    /** How often a path was asked for. */
    count: (path: string) => requests.filter((one) => one === path).length,
    /** Signs with another key. @param told whether the key set has it, under the old name if `kid` is kept */
    changeKey: async ({ told, keepsName }: { told: boolean; keepsName: boolean }) => {
      signingKey = await makeKey(keepsName ? key.kid : undefined);
      if (told) key = signingKey;
    },
    /** The next user signs in: with other claims, where the provider has put those of the last one. */
    become: ({ subject, ...claims }: { subject: string } & Claims) => {
      const { idToken, userInfo, accessToken, byScope = {} } = shape;
      shape = {
        ...shape,
        subject,
        idToken: changed(idToken, claims) ?? {},
        ...(userInfo && { userInfo: changed(userInfo, claims) }),
        ...(accessToken && { accessToken: changed(accessToken, claims) }),
        byScope: Object.fromEntries(
          Object.entries(byScope).map(([scope, part]) => [scope, changed(part, claims)]),
        ),
      };
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

function credentials(req: IncomingMessage, form: URLSearchParams, method: string) {
  if (method === 'client_secret_post') return [form.get('client_id'), form.get('client_secret')];
  const basic = /^Basic (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? '';
  // Like many, it does not decode them.
  return Buffer.from(basic, 'base64').toString().split(':');
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

/** What a browser gets that signs in with a provider; `cookie`: what it sends from then on. */
export async function signInWith(url: string, path = '') {
  const start = await fetch(`${url}/console/sign-in/start?next=/console${path}`, { redirect: 'manual' });
  if (start.status !== 303)
    return { status: start.status, text: await start.text(), cookie: '', cookies: [] };
  const authorize = await fetch(start.headers.get('location')!, { redirect: 'manual' });
  const response = await fetch(authorize.headers.get('location')!, {
    headers: { cookie: cookieHeader(start.headers.getSetCookie()) },
    redirect: 'manual',
  });
  const cookies = response.headers.getSetCookie();
  return { status: response.status, text: await response.text(), cookie: cookieHeader(cookies), cookies };
}

/** The cookies that a browser keeps, as it sends them. */
export const cookieHeader = (set: readonly string[]): string =>
  set
    .filter((cookie) => !/Expires=Thu, 01 Jan 1970/.test(cookie))
    .map((cookie) => cookie.split(';')[0]!)
    .join('; ');
