/** Raised where the provider responds with something that cannot be used. Its message may be logged. */
export class ProviderFault extends Error {}

/** Messages and causes of libraries may contain parts of a response. */
export function faultIn(error: unknown): ProviderFault | undefined {
  if (error instanceof ProviderFault) return error;
  return error instanceof Error ? faultIn(error.cause) : undefined;
}

/** What the errors of openid-client say about metadata, an ID token, or the address that the provider sends the browser to. */
interface Difference {
  attribute?: string;
  body?: { issuer?: unknown };
  claim?: string;
  claims?: { iss?: unknown };
  parameters?: URLSearchParams;
  cause?: unknown;
}

/** An error that names the configured issuer and the other one, if an error is about an issuer; else the error itself. */
export function nameIssuers(error: unknown, configured: string): unknown {
  for (let at = error as Difference | undefined; at; at = at.cause as Difference | undefined) {
    if (at.attribute === 'issuer') return wrongIssuer(configured, at.body?.issuer);
    if (at.claim === 'iss') return wrongIssuer(configured, at.claims?.iss);
    const told = at.parameters?.get('iss');
    if (told && told !== configured) return wrongIssuer(configured, told);
  }
  return error;
}

export const wrongIssuer = (configured: string, told: unknown) =>
  new ProviderFault(
    `OIDC_ISSUER is ${configured}, but the provider calls itself ${told}: they must be the same`,
  );
