export interface Target {
  /** The variable of its URL. */
  variable: string;
  /** Such as PostgreSQL. */
  store: string;
  host: string;
  port: number;
  user?: string | undefined;
  database?: string | undefined;
}

interface ConnectionError {
  code?: string;
  message?: string;
}

/** Why a store cannot be used, in words that name what to change; undefined where the error is not about that. */
export function explainConnection(error: unknown, target: Target): string | undefined {
  const { code = '', message = '' } = (error ?? {}) as ConnectionError;
  const { variable, store, host, port, user, database } = target;
  const at = host.startsWith('/') ? host : `${host}:${port}`;
  const name = quote(database);
  const role = quote(user);
  const causes: [is: boolean, text: string][] = [
    [
      /^(ENOTFOUND|EAI_AGAIN)$/.test(code),
      `the host name ${host} does not resolve. Correct ${variable}, or the DNS`,
    ],
    [
      /^(ECONNREFUSED|ENOENT)$/.test(code),
      `nothing listens at ${at}. Start ${store}, or correct the host and port in ${variable}`,
    ],
    [
      /^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/.test(code),
      `${at} cannot be reached. Check the network, firewalls, and ${variable}`,
    ],
    [
      /timeout|timed out|^No response within/i.test(message) && !/^5/.test(code),
      `${at} does not answer. Check that ${store} runs there and is not stopped, the firewall, and ${variable}`,
    ],
    [
      code === '28P01' || /SASL/.test(message),
      `${store} rejects the password of ${role}. Correct it in ${variable}, or run: alter role ${role} password '…'`,
    ],
    [
      code === '28000',
      `${store} does not admit ${role} from here. Create the role, let pg_hba.conf permit it, or set sslmode in ${variable}`,
    ],
    [
      code === '3D000',
      `there is no database ${name}. Run: create database ${name} owner ${role} encoding 'UTF8' template template0`,
    ],
    [
      code === '42501',
      `${role} lacks a right. Run as the owner: grant connect on database ${name} to ${role}`,
    ],
    [code === '53300', `all connections of ${store} are in use. Close some, or raise max_connections`],
    [code === '57P03', `${store} is starting, stopping or recovering. Try again later, and read its log`],
    [
      /does not support SSL/.test(message),
      `${store} has no TLS. Set ssl = on there, or sslmode=disable in ${variable}`,
    ],
    [
      code === 'ERR_TLS_CERT_ALTNAME_INVALID',
      `the certificate is for another name than ${host}. Use that name in ${variable}, or another certificate`,
    ],
    [
      /CERT|SELF_SIGNED|^UNABLE_TO_|^ERR_(TLS|SSL)/.test(code),
      `the TLS connection failed (${code}). Name the authority's certificate in NODE_EXTRA_CA_CERTS, or sslrootcert in ${variable}`,
    ],
    [
      /^(ECONNRESET|EPIPE)$/.test(code) || /^Connection (terminated|is closed)/.test(message),
      `${at} closes the connection. Check that it is ${store}, that TLS is right, and its log`,
    ],
  ];
  return causes.find(([is]) => is)?.[1];
}

const quote = (name = '') => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
