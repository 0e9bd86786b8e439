/**
 * An OpenID Connect provider in a process of its own, for the tests of the console. It sends its address to its parent,
 * and gets the client from it. Any password is right; a login is the user's roles, joined by `+`, and their name:
 * `viewer+operator-asha`.
 */
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const server = createServer().listen(0, '127.0.0.1', () => {
  // Another host than the console's: so the browser takes them for two sites.
  process.send({ issuer: `http://localhost:${server.address().port}` });
});

process.once('message', ({ client, idTokenS, inUserInfo, authentication }) => {
  const provider = new Provider(`http://localhost:${server.address().port}`, {
    clients: [{ ...client, token_endpoint_auth_method: authentication }],
    clientAuthMethods: [authentication],
    claims: { openid: ['sub', 'realm_access'], profile: ['preferred_username'] },
    // Claims of the profile are in the ID token, or in userinfo only, as the standard says.
    conformIdTokenClaims: inUserInfo,
    ttl: { IdToken: idTokenS, AccessToken: 600, Session: 600, Grant: 600, Interaction: 600 },
    cookies: { keys: ['key'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => {
        const [roles] = id.split('-');
        return {
          sub: id,
          preferred_username: `${id}@clinic.invalid`,
          realm_access: { roles: ['offline_access', ...roles.split('+')] },
        };
      },
    }),
  });
  server.on('request', provider.callback());
  process.send('ready');
});

process.once('disconnect', () => process.exit());
