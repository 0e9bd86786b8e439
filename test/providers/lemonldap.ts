import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientSecret } from '../support/oidc-settings.ts';
import { createBrowser } from './cookie-jar.ts';
import type { Place, RealProvider } from './real-provider.ts';

const packaged = '/var/lib/lemonldap-ng/conf/lmConf-1.json';

// It draws captchas by libraries that the package does not need otherwise.
const application = `
BEGIN {
    package NoCaptcha;
    $INC{'NoCaptcha.pm'} = 1;
    use Mouse;
    extends 'Lemonldap::NG::Portal::Main::Plugin';
    sub init { 1 }
}
use Lemonldap::NG::Portal;
Lemonldap::NG::Portal->run({});
`;

/** LemonLDAP::NG with its users for demonstrations, of whom dwho is a timelord. */
export const lemonldap: RealProvider = {
  name: 'LemonLDAP::NG',
  issuerAt: (origin) => `${origin}/`,
  env: { OIDC_ROLES_CLAIM: 'groups', OIDC_ROLES_MAP: 'operator=timelords' },
  refreshes: true,

  prepare: (place) => {
    const { folder, port } = place;
    for (const name of ['conf', 'cache', 'sessions/lock', 'psessions/lock']) {
      mkdirSync(join(folder, name), { recursive: true });
    }
    writeFileSync(join(folder, 'conf/lmConf-1.json'), JSON.stringify(configuration(place)));
    const settings = join(folder, 'lemonldap-ng.ini');
    writeFileSync(
      settings,
      `[all]\n[configuration]\ntype=File\ndirName=${folder}/conf\nlocalStorage=Cache::FileCache\n` +
        `localStorageOptions={ 'namespace' => 'conf', 'cache_root' => '${folder}/cache' }\n` +
        '[portal]\nstaticPrefix=/static\ntemplateDir=/usr/share/lemonldap-ng/portal/templates\n[handler]\n',
    );
    const file = join(folder, 'portal.psgi');
    writeFileSync(file, application);
    const args = ['--host', '127.0.0.1', '--port', String(port), file];
    return { command: 'plackup', args, env: { LLNG_DEFAULTCONFFILE: settings } };
  },

  signIn: async ({ origin, redirectUri }, address) => {
    const { request, follow } = createBrowser();
    const page = await (await request(address)).text();
    const url = /name="url" value="([^"]*)"/.exec(page)![1]!;
    const form = new URLSearchParams({ url, user: 'dwho', password: 'dwho' });
    return follow(await request(`${origin}/`, { method: 'POST', body: form }), redirectUri);
  },
};

function configuration({ folder, origin, redirectUri, privateKey, publicKey }: Place) {
  const { applicationList: _, ...rest } = JSON.parse(readFileSync(packaged, 'utf8'));
  const sessions = (name: string) => ({
    Directory: join(folder, name),
    LockDirectory: join(folder, name, 'lock'),
    generateModule: 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256',
  });
  return {
    ...rest,
    portal: `${origin}/`,
    domain: '127.0.0.1',
    requireToken: 0,
    captcha: 'NoCaptcha',
    registerDB: 'Null',
    passwordDB: 'Null',
    portalDisplayRegister: 0,
    portalDisplayResetPassword: 0,
    notification: 0,
    loginHistoryEnabled: 0,
    globalStorageOptions: sessions('sessions'),
    persistentStorageOptions: sessions('psessions'),
    localSessionStorageOptions: { ...rest.localSessionStorageOptions, cache_root: join(folder, 'cache') },
    locationRules: { '127.0.0.1': { default: 'accept' } },
    issuerDBOpenIDConnectActivation: 1,
    oidcServicePrivateKeySig: privateKey,
    oidcServicePublicKeySig: publicKey,
    oidcServiceKeyIdSig: 'key-1',
    oidcServiceAllowAuthorizationCodeFlow: 1,
    oidcRPMetaDataExportedVars: {
      console: { email: 'mail', name: 'cn', preferred_username: 'uid', groups: 'groups;string;always' },
    },
    oidcRPMetaDataOptionsExtraClaims: { console: { openid: 'groups' } },
    oidcRPMetaDataOptions: {
      console: {
        oidcRPMetaDataOptionsClientID: 'console',
        oidcRPMetaDataOptionsClientSecret: clientSecret,
        oidcRPMetaDataOptionsIDTokenSignAlg: 'RS256',
        oidcRPMetaDataOptionsBypassConsent: 1,
        oidcRPMetaDataOptionsRefreshToken: 1,
        oidcRPMetaDataOptionsRequirePKCE: 1,
        oidcRPMetaDataOptionsRedirectUris: redirectUri,
      },
    },
  };
}
