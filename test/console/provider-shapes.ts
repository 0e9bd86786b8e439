import type { Environment } from '../../src/config/config.ts';
import type { Role } from '../../src/sign-in/rights.ts';
import type { Shape } from '../support/fake-provider.ts';

interface Provider {
  name: string;
  shape: Shape;
  env: Environment;
  role: Role;
  /** The claims of somebody else with an account there, who may not enter. */
  stranger: Record<string, unknown>;
}

const guid = '7d4b2c1e-9a53-4f0e-8b2d-0c6f5e3a1b77';
const other = '00000000-1111-4222-8333-444444444444';
const person = { name: 'Asha Rao', email: 'asha@clinic.example', email_verified: true };
const tenant = '/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0';
const entra = { name: 'Asha Rao', preferred_username: 'asha@clinic.example', email: 'asha@clinic.example' };

/** Twelve providers, some in several configurations, as docs/console.md describes them. */
export const providers: Provider[] = [
  {
    name: 'Google, which knows no roles',
    shape: { idToken: { ...person, hd: 'clinic.example' }, userInfo: person },
    env: { OIDC_ROLES_MAP: 'viewer=@clinic.example,privacy=Asha@clinic.example' },
    role: 'privacy',
    stranger: { email: 'asha@elsewhere.example' },
  },
  {
    name: 'Entra ID with the ids of groups',
    shape: { path: tenant, idToken: { ...entra, groups: [guid, other] }, userInfo: 'refused' },
    env: { OIDC_ROLES_CLAIM: 'groups', OIDC_ROLES_MAP: `operator=${guid}` },
    role: 'operator',
    stranger: { groups: [other] },
  },
  {
    name: 'Entra ID with app roles',
    shape: { path: tenant, idToken: { ...entra, roles: ['operator'] }, userInfo: 'refused' },
    env: {},
    role: 'operator',
    stranger: { roles: ['Billing.Read'] },
  },
  {
    name: 'Entra ID with app roles, for a user of too many groups',
    shape: {
      path: tenant,
      idToken: {
        ...entra,
        roles: ['Console.Privacy'],
        _claim_names: { groups: 'src1' },
        _claim_sources: { src1: { endpoint: 'https://graph.microsoft.com/v1.0/users/1/getMemberObjects' } },
      },
      userInfo: 'refused',
    },
    env: { OIDC_ROLES_MAP: 'privacy=Console.Privacy' },
    role: 'privacy',
    stranger: { roles: [] },
  },
  {
    name: 'Keycloak with the paths of groups',
    shape: { path: '/realms/clinic', idToken: { ...person, groups: ['/viewer', '/staff/front desk'] } },
    env: { OIDC_ROLES_CLAIM: 'groups' },
    role: 'viewer',
    stranger: { groups: ['/staff/viewer'] },
  },
  {
    name: 'Keycloak with roles of the realm, in the access token only',
    shape: {
      path: '/realms/clinic',
      idToken: person,
      userInfo: person,
      accessToken: { aud: 'account', realm_access: { roles: ['offline_access', 'operator'] } },
    },
    env: { OIDC_ROLES_CLAIM: 'realm_access.roles' },
    role: 'operator',
    stranger: { realm_access: { roles: ['offline_access'] } },
  },
  {
    name: 'Keycloak with roles of the client, in the access token only',
    shape: {
      path: '/realms/clinic',
      clientId: 'console.clinic.example',
      idToken: person,
      userInfo: person,
      accessToken: { resource_access: { 'console.clinic.example': { roles: ['privacy'] } } },
    },
    env: {
      OIDC_CLIENT_ID: 'console.clinic.example',
      OIDC_ROLES_CLAIM: 'resource_access.console.clinic.example.roles',
    },
    role: 'privacy',
    stranger: { resource_access: { 'console.clinic.example': { roles: [] } } },
  },
  {
    name: 'Zitadel with an object',
    shape: {
      idToken: person,
      userInfo: {
        ...person,
        'urn:zitadel:iam:org:project:roles': { operator: { '178204173316174381': 'clinic.example' } },
      },
    },
    env: { OIDC_ROLES_CLAIM: 'urn:zitadel:iam:org:project:roles' },
    role: 'operator',
    stranger: { 'urn:zitadel:iam:org:project:roles': { accountant: { '178204173316174381': 'x' } } },
  },
  {
    name: 'Okta with the scope groups',
    shape: {
      path: '/oauth2/default',
      idToken: person,
      byScope: { groups: { groups: ['Everyone', 'console privacy'] } },
      userInfo: person,
    },
    env: {
      OIDC_SCOPES: 'openid profile email groups',
      OIDC_ROLES_CLAIM: 'groups',
      OIDC_ROLES_MAP: 'privacy=console privacy',
    },
    role: 'privacy',
    stranger: { groups: ['Everyone'] },
  },
  {
    name: 'Auth0 with a claim in a name space',
    shape: {
      path: '/',
      idToken: { ...person, 'https://clinic.example/roles': ['viewer'] },
      authentication: 'client_secret_post',
    },
    env: { OIDC_ROLES_CLAIM: 'https://clinic.example/roles' },
    role: 'viewer',
    stranger: { 'https://clinic.example/roles': [] },
  },
  {
    name: 'Cognito with its groups',
    shape: {
      path: '/ap-south-1_Example',
      idToken: { 'cognito:groups': ['viewer', 'operator'], 'cognito:username': 'asha', email: person.email },
      userInfo: { username: 'asha', email: person.email, email_verified: 'true' },
    },
    env: { OIDC_ROLES_CLAIM: 'cognito:groups' },
    role: 'operator',
    stranger: { 'cognito:groups': ['accounts'] },
  },
  {
    name: 'Authentik with its groups',
    shape: {
      path: '/application/o/console/',
      idToken: { ...person, groups: ['authentik Admins', 'Front desk'] },
      userInfo: { ...person, groups: ['authentik Admins', 'Front desk'] },
    },
    env: { OIDC_ROLES_CLAIM: 'groups', OIDC_ROLES_MAP: 'operator=Front desk' },
    role: 'operator',
    stranger: { groups: ['authentik Admins'] },
  },
  {
    name: 'GitLab with the paths of groups, in userinfo only',
    shape: {
      idToken: { ...person, groups_direct: ['clinic'] },
      userInfo: { ...person, groups: ['clinic', 'clinic/console-operators'] },
    },
    env: { OIDC_ROLES_CLAIM: 'groups', OIDC_ROLES_MAP: 'operator=clinic/console-operators' },
    role: 'operator',
    stranger: { groups: ['clinic'] },
  },
  {
    name: 'Dex with groups of its connector',
    shape: {
      path: '/dex',
      idToken: person,
      byScope: { groups: { groups: ['clinic:privacy'] }, offline_access: {} },
      userInfo: person,
      refreshes: true,
    },
    env: {
      OIDC_SCOPES: 'openid profile email groups offline_access',
      OIDC_ROLES_CLAIM: 'groups',
      OIDC_ROLES_MAP: 'privacy=clinic:privacy',
    },
    role: 'privacy',
    stranger: { groups: [] },
  },
  {
    name: 'Authelia, with everything in userinfo only',
    shape: { userInfo: { ...person, groups: ['viewer'] } },
    env: { OIDC_SCOPES: 'openid profile email groups', OIDC_ROLES_CLAIM: 'groups' },
    role: 'viewer',
    stranger: { groups: ['guests'] },
  },
];
